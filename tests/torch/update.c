/* One PPO update of the network, for the comparison with the same in PyTorch (compare.py): 200 groups, 8
 * devices, 64 samples, hidden 64, 4 epochs. The instance goes to a safetensors file; losses of every epoch
 * and the CPU seconds of the fastest repetition are printed. usage: berth-update FILE one-shot|sequential
 * REPETITIONS */
#include "nn_table.h"
#include "nn.h"
#include "policy.h"
#include "policy_loss.h"
#include "safetensors.h"
#include "threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 200, E = 300, D = 8, SAMPLES = 64, EPOCHS = 4, MAX_TENSORS = 64 };

static const policy_dims dims = {.node_in = 24,
                                 .edge_in = 6,
                                 .dev_in = 12,
                                 .pair_in = 10,
                                 .link_in = 4,
                                 .step_in = 18,
                                 .hidden = 64,
                                 .rounds = 2};

typedef struct update {
	bool sequential;
	policy_input in;
	nn_real *start, *params, *grads, *acts, *old_logp, *advantage, *step_x, *hidden, *logits, *dlogits,
		*work;
	uint8_t *mask;
	int32_t *from, *to, *action, *node;
	policy_batch batch;
	adam_state adam;
	double loss[EPOCHS];
	berth_arena mem;
} update;

static void *need(update *u, size_t n, size_t size)
{
	void *p = berth_arena_alloc(&u->mem, n, size);
	if (p)
		return p;
	fprintf(stderr, "berth-update: out of memory\n");
	exit(1);
}

static void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-update: %s\n", err->msg);
	exit(1);
}

/* ---- the instance ---- */

static nn_real *normals(update *u, berth_rng *r, size_t n)
{
	nn_real *x = need(u, n, sizeof *x);
	for (size_t i = 0; i < n; i++)
		x[i] = (nn_real)berth_rng_normal(r);
	return x;
}

/* One-shot samples are drawn from one table; the sequential form's log-probabilities are each step's own. */
static void draw_actions(update *u, berth_rng *r)
{
	berth_err err;
	must(policy_batch_new(N * D, &u->mem, &u->batch, &err), &err);
	for (size_t i = 0; i < N * D; i++)
		u->batch.old_logp[i] = (nn_real)(-2.08 + 0.2 * berth_rng_normal(r));
	u->action = need(u, SAMPLES * N, sizeof *u->action);
	u->old_logp = need(u, SAMPLES * N, sizeof *u->old_logp);
	for (size_t i = 0; i < SAMPLES * N; i++) {
		u->action[i] = (int32_t)berth_rng_below(r, D);
		u->old_logp[i] = u->sequential ? (nn_real)(-2.08 + 0.2 * berth_rng_normal(r))
		                               : u->batch.old_logp[i % N * D + (size_t)u->action[i]];
	}
	u->advantage = normals(u, r, SAMPLES);
	u->node = need(u, N, sizeof *u->node);
	for (int32_t i = 0; i < N; i++)
		u->node[i] = i;
	u->step_x = normals(u, r, SAMPLES * (size_t)(N * D * dims.step_in));
}

static void init(update *u)
{
	berth_rng r = berth_rng_seed(1, 0);
	size_t n = policy_param_count(&dims), pairs = N * D;
	berth_err err;
	u->from = need(u, E, sizeof *u->from);
	u->to = need(u, E, sizeof *u->to);
	for (int e = 0; e < E; e++) {
		u->to[e] = 1 + (int32_t)berth_rng_below(&r, N - 1);
		u->from[e] = (int32_t)berth_rng_below(&r, (uint32_t)u->to[e]);
	}
	u->mask = need(u, SAMPLES * pairs, 1);
	memset(u->mask, 1, SAMPLES * pairs);
	u->in = (policy_input){N,
	                       E,
	                       D,
	                       normals(u, &r, N * 24),
	                       normals(u, &r, E * 6),
	                       normals(u, &r, D * 12),
	                       normals(u, &r, pairs * 10),
	                       normals(u, &r, D * D * 4),
	                       u->from,
	                       u->to,
	                       u->mask};
	draw_actions(u, &r);
	u->start = need(u, n, sizeof *u->start);
	policy_init(&dims, u->start, &r);
	for (size_t i = 0; i < n; i++)
		u->start[i] += (nn_real)(0.02 * berth_rng_normal(&r)); /* no logit is flat, no bias 0 */
	u->params = need(u, n, sizeof *u->params);
	u->grads = need(u, n, sizeof *u->grads);
	u->acts = need(u, policy_acts_size(&dims, N, E, D), sizeof *u->acts);
	u->hidden = need(u, pairs * (size_t)dims.hidden, sizeof *u->hidden);
	u->logits = need(u, pairs, sizeof *u->logits);
	u->dlogits = need(u, pairs, sizeof *u->dlogits);
	u->work = need(u, 2 * pairs, sizeof *u->work);
	must(adam_new(n, &u->mem, &u->adam, &err), &err);
}

/* ---- the update ---- */

