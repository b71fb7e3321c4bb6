/* The bound of the linear relaxation: solved, and its duals as whole numbers that a certificate proves.
 *
 * A row's dual in model time becomes a price of S = 2^36 parts of the length, a share in model time one of S
 * parts of a nanosecond, over a grain that keeps it below 2^53. */
#include "bounds_load.h"
#include "bounds_parts.h"
#include "placement_lp.h"

/* ---- duals in whole numbers ---- */

#define PARTS 0x1p36

typedef struct rounding {
	const berth_placement_lp *m;
	const berth_problem *p;
	const double *y;
	berth_certificate *c;
} rounding;

static double dual(const rounding *w, int32_t row)
{
	return row < 0 || !isfinite(w->y[row]) ? 0 : w->y[row];
}

static int64_t whole_price(double x)
{
	return llround(fmin(fmax(x, 0), (double)BERTH_CERTIFICATE_MOST_PRICE));
}

static int64_t whole_share(const rounding *w, double x)
{
	double most = (double)BERTH_CERTIFICATE_MOST_SHARE;
	return llround(fmin(fmax(x / (double)w->c->grain, -most), most));
}

/* Parts of a nanosecond that a dual in model time stands for. */
static double in_parts(const rounding *w, int32_t row)
{
	return dual(w, row) / w->m->scale * PARTS;
}

static void round_prices(rounding *w)
{
	const berth_problem *p = w->p;
	for (int32_t k = 0; k < berth_n_resources(p); k++) {
		int64_t limit = berth_limit_bytes(p, k);
		w->c->price[k] = whole_price(dual(w, w->m->load_row[k]) * PARTS);
		w->c->byte_price[k] =
			limit < 0 ? 0 : whole_price(-in_parts(w, w->m->byte_row[k]) / fmax((double)limit, 1));
	}
	for (int32_t k = 0; k < p->s->n_channels; k++)
		w->c->channel_price[k] = whole_price(dual(w, w->m->channel_row[k]) * PARTS);
	for (int32_t op = 0; op < p->n_ops; op++)
		w->c->end_price[op] = whole_price(dual(w, w->m->end_row[op]) * PARTS);
	for (int32_t k = 0; k < p->g->n_edges; k++)
		w->c->flow[k] = whole_price(dual(w, w->m->flow_row[k]) * PARTS);
}

/* The largest whole_share fits. */
static void find_grain(rounding *w)
{
	size_t devs = (size_t)w->p->n_devs, edges = (size_t)w->p->g->n_edges;
	double most = 1;
	for (size_t k = 0; k < edges * devs; k++)
		most = fmax(most,
		            fmax(fabs(in_parts(w, w->m->out_row[k])), fabs(in_parts(w, w->m->in_row[k]))));
	for (size_t k = 0; k < edges * devs * devs; k++)
		most = fmax(most, in_parts(w, w->m->way_row[k]));
	w->c->grain = 1 + whole_price(most / (double)BERTH_CERTIFICATE_MOST_SHARE);
}

static void round_shares(rounding *w)
{
	size_t devs = (size_t)w->p->n_devs, edges = (size_t)w->p->g->n_edges;
	find_grain(w);
	for (size_t k = 0; k < edges * devs; k++) {
		w->c->out_share[k] = whole_share(w, in_parts(w, w->m->out_row[k]));
		w->c->in_share[k] = whole_share(w, in_parts(w, w->m->in_row[k]));
	}
	for (size_t k = 0; k < edges * devs * devs; k++)
		w->c->way_price[k] = whole_share(w, fmax(in_parts(w, w->m->way_row[k]), 0));
}

berth_status berth_placement_certificate(const berth_placement_lp *m, const berth_problem *p, const double *y,
                                         berth_arena *mem, berth_certificate *out, berth_err *err)
{
	size_t devs = (size_t)p->n_devs, edges = (size_t)p->g->n_edges, all = devs + (size_t)p->n_pools;
	berth_certificate c = {
		.kind = BERTH_CERTIFICATE_RELAXATION, .load = m->load, .upper_ns = m->upper_ns};
	rounding w = {m, p, y, &c};
	BERTH_TRY_NEW(mem, all, err, c.price, c.byte_price);
	BERTH_TRY_NEW(mem, p->s->n_channels, err, c.channel_price);
	BERTH_TRY_NEW(mem, p->n_ops, err, c.end_price);
	BERTH_TRY_NEW(mem, edges, err, c.flow);
	BERTH_TRY_NEW(mem, edges * devs, err, c.out_share, c.in_share);
	BERTH_TRY_NEW(mem, edges * devs * devs, err, c.way_price);
	round_prices(&w);
	round_shares(&w);
	if (!m->load) {
		/* No more flows into an operator than out of it, or into the end: else its start would cost.
		 * What is missing goes where most goes. */
		const berth_graph *g = w.p->g;
		for (int32_t k = 0; k < g->n_ops; k++) {
			int32_t op = g->topo_op[k];
			int64_t *most = &w.c->end_price[op], missing = -*most;
			BERTH_EACH (i, g->op_in_off, op) {
				int32_t t = g->in_tensor[i];
				BERTH_EACH (e, g->tensor_use_off, t)
					missing += g->edge_consumer[e] == op ? w.c->flow[e] : 0;
			}
			for (int32_t e = g->tensor_use_off[g->op_tensor_off[op]];
			     e < g->tensor_use_off[g->op_tensor_off[op + 1]]; e++) {
				missing -= w.c->flow[e];
				most = w.c->flow[e] > *most ? &w.c->flow[e] : most;
			}
			if (missing > 0 && *most <= BERTH_CERTIFICATE_MOST_PRICE - missing)
				*most += missing;
		}
	}
	*out = c;
	return BERTH_OK;
}

