/* Learning the sequential decoding: PPO over the decisions of whole episodes (each decision's ratio clipped
 * on its own, one advantage for all), a Gaussian policy over the keys of the list, and imitation by
 * following a placement along the list. */
#include "decoding.h"
#include "learner_update.h"

#include <math.h>
#include <string.h>

#define EXP _Generic((nn_real)0, float: expf, double: exp)

/* Floats that the features of a batch may take; larger problems draw fewer episodes at once. */
enum { MOST_FLOATS = 1 << 26 };

static int32_t batch_most(const berth_learner_cfg *cfg)
{
	return cfg->batch;
}

static int32_t window(const berth_learner_cfg *cfg)
{
	(void)cfg;
	return 0;
}

static berth_status new_pair(const berth_learner_cfg *cfg, berth_pair *pair, berth_arena *mem, berth_err *err)
{
	(void)cfg;
	return berth_rollout_new(pair->s, &pair->e, mem, &pair->rollout, err);
}

static berth_status new_scratch(berth_learner *l, const learner_sizes *z, berth_arena *mem, berth_err *err)
{
	berth_sequence *q = &l->sequence;
	size_t room = MOST_FLOATS / (z->op_cells * N_STEP + 1), episodes = (z->rows + 1) / 2;
	q->most = room < 2 ? 2 : room < episodes ? (int32_t)room : (int32_t)episodes;
	BERTH_TRY(BERTH_NEW(mem, q->episode, q->most, err));
	for (int32_t i = 0; i < q->most; i++)
		BERTH_TRY(berth_episode_new(z->ops, z->op_cells, mem, &q->episode[i], err));
	BERTH_TRY(BERTH_NEW(mem, q->op_devs, (size_t)q->most * z->ops, err));
	BERTH_TRY(BERTH_NEW(mem, q->orders, (size_t)q->most * z->ops, err));
	BERTH_TRY(BERTH_NEW(mem, q->scores, 2 * (size_t)q->most, err));
	BERTH_TRY(BERTH_NEW(mem, q->hidden, z->op_cells * (size_t)l->cfg.hidden, err));
	BERTH_TRY(BERTH_NEW(mem, q->logits, z->op_cells, err));
	BERTH_TRY(BERTH_NEW(mem, q->dlogits, z->op_cells, err));
	BERTH_TRY(BERTH_NEW(mem, q->work, 2 * z->op_cells, err));
	BERTH_TRY(BERTH_NEW(mem, q->keys, z->groups, err));
	return BERTH_NEW(mem, q->dkeys, z->groups, err);
}

static policy_stepper embed(berth_learner *l, const berth_pair *pair)
{
	policy_embed(&l->dims, l->params, &pair->e.in, l->acts);
	return policy_stepper_of(&l->dims, l->params, &pair->e.in, l->acts);
}

static const nn_real *keys_of(const berth_learner *l, const berth_pair *pair)
{
	return policy_keys(&l->dims, &pair->e.in, l->acts);
}

static void draw_batch(berth_learner *l, berth_pair *pair, int32_t n)
{
	berth_sequence *q = &l->sequence;
	policy_stepper net = embed(l, pair);
	berth_rollout_batch b = {.n = n,
	                         .seed = pair->seed,
	                         .first = pair->episodes,
	                         .temperature = 1,
	                         .key_sigma = l->cfg.key_sigma,
	                         .op_devs = q->op_devs,
	                         .orders = q->orders,
	                         .scores = q->scores,
	                         .episode = q->episode};
	memcpy(q->keys, keys_of(l, pair), (size_t)pair->e.n_groups * sizeof *q->keys);
	berth_rollout_draw(&pair->rollout, &net, keys_of(l, pair), &b);
	pair->episodes += n;
	for (int32_t i = 0; i < n; i++)
		l->score[i] = berth_rollout_score(&b, i);
}

static void drawn(const berth_learner *l, const berth_pair *pair, int32_t k, int32_t *op_dev)
{
	size_t n_ops = (size_t)pair->s->p->n_ops;
	memcpy(op_dev, l->sequence.op_devs + (size_t)k * n_ops, n_ops * sizeof *op_dev);
}

/* ---- gradients ---- */

static policy_steps steps_of(const berth_episode *ep)
{
	return (policy_steps){(size_t)ep->n_steps, ep->node, ep->x};
}

/* Gradient of the keys of one episode: normal density, ratio clipped like the devices'. */
static void add_key_gradient(berth_learner *l, const berth_pair *pair, const berth_episode *ep,
                             nn_real advantage, double share)
{
	const nn_real *now = keys_of(l, pair);
	double sigma = l->cfg.key_sigma, low = 1 - l->cfg.clip, high = 1 + l->cfg.clip, A = (double)advantage;
	for (int32_t op = 0; op < pair->s->p->n_ops; op++) {
		int32_t v = pair->e.co.op_group[op];
		double moved = (double)(now[v] - l->sequence.keys[v]) / sigma, z = (double)ep->noise[op];
		double ratio = exp(fmin(z * moved - moved * moved / 2, 20));
		if ((A > 0 && ratio > high) || (A < 0 && ratio < low))
			continue;
		l->sequence.dkeys[v] -= (nn_real)(share * ratio * A * (z - moved) / sigma);
	}
}

