/* One placement, simulated with everything kept: what reports, traces and explanations are made of. */
#ifndef BERTH_TIMELINE_H
#define BERTH_TIMELINE_H

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

#endif
