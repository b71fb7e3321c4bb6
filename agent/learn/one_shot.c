/* Learning one-shot placements: PPO and cross-entropy. All samples of a step come from one table of
 * log-probabilities, so the network runs once an epoch, however many they are, and so do the losses
 * (policy_loss.h); drawing and simulating run on all workers. */
#include "learner.h"

enum { MOST_ELITE = 512 };

#define KEEP 0.7 /* of the baseline, from batch to batch */

/* ---- what it keeps ---- */

static int32_t window(const berth_learner_cfg *c)
{
	return c->window;
}

static size_t cells_of(const berth_pair *pair)
{
	return (size_t)pair->e.n_groups * (size_t)pair->e.n_devs;
}

static berth_status new_pair(const berth_learner_cfg *c, berth_pair *pair, berth_arena *mem, berth_err *err)
{
	BERTH_TRY_NEW(mem, (size_t)c->window * (size_t)pair->e.n_groups, err, pair->window_action);
	return BERTH_NEW(mem, pair->window_reward, c->window, err);
}

static berth_status new_scratch(berth_learner *l, const learner_sizes *z, berth_arena *mem, berth_err *err)
{
	berth_one_shot *o = &l->one_shot;
	BERTH_TRY(policy_batch_new(z->cells, mem, &o->batch, err));
	BERTH_TRY_NEW(mem, z->rows * z->groups, err, o->action);
	BERTH_TRY_NEW(mem, z->workers * z->ops, err, o->op_devs);
	BERTH_TRY_NEW(mem, z->cells, err, o->threshold, o->logits, o->dlogits);
	BERTH_TRY_NEW(mem, z->cells * 2, err, o->work);
	BERTH_TRY_NEW(mem, z->cells, err, o->logp, o->votes);
	return BERTH_NEW(mem, o->share, z->cells, err);
}

/* ---- the network on a pair ---- */

static void forward(berth_learner *l, const berth_pair *pair)
{
	policy_forward(&l->dims, l->params, &pair->e.in, l->batch->acts, l->one_shot.logits);
}

static berth_status log_probs(berth_learner *l, const berth_pair *pair, berth_err *err)
{
	forward(l, pair);
	return policy_log_probs(pair->e.n_groups, pair->e.n_devs, l->one_shot.logits, pair->e.in.mask,
	                        l->one_shot.logp, err);
}

/* One Adam step from dlogits, after forward. */
static berth_status descend(berth_learner *l, const berth_pair *pair, double *norm, berth_err *err)
{
	const berth_one_shot *o = &l->one_shot;
	berth_batch *b = l->batch;
	BERTH_CLEAR(b->grads, policy_param_count(&l->dims));
	policy_backward(&l->dims, l->params, &pair->e.in, b->acts, o->dlogits, b->grads);
	return learner_apply(l, b, norm, err);
}

static void clear_dlogits(berth_learner *l, const berth_pair *pair)
{
	BERTH_CLEAR(l->one_shot.dlogits, cells_of(pair));
}

/* ---- drawing ---- */

typedef struct drawing {
	berth_learner *l;
	const berth_pair *pair;
} drawing;

static void drawn(const berth_learner *l, const berth_pair *pair, int32_t k, int32_t *op_dev)
{
	const int32_t *action = BERTH_ROW(l->one_shot.action, k, pair->e.n_groups);
	berth_encoding_project(&pair->e, action, op_dev);
}

static void draw_one(void *ctx, int32_t i, int32_t worker, int32_t *op_dev)
{
	const drawing *d = ctx;
	const berth_pair *pair = d->pair;
	int32_t *action = BERTH_ROW(d->l->one_shot.action, i, pair->e.n_groups);
	berth_rng rng = berth_rng_seed(pair->seed, BERTH_STREAM_ROLLOUT + (uint64_t)(pair->episodes + i));
	(void)worker;
	berth_encoding_draw(&pair->e, d->l->one_shot.threshold, &rng, action);
	drawn(d->l, pair, i, op_dev);
}

static void draw_batch(berth_learner *l, berth_batch *b)
{
	const berth_pair *pair = b->pair;
	drawing d = {l, pair};
	berth_one_shot *o = &l->one_shot;
	berth_encoding_thresholds(&pair->e, o->logp, o->threshold);
	BERTH_COPY(o->batch.old_logp, o->logp, cells_of(pair));
	berth_search_offer_made(pair->s, b->n, draw_one, &d, o->op_devs, b->score);
}

static berth_status offer_greedy(berth_learner *l, berth_pair *pair, berth_arena *tmp, berth_err *err)
{
	berth_one_shot *o = &l->one_shot;
	size_t devs = (size_t)pair->e.n_devs;
	(void)tmp;
	BERTH_TRY(log_probs(l, pair, err));
	for (size_t v = 0; v < (size_t)pair->e.n_groups; v++) {
		const uint8_t *mask = pair->e.in.mask + v * devs;
		const nn_real *logp = o->logp + v * devs;
		int32_t best = -1;
		for (int32_t d = 0; d < pair->e.n_devs; d++)
			if (mask[d] && (best < 0 || logp[d] > logp[best]))
				best = d;
		o->action[v] = best;
	}
	berth_encoding_project(&pair->e, o->action, o->op_devs);
	berth_search_offer(pair->s, o->op_devs, NULL);
	return BERTH_OK;
}

/* ---- cloning ---- */

static void clear_targets(berth_learner *l, const berth_pair *pair)
{
	BERTH_CLEAR(l->one_shot.share, cells_of(pair));
}

