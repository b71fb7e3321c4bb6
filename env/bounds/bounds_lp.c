/* The bound of the linear relaxation; see bounds_lp.h. */
#include "bounds_lp.h"

#include "bounds_load.h"
#include "placement_lp.h"

#include <math.h>

enum { ITERATIONS = 25000 };
#define TOLERANCE 1e-5 /* of the solver, and of rounding its duals */

/* The simplex takes about 7 iterations for 10 rows. Each takes longer the more rows there are. */
static int64_t iteration_ns(const berth_lp *lp)
{
	return 40000 + 6 * (int64_t)lp->n_rows;
}

/* What the duals y prove, exactly, whatever they are. */
static berth_status prove(const berth_placement_lp *m, const berth_problem *p, const double *y,
                          berth_bound_work *budget, berth_arena *mem, berth_arena *tmp, int64_t *ns,
                          berth_err *err)
{
	berth_certificate c;
	BERTH_TRY(berth_placement_certificate(m, p, y, budget->proof ? budget->proof->mem : mem, &c, err));
	BERTH_TRY(berth_bound_proof_offer(budget->proof, p, &c, tmp, err));
	berth_status st = berth_certificate_prove(&c, p, tmp, ns, err);
	return st == BERTH_EFORMAT ? BERTH_OK : st; /* all duals are 0: nothing is proven */
}

/* Solve a model in the work that is left. *ns: its bound, 0: none. */
static berth_status solve(const berth_placement_lp *m, const berth_problem *p, berth_bound_work *budget,
                          berth_arena *mem, berth_arena *tmp, int64_t *ns, berth_err *err)
{
	const berth_lp *lp = &m->lp;
	berth_lp_result r;
	berth_lp_options options = {.iterations = ITERATIONS};
	int64_t each = iteration_ns(lp);
	*ns = 0;
	if (budget->left_ns < BERTH_BOUND_ALL && options.iterations > budget->left_ns / each)
		options.iterations = budget->left_ns / each;
	if (options.iterations < 7 * (int64_t)lp->n_rows / 10 && options.iterations < ITERATIONS) {
		budget->cut = true;
		return BERTH_OK;
	}
	BERTH_TRY(berth_lp_solve(lp, &options, mem, tmp, &r, err));
	berth_bound_spend(budget, r.iterations * each);
	BERTH_TRY(prove(m, p, r.row_dual, budget, mem, tmp, ns, err));
	double told = fmin(r.value / m->scale, (double)m->upper_ns);
	budget->dropped |= r.status == BERTH_LP_OPTIMAL && (double)*ns < told * (1 - TOLERANCE) - 1;
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
	BERTH_TRY(berth_placement_lp_new(p, upper_ns, false, mem, &m, err));
	return solve(&m, p, budget, mem, tmp, out_ns, err);
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
	int64_t ns;
	BERTH_TRY(berth_load_lp_new(p, upper_ns, mem, &m, err));
	BERTH_TRY(solve(&m, p, budget, mem, tmp, &ns, err));
	*out_ns = (double)ns * BERTH_DOWN; /* loads are sums in doubles */
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
