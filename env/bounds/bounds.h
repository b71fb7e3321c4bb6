/* Proven lower bounds of the best value of each objective over all feasible placements. */
#pragma once

#include "certify.h"
#include "eval.h"
#include "objective.h"

typedef struct berth_bounds {
	int64_t ceft_ns;         /* length of the CEFT critical path */
	int64_t load_ns;         /* load dual, rounded down */
	int64_t latency_ns;      /* the larger of the two, or the stronger bound */
	/* "fast", "strong", or "auto": strong ones, cut for want of work. More of it may raise them. */
	const char *kind;
	bool dropped;            /* a dual of the solver's fell short of its value: what it proves counts */
	berth_bound_parts parts; /* what the values are made of */
	/* By metric, in the unit of the value; NAN: not known (no watts). */
	double value[BERTH_N_METRICS];
} berth_bounds;

/* The bounds that every answer carries.
 *   latency     the larger of the CEFT length and the load dual (bounds_load.h)
 *   throughput  the larger of the load dual and the longest operator's least time / slots
 *   energy      the largest of three: idle power for the latency bound and the cheapest busy energy of each
 *               operator; both bounds of bounds_joint.c
 *   edp         the larger of the product of the bounds of both factors, and that of bounds_joint.c
 *   power       what all devices draw idle; 0 where the latency bound is 0
 *   memory      bounds_peak.c
 * docs/proofs.md proves them. An operator without a legal device gives bounds of the others alone. tmp is
 * scratch, reset at exit. Fails: BERTH_ENOMEM. O(edges * devs^2 + iterations * ops * devs). */
berth_status berth_bounds_new(const berth_problem *p, berth_arena *tmp, berth_bounds *out, berth_err *err);

/* Raise bounds that berth_bounds_new made by slower ones, as far as the effort goes. The latency: windows
 * (bounds_windows.c), gates (bounds_blocks.c), memory (bounds_memory.c) and the linear relaxation
 * (bounds_lp.c). The largest load: the linear relaxation. The rest follows. With all effort they take some
 * seconds for zoo models. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_bounds_strengthen(const berth_problem *p, const berth_bound_effort *effort,
                                     berth_arena *tmp, berth_bounds *b, berth_err *err);

/* The best certificate among those of the bounds that berth_bounds_new and, unless effort is NULL,
 * berth_bounds_strengthen make. It may prove less than they tell: scores of blocks have none, and
 * a block may need a tree of more than proof->nodes nodes. proof->any is false where there is no
 * certificate. Errors and cost as those, and the trees. */
berth_status berth_bounds_certify(const berth_problem *p, const berth_bound_effort *effort,
                                  berth_bound_proof *proof, berth_arena *tmp, berth_err *err);

/* The bound of an objective: the sum of the bounds of its metrics. Where they are larger it is the joint
 * bounds of bounds_joint.c. These know that one choice of devices serves all metrics, and
 * the limits on latency, throughput and energy; edp and power count with their own bounds. NAN: not known,
 * or no placement keeps the limits. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_bounds_objective(const berth_problem *p, const berth_bounds *b, const berth_objective *o,
                                    berth_arena *tmp, double *out, berth_err *err);

/* Is it proven that no placement keeps all limits of o? The bound of each limited metric under the other
 * limits is held against its own. As above. */
berth_status berth_bounds_limits_infeasible(const berth_problem *p, const berth_bounds *b,
                                          const berth_objective *o, berth_arena *tmp, bool *out,
                                          berth_err *err);

/* gap = value / bound - 1; NAN where the bound is 0 or not known. */
double berth_gap(double value, double bound);
