/* One placement, simulated with everything kept: what reports, traces and explanations are made of. */
#pragma once

#include "sim.h"

typedef struct berth_timeline {
	berth_sim_result r; /* where r.runs is false, nothing below is set */
	const int32_t *op_dev;   /* [n_ops] the placement, borrowed */
	const int32_t *op_order; /* [n_ops] the order that it was given, borrowed; NULL: none */
	berth_order order; /* rule used: GIVEN where the placement had an order, else the system's */
	const int64_t *start_ns, *end_ns; /* [n_ops] */
	const int64_t *dev_time_ns;       /* [n_devs] sum of operator times alone: its load */
	int64_t *dev_busy_ns;             /* [n_devs] sum of how long its operators ran */
	const int64_t *peak_bytes;        /* [n_devs] */
	int64_t *dev_sent_bytes;          /* [n_devs] over all hops that leave it */
	int32_t *dev_ops;                 /* [n_devs] operators */
	const int64_t *channel_ns;        /* [n_channels] */
	const int64_t *pool_ns, *pool_peak_bytes; /* [n_pools] load, memory of all members together */
	berth_sim_hop *hops;              /* [n_hops] by their ends */
	size_t n_hops;
} berth_timeline;

/* Simulate op_dev with the reference simulator. The timeline lives in mem. order as in berth_sim_run.
 * Fails: BERTH_ENOMEM. */
berth_status berth_timeline_new(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                                berth_arena *mem, berth_timeline *out, berth_err *err);

/* What each device holds over time in one simulated placement. */

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
