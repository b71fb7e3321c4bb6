/* Proposals of a trained policy; see proposals.h. */
#include "proposals.h"

#include "coloc.h"
#include "nn.h"
#include "policy_builtin.h"

#include <string.h>

enum { BATCH = 16 };

/* Measured on random graphs of 20,000 and 100,000 operators on six and eight devices, rounded up. */
double berth_proposals_ns(const berth_problem *p)
{
	return 150.0 * ((double)p->n_ops + p->g->n_edges) * p->n_devs;
}

berth_status berth_proposals_policy(const berth_search *s, berth_arena *mem, const berth_policy_file **out,
                                    berth_err *err)
{
	berth_policy_file *f;
	*out = s->cfg.policy;
	if (*out)
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(mem, f, 1, err));
	BERTH_TRY(berth_policy_builtin(mem, f, err));
	*out = f;
	return BERTH_OK;
}

static berth_status new_base(const berth_policy_file *f, berth_arena *mem, berth_proposals *p, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(mem, p->base_acts,
	                    policy_acts_size(&f->dims, p->e.n_groups, p->e.in.n_edges, p->e.n_devs), err));
	policy_embed(&f->dims, f->base, &p->e.in, p->base_acts);
	p->base_net = policy_stepper_of(&f->dims, f->base, &p->e.in, p->base_acts);
	p->base_keys = policy_keys(&f->dims, &p->e.in, p->base_acts);
	return BERTH_OK;
}

berth_status berth_proposals_new(const berth_policy_file *f, berth_search *s, berth_arena *mem,
                                 berth_arena *tmp, berth_proposals *out, berth_err *err)
{
	size_t ops = (size_t)s->p->n_ops;
	berth_proposals *p = out;
	*p = (berth_proposals){0};
	berth_aim aim = berth_aim_of(&s->cfg.objective);
	BERTH_TRY(berth_encode(s->p, aim, f->cfg.groups, f->cfg.hints, mem, tmp, &p->e, err));
	BERTH_TRY(policy_input_check(&f->dims, &p->e.in, err));
	BERTH_TRY(berth_rollout_new(s, &p->e, mem, &p->rollout, err));
	BERTH_TRY(BERTH_NEW(mem, p->acts,
	                    policy_acts_size(&f->dims, p->e.n_groups, p->e.in.n_edges, p->e.n_devs), err));
	policy_embed(&f->dims, f->params, &p->e.in, p->acts);
	p->net = policy_stepper_of(&f->dims, f->params, &p->e.in, p->acts);
	p->keys = policy_keys(&f->dims, &p->e.in, p->acts);
	if (f->base)
		BERTH_TRY(new_base(f, mem, p, err));
	p->batch = (berth_rollout_batch){
		.n = BATCH, .seed = s->cfg.seed, .temperature = 1, .key_sigma = f->cfg.key_sigma};
	BERTH_TRY(BERTH_NEW(mem, p->batch.op_devs, BATCH * ops, err));
	BERTH_TRY(BERTH_NEW(mem, p->batch.orders, BATCH * ops, err));
	return BERTH_NEW(mem, p->batch.scores, 2 * BATCH, err);
}

berth_status berth_proposals_offer_greedy(const berth_proposals *p, berth_arena *tmp, berth_err *err)
{
	if (p->base_acts)
		BERTH_TRY(berth_rollout_offer_greedy(&p->rollout, &p->base_net, p->base_keys, NULL, tmp,
		                                     err));
	return berth_rollout_offer_greedy(&p->rollout, &p->net, p->keys, NULL, tmp, err);
}

static berth_status revise(const berth_proposals *p, const int32_t *op_dev, berth_arena *tmp, berth_err *err)
{
	if (p->base_acts)
		BERTH_TRY(berth_rollout_offer_greedy(&p->rollout, &p->base_net, p->base_keys, op_dev, tmp,
		                                     err));
	return berth_rollout_offer_greedy(&p->rollout, &p->net, p->keys, op_dev, tmp, err);
}

/* Is the last the same placement as one before? */
static bool is_known(const int32_t *const *known, int32_t n, int32_t n_ops)
{
	for (int32_t k = 0; k < n - 1; k++)
		if (memcmp(known[k], known[n - 1], (size_t)n_ops * sizeof **known) == 0)
			return true;
	return false;
}

berth_status berth_proposals_offer_revised(const berth_proposals *p, int32_t n, const int32_t *const *known,
                                           berth_arena *tmp, berth_err *err)
{
	const berth_search *s = p->rollout.s;
	if (s->cut || !berth_can_move(s->p) || is_known(known, n, s->p->n_ops))
		return BERTH_OK;
	return revise(p, known[n - 1], tmp, err);
}

void berth_proposals_offer_draws(berth_proposals *p, int64_t evaluations)
{
	int64_t end = p->rollout.s->evaluations + evaluations, left;
	/* A draw does not depend on those beside it: as many at a time as there are workers. */
	int32_t workers = berth_pool_workers(p->rollout.s->cfg.pool);
	int32_t most = workers < BATCH ? workers : BATCH;
	while ((left = end - p->rollout.s->evaluations) > 1 &&
	       (left = berth_search_budget_left(p->rollout.s, left)) > 1 &&
	       berth_search_afford(p->rollout.s, most * berth_proposals_ns(p->rollout.s->p) / workers)) {
		berth_rollout_batch b = p->batch;
		b.n = left / 2 < most ? (int32_t)(left / 2) : most;
		berth_rollout_draw(&p->rollout, &p->net, p->keys, &b);
		p->batch.first += b.n;
	}
}
