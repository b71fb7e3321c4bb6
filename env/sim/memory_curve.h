/* What each device holds over time in one simulated placement. */
#ifndef BERTH_MEMORY_CURVE_H
#define BERTH_MEMORY_CURVE_H

#include "sim.h"

/* From at_ns[i] on the device holds bytes[i]. Times rise, but for rounds of one instant; the first is 0. */
typedef struct berth_memory_curve {
	int64_t *at_ns, *bytes; /* [n] */
	int32_t n;
	size_t cap_at, cap_bytes;
} berth_memory_curve;

/* Simulate the placement, which runs, once more.
 *   order   as in berth_sim_run
 *   out     [n_devs], in mem; the largest sum of each is its peak
 *   tmp     scratch, another arena, reset at exit
 * Fails: BERTH_ENOMEM. As a simulation, and O(devices) a round. */
berth_status berth_memory_curves(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                                 berth_arena *mem, berth_arena *tmp, berth_memory_curve *out, berth_err *err);

/* Thin a curve to at most 2 n_parts + 1 steps, in place. Of each of n_parts parts of the time until end_ns
 * the largest sum stays, where it is reached, and the last one. Times before the first step and the peak stay
 * as they are. O(n). */
void berth_memory_curve_thin(berth_memory_curve *c, int64_t end_ns, int32_t n_parts);

#endif
