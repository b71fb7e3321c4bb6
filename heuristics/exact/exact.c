/* Groups a graph that is too large for an exact search, makes a problem of the groups, and brings the
 * answer back to the operators. It holds the start and the reporting that exact methods share. */
#include "exact.h"

#include "coloc.h"
#include "cost_model.h"
#include "file.h"
#include "improve.h"
#include "quotient.h"
#include "registry.h"

enum { START_EVALUATIONS = 2000 };

/* Exact methods answer at once, so this start does not look at the budget. Time and cancelling still stop
 * it. */
berth_status berth_exact_incumbent(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_rng rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD);
	int32_t *op_dev;
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	if (!berth_can_move(s->p) || berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, op_dev);
	BERTH_COPY(op_dev, s->best_dev, s->p->n_ops);
	berth_score score = berth_search_offer(s, op_dev, NULL);
	return berth_improve(s, op_dev, &score, START_EVALUATIONS, &rng, tmp, err);
}

berth_status berth_exact_needs_latency(const berth_search *s, const char *method, berth_err *err)
{
	if (!s->p->s->cost_model->exact_methods)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method %s solves the execution model only, not the cost model %s", method,
		                  s->p->s->cost_model->name);
	if (berth_objective_is(&s->cfg.objective, BERTH_LATENCY) &&
	    !berth_objective_has_limits(&s->cfg.objective))
		return BERTH_OK;
	return berth_fail(err, BERTH_EUNSUPPORTED, "method %s solves for latency only, not for %s", method,
	                  berth_objective_name(&s->cfg.objective));
}

int64_t berth_exact_last_ns(const berth_search *s)
{
	const int64_t *end = berth_sim_last(s->eval[0].sim).end_ns;
	int64_t last = 0;
	for (int32_t op = 0; op < s->p->n_ops; op++)
		last = end[op] > last ? end[op] : last;
	return last;
}

void berth_exact_offer(berth_search *s, const int32_t *op_dev, const int32_t *order, berth_arena *tmp)
{
	if (berth_order_is_topological(s->p->g, order, tmp))
		berth_search_offer_ordered(s, op_dev, order);
	else
		berth_search_offer(s, op_dev, NULL);
}

berth_status berth_exact_write_model(const char *path, const berth_lp *lp, berth_arena *tmp, berth_err *err)
{
	berth_strbuf text = {.mem = tmp};
	const char *data;
	size_t len;
	berth_lp_write_mps(lp, &text);
	BERTH_TRY(berth_strbuf_done(&text, &data, &len, err));
	return berth_file_write(path, data, len, err);
}

static berth_status group(const berth_problem *p, int32_t most, berth_coarsening *c, berth_arena *mem,
                          berth_arena *tmp, berth_err *err)
{
	double *cost;
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(most);
	BERTH_TRY_NEW(mem, p->n_ops, err, cost);
	for (int32_t op = 0; op < p->n_ops; op++)
		cost[op] = (double)p->op_mean_ns[op];
	cfg.op_cost = cost;
	for (cfg.balance = 2; ; cfg.balance *= 8) {
		BERTH_TRY(berth_coarsen(p->g, &cfg, mem, tmp, c, err));
		if (c->n_groups <= most || cfg.balance > 1e6)
			return BERTH_OK;
	}
}

/* The answer for the groups as one for the operators. */
static berth_status offer_groups(berth_search *s, const berth_search *sub, const berth_coarsening *c,
                                 berth_arena *tmp, berth_err *err)
{
	int32_t *op_dev, *order;
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, op_dev, order);
	for (int32_t op = 0; op < s->p->n_ops; op++)
		op_dev[op] = sub->best_dev[c->op_group[op]];
	BERTH_TRY(berth_quotient_order(s->p, c, sub->best_has_order ? sub->best_order : sub->p->g->topo_op,
	                               order, tmp, err));
	berth_search_offer_ordered(s, op_dev, order);
	return BERTH_OK;
}

/* Where a group's operators share no device, or colocation makes the groups cyclic, the portfolio's answer
 * stands. */
static berth_status solve_groups(berth_search *s, int32_t most, berth_exact_fn solve, berth_arena *mem,
                                 berth_arena *tmp, berth_err *err)
{
	berth_coarsening c;
	berth_graph g;
	berth_problem p;
	berth_search sub;
	berth_search_cfg cfg = s->cfg;
	cfg.progress = NULL;
	BERTH_TRY(group(s->p, most, &c, mem, tmp, err));
	if (c.n_groups > most)
		return BERTH_OK;
	BERTH_TRY(berth_quotient_new(s->p, &c, mem, tmp, &g, err));
	BERTH_TRY(berth_problem_new(&g, s->p->s, mem, tmp, &p, err));
	if (berth_problem_feasible(&p, NULL) != BERTH_OK)
		return BERTH_OK;
	BERTH_TRY(berth_search_new(&p, &cfg, mem, &sub, err));
	sub.worked_ns = s->worked_ns;
	sub.may_work_ns = s->may_work_ns;
	BERTH_TRY(solve(&sub, tmp, err));
	s->worked_ns = sub.worked_ns;
	s->cut |= sub.cut;
	s->nodes = sub.nodes;
	s->groups = c.n_groups;
	s->groups_optimal = sub.proof == BERTH_PROOF_OPTIMAL;
	return isfinite(sub.best.excess) ? offer_groups(s, &sub, &c, tmp, err) : BERTH_OK;
}

berth_status berth_exact_grouped(berth_search *s, int32_t most_ops, berth_exact_fn solve, berth_arena *tmp,
                                 berth_err *err)
{
	berth_arena mem;
	berth_err why = {.code = BERTH_OK};
	berth_arena_init(&mem, tmp->hook);
	berth_status st = solve_groups(s, most_ops, solve, &mem, tmp, &why);
	berth_arena_free(&mem);
	return st == BERTH_OK || st == BERTH_EUNSUPPORTED ? BERTH_OK : berth_fail(err, st, "%s", why.msg);
}

berth_status berth_exact_or_grouped(berth_search *s, int32_t most_ops, int32_t groups, berth_exact_fn solve,
                                    berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	if (s->p->n_ops <= most_ops)
		return solve(s, tmp, err);
	s->proof = BERTH_PROOF_LIMIT;
	return berth_exact_grouped(s, groups, solve, tmp, err);
}