/* One episode's share of the loss and its gradient; *now is added to stats. */
static berth_status add_episode(berth_learner *l, berth_pair *pair, int32_t i, int32_t n,
                                policy_ppo_stats *sums, berth_err *err)
{
	berth_sequence *q = &l->sequence;
	berth_episode *ep = &q->episode[i];
	policy_steps steps = steps_of(ep);
	policy_ppo_cfg ppo = {l->cfg.clip, l->cfg.entropy};
	policy_ppo_stats now;
	size_t cells = steps.n * (size_t)pair->e.n_devs;
	policy_steps_forward(&l->dims, l->params, &pair->e.in, l->acts, &steps, q->hidden, q->logits);
	memset(q->dlogits, 0, cells * sizeof *q->dlogits);
	BERTH_TRY(policy_ppo_loss(&ppo, 1, ep->n_steps, pair->e.n_devs, q->logits, ep->mask, ep->action,
	                          ep->logp, &l->advantage[i], q->work, q->dlogits, &now, err));
	for (size_t k = 0; k < cells; k++)
		q->dlogits[k] /= (nn_real)n;
	policy_steps_backward(&l->dims, l->params, &pair->e.in, l->acts, &steps, q->hidden, q->dlogits,
	                      l->grads);
	add_key_gradient(l, pair, ep, l->advantage[i], 1.0 / ((double)n * pair->s->p->n_ops));
	sums->policy_loss += now.policy_loss / n;
	sums->entropy += now.entropy / n;
	sums->kl += now.kl / n;
	sums->clip_fraction += now.clip_fraction / n;
	return BERTH_OK;
}

static void begin_gradient(berth_learner *l, const berth_pair *pair)
{
	memset(l->grads, 0, policy_param_count(&l->dims) * sizeof *l->grads);
	memset(l->sequence.dkeys, 0, (size_t)pair->e.n_groups * sizeof *l->sequence.dkeys);
	policy_backward_begin(&l->dims, &pair->e.in, l->acts);
}

static berth_status ppo_epochs(berth_learner *l, berth_pair *pair, int32_t n, berth_step_stats *stats,
                               berth_err *err)
{
	for (int32_t k = 0; k < l->cfg.epochs; k++) {
		policy_ppo_stats now = {0};
		if (k)
			embed(l, pair); /* the first epoch goes on from the draw */
		begin_gradient(l, pair);
		for (int32_t i = 0; i < n; i++)
			BERTH_TRY(add_episode(l, pair, i, n, &now, err));
		learner_note_ppo(&now, stats);
		if (k && now.kl > l->cfg.kl_stop)
			break;
		policy_backward_end(&l->dims, l->params, &pair->e.in, l->acts, l->sequence.dkeys, l->grads);
		BERTH_TRY(learner_apply(l, &stats->grad_norm, err));
	}
	return BERTH_OK;
}

static berth_status step(berth_learner *l, berth_pair *pair, int32_t left, berth_step_stats *stats,
                         berth_err *err)
{
	int32_t n = left / 2 < l->sequence.most ? left / 2 : l->sequence.most;
	stats->n = n = n > 0 ? n : 1; /* the last evaluation of an odd budget may become two */
	draw_batch(l, pair, n);
	learner_note_rewards(l, pair, n, stats);
	return pair->e.n_groups ? ppo_epochs(l, pair, n, stats, err) : BERTH_OK;
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

/* One gradient step; *mass: the mean probability of the choices before it. At `enough` there is none. */
static berth_status imitate(berth_learner *l, berth_pair *pair, const int32_t *op_dev, double enough,
                            double *mass, berth_err *err)
{
	berth_sequence *q = &l->sequence;
	berth_episode *ep = &q->episode[0];
	berth_decode_how how = {.temperature = 1, .force = op_dev};
	policy_stepper net = embed(l, pair);
	nn_real one = 1;
	double loss, norm;
	berth_partial *part = berth_decoder_partial(pair->rollout.decoder[0]);
	berth_partial_limit_memory(part, 0);
	berth_decode(pair->rollout.decoder[0], &net, keys_of(l, pair), &how, part, ep);
	policy_steps rows = steps_of(ep);
	begin_gradient(l, pair);
	policy_steps_forward(&l->dims, l->params, &pair->e.in, l->acts, &rows, q->hidden, q->logits);
	memset(q->dlogits, 0, rows.n * (size_t)pair->e.n_devs * sizeof *q->dlogits);
	BERTH_TRY(policy_ce_loss(1, 1, ep->n_steps, pair->e.n_devs, q->logits, ep->mask, ep->action, &one,
	                         q->work, q->dlogits, &loss, err));
	*mass = mass_of(q, ep, pair->e.n_devs);
	if (*mass >= enough)
		return BERTH_OK;
	policy_steps_backward(&l->dims, l->params, &pair->e.in, l->acts, &rows, q->hidden, q->dlogits,
	                      l->grads);
	policy_backward_end(&l->dims, l->params, &pair->e.in, l->acts, q->dkeys, l->grads);
	return learner_apply(l, &norm, err);
}

/* One placement after the other: each is followed along the list. */
static berth_status clone(berth_learner *l, berth_pair *pair, int32_t n, const int32_t *const *op_devs,
                          int32_t steps, double mass, berth_err *err)
{
	for (int32_t i = 0; i < n; i++) {
		double now = 0;
		for (int32_t k = 0; k < (steps + n - 1) / n && now < mass; k++)
			BERTH_TRY(imitate(l, pair, op_devs[i], mass, &now, err));
	}
	return BERTH_OK;
}

static berth_status offer_greedy(berth_learner *l, const berth_pair *pair, berth_arena *tmp, berth_err *err)
{
	policy_stepper net = embed(l, pair);
	return berth_rollout_offer_greedy(&pair->rollout, &net, keys_of(l, pair), tmp, err);
}

const learner_decoding learner_sequence = {
	.draw_cost = 2, /* under the system's rule, and in the order of the episode */
	.batch_most = batch_most,
	.window = window,
	.new_pair = new_pair,
	.new_scratch = new_scratch,
	.step = step,
	.drawn = drawn,
	.offer_greedy = offer_greedy,
	.clone = clone,
};
