/* The learner's settings, its state and what both decodings share; see learner.h. The decodings are
 * one_shot.c and sequence.c. */
#include "learner_work.h"

#include "nn.h"

#include <math.h>
#include <string.h>

enum { GROWTH = 64 };

berth_learner_cfg berth_learner_cfg_default(void)
{
	return (berth_learner_cfg){.groups = 64,
	                           .hidden = 48,
	                           .rounds = 2,
	                           .batch = 64,
	                           .batch_most = 1000,
	                           .epochs = 4,
	                           .lr = 1e-3,
	                           .clip = 0.2,
	                           .entropy = 0.003,
	                           .kl_stop = 0.03,
	                           .window = 128,
	                           .elite = 0.1,
	                           .clone_steps = 4,
	                           .seed_mass = 0.5,
	                           .hints = true,
	                           .key_sigma = 0.5};
}

static berth_status in_range(const char *what, double x, double least, double most, berth_err *err)
{
	if (x >= least && x <= most)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "%s is %g; expected %g to %g", what, x, least, most);
}

berth_status berth_learner_cfg_check(const berth_learner_cfg *c, berth_err *err)
{
	BERTH_TRY(in_range("groups", c->groups, 1, 4096, err));
	BERTH_TRY(in_range("hidden", c->hidden, 1, 1024, err));
	BERTH_TRY(in_range("rounds", c->rounds, 0, 16, err));
	BERTH_TRY(in_range("batch", c->batch, 2, 4096, err));
	BERTH_TRY(in_range("batch_most", c->batch_most, 0, 4096, err));
	BERTH_TRY(in_range("epochs", c->epochs, 0, 64, err));
	BERTH_TRY(in_range("lr", c->lr, 1e-9, 10, err));
	BERTH_TRY(in_range("clip", c->clip, 1e-3, 100, err));
	BERTH_TRY(in_range("entropy", c->entropy, 0, 10, err));
	BERTH_TRY(in_range("kl_stop", c->kl_stop, 1e-6, 1e6, err));
	BERTH_TRY(in_range("window", c->window, 10, 65536, err));
	BERTH_TRY(in_range("elite", c->elite, 1e-3, 1, err));
	BERTH_TRY(in_range("clone_steps", c->clone_steps, 0, 64, err));
	BERTH_TRY(in_range("seed_mass", c->seed_mass, 0, 0.7, err));
	BERTH_TRY(in_range("key_sigma", c->key_sigma, 1e-6, 100, err));
	return in_range("table_lr", c->table_lr, 0, 10, err);
}

const char *berth_decoding_name(bool sequential)
{
	return sequential ? "sequential" : "one-shot";
}

berth_status berth_decoding_parse(const char *name, bool *sequential, berth_err *err)
{
	for (int k = 0; k < 2; k++)
		if (strcmp(name, berth_decoding_name(k)) == 0) {
			*sequential = k;
			return BERTH_OK;
		}
	return berth_fail(err, BERTH_EINVAL, "unknown decoding '%.40s'; there are one-shot and sequential",
	                  name);
}

bool berth_learner_cfg_equal(const berth_learner_cfg *a, const berth_learner_cfg *b)
{
	return a->groups == b->groups && a->hidden == b->hidden && a->rounds == b->rounds &&
	       a->batch == b->batch && a->epochs == b->epochs && a->lr == b->lr && a->clip == b->clip &&
	       a->entropy == b->entropy && a->kl_stop == b->kl_stop && a->window == b->window &&
	       a->elite == b->elite && a->clone_steps == b->clone_steps && a->seed_mass == b->seed_mass &&
	       a->hints == b->hints && a->sequential == b->sequential && a->key_sigma == b->key_sigma &&
	       a->table_lr == b->table_lr;
}

double berth_reward(double reference, berth_score score)
{
	double r = -3;
	if (score.value > 0 && isfinite(score.value) && reference > 0)
		r = fmin(fmax(log(reference / score.value), -3), 3);
	else if (score.value == 0)
		r = 0; /* a graph that takes no time */
	return berth_score_feasible(score) ? r : r - 0.5 - 5 * fmin(score.excess, 2);
}

/* ---- set-up ---- */

typedef struct sizes {
	size_t cells, groups, ops, op_cells, acts;
} sizes;

int32_t learner_batch_most(const berth_learner_cfg *c)
{
	return !c->sequential && c->batch_most > c->batch ? c->batch_most : c->batch;
}

int32_t learner_window(const berth_learner_cfg *c, int32_t n)
{
	return n > c->batch && 2 * n > c->window ? 2 * n : c->window;
}

