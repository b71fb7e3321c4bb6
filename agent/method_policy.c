/* `policy`: what a trained policy holds most probable, in one forward pass, without search. */
#include "method.h"
#include "policy_file.h"

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_policy_file *f = s->cfg.policy;
	berth_learner l;
	if (!f)
		return berth_fail(err, BERTH_EINVAL, "method 'policy' needs a trained policy: give --policy FILE ('berth train' makes one)");
	BERTH_TRY(berth_learner_new(&f->cfg, s->cfg.seed, f->params, &s, 1, s->mem, tmp, &l, err));
	return berth_learner_offer_greedy(&l, 0, tmp, err);
}

const berth_method berth_method_policy = {"policy", "a trained policy's most probable placement, one forward pass, no search", false, run};
