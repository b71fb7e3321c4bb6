/* Running a method, and repairing its answer. */
#include "method.h"

#include "repair.h"
#include "stages.h"

enum { START_EVALUATIONS = 1000 }; /* of stages, where the graph has blocks */

/* A search that was stopped makes no further evaluation, so that the same run with the number that it
 * reached as its budget gives the same answer. */
berth_status berth_method_run(const berth_method *m, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	if (m->searches && s->p->n_chain > 0)
		BERTH_TRY(berth_stages_offer(s, NULL, START_EVALUATIONS, tmp, err));
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
