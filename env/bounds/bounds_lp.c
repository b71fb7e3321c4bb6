/* The bound of the linear relaxation; see bounds_lp.h. */
#include "bounds_lp.h"

#include "placement_lp.h"

#include <math.h>

enum { ITERATIONS = 25000 };

/* A row with one side proves nothing with a dual of the wrong sign but rounding made it: cut it. */
static void clip_duals(const berth_lp *lp, double *y)
{
	for (int32_t r = 0; r < lp->n_rows; r++) {
		if (lp->row_lower[r] <= -BERTH_LP_INF && y[r] > 0)
			y[r] = 0;
		if (lp->row_upper[r] >= BERTH_LP_INF && y[r] < 0)
			y[r] = 0;
	}
}

/* The simplex takes about 7 iterations for 10 rows. Each takes longer the more rows there are. */
static int64_t iteration_ns(const berth_lp *lp)
{
	return 40000 + 6 * (int64_t)lp->n_rows;
}

/* Solve a model in the work that is left. *ns: its bound, 0: none. */
static berth_status solve(const berth_placement_lp *m, berth_bound_work *budget, berth_arena *mem,
                          berth_arena *tmp, double *ns, berth_err *err)
{
	const berth_lp *lp = &m->lp;
	berth_lp_result r;
	berth_lp_options options = {.iterations = ITERATIONS};
	int64_t each = iteration_ns(lp);
	double *scratch;
	*ns = 0;
	if (budget->left_ns < BERTH_BOUND_ALL && options.iterations > budget->left_ns / each)
		options.iterations = budget->left_ns / each;
	if (options.iterations < 7 * (int64_t)lp->n_rows / 10 && options.iterations < ITERATIONS) {
		budget->cut = true;
		return BERTH_OK;
	}
	BERTH_TRY(BERTH_NEW(mem, scratch, lp->n_cols, err));
	BERTH_TRY(berth_lp_solve(lp, &options, mem, tmp, &r, err));
	berth_bound_spend(budget, r.iterations * each);
	clip_duals(lp, r.row_dual);
	double value = berth_lp_dual_value(lp, r.row_dual, scratch) / m->scale * (1 - 1e-8);
	*ns = value > 0 ? value : 0;
	return BERTH_OK;
}

static bool too_large(const berth_problem *p, int64_t cells)
{
	return !berth_lp_solver() || (int64_t)p->g->n_edges * p->n_devs * p->n_devs > cells ||
	       (int64_t)p->n_ops * p->n_devs > cells ||
	       berth_problem_feasible(p, NULL) != BERTH_OK;
}

static berth_status latency_bound(const berth_problem *p, int64_t upper_ns, berth_bound_work *budget,
                                  berth_arena *mem, berth_arena *tmp, int64_t *out_ns, berth_err *err)
{
	berth_placement_lp m;
	double ns;
	BERTH_TRY(berth_placement_lp_new(p, upper_ns, false, mem, &m, err));
	BERTH_TRY(solve(&m, budget, mem, tmp, &ns, err));
	*out_ns = (int64_t)fmin(ns, (double)upper_ns);
	return BERTH_OK;
}

berth_status berth_bounds_lp(const berth_problem *p, int64_t lower_ns, berth_bound_work *budget,
                             berth_arena *tmp, int64_t *out_ns, berth_err *err)
{
	berth_arena mem;
	*out_ns = 0;
	if (lower_ns <= 0 || too_large(p, BERTH_BOUNDS_LP_CELLS))
		return BERTH_OK;
	berth_arena_init(&mem, tmp->hook);
	berth_status st = latency_bound(p, 8 * lower_ns, budget, &mem, tmp, out_ns, err);
	berth_arena_free(&mem);
	return st;
}

static berth_status load_bound(const berth_problem *p, int64_t upper_ns, berth_bound_work *budget,
                               berth_arena *mem, berth_arena *tmp, double *out_ns, berth_err *err)
{
	berth_placement_lp m;
	BERTH_TRY(berth_load_lp_new(p, upper_ns, mem, &m, err));
	BERTH_TRY(solve(&m, budget, mem, tmp, out_ns, err));
	*out_ns = fmin(*out_ns, (double)upper_ns);
	return BERTH_OK;
}

berth_status berth_bounds_load_lp(const berth_problem *p, double lower_ns, berth_bound_work *budget,
                                  berth_arena *tmp, double *out_ns, berth_err *err)
{
	berth_arena mem;
	*out_ns = 0;
	if (!(lower_ns > 0) || too_large(p, BERTH_BOUNDS_LP_CELLS))
		return BERTH_OK;
	berth_arena_init(&mem, tmp->hook);
	berth_status st = load_bound(p, 8 * (int64_t)ceil(lower_ns), budget, &mem, tmp, out_ns, err);
	berth_arena_free(&mem);
	return st;
}
