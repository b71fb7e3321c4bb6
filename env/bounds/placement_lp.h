/* The mixed-integer model of placement for latency, and its linear relaxation; see placement_lp.c. */
#ifndef BERTH_PLACEMENT_LP_H
#define BERTH_PLACEMENT_LP_H

#include "lp.h"
#include "problem.h"

typedef struct berth_placement_lp {
	berth_lp lp;
	double scale;           /* model time of one nanosecond */
	int32_t *coloc_dev_col; /* [n_colocs][n_devs] -1: not legal */
	int32_t *op_start_col;  /* [n_ops] */
	int32_t length_col;
} berth_placement_lp;

/* The model of p for latencies up to upper_ns (> 0), in mem. Where whole is set it has whole columns and
 * the orders of operators on a device; else it is the linear relaxation without orders. Fails:
 * BERTH_ENOMEM. O(edges * devs^2), whole: + ops^2 * devs. */
berth_status berth_placement_lp_new(const berth_problem *p, int64_t upper_ns, bool whole, berth_arena *mem,
                                    berth_placement_lp *out, berth_err *err);

/* The linear relaxation for the throughput, for largest loads up to upper_ns (> 0): length_col is the largest
 * load of a device or channel. Without starts, op_start_col is not set. As above. */
berth_status berth_load_lp_new(const berth_problem *p, int64_t upper_ns, berth_arena *mem,
                               berth_placement_lp *out, berth_err *err);

#endif
