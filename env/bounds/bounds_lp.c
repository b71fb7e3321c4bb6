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

static berth_status bound(const berth_problem *p, int64_t upper_ns, berth_arena *mem, berth_arena *tmp,
                          int64_t *out_ns, berth_err *err)
{
	berth_placement_lp m;
	berth_lp_result r;
	berth_lp_options options = {.iterations = ITERATIONS};
	double *scratch;
	BERTH_TRY(berth_placement_lp_new(p, upper_ns, false, mem, &m, err));
	BERTH_TRY(BERTH_NEW(mem, scratch, m.lp.n_cols, err));
	BERTH_TRY(berth_lp_solve(&m.lp, &options, mem, tmp, &r, err));
	clip_duals(&m.lp, r.row_dual);
	double value = berth_lp_dual_value(&m.lp, r.row_dual, scratch) / m.scale * (1 - 1e-8);
	if (value > 0)
		*out_ns = (int64_t)fmin(value, (double)upper_ns);
	return BERTH_OK;
}

berth_status berth_bounds_lp(const berth_problem *p, int64_t lower_ns, berth_arena *tmp, int64_t *out_ns,
                             berth_err *err)
{
	berth_arena mem;
	*out_ns = 0;
	if (!berth_lp_solver() || lower_ns <= 0 ||
	    (int64_t)p->g->n_edges * p->n_devs * p->n_devs > BERTH_BOUNDS_LP_CELLS ||
	    berth_problem_feasible(p, NULL) != BERTH_OK)
		return BERTH_OK;
	berth_arena_init(&mem, tmp->hook);
	berth_status st = bound(p, 8 * lower_ns, &mem, tmp, out_ns, err);
	berth_arena_free(&mem);
	return st;
}
