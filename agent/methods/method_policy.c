/* `policy`: what a trained policy holds most probable, in one forward pass, without search; or the best
 * single device, where that is better. */
#include "learner.h"
#include "method.h"
#include "portfolio.h"
#include "proposals.h"

static berth_status one_shot(const berth_policy_file *f, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_learner l;
	BERTH_TRY(berth_learner_new(&f->cfg, s->cfg.seed, f->params, &s, 1, s->mem, tmp, &l, err));
	return berth_learner_offer_greedy(&l, 0, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_policy_file *f;
	berth_proposals p;
	BERTH_TRY(berth_portfolio_offer_single(s, tmp, err));
	BERTH_TRY(berth_proposals_policy(s, s->mem, &f, err));
	if (f->cfg.decoding != BERTH_SEQUENTIAL)
		return one_shot(f, s, tmp, err);
	BERTH_TRY(berth_proposals_new(f, s, s->mem, tmp, &p, err));
	return berth_proposals_offer_greedy(&p, tmp, err);
}

const berth_method berth_method_policy = {
	"policy",
	"A trained policy's most probable placement, one forward pass, or the best single device.",
	false, run, NULL};