/* ---- the bound ---- */

enum { ITERATIONS = 25000 };
#define TOLERANCE 1e-5 /* of the solver, and of rounding its duals */

/* What the duals y prove_duals, exactly, whatever they are. */
static berth_status prove_duals(const berth_placement_lp *m, const berth_problem *p, const double *y,
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
static berth_status solve_model(const berth_placement_lp *m, const berth_problem *p, berth_bound_work *budget,
                                berth_arena *mem, berth_arena *tmp, int64_t *ns, berth_err *err)
{
	const berth_lp *lp = &m->lp;
	berth_lp_result r;
	berth_lp_options options = {.iterations = ITERATIONS};
	/* The simplex takes about 7 iterations for 10 rows. Each takes longer the more rows there are. */
	int64_t each = 40000 + 6 * (int64_t)lp->n_rows;
	*ns = 0;
	if (budget->left_ns < BERTH_BOUND_ALL && options.iterations > budget->left_ns / each)
		options.iterations = budget->left_ns / each;
	if (options.iterations < 7 * (int64_t)lp->n_rows / 10 && options.iterations < ITERATIONS) {
		budget->cut = true;
		return BERTH_OK;
	}
	berth_err why;
	berth_status st = berth_lp_solve(lp, &options, mem, tmp, &r, &why);
	if (st == BERTH_EUNSUPPORTED) /* the build had a solver and this machine has none: as without one */
		return BERTH_OK;
	if (st != BERTH_OK)
		return berth_fail(err, st, "%s", why.msg);
	berth_bound_spend(budget, r.iterations * each);
	BERTH_TRY(prove_duals(m, p, r.row_dual, budget, mem, tmp, ns, err));
	double told = fmin(r.value / m->scale, (double)m->upper_ns);
	budget->dropped |= r.status == BERTH_LP_OPTIMAL && (double)*ns < told * (1 - TOLERANCE) - 1;
	return BERTH_OK;
}

static bool too_large(const berth_problem *p, int64_t cells)
{
	return !berth_lp_solver() || (int64_t)p->g->n_edges * p->n_devs * p->n_devs > cells ||
	       (int64_t)p->n_ops * p->n_devs > cells || berth_problem_feasible(p, NULL) != BERTH_OK;
}

berth_status berth_bounds_lp(const berth_problem *p, int64_t lower_ns, berth_bound_work *budget,
                             berth_arena *tmp, int64_t *out_ns, berth_err *err)
{
	*out_ns = 0;
	if (lower_ns <= 0 || too_large(p, BERTH_BOUNDS_LP_CELLS))
		return BERTH_OK;
	BERTH_ARENA(mem);
	berth_arena_init(&mem, tmp->hook);
	int64_t upper_ns = 8 * lower_ns;
	berth_placement_lp m;
	BERTH_TRY(berth_placement_lp_new(p, upper_ns, false, &mem, &m, err));
	return solve_model(&m, p, budget, &mem, tmp, out_ns, err);
}

berth_status berth_bounds_load_lp(const berth_problem *p, double lower_ns, berth_bound_work *budget,
                                  berth_arena *tmp, double *out_ns, berth_err *err)
{
	*out_ns = 0;
	if (!(lower_ns > 0) || too_large(p, BERTH_BOUNDS_LP_CELLS))
		return BERTH_OK;
	BERTH_ARENA(mem);
	berth_arena_init(&mem, tmp->hook);
	int64_t upper_ns = 8 * (int64_t)ceil(lower_ns);
	berth_placement_lp m;
	int64_t ns;
	BERTH_TRY(berth_load_lp_new(p, upper_ns, &mem, &m, err));
	BERTH_TRY(solve_model(&m, p, budget, &mem, tmp, &ns, err));
	*out_ns = (double)ns * BERTH_DOWN; /* loads are sums in doubles */
	return BERTH_OK;
}
