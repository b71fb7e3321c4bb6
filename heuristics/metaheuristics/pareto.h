/* A Pareto front: placements of which none is better than another in both of two objectives. */
#pragma once

#include "method.h"

enum { BERTH_PARETO_MOST = 1024 };

typedef struct berth_pareto_cfg {
	berth_objective objective[2]; /* limits of either hold for all points */
	int32_t most_points; /* 2 .. BERTH_PARETO_MOST: of more, those that stand out most are kept */
	berth_search_cfg search;      /* seed, budget, pool, cancel, time; its objective is not looked at */
	const berth_method *method;   /* of searches for one objective; NULL: simulated annealing */
} berth_pareto_cfg;

typedef struct berth_pareto_point {
	double value[2];
	int32_t *op_dev;   /* [n_ops] */
	/* [n_ops] the order of its own that its values stand for; NULL: the system's rule */
	int32_t *op_order;
	const char *method; /* where it came from: a method of the portfolio, or "pareto" */
} berth_pareto_point;

typedef struct berth_pareto {
	berth_pareto_point *point; /* [n] by rising value[0], so by falling value[1]; all feasible */
	int32_t n;
	int64_t evaluations;
	bool stopped; /* by time or cancel */
} berth_pareto;

/* Search for the front. First comes the portfolio for either objective and for sums of both. Then the method
 * searches for each of these, with a tenth of the budget each, as it would alone: so no point is dominated by
 * what it finds for either objective in a tenth of the evaluations. Then simulated annealing goes in 6 to
 * 24 directions at once, with the moves of moves.h. A direction is a weighted Tchebycheff
 * distance to the best values seen (as MOEA/D: Q. Zhang, H. Li, IEEE TEVC 11(6), 2007). Every feasible
 * placement that is met is offered to the front. The result depends on the problem, the objectives, the seed
 * and the evaluations alone. mem holds the front; tmp is scratch, another arena, reset at exit. Fails:
 * BERTH_EINVAL (most_points), BERTH_EINFEASIBLE (no placement keeps the rules), BERTH_EFORMAT (objective
 * without watts), BERTH_ENOMEM. */
berth_status berth_pareto_search(const berth_problem *p, const berth_pareto_cfg *cfg, berth_arena *mem,
                                 berth_arena *tmp, berth_pareto *out, berth_err *err);
