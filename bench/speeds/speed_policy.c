/* Speed of the network and its losses: 64 nodes, 100 edges, 4 devices, hidden 64, 2 rounds, 250 samples; the
 * numbers in it do not matter. */
#include "nn_table.h"
#include "speeds.h"
#include "nn.h"
#include "policy.h"
#include "policy_loss.h"

enum { N = 64, E = 100, D = 4, SAMPLES = 250 };

static const policy_dims dims = {
	.node_in = 24, .edge_in = 6, .dev_in = 12, .pair_in = 10, .link_in = 4, .hidden = 64, .rounds = 2};

typedef struct policy_ctx {
	policy_input in;
	nn_real *params, *grads, *acts, *old_logp, *advantage;
	nn_real logits[N * D], dlogits[N * D], work[2 * N * D];
	uint8_t mask[N * D];
	int32_t from[E], to[E], *action;
	policy_ppo_cfg cfg;
	adam_cfg adam;
	adam_state state;
	berth_arena mem;
} policy_ctx;

static nn_real *normals(policy_ctx *c, berth_rng *r, size_t n)
{
	nn_real *x = bench_new(&c->mem, n, sizeof *x);
	for (size_t i = 0; i < n; i++)
		x[i] = (nn_real)berth_rng_normal(r);
	return x;
}

static void init(policy_ctx *c)
{
	berth_rng r = berth_rng_seed(1, 0);
	size_t n = policy_param_count(&dims);
	for (int e = 0; e < E; e++) {
		c->to[e] = 1 + (int32_t)berth_rng_below(&r, N - 1);
		c->from[e] = (int32_t)berth_rng_below(&r, (uint32_t)c->to[e]);
	}
	memset(c->mask, 1, sizeof c->mask);
	c->in = (policy_input){N,
	                       E,
	                       D,
	                       normals(c, &r, N * 24),
	                       normals(c, &r, E * 6),
	                       normals(c, &r, D * 12),
	                       normals(c, &r, N * D * 10),
	                       normals(c, &r, D * D * 4),
	                       c->from,
	                       c->to,
	                       c->mask};
	c->params = bench_new(&c->mem, n, sizeof *c->params);
	c->grads = normals(c, &r, n);
	c->acts = bench_new(&c->mem, policy_acts_size(&dims, N, E, D), sizeof *c->acts);
	c->old_logp = normals(c, &r, SAMPLES * N);
	c->advantage = normals(c, &r, SAMPLES);
	c->action = bench_new(&c->mem, SAMPLES * N, sizeof *c->action);
	for (size_t i = 0; i < SAMPLES * N; i++) {
		c->action[i] = (int32_t)berth_rng_below(&r, D);
		c->old_logp[i] = (nn_real)(-1.386 + 0.1 * (double)c->old_logp[i]);
	}
	policy_init(&dims, c->params, &r);
	c->cfg = (policy_ppo_cfg){.clip = 0.2, .entropy = 0.01};
	c->adam = adam_cfg_default();
	c->state = (adam_state){n, bench_new(&c->mem, n, sizeof(nn_real)),
	                        bench_new(&c->mem, n, sizeof(nn_real)), 0};
}

static void forward(void *arg)
{
	policy_ctx *c = arg;
	policy_forward(&dims, c->params, &c->in, c->acts, c->logits);
}

static void both(void *arg)
{
	policy_ctx *c = arg;
	forward(c);
	policy_backward(&dims, c->params, &c->in, c->acts, c->dlogits, c->grads);
}

static void ppo(void *arg)
{
	policy_ctx *c = arg;
	policy_ppo_stats stats;
	memset(c->dlogits, 0, sizeof c->dlogits);
	policy_ppo_loss(&c->cfg, SAMPLES, N, D, c->logits, c->mask, c->action, c->old_logp, c->advantage,
	                c->work, c->dlogits, &stats, NULL);
}

static void update(void *arg)
{
	policy_ctx *c = arg;
	adam_update(&c->adam, &c->state, c->params, c->grads);
}

void speed_policy(void)
{
	static const struct { const char *name; void (*work)(void *ctx); } parts[] = {
		{"policy_forward", forward},
		{"policy_ppo_loss_250", ppo},
		{"policy_forward_backward", both},
		{"policy_adam", update},
	};
	static policy_ctx large;
	policy_ctx *c = &large;
	init(c);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		speed_row(parts[i].name, "64 nodes, 100 edges, 4 devices",
		          bench_seconds(parts[i].work, c) * 1e6, "us");
	berth_arena_free(&c->mem);
}
