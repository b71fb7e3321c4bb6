/* Runs of a placement until their median is known well enough. */
#ifndef BERTH_STEADY_H
#define BERTH_STEADY_H

#include "measured.h"

/* How often to run. The first turn runs warmup times unseen, then least times. Where the interval of the
 * median is wider than width (relative to the median), another turn runs twice as often, and so on up to most
 * times, or as often as an answer has time for. Each turn's samples stand by themselves, so that what
 * disturbed an earlier turn is gone. */
typedef struct berth_steady_cfg {
	int32_t warmup, least, most;
	double width;
	void (*progress)(void *ctx, const char *what, int32_t done, int32_t of); /* NULL: none */
	void *progress_ctx;
} berth_steady_cfg;

/* The runs of the last turn. Else as berth_measured_run, with its errors. */
berth_status berth_steady_run(berth_measured *m, const berth_steady_cfg *cfg, const int32_t *op_dev,
                              const int32_t *order, berth_arena *mem, berth_arena *tmp,
                              berth_measurement *out, berth_err *err);

#endif
