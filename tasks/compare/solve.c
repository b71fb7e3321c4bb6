/* One run of one method on one problem, for place and compare alike. Bound, status and answer are settled
 * here, and told in the same words everywhere. */
#include "solve.h"

static void take_answer(berth_solution *r, const berth_search *s)
{
	r->evaluations = s->evaluations;
	r->note = s->note;
	r->found = s->found;
	r->n_found = s->n_found;
	r->left_out = s->left_out;
	r->n_left_out = s->n_left_out;
	r->answered = isfinite(s->best.excess);
	r->feasible = r->answered && berth_score_feasible(s->best);
	if (!r->answered)
		return;
	r->op_dev = s->best_dev;
	if (s->best_has_order)
		r->op_order = s->best_order;
	else if (r->p->s->order == BERTH_ORDER_GIVEN)
		r->op_order = r->p->g->topo_op;
	r->nodes = s->nodes;
	r->groups = s->groups;
	r->groups_optimal = s->groups_optimal;
	r->order = r->op_order ? BERTH_ORDER_GIVEN : r->p->s->order;
	if (r->feasible)
		r->value = s->best.value;
	if (s->bound > r->lower_bound || (isnan(r->lower_bound) && !isnan(s->bound))) {
		r->lower_bound = s->bound;
		r->bound_kind = "proven";
	}
	r->proof = s->proof;
	bool proven = r->value <= r->lower_bound,
	     seeds_alone = r->method->searches && s->evaluations == s->seeded && !proven;
	r->late = seeds_alone && berth_search_timed(s) && berth_search_seconds_left(s) <= 0;
	r->beyond = seeds_alone && s->evaluations > s->cfg.evaluations;
}

void berth_solution_settle(berth_solution *r)
{
	bool optimal = r->proof == BERTH_PROOF_OPTIMAL || r->value <= r->lower_bound;
	r->status = !r->feasible                     ? "infeasible"
	            : optimal                        ? "optimal"
	            : r->proof == BERTH_PROOF_LIMIT ? "limit"
	                                             : "feasible";
}

bool berth_solve_has(const berth_problem *p, const int32_t *op_dev)
{
	for (int32_t op = 0; op_dev && op < p->n_ops; op++)
		if (!berth_op_legal(p, op, op_dev[op]) ||
		    op_dev[op] != op_dev[p->coloc_op[p->coloc_off[p->op_coloc[op]]]])
			return false;
	return op_dev != NULL;
}

static berth_status search(berth_solution *r, const berth_search_cfg *cfg, berth_arena *mem, berth_arena *tmp,
                           berth_err *err)
{
	berth_search *s;
	BERTH_TRY_NEW(mem, 1, err, s);
	BERTH_TRY(berth_search_new(r->p, cfg, mem, s, err));
	s->cfg.kept = cfg->kept;
	s->bound = r->lower_bound;
	if (berth_solve_has(r->p, cfg->start_dev))
		berth_search_offer(s, cfg->start_dev, cfg->start_order);
	BERTH_TRY(berth_limits_first(r->method, s, tmp, err));
	BERTH_TRY(berth_method_run(r->method, s, tmp, err));
	take_answer(r, s);
	r->interrupted = cfg->cancel && atomic_load(cfg->cancel);
	if (r->answered)
		return BERTH_OK;
	if (r->interrupted)
		return berth_fail(err, BERTH_EINTERRUPTED, "interrupted before there was a placement");
	return berth_fail(err, BERTH_ELIMIT, "method %s found no placement in %lld evaluations; give it more",
	                  r->method->name, (long long)r->evaluations);
}

berth_status berth_solve(const berth_problem *p, const berth_bounds *bounds, const berth_method *m,
                         const berth_search_cfg *cfg, berth_arena *mem, berth_arena *tmp, berth_solution *out,
                         berth_err *err)
{
	berth_solution r = {.p = p,
	                    .method = m,
	                    .objective = cfg->objective,
	                    .seed = cfg->seed,
	                    .walks = cfg->walks,
	                    .value = NAN,
	                    .gap = NAN,
	                    .bound_kind = bounds->kind,
	                    .order = p->s->order};
	BERTH_TRY(berth_objective_check(&cfg->objective, p, err));
	BERTH_TRY(berth_bounds_objective(p, bounds, &cfg->objective, tmp, &r.lower_bound, err));
	if (berth_problem_feasible(p, NULL) == BERTH_OK) {
		double cpu = berth_cpu_seconds(), wall = berth_wall_seconds();
		BERTH_SCRATCH(tmp);
		BERTH_TRY(search(&r, cfg, mem, tmp, err));
		r.solve_s = berth_cpu_seconds() - cpu;
		r.wall_s = berth_wall_seconds() - wall;
		r.gap = berth_gap(r.value, r.lower_bound);
	}
	berth_solution_settle(&r);
	*out = r;
	return BERTH_OK;
}

berth_status berth_solution_tell(const berth_solution *r, berth_arena *mem, berth_placement *p,
                                 berth_err *err)
{
	const char *objective = berth_arena_strdup(mem, berth_objective_name(&r->objective));
	BERTH_TRY(berth_got(objective, err));
	p->method = r->method->name;
	p->objective = objective;
	p->seed = r->seed;
	p->evaluations = r->evaluations;
	p->value = r->value;
	p->lower_bound = r->lower_bound;
	if (r->answered) {
		p->op_dev = r->op_dev;
		p->order = r->op_order;
	}
	return BERTH_OK;
}

berth_status berth_solution_placement(const berth_solution *r, berth_arena *mem, berth_arena *tmp,
                                      berth_placement *out, berth_err *err)
{
	berth_placement p;
	BERTH_TRY(berth_placement_new(r->p->g, r->p->s, mem, tmp, &p, err));
	BERTH_TRY(berth_solution_tell(r, mem, &p, err));
	*out = p;
	return BERTH_OK;
}

berth_bound_options berth_solve_bound(const char *bound, const berth_search_cfg *cfg)
{
	return (berth_bound_options){.bound = bound,
	                             .objective = &cfg->objective,
	                             .evaluations = cfg->evaluations,
	                             .time_s = cfg->time_s > 0 ? cfg->time_s : cfg->cpu_s,
	                             .nodes = cfg->nodes};
}