static berth_status new_pair(const berth_learner *l, berth_search *s, berth_arena *mem, berth_arena *tmp,
                             berth_pair *t, berth_err *err)
{
	const berth_learner_cfg *c = &l->cfg;
	*t = (berth_pair){.s = s};
	BERTH_TRY(berth_encode(s->p, c->groups, c->hints, mem, tmp, &t->e, err));
	BERTH_TRY(policy_input_check(&l->dims, &t->e.in, err));
	if (c->sequential)
		return berth_rollout_new(s, &t->e, mem, &t->walk, err);
	size_t window = (size_t)learner_window(c, learner_batch_most(c));
	BERTH_TRY(BERTH_NEW(mem, t->window_action, window * (size_t)t->e.n_groups, err));
	BERTH_TRY(BERTH_NEW(mem, t->window_reward, window, err));
	if (c->table_lr > 0) {
		size_t cells = (size_t)t->e.n_groups * (size_t)t->e.n_devs;
		BERTH_TRY(BERTH_NEW(mem, t->table, cells, err));
		BERTH_TRY(adam_new(cells, mem, &t->table_adam, err));
	}
	return BERTH_OK;
}

static void grow(sizes *z, const berth_learner *l, const berth_pair *t)
{
	size_t groups = (size_t)t->e.n_groups, cells = groups * (size_t)t->e.n_devs,
	       ops = (size_t)t->s->p->n_ops;
	size_t acts = policy_acts_size(&l->dims, t->e.n_groups, t->e.in.n_edges, t->e.n_devs);
	z->groups = groups > z->groups ? groups : z->groups;
	z->cells = cells > z->cells ? cells : z->cells;
	size_t op_cells = ops * (size_t)t->e.n_devs;
	z->ops = ops > z->ops ? ops : z->ops;
	z->op_cells = op_cells > z->op_cells ? op_cells : z->op_cells;
	z->acts = acts > z->acts ? acts : z->acts;
}

static berth_status new_scratch(berth_learner *l, const sizes *z, int32_t workers, berth_arena *mem,
                                berth_err *err)
{
	size_t rows = (size_t)learner_batch_most(&l->cfg),
	       op_rows = l->cfg.sequential ? (rows + 1) / 2 : (size_t)workers;
	BERTH_TRY(BERTH_NEW(mem, l->acts, z->acts, err));
	BERTH_TRY(BERTH_NEW(mem, l->logits, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->dlogits, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->logp, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->work, z->cells * 2, err));
	BERTH_TRY(BERTH_NEW(mem, l->op_devs, op_rows * z->ops, err));
	BERTH_TRY(BERTH_NEW(mem, l->advantage, rows, err));
	BERTH_TRY(BERTH_NEW(mem, l->score, rows, err));
	BERTH_TRY(BERTH_NEW(mem, l->reward, rows, err));
	if (l->cfg.sequential)
		return sequence_new(l, z->ops, z->op_cells, z->groups, mem, err);
	BERTH_TRY(policy_batch_new(z->cells, mem, &l->batch, err));
	BERTH_TRY(BERTH_NEW(mem, l->threshold, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->votes, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->share, z->cells, err));
	return BERTH_NEW(mem, l->action, rows * z->groups, err);
}

berth_status berth_learner_new(const berth_learner_cfg *cfg, uint64_t seed, const nn_real *params,
                               berth_search *const *s, int32_t n_pairs, berth_arena *mem, berth_arena *tmp,
                               berth_learner *out, berth_err *err)
{
	berth_learner l = {.cfg = *cfg, .seed = seed, .n_pairs = n_pairs, .lr_scale = 1};
	sizes z = {0};
	int32_t workers = 1;
	BERTH_TRY(berth_learner_cfg_check(cfg, err));
	nn_init();
	l.dims = berth_encode_dims(cfg->hidden, cfg->rounds);
	size_t n = policy_param_count(&l.dims);
	BERTH_TRY(BERTH_NEW(mem, l.params, n, err));
	BERTH_TRY(BERTH_NEW(mem, l.grads, n, err));
	BERTH_TRY(adam_new(n, mem, &l.adam, err));
	if (params) {
		memcpy(l.params, params, n * sizeof *params);
	} else {
		berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_INIT);
		policy_init(&l.dims, l.params, &rng);
		berth_decode_prior(&l.dims, l.params);
	}
	BERTH_TRY(BERTH_NEW(mem, l.pair, n_pairs, err));
	for (int32_t i = 0; i < n_pairs; i++) {
		BERTH_TRY(new_pair(&l, s[i], mem, tmp, &l.pair[i], err));
		grow(&z, &l, &l.pair[i]);
		if (berth_pool_workers(s[i]->cfg.pool) > workers)
			workers = berth_pool_workers(s[i]->cfg.pool);
	}
	BERTH_TRY(new_scratch(&l, &z, workers, mem, err));
	*out = l;
	return BERTH_OK;
}

/* ---- what both decodings share ---- */