static void add_target(berth_learner *l, const berth_pair *pair, const int32_t *group_dev, double share)
{
	for (size_t v = 0; v < (size_t)pair->e.n_groups; v++)
		l->one_shot.share[v * (size_t)pair->e.n_devs + (size_t)group_dev[v]] += (nn_real)share;
}

/* Gradient steps towards the targets, until their mean probability is mass. */
static berth_status clone_share(berth_learner *l, berth_pair *pair, int32_t steps, double mass, double *loss,
                          berth_err *err)
{
	const berth_one_shot *o = &l->one_shot;
	double norm, now;
	for (int32_t k = 0; k < steps; k++) {
		forward(l, pair);
		clear_dlogits(l, pair);
		BERTH_TRY(policy_ce_share_loss(1, pair->e.n_groups, pair->e.n_devs, o->logits,
		                               pair->e.in.mask, o->share, o->work, o->dlogits, loss, &now,
		                               err));
		if (now >= mass)
			return BERTH_OK;
		BERTH_TRY(descend(l, pair, &norm, err));
	}
	return BERTH_OK;
}

static berth_status clone(berth_learner *l, berth_pair *pair, int32_t n, const int32_t *const *op_devs,
                          int32_t steps, double mass, berth_err *err)
{
	double loss;
	clear_targets(l, pair);
	for (int32_t i = 0; i < n; i++) {
		berth_encoding_lift(&pair->e, op_devs[i], l->one_shot.action, l->one_shot.votes);
		add_target(l, pair, l->one_shot.action, 1.0 / n);
	}
	return clone_share(l, pair, steps, mass, &loss, err);
}

typedef struct ranked_sample {
	double reward;
	int32_t index;
} ranked_sample;

static int compare_samples(const void *pa, const void *pb)
{
	const ranked_sample *a = pa, *b = pb;
	if (a->reward != b->reward)
		return a->reward > b->reward ? -1 : 1;
	return BERTH_COMPARE(a->index, b->index);
}

/* The window is full: clone its elite and begin a new one. Partial selection keeps it O(window * elite). */
static berth_status clone_elite(berth_learner *l, berth_pair *pair, double *loss, berth_err *err)
{
	size_t groups = (size_t)pair->e.n_groups;
	int32_t n = (int32_t)ceil(l->cfg.elite * pair->n_window);
	ranked_sample best[MOST_ELITE];
	int32_t found = 0;
	if (n > MOST_ELITE)
		n = MOST_ELITE;
	for (int32_t i = 0; i < pair->n_window; i++) {
		ranked_sample x = {pair->window_reward[i], i};
		if (found == n && compare_samples(&x, &best[n - 1]) > 0)
			continue;
		int32_t k = found < n ? found++ : n - 1;
		while (k > 0 && compare_samples(&x, &best[k - 1]) < 0) {
			best[k] = best[k - 1];
			k--;
		}
		best[k] = x;
	}
	clear_targets(l, pair);
	for (int32_t k = 0; k < found; k++)
		add_target(l, pair, pair->window_action + (size_t)best[k].index * groups, 1.0 / found);
	pair->n_window = 0;
	return clone_share(l, pair, l->cfg.clone_steps, 2, loss, err);
}

/* ---- a step ---- */

static berth_status step(berth_learner *l, berth_batch *b, int32_t left, berth_err *err)
{
	berth_pair *pair = b->pair;
	b->n = left < l->cfg.batch ? left : l->cfg.batch;
	BERTH_TRY(log_probs(l, pair, err));
	draw_batch(l, b);
	learner_note_rewards(b, KEEP);
	learner_settle(b, KEEP);
	if (pair->e.n_groups == 0)
		return BERTH_OK;
	policy_batch_gather(&l->one_shot.batch, b->n, pair->e.n_groups, pair->e.n_devs, l->one_shot.action,
	                    b->advantage);
	policy_ppo_cfg ppo = {l->cfg.clip, l->cfg.entropy};
	const berth_one_shot *o = &l->one_shot;
	for (int32_t k = 0; k < l->cfg.epochs; k++) {
		policy_ppo_stats now;
		if (k)
			forward(l, pair); /* the first epoch goes on from the draw */
		clear_dlogits(l, pair);
		BERTH_TRY(policy_ppo_batch_loss(&ppo, &o->batch, o->logits, pair->e.in.mask, o->work,
		                                o->dlogits, &now, err));
		learner_note_ppo(&now, &b->stats);
		if (k && now.kl > l->cfg.kl_stop)
			break;
		BERTH_TRY(descend(l, pair, &b->stats.grad_norm, err));
	}
	/* Samples into the window; cloning each time it is full. */
	size_t groups = (size_t)pair->e.n_groups;
	for (int32_t i = 0; i < b->n && l->cfg.clone_steps; i++) {
		BERTH_COPY(BERTH_ROW(pair->window_action, pair->n_window, groups),
		           BERTH_ROW(l->one_shot.action, i, groups), groups);
		pair->window_reward[pair->n_window++] = b->reward[i];
		if (pair->n_window >= l->cfg.window)
			BERTH_TRY(clone_elite(l, pair, &b->stats.clone_loss, err));
	}
	return BERTH_OK;
}

static berth_status steps(berth_learner *l, int32_t n, const berth_turn *turn, berth_err *err)
{
	for (int32_t k = 0; k < n; k++)
		BERTH_TRY(step(l, &l->batch[k], turn[k].left, err));
	return BERTH_OK;
}

const learner_decoding learner_one_shot = {
	.window = window,
	.new_pair = new_pair,
	.new_scratch = new_scratch,
	.round = steps,
	.drawn = drawn,
	.offer_greedy = offer_greedy,
	.clone = clone,
};
