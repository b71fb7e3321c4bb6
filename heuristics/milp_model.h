/* The mixed-integer model of placement for latency; see milp_model.c. */
#ifndef BERTH_MILP_MODEL_H
#define BERTH_MILP_MODEL_H

#include "lp.h"
#include "problem.h"

typedef struct berth_milp_model {
	berth_lp lp;
	double scale;          /* model time of one nanosecond */
	int32_t *unit_dev_col; /* [n_units][n_devs] -1: not legal */
	int32_t *op_start_col; /* [n_ops] */
	int32_t length_col;
} berth_milp_model;

/* The model of p for latencies up to upper_ns (> 0), in mem. Fails: BERTH_ENOMEM. O(edges * devs^2 + ops^2 * devs). */
berth_status berth_milp_model_new(const berth_problem *p, int64_t upper_ns, berth_arena *mem, berth_milp_model *out, berth_err *err);

#endif
