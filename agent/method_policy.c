/* `policy`: what a trained policy holds most probable, in one forward pass, without search. */
#include "method.h"
#include "policy_file.h"

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_policy_file *f = s->cfg.policy;
	berth_learner l;
	int32_t *op_dev;
	if (!f)
		return berth_fail(err, BERTH_EINVAL, "method 'policy' needs a trained policy: give --policy FILE ('berth train' makes one)");
	BERTH_TRY(berth_learner_new(&f->cfg, s->cfg.seed, f->params, &s, 1, s->mem, tmp, &l, err));
	BERTH_TRY(BERTH_NEW(tmp, op_dev, s->p->n_ops, err));
	BERTH_TRY(berth_learner_greedy(&l, 0, op_dev, err));
	berth_search_offer(s, op_dev, NULL);
	return BERTH_OK;
}

const berth_method berth_method_policy = {"policy", "a trained policy's most probable placement, one forward pass, no search", false, run};
