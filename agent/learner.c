/* PPO and cross-entropy on one-shot placements; see learner.h. */
#include "learner_work.h"

#include "nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXP _Generic((nn_real)0, float: expf, double: exp)

enum { MAX_TARGETS = 512 };

berth_learner_cfg berth_learner_cfg_default(void)
{
	return (berth_learner_cfg){.groups = 64, .hidden = 48, .rounds = 2, .batch = 64, .epochs = 4, .lr = 1e-3, .clip = 0.2, .entropy = 0.003, .kl_stop = 0.03,
	                           .window = 128, .elite = 0.1, .clone_steps = 4, .seed_mass = 0.5, .hints = true, .key_sigma = 0.5};
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
	return berth_fail(err, BERTH_EINVAL, "unknown decoding '%.40s'; there are one-shot and sequential", name);
}

bool berth_learner_cfg_equal(const berth_learner_cfg *a, const berth_learner_cfg *b)
{
	return a->groups == b->groups && a->hidden == b->hidden && a->rounds == b->rounds && a->batch == b->batch && a->epochs == b->epochs && a->lr == b->lr &&
	       a->clip == b->clip && a->entropy == b->entropy && a->kl_stop == b->kl_stop && a->window == b->window && a->elite == b->elite &&
	       a->clone_steps == b->clone_steps && a->seed_mass == b->seed_mass && a->hints == b->hints && a->sequential == b->sequential &&
	       a->key_sigma == b->key_sigma && a->table_lr == b->table_lr;
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

static berth_status new_task(const berth_learner *l, berth_search *s, berth_arena *mem, berth_arena *tmp, berth_task *t, berth_err *err)
{
	const berth_learner_cfg *c = &l->cfg;
	*t = (berth_task){.s = s};
	BERTH_TRY(berth_encode(s->p, c->groups, c->hints, mem, tmp, &t->e, err));
	BERTH_TRY(policy_input_check(&l->dims, &t->e.in, err));
	BERTH_TRY(BERTH_NEW(mem, t->window_action, (size_t)c->window * (size_t)t->e.n_groups, err));
	BERTH_TRY(BERTH_NEW(mem, t->window_reward, c->window, err));
	if (c->sequential)
		return berth_walk_new(s, &t->e, mem, &t->walk, err);
	if (c->table_lr > 0) {
		size_t cells = (size_t)t->e.n_groups * (size_t)t->e.n_devs;
		BERTH_TRY(BERTH_NEW(mem, t->table, cells, err));
		BERTH_TRY(adam_new(cells, mem, &t->table_adam, err));
	}
	return BERTH_OK;
}

static void grow(sizes *z, const berth_learner *l, const berth_task *t)
{
	size_t groups = (size_t)t->e.n_groups, cells = groups * (size_t)t->e.n_devs, ops = (size_t)t->s->p->n_ops;
	size_t acts = policy_acts_size(&l->dims, t->e.n_groups, t->e.in.n_edges, t->e.n_devs);
	z->groups = groups > z->groups ? groups : z->groups;
	z->cells = cells > z->cells ? cells : z->cells;
	size_t op_cells = ops * (size_t)t->e.n_devs;
	z->ops = ops > z->ops ? ops : z->ops;
	z->op_cells = op_cells > z->op_cells ? op_cells : z->op_cells;
	z->acts = acts > z->acts ? acts : z->acts;
}

static berth_status new_scratch(berth_learner *l, const sizes *z, berth_arena *mem, berth_err *err)
{
	size_t batch = (size_t)l->cfg.batch, window = (size_t)l->cfg.window;
	size_t rows = batch > MAX_TARGETS ? batch : MAX_TARGETS;
	BERTH_TRY(BERTH_NEW(mem, l->acts, z->acts, err));
	BERTH_TRY(BERTH_NEW(mem, l->logits, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->dlogits, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->logp, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->work, z->cells * 2, err));
	BERTH_TRY(BERTH_NEW(mem, l->votes, z->cells, err));
	BERTH_TRY(BERTH_NEW(mem, l->old_logp, batch * z->groups, err));
	BERTH_TRY(BERTH_NEW(mem, l->action, batch * z->groups, err));
	BERTH_TRY(BERTH_NEW(mem, l->op_devs, batch * z->ops, err));
	BERTH_TRY(BERTH_NEW(mem, l->target, MAX_TARGETS * z->groups, err));
	BERTH_TRY(BERTH_NEW(mem, l->weight, rows, err));
	BERTH_TRY(BERTH_NEW(mem, l->advantage, batch, err));
	BERTH_TRY(BERTH_NEW(mem, l->score, batch, err));
	BERTH_TRY(BERTH_NEW(mem, l->reward, batch, err));
	return BERTH_NEW(mem, l->rank, window, err);
}

berth_status berth_learner_new(const berth_learner_cfg *cfg, uint64_t seed, const nn_real *params, berth_search *const *s, int32_t n_tasks, berth_arena *mem,
                               berth_arena *tmp, berth_learner *out, berth_err *err)
{
	berth_learner l = {.cfg = *cfg, .seed = seed, .n_tasks = n_tasks, .lr_scale = 1};
	sizes z = {0};
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
	BERTH_TRY(BERTH_NEW(mem, l.task, n_tasks, err));
	for (int32_t i = 0; i < n_tasks; i++) {
		BERTH_TRY(new_task(&l, s[i], mem, tmp, &l.task[i], err));
		grow(&z, &l, &l.task[i]);
	}
	BERTH_TRY(new_scratch(&l, &z, mem, err));
	if (cfg->sequential)
		BERTH_TRY(sequence_new(&l, z.ops, z.op_cells, z.groups, mem, err));
	*out = l;
	return BERTH_OK;
}

/* ---- the network on a task ---- */

static void forward(berth_learner *l, const berth_task *t)
{
	policy_forward(&l->dims, l->params, &t->e.in, l->acts, l->logits);
	size_t cells = (size_t)t->e.n_groups * (size_t)t->e.n_devs;
	for (size_t i = 0; t->table && i < cells; i++)
		l->logits[i] += t->table[i];
}

static berth_status log_probs(berth_learner *l, const berth_task *t, berth_err *err)
{
	forward(l, t);
	return policy_log_probs(t->e.n_groups, t->e.n_devs, l->logits, t->e.in.mask, l->logp, err);
}

berth_status learner_apply(berth_learner *l, double *norm, berth_err *err)
{
	adam_cfg a = adam_cfg_default();
	a.lr = l->cfg.lr * l->lr_scale;
	*norm = adam_update(&a, &l->adam, l->params, l->grads);
	if (!isfinite(*norm))
		return berth_fail(err, BERTH_EINVAL, "the policy's gradient is no longer finite; use a lower learning rate than %g", l->cfg.lr);
	return BERTH_OK;
}

/* One Adam step from dlogits, after forward. */
static berth_status descend(berth_learner *l, berth_task *t, double *norm, berth_err *err)
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

static void clear_dlogits(berth_learner *l, const berth_task *t)
{
	memset(l->dlogits, 0, (size_t)t->e.n_groups * (size_t)t->e.n_devs * sizeof *l->dlogits);
}

/* ---- drawing ---- */

uint64_t learner_seed_of(const berth_learner *l, int32_t task)
{
	return l->seed + (uint64_t)task * UINT64_C(0x9e3779b97f4a7c15);
}

static void draw_batch(berth_learner *l, int32_t task, int32_t n)
{
	berth_task *t = &l->task[task];
	size_t groups = (size_t)t->e.n_groups, ops = (size_t)t->s->p->n_ops;
	for (int32_t i = 0; i < n; i++) {
		berth_rng rng = berth_rng_seed(learner_seed_of(l, task), BERTH_STREAM_ROLLOUT + (uint64_t)t->episodes++);
		berth_encoding_draw(&t->e, l->logp, &rng, l->action + (size_t)i * groups, l->old_logp + (size_t)i * groups);
		berth_encoding_project(&t->e, l->action + (size_t)i * groups, l->op_devs + (size_t)i * ops);
	}
}

berth_status berth_learner_offer_greedy(berth_learner *l, int32_t task, berth_arena *tmp, berth_err *err)
{
	const berth_task *t = &l->task[task];
	if (l->cfg.sequential)
		return sequence_offer_greedy(l, task, tmp, err);
	size_t devs = (size_t)t->e.n_devs;
	BERTH_TRY(log_probs(l, t, err));
	for (int32_t v = 0; v < t->e.n_groups; v++) {
		int32_t best = -1;
		for (int32_t d = 0; d < t->e.n_devs; d++)
			if (t->e.in.mask[(size_t)v * devs + (size_t)d] && (best < 0 || l->logp[(size_t)v * devs + (size_t)d] > l->logp[(size_t)v * devs + (size_t)best]))
				best = d;
		l->action[v] = best;
	}
	berth_encoding_project(&t->e, l->action, l->op_devs);
	berth_search_offer(t->s, l->op_devs, NULL);
	return BERTH_OK;
}

/* ---- cloning ---- */

/* Mean probability of the targets under logp. */
static double target_mass(const berth_learner *l, const berth_task *t, int32_t n)
{
	double sum = 0;
	size_t groups = (size_t)t->e.n_groups, devs = (size_t)t->e.n_devs;
	for (size_t i = 0; i < (size_t)n; i++)
		for (size_t v = 0; v < groups; v++)
			sum += (double)EXP(l->logp[v * devs + (size_t)l->target[i * groups + v]]) / (double)groups / n;
	return sum;
}

/* Gradient steps towards the n targets with their weights, until their mean probability is mass. */
static berth_status clone(berth_learner *l, berth_task *t, int32_t n, int32_t steps, double mass, double *loss, berth_err *err)
{
	double norm;
	for (int32_t k = 0; k < steps; k++) {
		BERTH_TRY(log_probs(l, t, err));
		if (target_mass(l, t, n) >= mass)
			return BERTH_OK;
		clear_dlogits(l, t);
		BERTH_TRY(policy_ce_loss(1, n, t->e.n_groups, t->e.n_devs, l->logits, t->e.in.mask, l->target, l->weight, l->work, l->dlogits, loss, err));
		BERTH_TRY(descend(l, t, &norm, err));
	}
	return BERTH_OK;
}

berth_status berth_learner_seed(berth_learner *l, int32_t task, int32_t n, const int32_t *const *op_devs, int32_t steps, berth_err *err)
{
	berth_task *t = &l->task[task];
	double loss;
	if (n > MAX_TARGETS)
		n = MAX_TARGETS;
	if (n == 0 || t->e.n_groups == 0)
		return BERTH_OK;
	for (int32_t i = 0; i < n && l->cfg.sequential; i++)
		BERTH_TRY(sequence_clone(l, task, op_devs[i], (steps + n - 1) / n, l->cfg.seed_mass, err));
	if (l->cfg.sequential)
		return BERTH_OK;
	for (int32_t i = 0; i < n; i++) {
		berth_encoding_lift(&t->e, op_devs[i], l->target + (size_t)i * (size_t)t->e.n_groups, l->votes);
		l->weight[i] = 1;
	}
	return clone(l, t, n, steps, l->cfg.seed_mass, &loss, err);
}

berth_status berth_learner_clone(berth_learner *l, int32_t task, const int32_t *op_dev, int32_t steps, berth_err *err)
{
	berth_task *t = &l->task[task];
	double loss;
	if (t->e.n_groups == 0)
		return BERTH_OK;
	if (l->cfg.sequential)
		return sequence_clone(l, task, op_dev, steps, 0.9, err);
	berth_encoding_lift(&t->e, op_dev, l->target, l->votes);
	l->weight[0] = 1;
	return clone(l, t, 1, steps, 0.9, &loss, err);
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
static berth_status clone_elite(berth_learner *l, berth_task *t, double *loss, berth_err *err)
{
	size_t groups = (size_t)t->e.n_groups;
	int32_t n = (int32_t)ceil(l->cfg.elite * t->n_window);
	ranked_sample best[MAX_TARGETS];
	int32_t found = 0;
	if (n > MAX_TARGETS)
		n = MAX_TARGETS;
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
	for (int32_t k = 0; k < found; k++) {
		memcpy(l->target + (size_t)k * groups, t->window_action + (size_t)best[k].index * groups, groups * sizeof *l->target);
		l->weight[k] = 1;
	}
	t->n_window = 0;
	return clone(l, t, found, l->cfg.clone_steps, 2, loss, err);
}

/* ---- a step ---- */

void learner_note_rewards(berth_learner *l, berth_task *t, int32_t n, berth_step_stats *stats)
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
		l->advantage[i] = (nn_real)fmin(fmax((l->reward[i] - t->mean) / (sqrt(t->var) + 1e-6), -4), 4);
	stats->mean = mean;
	stats->mean_value = stats->feasible ? values / stats->feasible : NAN;
	t->s->mean = stats->mean_value;
}

static berth_status ppo_epochs(berth_learner *l, berth_task *t, int32_t n, berth_step_stats *stats, berth_err *err)
{
	policy_ppo_cfg ppo = {l->cfg.clip, l->cfg.entropy};
	for (int32_t k = 0; k < l->cfg.epochs; k++) {
		policy_ppo_stats now;
		if (k)
			forward(l, t); /* the first epoch goes on from the draw */
		clear_dlogits(l, t);
		BERTH_TRY(policy_ppo_loss(&ppo, n, t->e.n_groups, t->e.n_devs, l->logits, t->e.in.mask, l->action, l->old_logp, l->advantage, l->work, l->dlogits,
		                          &now, err));
		stats->policy_loss = now.policy_loss;
		stats->kl = now.kl;
		stats->clip_fraction = now.clip_fraction;
		stats->entropy = now.entropy;
		if (k && now.kl > l->cfg.kl_stop)
			break;
		BERTH_TRY(descend(l, t, &stats->grad_norm, err));
	}
	return BERTH_OK;
}

/* Samples into the window; cloning each time it is full. */
static berth_status feed_window(berth_learner *l, berth_task *t, int32_t n, berth_step_stats *stats, berth_err *err)
{
	size_t groups = (size_t)t->e.n_groups;
	for (int32_t i = 0; i < n && l->cfg.clone_steps; i++) {
		memcpy(t->window_action + (size_t)t->n_window * groups, l->action + (size_t)i * groups, groups * sizeof *l->action);
		t->window_reward[t->n_window++] = l->reward[i];
		if (t->n_window == l->cfg.window)
			BERTH_TRY(clone_elite(l, t, &stats->clone_loss, err));
	}
	return BERTH_OK;
}

static berth_status one_shot_step(berth_learner *l, int32_t task, int32_t room, berth_step_stats *now, berth_err *err)
{
	berth_task *t = &l->task[task];
	now->n = room < l->cfg.batch ? room : l->cfg.batch;
	BERTH_TRY(log_probs(l, t, err));
	draw_batch(l, task, now->n);
	berth_search_offer_batch(t->s, now->n, l->op_devs, l->score);
	learner_note_rewards(l, t, now->n, now);
	if (t->e.n_groups == 0)
		return BERTH_OK;
	BERTH_TRY(ppo_epochs(l, t, now->n, now, err));
	return feed_window(l, t, now->n, now, err);
}

berth_status berth_learner_step(berth_learner *l, int32_t task, int32_t room, berth_step_stats *stats, berth_err *err)
{
	berth_step_stats now = {.clone_loss = NAN};
	BERTH_TRY((l->cfg.sequential ? sequence_step : one_shot_step)(l, task, room, &now, err));
	l->steps++;
	if (stats)
		*stats = now;
	return BERTH_OK;
}
