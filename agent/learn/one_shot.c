/* Learning one-shot placements: PPO and cross-entropy. All samples of a step come from one table of
 * log-probabilities, so the network runs once an epoch, however many they are, and so do the losses
 * (policy_loss.h); drawing and simulating run on all workers. */
#include "learner_work.h"

#include <math.h>
#include <string.h>

enum { MOST_ELITE = 512 };

/* ---- the network on a pair ---- */

static void forward(berth_learner *l, const berth_pair *t)
{
	policy_forward(&l->dims, l->params, &t->e.in, l->acts, l->logits);
	size_t cells = (size_t)t->e.n_groups * (size_t)t->e.n_devs;
	for (size_t i = 0; t->table && i < cells; i++)
		l->logits[i] += t->table[i];
}

static berth_status log_probs(berth_learner *l, const berth_pair *t, berth_err *err)
{
	forward(l, t);
	return policy_log_probs(t->e.n_groups, t->e.n_devs, l->logits, t->e.in.mask, l->logp, err);
}

/* One Adam step from dlogits, after forward. */
static berth_status descend(berth_learner *l, berth_pair *t, double *norm, berth_err *err)
{
	memset(l->grads, 0, policy_param_count(&l->dims) * sizeof *l->grads);
	policy_backward(&l->dims, l->params, &t->e.in, l->acts, l->dlogits, l->grads);
	if (t->table) {
		adam_cfg a = adam_cfg_default();
		a.lr = l->cfg.table_lr;
		adam_update(&a, &t->table_adam, t->table, l->dlogits);
	}
	return learner_apply(l, norm, err);
}

static void clear_dlogits(berth_learner *l, const berth_pair *t)
{
	memset(l->dlogits, 0, (size_t)t->e.n_groups * (size_t)t->e.n_devs * sizeof *l->dlogits);
}

/* ---- drawing ---- */

typedef struct drawing {
	berth_learner *l;
	const berth_pair *t;
	uint64_t seed;
	int64_t first;
} drawing;

static void draw_one(void *ctx, int32_t i, int32_t worker, int32_t *op_dev)
{
	const drawing *d = ctx;
	int32_t *action = d->l->action + (size_t)i * (size_t)d->t->e.n_groups;
	berth_rng rng = berth_rng_seed(d->seed, BERTH_STREAM_ROLLOUT + (uint64_t)(d->first + i));
	(void)worker;
	berth_encoding_draw(&d->t->e, d->l->threshold, &rng, action);
	berth_encoding_project(&d->t->e, action, op_dev);
}

static void draw_batch(berth_learner *l, int32_t pair, int32_t n)
{
	berth_pair *t = &l->pair[pair];
	drawing d = {l, t, learner_seed_of(l, pair), t->episodes};
	size_t cells = (size_t)t->e.n_groups * (size_t)t->e.n_devs;
	berth_encoding_thresholds(&t->e, l->logp, l->threshold);
	memcpy(l->batch.old_logp, l->logp, cells * sizeof *l->logp);
	berth_search_offer_made(t->s, n, draw_one, &d, l->op_devs, l->score);
	t->episodes += n;
}

berth_status one_shot_offer_greedy(berth_learner *l, int32_t pair, berth_err *err)
{
	const berth_pair *t = &l->pair[pair];
	size_t devs = (size_t)t->e.n_devs;
	BERTH_TRY(log_probs(l, t, err));
	for (int32_t v = 0; v < t->e.n_groups; v++) {
		int32_t best = -1;
		for (int32_t d = 0; d < t->e.n_devs; d++)
			if (t->e.in.mask[(size_t)v * devs + (size_t)d] &&
			    (best < 0 || l->logp[(size_t)v * devs + (size_t)d] >
			                         l->logp[(size_t)v * devs + (size_t)best]))
				best = d;
		l->action[v] = best;
	}
	berth_encoding_project(&t->e, l->action, l->op_devs);
	berth_search_offer(t->s, l->op_devs, NULL);
	return BERTH_OK;
}

/* ---- cloning ---- */

static void clear_targets(berth_learner *l, const berth_pair *t)
{
	memset(l->share, 0, (size_t)t->e.n_groups * (size_t)t->e.n_devs * sizeof *l->share);
}

static void add_target(berth_learner *l, const berth_pair *t, const int32_t *group_dev, double share)
{
	for (size_t v = 0; v < (size_t)t->e.n_groups; v++)
		l->share[v * (size_t)t->e.n_devs + (size_t)group_dev[v]] += (nn_real)share;
}

