/* Proven lower bounds of the best value of each objective over all feasible placements. */
#ifndef BERTH_BOUNDS_H
#define BERTH_BOUNDS_H

#include "eval.h"

typedef struct berth_bounds {
	int64_t ceft_ns;      /* length of the CEFT critical path */
	int64_t load_ns;      /* load dual, rounded down */
	int64_t latency_ns;   /* the larger of the two, or the stronger bound */
	berth_bound_parts parts;
	double value[BERTH_N_METRICS]; /* by metric, in the unit of the value; NAN: not known (no watts) */
} berth_bounds;

/* Load dual: max over lambda in the simplex of sum over operators of min over legal devices of lambda_d w_id
 * / slots_d. It is the LP dual of fractional assignment to unrelated machines. Any lambda gives a bound: on
 * every device (sum of w) / slots <= T, so with the weights lambda
 *     T >= sum_d lambda_d load_d = sum_i lambda_d(i) w_id(i) / slots_d(i) >= sum_i min_d lambda_d w_id /
 *       slots_d.
 * Latency: T is the latency, as a device runs at most slots operators at once. Throughput: T is the largest
 * load. Energy: idle power runs for at least the latency bound, and each operator adds at least its cheapest
 * busy energy; or the bounds of bounds_joint.h and bounds_path.h, where larger. EDP: product of two bounds
 * of non-negative factors, or that of bounds_path.h. Power: what all devices draw idle.
 *
 * The LP is solved by column generation; the bound is then evaluated in exact integers, so that rounding
 * cannot break it. An operator without a legal device gives bounds of the others alone. tmp is scratch.
 * Fails: BERTH_ENOMEM. O(edges * devs^2 + iterations * ops * devs). */
berth_status berth_bounds_new(const berth_problem *p, berth_arena *tmp, berth_bounds *out, berth_err *err);

enum { BERTH_BOUND_NODES = 5000 };

/* Raise bounds that berth_bounds_new made by slower ones: by gates (bounds_blocks.h), each search of a block
 * cut after `nodes` nodes (BERTH_BOUND_NODES: a second or less for zoo models), and by memory
 * (bounds_memory.h). tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_bounds_strengthen(const berth_problem *p, int64_t nodes, berth_arena *tmp, berth_bounds *b,
                                     berth_err *err);

/* The bound of an objective: the sum for the bounds of its metrics, or where they are larger the joint
 * bounds of bounds_joint.h and bounds_path.h, which know that one choice of devices serves all metrics, and
 * the limits on latency, throughput and energy (edp and power count with their own bounds). NAN: not known,
 * or no placement keeps the limits. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_bounds_objective(const berth_problem *p, const berth_bounds *b, const berth_objective *o,
                                    berth_arena *tmp, double *out, berth_err *err);

/* Is it proven that no placement keeps all limits of o? By the bound of each limited metric under the other
 * limits. As above. */
berth_status berth_bounds_limits_infeasible(const berth_problem *p, const berth_bounds *b,
                                          const berth_objective *o, berth_arena *tmp, bool *out,
                                          berth_err *err);

/* gap = value / bound - 1; NAN where the bound is 0 or not known. */
double berth_gap(double value, double bound);

#endif
