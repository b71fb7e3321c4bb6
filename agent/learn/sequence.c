/* Learning the sequential decoding: PPO over the decisions of whole episodes (each decision's ratio clipped
 * on its own, one advantage for all), a Gaussian policy over the keys of the list, and imitation by
 * following a placement along the list. */
#include "learner_work.h"

#include <math.h>
#include <string.h>

#define EXP _Generic((nn_real)0, float: expf, double: exp)

/* Floats that the features of a batch may take; larger problems draw fewer episodes at once. */
enum { MOST_FLOATS = 1 << 26 };

berth_status sequence_new(berth_learner *l, size_t n_ops, size_t n_cells, size_t n_groups, berth_arena *mem,
                          berth_err *err)
{
	berth_sequence *q = &l->seq;
	size_t room = MOST_FLOATS / (n_cells * N_STEP + 1);
	size_t episodes = ((size_t)l->cfg.batch + 1) / 2;
	q->most = room < 2 ? 2 : room < episodes ? (int32_t)room : (int32_t)episodes;
	BERTH_TRY(BERTH_NEW(mem, q->episode, q->most, err));
	for (int32_t i = 0; i < q->most; i++)
		BERTH_TRY(berth_episode_new(n_ops, n_cells, mem, &q->episode[i], err));
	BERTH_TRY(BERTH_NEW(mem, q->orders, (size_t)q->most * n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, q->scores, 2 * (size_t)q->most, err));
	BERTH_TRY(BERTH_NEW(mem, q->hidden, n_cells * (size_t)l->cfg.hidden, err));
	BERTH_TRY(BERTH_NEW(mem, q->logits, n_cells, err));
	BERTH_TRY(BERTH_NEW(mem, q->dlogits, n_cells, err));
	BERTH_TRY(BERTH_NEW(mem, q->work, 2 * n_cells, err));
	BERTH_TRY(BERTH_NEW(mem, q->keys, n_groups, err));
	return BERTH_NEW(mem, q->dkeys, n_groups, err);
}

static policy_stepper embed(berth_learner *l, const berth_pair *t)
{
	policy_embed(&l->dims, l->params, &t->e.in, l->acts);
	return policy_stepper_of(&l->dims, l->params, &t->e.in, l->acts);
}

static const nn_real *keys_of(const berth_learner *l, const berth_pair *t)
{
	return policy_keys(&l->dims, &t->e.in, l->acts);
}

static void draw_batch(berth_learner *l, int32_t pair, int32_t n)
{
	berth_pair *t = &l->pair[pair];
	berth_sequence *q = &l->seq;
	policy_stepper net = embed(l, t);
	berth_rollout_batch b = {n,
	                         learner_seed_of(l, pair),
	                         t->episodes,
	                         1,
	                         l->cfg.key_sigma,
	                         l->op_devs,
	                         q->orders,
	                         q->scores,
	                         q->episode};
	memcpy(q->keys, keys_of(l, t), (size_t)t->e.n_groups * sizeof *q->keys);
	berth_rollout_draw(&t->walk, &net, keys_of(l, t), &b);
	t->episodes += n;
	for (int32_t i = 0; i < n; i++)
		l->score[i] = berth_rollout_score(&b, i);
}

/* ---- gradients ---- */

static policy_steps steps_of(const berth_episode *ep)
{
	return (policy_steps){(size_t)ep->n_steps, ep->node, ep->x};
}

/* Gradient of the keys of one episode: normal density, ratio clipped like the devices'. */
static void add_key_gradient(berth_learner *l, const berth_pair *t, const berth_episode *ep,
                             nn_real advantage, double share)
{
	const nn_real *now = keys_of(l, t);
	double sigma = l->cfg.key_sigma, low = 1 - l->cfg.clip, high = 1 + l->cfg.clip, A = (double)advantage;
	for (int32_t op = 0; op < t->s->p->n_ops; op++) {
		int32_t v = t->e.co.op_group[op];
		double moved = (double)(now[v] - l->seq.keys[v]) / sigma, z = (double)ep->noise[op];
		double ratio = exp(fmin(z * moved - moved * moved / 2, 20));
		if ((A > 0 && ratio > high) || (A < 0 && ratio < low))
			continue;
		l->seq.dkeys[v] -= (nn_real)(share * ratio * A * (z - moved) / sigma);
	}
}