/* Gradient steps towards the targets, until their mean probability is mass. */
static berth_status clone(berth_learner *l, berth_pair *t, int32_t steps, double mass, double *loss,
                          berth_err *err)
{
	double norm, now;
	for (int32_t k = 0; k < steps; k++) {
		forward(l, t);
		clear_dlogits(l, t);
		BERTH_TRY(policy_ce_share_loss(1, t->e.n_groups, t->e.n_devs, l->logits, t->e.in.mask,
		                               l->share, l->work, l->dlogits, loss, &now, err));
		if (now >= mass)
			return BERTH_OK;
		BERTH_TRY(descend(l, t, &norm, err));
	}
	return BERTH_OK;
}

berth_status one_shot_clone(berth_learner *l, int32_t pair, int32_t n, const int32_t *const *op_devs,
                            int32_t steps, double mass, berth_err *err)
{
	berth_pair *t = &l->pair[pair];
	double loss;
	clear_targets(l, t);
	for (int32_t i = 0; i < n; i++) {
		berth_encoding_lift(&t->e, op_devs[i], l->action, l->votes);
		add_target(l, t, l->action, 1.0 / n);
	}
	return clone(l, t, steps, mass, &loss, err);
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
	return (a->index > b->index) - (a->index < b->index);
}

/* The window is full: clone its elite and begin a new one. Partial selection keeps it O(window * elite). */
static berth_status clone_elite(berth_learner *l, berth_pair *t, double *loss, berth_err *err)
{
	size_t groups = (size_t)t->e.n_groups;
	int32_t n = (int32_t)ceil(l->cfg.elite * t->n_window);
	ranked_sample best[MOST_ELITE];
	int32_t found = 0;
	if (n > MOST_ELITE)
		n = MOST_ELITE;
	for (int32_t i = 0; i < t->n_window; i++) {
		ranked_sample x = {t->window_reward[i], i};
		if (found == n && compare_samples(&x, &best[n - 1]) > 0)
			continue;
		int32_t k = found < n ? found++ : n - 1;
		while (k > 0 && compare_samples(&x, &best[k - 1]) < 0) {
			best[k] = best[k - 1];
			k--;
		}
		best[k] = x;
	}
	clear_targets(l, t);
	for (int32_t k = 0; k < found; k++)
		add_target(l, t, t->window_action + (size_t)best[k].index * groups, 1.0 / found);
	t->n_window = 0;
	return clone(l, t, l->cfg.clone_steps, 2, loss, err);
}

/* ---- a step ---- */

static berth_status ppo_epochs(berth_learner *l, berth_pair *t, berth_step_stats *stats, berth_err *err)
{
	policy_ppo_cfg ppo = {l->cfg.clip, l->cfg.entropy};
	for (int32_t k = 0; k < l->cfg.epochs; k++) {
		policy_ppo_stats now;
		if (k)
			forward(l, t); /* the first epoch goes on from the draw */
		clear_dlogits(l, t);
		BERTH_TRY(policy_ppo_batch_loss(&ppo, &l->batch, l->logits, t->e.in.mask, l->work, l->dlogits,
		                                &now, err));
		learner_note_ppo(&now, stats);
		if (k && now.kl > l->cfg.kl_stop)
			break;
		BERTH_TRY(descend(l, t, &stats->grad_norm, err));
	}
	return BERTH_OK;
}

/* Samples into the window; cloning each time it is full. */
static berth_status feed_window(berth_learner *l, berth_pair *t, int32_t n, berth_step_stats *stats,
                                berth_err *err)
{
	size_t groups = (size_t)t->e.n_groups;
	int32_t window = learner_window(&l->cfg, n);
	for (int32_t i = 0; i < n && l->cfg.clone_steps; i++) {
		memcpy(t->window_action + (size_t)t->n_window * groups, l->action + (size_t)i * groups,
		       groups * sizeof *l->action);
		t->window_reward[t->n_window++] = l->reward[i];
		if (t->n_window >= window)
			BERTH_TRY(clone_elite(l, t, &stats->clone_loss, err));
	}
	return BERTH_OK;
}

berth_status one_shot_step(berth_learner *l, int32_t pair, int32_t left, berth_step_stats *now,
                           berth_err *err)
{
	berth_pair *t = &l->pair[pair];
	int32_t most = learner_batch_most(&l->cfg);
	now->n = left < most ? left : most;
	BERTH_TRY(log_probs(l, t, err));
	draw_batch(l, pair, now->n);
	learner_note_rewards(l, t, now->n, now);
	if (t->e.n_groups == 0)
		return BERTH_OK;
	policy_batch_gather(&l->batch, now->n, t->e.n_groups, t->e.n_devs, l->action, l->advantage);
	BERTH_TRY(ppo_epochs(l, t, now, err));
	return feed_window(l, t, now->n, now, err);
}