static double one_shot_loss(update *u)
{
	policy_ppo_cfg cfg = {.clip = 0.2, .entropy = 0.01};
	policy_ppo_stats stats;
	berth_err err;
	policy_forward(&dims, u->params, &u->in, u->acts, u->logits);
	memset(u->dlogits, 0, N * D * sizeof *u->dlogits);
	must(policy_ppo_batch_loss(&cfg, &u->batch, u->logits, u->mask, u->work, u->dlogits, &stats, &err),
	     &err);
	policy_backward(&dims, u->params, &u->in, u->acts, u->dlogits, u->grads);
	return stats.loss;
}

static double episode_loss(update *u, size_t i)
{
	policy_steps steps = {N, u->node, u->step_x + i * (size_t)(N * D * dims.step_in)};
	policy_ppo_cfg cfg = {.clip = 0.2, .entropy = 0.01};
	policy_ppo_stats stats;
	berth_err err;
	policy_steps_forward(&dims, u->params, &u->in, u->acts, &steps, u->hidden, u->logits);
	memset(u->dlogits, 0, N * D * sizeof *u->dlogits);
	must(policy_ppo_loss(&cfg, 1, N, D, u->logits, u->mask, u->action + i * N, u->old_logp + i * N,
	                     u->advantage + i, u->work, u->dlogits, &stats, &err),
	     &err);
	for (size_t k = 0; k < N * D; k++)
		u->dlogits[k] /= SAMPLES;
	policy_steps_backward(&dims, u->params, &u->in, u->acts, &steps, u->hidden, u->dlogits, u->grads);
	return stats.loss / SAMPLES;
}

static double sequential_loss(update *u)
{
	double sum = 0;
	policy_embed(&dims, u->params, &u->in, u->acts);
	policy_backward_begin(&dims, &u->in, u->acts);
	for (size_t i = 0; i < SAMPLES; i++)
		sum += episode_loss(u, i);
	policy_backward_end(&dims, u->params, &u->in, u->acts, NULL, u->grads);
	return sum;
}

static double run(update *u)
{
	size_t n = policy_param_count(&dims);
	adam_cfg adam = adam_cfg_default();
	memcpy(u->params, u->start, n * sizeof *u->params);
	memset(u->adam.m, 0, n * sizeof *u->adam.m);
	memset(u->adam.v, 0, n * sizeof *u->adam.v);
	u->adam.step = 0;
	double from = berth_cpu_seconds();
	if (!u->sequential)
		policy_batch_gather(&u->batch, SAMPLES, N, D, u->action, u->advantage);
	for (int k = 0; k < EPOCHS; k++) {
		memset(u->grads, 0, n * sizeof *u->grads);
		u->loss[k] = u->sequential ? sequential_loss(u) : one_shot_loss(u);
		adam_update(&adam, &u->adam, u->params, u->grads);
	}
	return berth_cpu_seconds() - from;
}

/* ---- the file ---- */

typedef struct content {
	safetensors_tensor t[MAX_TENSORS];
	int32_t n;
} content;

static void put(content *c, const char *name, const nn_real *data, int64_t a, int64_t b, int64_t d)
{
	c->t[c->n++] = (safetensors_tensor){name, SAFETENSORS_F32, 3, {a, b, d}, data};
}

static void put_ints(update *u, content *c, const char *name, const int32_t *data, int64_t n)
{
	int64_t *wide = need(u, (size_t)n, sizeof *wide);
	for (int64_t i = 0; i < n; i++)
		wide[i] = data[i];
	c->t[c->n++] = (safetensors_tensor){name, SAFETENSORS_I64, 1, {n}, wide};
}

static void write_file(update *u, const char *path)
{
	content c = {.n = 0};
	berth_err err;
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor t = policy_tensor_at(&dims, i);
		put(&c, t.name, u->start + t.offset, t.copies, t.rows, t.columns);
	}
	put(&c, "in.node", u->in.node_x, 1, N, dims.node_in);
	put(&c, "in.edge", u->in.edge_x, 1, E, dims.edge_in);
	put(&c, "in.dev", u->in.dev_x, 1, D, dims.dev_in);
	put(&c, "in.pair", u->in.pair_x, N, D, dims.pair_in);
	put(&c, "in.link", u->in.link_x, D, D, dims.link_in);
	put(&c, "in.step", u->step_x, SAMPLES * N, D, dims.step_in);
	put(&c, "in.old_logp", u->old_logp, 1, SAMPLES, N);
	put(&c, "in.advantage", u->advantage, 1, 1, SAMPLES);
	put_ints(u, &c, "in.from", u->from, E);
	put_ints(u, &c, "in.to", u->to, E);
	put_ints(u, &c, "in.action", u->action, SAMPLES * N);
	safetensors_file f = {.n_tensors = c.n, .tensor = c.t};
	must(safetensors_write(path, &f, &u->mem, &err), &err);
}

int main(int argc, char **argv)
{
	static update u;
	double best = INFINITY;
	int n = argc == 4 ? atoi(argv[3]) : 0;
	if (n < 1)
		return 2;
	u.sequential = strcmp(argv[2], "sequential") == 0;
	init(&u);
	write_file(&u, argv[1]);
	for (int i = 0; i < n; i++)
		best = fmin(best, run(&u));
	printf("{\"seconds\":%.9g,\"loss\":[%.9g,%.9g,%.9g,%.9g]}\n", best, u.loss[0], u.loss[1], u.loss[2],
	       u.loss[3]);
	berth_arena_free(&u.mem);
	return 0;
}
