/* Running a method, what it starts from under limits, and repairing its answer. */
#include "method.h"

#include "cost_model.h"
#include "repair.h"
#include "stages.h"

static berth_status search_for(const berth_method *method, berth_search *s, berth_metric m,
                               const berth_objective *kept, berth_arena *mem, berth_arena *tmp,
                               berth_err *err)
{
	berth_search sub;
	berth_err why = {0};
	/* The search for metric m alone. Its bound is the limit, so it ends where that is kept. */
	berth_search_cfg cfg = s->cfg;
	cfg.objective = berth_objective_of(m);
	for (int k = 0; k < BERTH_N_METRICS; k++) {
		cfg.objective.limits[k] = kept->limits[k];
		cfg.objective.most[k] = kept->most[k];
	}
	cfg.evaluations -= s->evaluations;
	cfg.progress = NULL; /* its values are no values of s */
	cfg.gap = 0;         /* nor is its bound: a limit is kept or not */
	cfg.time_from = s->started;
	cfg.cpu_from = s->cpu_started;
	BERTH_TRY(berth_search_new(s->p, &cfg, mem, &sub, err));
	sub.bound = s->cfg.objective.most[m];
	if (berth_objective_has_limits(kept) && isfinite(s->best.excess))
		berth_search_offer(&sub, s->best_dev, berth_search_order(s));
	berth_status st = berth_method_run(method, &sub, tmp, &why);
	if (st == BERTH_EUNSUPPORTED)
		return BERTH_OK;
	if (st != BERTH_OK)
		return berth_fail(err, st, "%s", why.msg);
	s->evaluations += sub.evaluations;
	for (int32_t k = 0; k < sub.n_left_out; k++)
		berth_search_leave_out(s, sub.left_out[k]);
	if (isfinite(sub.best.excess))
		berth_search_offer(s, sub.best_dev, berth_search_order(&sub));
	return BERTH_OK;
}

/* Does the incumbent of s break the limit on m? */
static bool breaks(berth_search *s, berth_metric m)
{
	berth_sim_result r;
	if (!isfinite(s->best.excess))
		return true;
	berth_eval_result(&s->eval[0], s->best_dev, berth_search_order(s), &r);
	return !(berth_metrics[m].value(&r) <= s->cfg.objective.most[m]);
}

berth_status berth_limits_first(const berth_method *method, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_objective kept = berth_objective_of(BERTH_LATENCY);
	for (int m = 0; m < BERTH_N_METRICS && method->searches; m++) {
		BERTH_ARENA(mem);
		if (!s->cfg.objective.limits[m])
			continue;
		berth_arena_init(&mem, s->mem->hook);
		if (breaks(s, (berth_metric)m) && berth_search_budget_left(s, 1) > 0)
			BERTH_TRY(search_for(method, s, (berth_metric)m, &kept, &mem, tmp, err));
		kept.limits[m] = true;
		kept.most[m] = s->cfg.objective.most[m];
	}
	return BERTH_OK;
}

enum { START_EVALUATIONS = 1000 }; /* of stages, where the graph has blocks */

/* A search that was stopped makes no further evaluation, so that the same run with the number that it
 * reached as its budget gives the same answer. */
berth_status berth_method_run(const berth_method *m, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	if (m->searches && s->p->n_chain > 0 && (s->p->coupled || !s->p->s->cost_model->sums_times))
		BERTH_TRY(berth_stages_offer(s, NULL, START_EVALUATIONS, tmp, err));
	s->method = m;
	berth_status st = m->run(s, tmp, err);
	berth_arena_reset(tmp, mark);
	if (st != BERTH_OK || berth_score_feasible(s->best) ||
	    (m->searches && berth_search_budget_left(s, 1) == 0))
		return st;
	return berth_repair_incumbent(s, tmp, err);
}

berth_status berth_method_run_apart(const berth_method *m, berth_search *s, const berth_objective *objective,
                                    berth_search *sub, berth_arena *tmp, berth_err *err)
{
	berth_search_cfg cfg = {.objective = *objective,
	                        .seed = s->cfg.seed,
	                        .time_s = s->cfg.time_s,
	                        .cpu_s = s->cfg.cpu_s,
	                        .time_from = s->started,
	                        .cpu_from = s->cpu_started,
	                        .cancel = s->cfg.cancel};
	BERTH_TRY(berth_search_new(s->p, &cfg, tmp, sub, err));
	sub->worked_ns = s->worked_ns;
	sub->may_work_ns = s->may_work_ns;
	if (s->may_evaluate < INT64_MAX)
		sub->may_evaluate = s->may_evaluate - s->evaluations;
	BERTH_TRY(berth_method_run(m, sub, tmp, err));
	s->worked_ns = sub->worked_ns;
	s->eval_s = sub->eval_s;
	s->cut |= sub->cut;
	return BERTH_OK;
}
