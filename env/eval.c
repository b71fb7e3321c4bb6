/* Scores; see eval.h. */
#include "eval.h"

#include "constraints.h"

#include <math.h>

berth_score berth_score_worst(void)
{
	return (berth_score){INFINITY, INFINITY};
}

berth_status berth_eval_new(const berth_problem *p, const berth_objective *objective, berth_arena *mem, berth_eval *out, berth_err *err)
{
	BERTH_TRY(berth_objective_check(objective, p, err));
	*out = (berth_eval){.p = p, .objective = *objective};
	BERTH_TRY(BERTH_NEW(mem, out->scratch, p->coupled ? berth_constraints_scratch(p) : 0, err));
	return berth_sim_new(p, mem, &out->sim, err);
}

double berth_eval_result(berth_eval *e, const int32_t *op_dev, const int32_t *order, berth_sim_result *r)
{
	berth_sim_run(e->sim, op_dev, order, r);
	if (!r->runs)
		return INFINITY;
	double rules = e->p->coupled ? (double)berth_constraints_broken(e->p, op_dev, e->scratch) : 0;
	return r->excess + rules + berth_objective_excess(&e->objective, r);
}

berth_score berth_eval_run(berth_eval *e, const int32_t *op_dev, const int32_t *order)
{
	berth_sim_result r;
	double excess = berth_eval_result(e, op_dev, order, &r);
	return r.runs ? (berth_score){excess, berth_objective_value(&e->objective, &r)} : berth_score_worst();
}