/* One episode's share of the loss and its gradient; *now is added to stats. */
static berth_status add_episode(berth_learner *l, berth_pair *t, int32_t i, int32_t n, policy_ppo_stats *sums,
                                berth_err *err)
{
	berth_sequence *q = &l->seq;
	berth_episode *ep = &q->episode[i];
	policy_steps steps = steps_of(ep);
	policy_ppo_cfg ppo = {l->cfg.clip, l->cfg.entropy};
	policy_ppo_stats now;
	size_t cells = steps.n * (size_t)t->e.n_devs;
	policy_steps_forward(&l->dims, l->params, &t->e.in, l->acts, &steps, q->hidden, q->logits);
	memset(q->dlogits, 0, cells * sizeof *q->dlogits);
	BERTH_TRY(policy_ppo_loss(&ppo, 1, ep->n_steps, t->e.n_devs, q->logits, ep->mask, ep->action,
	                          ep->logp, &l->advantage[i], q->work, q->dlogits, &now, err));
	for (size_t k = 0; k < cells; k++)
		q->dlogits[k] /= (nn_real)n;
	policy_steps_backward(&l->dims, l->params, &t->e.in, l->acts, &steps, q->hidden, q->dlogits,
	                      l->grads);
	add_key_gradient(l, t, ep, l->advantage[i], 1.0 / ((double)n * t->s->p->n_ops));
	sums->policy_loss += now.policy_loss / n;
	sums->entropy += now.entropy / n;
	sums->kl += now.kl / n;
	sums->clip_fraction += now.clip_fraction / n;
	return BERTH_OK;
}

static void begin_gradient(berth_learner *l, const berth_pair *t)
{
	memset(l->grads, 0, policy_param_count(&l->dims) * sizeof *l->grads);
	memset(l->seq.dkeys, 0, (size_t)t->e.n_groups * sizeof *l->seq.dkeys);
	policy_backward_begin(&l->dims, &t->e.in, l->acts);
}

static berth_status ppo_epochs(berth_learner *l, berth_pair *t, int32_t n, berth_step_stats *stats,
                               berth_err *err)
{
	for (int32_t k = 0; k < l->cfg.epochs; k++) {
		policy_ppo_stats now = {0};
		if (k)
			embed(l, t); /* the first epoch goes on from the draw */
		begin_gradient(l, t);
		for (int32_t i = 0; i < n; i++)
			BERTH_TRY(add_episode(l, t, i, n, &now, err));
		learner_note_ppo(&now, stats);
		if (k && now.kl > l->cfg.kl_stop)
			break;
		policy_backward_end(&l->dims, l->params, &t->e.in, l->acts, l->seq.dkeys, l->grads);
		BERTH_TRY(learner_apply(l, &stats->grad_norm, err));
	}
	return BERTH_OK;
}

berth_status sequence_step(berth_learner *l, int32_t pair, int32_t left, berth_step_stats *stats,
                           berth_err *err)
{
	berth_pair *t = &l->pair[pair];
	int32_t n = left / 2 < l->seq.most ? left / 2 : l->seq.most;
	stats->n = n = n > 0 ? n : 1; /* the last evaluation of an odd budget may become two */
	draw_batch(l, pair, n);
	learner_note_rewards(l, t, n, stats);
	return t->e.n_groups ? ppo_epochs(l, t, n, stats, err) : BERTH_OK;
}

/* ---- imitation ---- */

/* Mean probability of the actions, from the log-probabilities that stand first in work. */
static double mass_of(const berth_sequence *q, const berth_episode *ep, int32_t n_devs)
{
	double sum = 0;
	for (int32_t i = 0; i < ep->n_steps; i++)
		sum += (double)EXP(q->work[(size_t)i * (size_t)n_devs + (size_t)ep->action[i]]);
	return ep->n_steps ? sum / ep->n_steps : 1;
}

berth_status sequence_clone(berth_learner *l, int32_t pair, const int32_t *op_dev, int32_t steps, double mass,
                            berth_err *err)
{
	berth_pair *t = &l->pair[pair];
	berth_sequence *q = &l->seq;
	berth_episode *ep = &q->episode[0];
	for (int32_t k = 0; k < steps; k++) {
		berth_decode_how how = {.temperature = 1, .force = op_dev};
		policy_stepper net = embed(l, t);
		nn_real one = 1;
		double loss, norm;
		berth_partial *part = berth_decoder_partial(t->walk.decoder[0]);
		berth_partial_limit_memory(part, 0);
		berth_decode(t->walk.decoder[0], &net, keys_of(l, t), &how, part, ep);
		policy_steps rows = steps_of(ep);
		begin_gradient(l, t);
		policy_steps_forward(&l->dims, l->params, &t->e.in, l->acts, &rows, q->hidden, q->logits);
		memset(q->dlogits, 0, rows.n * (size_t)t->e.n_devs * sizeof *q->dlogits);
		BERTH_TRY(policy_ce_loss(1, 1, ep->n_steps, t->e.n_devs, q->logits, ep->mask, ep->action,
		                         &one, q->work, q->dlogits, &loss, err));
		if (mass_of(q, ep, t->e.n_devs) >= mass)
			return BERTH_OK;
		policy_steps_backward(&l->dims, l->params, &t->e.in, l->acts, &rows, q->hidden, q->dlogits,
		                      l->grads);
		policy_backward_end(&l->dims, l->params, &t->e.in, l->acts, l->seq.dkeys, l->grads);
		BERTH_TRY(learner_apply(l, &norm, err));
	}
	return BERTH_OK;
}

berth_status sequence_offer_greedy(berth_learner *l, int32_t pair, berth_arena *tmp, berth_err *err)
{
	const berth_pair *t = &l->pair[pair];
	policy_stepper net = embed(l, t);
	return berth_rollout_offer_greedy(&t->walk, &net, keys_of(l, t), tmp, err);
}
