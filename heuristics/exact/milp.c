/* The mixed-integer program of placement_lp.c, solved by the linked solver. Its placement, in the order of
 * its starts, is scored by the simulator. The model ignores waiting for channels, so it may end with a proven
 * bound below the value. Within the solver's tolerance (1e-6) of the bound, the answer counts as optimal. Up
 * to MOST operators; larger graphs are grouped to as many. */
#include "coloc.h"
#include "exact.h"
#include "method.h"
#include "placement_lp.h"

enum { MOST = 16 };
#define NODES 10000 /* where neither nodes nor a time are given */
#define TOLERANCE 1e-6

/* Offer the solution x: colocation groups where they stand, operators by start. */
static berth_status offer(berth_search *s, const berth_placement_lp *m, const double *x, berth_arena *tmp,
                          berth_err *err)
{
	const berth_problem *p = s->p;
	int32_t *op_dev, *order;
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev, order);
	for (int32_t u = 0; u < p->n_colocs; u++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			int32_t c = m->coloc_dev_col[berth_cell(p, u, d)];
			if (c >= 0 && x[c] > 0.5)
				berth_coloc_put(p, u, d, op_dev);
		}
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k], at = k;
		double start = x[m->op_start_col[op]];
		for (; at > 0 && x[m->op_start_col[order[at - 1]]] > start + TOLERANCE; at--)
			order[at] = order[at - 1];
		order[at] = op;
	}
	berth_exact_offer(s, op_dev, order, tmp);
	return BERTH_OK;
}

/* What the solver's answer says. No schedule is shorter than its bound. Where it found none up to upper_ns,
 * none is shorter than that. */
static void prove(berth_search *s, const berth_lp_result *r, double scale, int64_t upper_ns,
                  bool from_incumbent)
{
	double bound_ns = r->bound / scale;
	if (r->status == BERTH_LP_INFEASIBLE && from_incumbent)
		bound_ns = (double)upper_ns;
	if (!isfinite(bound_ns) || bound_ns < 0)
		return;
	/* Latencies are whole nanoseconds. */
	berth_search_prove(s, ceil(fmin(bound_ns, (double)upper_ns) * (1 - TOLERANCE)) / 1e9);
	/* None: the model is solved, but waiting for channels is not in it. */
	bool limited = r->status == BERTH_LP_LIMIT || r->status == BERTH_LP_UNKNOWN;
	s->proof = limited ? BERTH_PROOF_LIMIT : BERTH_PROOF_NONE;
	if (berth_score_feasible(s->best) && s->best.value <= s->bound * (1 + 2 * TOLERANCE))
		s->proof = BERTH_PROOF_OPTIMAL;
}

static int64_t longest(const berth_problem *p)
{
	int64_t sum = 1;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t most = 0;
		for (int32_t d = 0; d < p->n_devs; d++)
			most = berth_op_time(p, op, d) > most ? berth_op_time(p, op, d) : most;
		sum += most;
	}
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t most = 0;
			for (int32_t e = 0; e < p->n_devs; e++)
				most = berth_transfer_ns(p, t, e, d) > most ? berth_transfer_ns(p, t, e, d)
				                                            : most;
			sum += most;
		}
	return sum;
}

static berth_status solve(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_placement_lp m;
	berth_lp_result r;
	BERTH_TRY(berth_exact_incumbent(s, tmp, err));
	bool feasible = berth_score_feasible(s->best);
	int64_t upper_ns = feasible ? llround(s->best.value * 1e9) : longest(s->p);
	s->proof = BERTH_PROOF_LIMIT;
	if (upper_ns == 0) {
		s->proof = BERTH_PROOF_OPTIMAL;
		berth_search_prove(s, 0);
		return BERTH_OK;
	}
	BERTH_ARENA(mem);
	berth_arena_init(&mem, tmp->hook);
	berth_lp_options options = {.until = berth_search_patience(s)};
	options.nodes = s->cfg.nodes > 0 ? s->cfg.nodes : options.until.end_s > 0 ? 0 : NODES;
	BERTH_TRY(berth_placement_lp_new(s->p, upper_ns, true, &mem, &m, err));
	if (s->cfg.write_model)
		BERTH_TRY(berth_exact_write_model(s->cfg.write_model, &m.lp, &mem, err));
	BERTH_TRY(berth_lp_solve(&m.lp, &options, &mem, tmp, &r, err));
	s->nodes = r.nodes;
	if (isfinite(r.value))
		BERTH_TRY(offer(s, &m, r.x, &mem, err));
	prove(s, &r, m.scale, upper_ns, feasible);
	return BERTH_OK;
}

/* Without a solver the model can be written still; that is all that is done then. */
static berth_status milp_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_exact_needs_latency(s, "milp", err));
	if (!berth_lp_solver() && !s->cfg.write_model)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method milp needs a solver: install %s and build berth again",
		                  berth_lp_missing());
	return berth_exact_or_grouped(s, MOST, MOST, solve, tmp, err);
}

const berth_method berth_method_milp = {"milp",
                                        "Mixed-integer program of placement, order and memory, solved by CBC "
                                        "(after Tarnawski et al. 2020; DiviML 2023).",
                                        false,
                                        milp_run,
                                        berth_lp_missing,
                                        "after Tarnawski et al. 2020; DiviML 2023"};
