/* How long an operator takes on the cores of a CPU that nobody has timed, from its shape and the CPU's
 * figures. The numbers are fitted to ONNX Runtime on one Zen 4 core; those of several cores are assumed. */
#pragma once

#include "gpu_times.h"

/* Seconds of an operator and what they are expected to be off by. d: peak of all cores, bandwidth and units
 * (cores) are more than 0. Never less than flops / peak_flops of products and convolutions, nor than what the
 * bytes beyond half of the cache take; more of b, m, n, k, images, channels, points, kernel, rows, width,
 * flops or bytes is never quicker. About 50 ns. */
berth_time_estimate berth_time_on_cpu(const berth_time_query *q, const berth_time_device *d);
