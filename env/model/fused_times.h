/* Times of what an engine makes one operator of (BERTH_GRAIN_KERNEL). */
#pragma once

#include "problem_tables.h"

/* Changes the times of p on GPUs whose times are predicted and were never calibrated: a kernel has one
 * launch, and does not move what stays inside. A CPU's stand: sums of operators are nearer to measured models
 * there (docs/export.md). Fails: BERTH_ENOMEM. O(edges * rules + devs * ops). */
berth_status berth_fused_times(berth_problem *p, berth_err *err);
