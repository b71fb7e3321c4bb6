/* Scales of a device's predicted times, fitted to timings: of whole models, or of operators one by one. The
 * logarithm of each time is predicted better by one number for the device, one for each type of operators and
 * one for its overhead. All but the first are held near 0 as long as the timings do not tell otherwise
 * (statistics.h). So one timed model scales all alike: times of a roofline so that it is predicted exactly
 * then, those of the model of times by half (a CPU's a fifth) where it was off by as much as models are by
 * themselves, and by all where it was far off. Where models and operators by themselves were timed, the
 * models say how long all takes, and the operators which types take more. */
#pragma once

#include "graph.h"
#include "system.h"

typedef struct berth_timing {
	const berth_graph *g;
	int32_t op;     /* -1: all of them, one after another */
	double seconds; /* > 0 */
} berth_timing;

typedef struct berth_scales_told {
	double factor; /* timed / predicted before, the mean of the timings by their logarithms */
	double off;    /* mean of |predicted / timed - 1| of the timings, afterwards */
	double now_s;  /* what the first timing is predicted as, afterwards */
} berth_scales_told;

/* Timings that are off by more mean another device. */
#define BERTH_SCALES_ODD 5.0

/* Fit device dev of s: its scales, its overhead, and what it was calibrated by, to which `by` is added. New
 * arrays in mem stand in s; the old ones are as they were. n >= 1. tmp is scratch, reset at exit.
 * Fails: BERTH_EINVAL (a model of which the device cannot run all, or that it does in no time; a scale out of
 * its range), BERTH_ENOMEM. s is untouched then. O(timings * operators + types of all devices). */
berth_status berth_scales_fit(berth_system *s, int32_t dev, const berth_timing *timing, int32_t n,
                              const char *by, berth_arena *mem, berth_arena *tmp, berth_scales_told *told,
                              berth_err *err);