void learner_note_ppo(const policy_ppo_stats *now, berth_step_stats *stats)
{
	stats->policy_loss = now->policy_loss;
	stats->kl = now->kl;
	stats->clip_fraction = now->clip_fraction;
	stats->entropy = now->entropy;
}

berth_status learner_apply(berth_learner *l, double *norm, berth_err *err)
{
	adam_cfg a = adam_cfg_default();
	a.lr = l->cfg.lr * l->lr_scale;
	*norm = adam_update(&a, &l->adam, l->params, l->grads);
	if (!isfinite(*norm))
		return berth_fail(
			err, BERTH_EINVAL,
			"the policy's gradient is no longer finite; use a lower learning rate than %g",
			l->cfg.lr);
	return BERTH_OK;
}

uint64_t learner_seed_of(const berth_learner *l, int32_t pair)
{
	return l->seed + (uint64_t)pair * UINT64_C(0x9e3779b97f4a7c15);
}

void learner_note_rewards(berth_learner *l, berth_pair *t, int32_t n, berth_step_stats *stats)
{
	double sum = 0, squares = 0, values = 0;
	stats->best = -INFINITY;
	for (int32_t i = 0; i < n; i++) {
		double r = l->reward[i] = berth_reward(t->reference, l->score[i]);
		sum += r;
		stats->best = fmax(stats->best, r);
		if (berth_score_feasible(l->score[i])) {
			stats->feasible++;
			values += l->score[i].value;
		}
	}
	double mean = sum / n;
	for (int32_t i = 0; i < n; i++)
		squares += (l->reward[i] - mean) * (l->reward[i] - mean);
	double var = squares / n, keep = t->episodes > n ? 0.7 : 0; /* moving baseline: 0.3 of each batch */
	t->mean = keep * t->mean + (1 - keep) * mean;
	t->var = keep * t->var + (1 - keep) * var;
	for (int32_t i = 0; i < n; i++)
		l->advantage[i] =
			(nn_real)fmin(fmax((l->reward[i] - t->mean) / (sqrt(t->var) + 1e-6), -4), 4);
	stats->mean = mean;
	stats->mean_value = stats->feasible ? values / stats->feasible : NAN;
	t->s->mean = stats->mean_value;
}

/* ---- cloning ---- */

berth_status berth_learner_clone_starts(berth_learner *l, int32_t pair, int32_t n,
                                        const int32_t *const *op_devs, int32_t steps, berth_err *err)
{
	if (n == 0 || l->pair[pair].e.n_groups == 0)
		return BERTH_OK;
	for (int32_t i = 0; i < n && l->cfg.sequential; i++)
		BERTH_TRY(sequence_clone(l, pair, op_devs[i], (steps + n - 1) / n, l->cfg.seed_mass, err));
	if (l->cfg.sequential)
		return BERTH_OK;
	return one_shot_clone(l, pair, n, op_devs, steps, l->cfg.seed_mass, err);
}

berth_status berth_learner_clone(berth_learner *l, int32_t pair, const int32_t *op_dev, int32_t steps,
                                 berth_err *err)
{
	if (l->pair[pair].e.n_groups == 0)
		return BERTH_OK;
	if (l->cfg.sequential)
		return sequence_clone(l, pair, op_dev, steps, 0.9, err);
	return one_shot_clone(l, pair, 1, &op_dev, steps, 0.9, err);
}

/* ---- a step ---- */

int32_t berth_learner_want(const berth_learner *l, int32_t pair)
{
	int64_t n = l->pair[pair].episodes / GROWTH;
	int32_t most = learner_batch_most(&l->cfg);
	return n < l->cfg.batch ? l->cfg.batch : n < most ? (int32_t)n : most;
}

berth_status berth_learner_offer_greedy(berth_learner *l, int32_t pair, berth_arena *tmp, berth_err *err)
{
	return l->cfg.sequential ? sequence_offer_greedy(l, pair, tmp, err)
	                         : one_shot_offer_greedy(l, pair, err);
}

berth_status berth_learner_step(berth_learner *l, int32_t pair, int32_t left, berth_step_stats *stats,
                                berth_err *err)
{
	berth_step_stats now = {.clone_loss = NAN};
	BERTH_TRY((l->cfg.sequential ? sequence_step : one_shot_step)(l, pair, left, &now, err));
	l->steps++;
	if (stats)
		*stats = now;
	return BERTH_OK;
}

void berth_learner_drawn(const berth_learner *l, int32_t pair, int32_t i, int32_t *op_dev)
{
	const berth_pair *t = &l->pair[pair];
	size_t n_ops = (size_t)t->s->p->n_ops;
	if (l->cfg.sequential)
		memcpy(op_dev, l->op_devs + (size_t)i * n_ops, n_ops * sizeof *op_dev);
	else
		berth_encoding_project(&t->e, l->action + (size_t)i * (size_t)t->e.n_groups, op_dev);
}
