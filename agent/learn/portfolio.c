/* Runs the quick heuristics whose answers learning starts from, and keeps the best of each. The best single
 * device alone is what rewards are measured by. */
#include "portfolio.h"

#include "seeds.h"

berth_status berth_single_reference(berth_search *s, double *value, berth_arena *tmp, berth_err *err)
{
	berth_search sub;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_method_run_apart(berth_seeds[0].method, s, &s->cfg.objective, &sub, tmp, err));
	*value = sub.best.value;
	s->evaluations += sub.evaluations;
	return BERTH_OK;
}

berth_status berth_portfolio_run(berth_search *s, berth_arena *mem, berth_arena *tmp, berth_portfolio *out,
                                 berth_err *err)
{
	berth_portfolio all = {0};
	berth_seeds_begin(s);
	for (int32_t i = 0; i < berth_n_seeds; i++) {
		if (!berth_seeds_may_run(s, i))
			continue;
		BERTH_SCRATCH(tmp);
		berth_portfolio_answer *answer = &all.answer[all.n];
		berth_search sub;
		size_t bytes = (size_t)s->p->n_ops * sizeof *answer->op_dev;
		BERTH_TRY(
			berth_method_run_apart(berth_seeds[i].method, s, &s->cfg.objective, &sub, tmp, err));
		s->evaluations += sub.evaluations;
		berth_search_keep(s, sub.best, sub.best_dev, berth_search_order(&sub));
		if (!isnan(sub.bound))
			berth_search_prove(s, sub.bound);
		*answer = (berth_portfolio_answer){berth_seeds[i].method->name, sub.best, NULL};
		BERTH_TRY_NEW(mem, s->p->n_ops, err, answer->op_dev);
		if (bytes)
			memcpy(answer->op_dev, sub.best_dev, bytes);
		berth_seeds_have_run(s, i);
		if (berth_score_less(all.answer[all.n].score, all.answer[all.best].score))
			all.best = all.n;
		all.n++;
	}
	berth_seeds_end(s);
	all.reference = all.answer[0].score.value;
	*out = all;
	return BERTH_OK;
}
