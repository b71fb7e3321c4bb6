/* --calibrate MODEL=SECONDS@DEVICE: predicted times of devices by timings of whole models. */
#pragma once

#include "cli.h"
#include "system.h"

#define CLI_CALIBRATE(c) \
	{"calibrate", 0, CLI_MANY, &(c)->calibrate, "MODEL=S@DEV", \
	 "a model as it was timed on a device (zoo:resnet50=6.1ms@gpu0): times predicted there go by it"}

/* Fit the devices of s by what c->calibrate says, and tell how. DEVICE is a device, or a kind of several. A
 * timing that is far off is warned of. Fails: BERTH_EINVAL (a text of another form, an unknown device, a
 * model that it cannot run), as berth_graph_load, cli_warn. */
berth_status cli_calibrate(cli *c, berth_system *s, berth_err *err);
/* The same of one device by so many timings, and tell it: what was timed is `by`. */
struct berth_timing;
berth_status cli_calibrate_device(cli *c, berth_system *s, int32_t dev, const struct berth_timing *timing,
                                  int32_t n, const char *by, berth_err *err);
