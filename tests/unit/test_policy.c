/* The placement network and its losses: against a second implementation written from the formulas, gradients
 * of the whole loss against finite differences, and behaviour. Built twice: for float, as in the product,
 * and for double (see test_nn.c). */
#include "nn_table.h"
#include "gradcheck.h"
#include "nn.h"
#include "policy.h"
#include "policy_loss.h"
#include "support.h"
#include "threads.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bool exact = sizeof(nn_real) == sizeof(double);

/* ---- random instances ---- */

typedef struct instance {
	policy_dims d;
	policy_input in;
	nn_real *w, *acts, *logits; /* parameters, scratch, result */
	uint8_t *mask;
	berth_arena mem;
} instance;

static void *need(berth_arena *mem, size_t n, size_t size)
{
	void *p = berth_arena_alloc(mem, n, size);
	assert_non_null(p);
	return p;
}

static nn_real *normals(instance *t, berth_rng *r, int32_t n)
{
	nn_real *x = need(&t->mem, (size_t)n, sizeof *x);
	for (int32_t i = 0; i < n; i++)
		x[i] = (nn_real)berth_rng_normal(r);
	return x;
}

/* Random edges upward, about a third of the devices forbidden, weights of order 1 (not the small ones of
 * policy_init). */
static void instance_init(instance *t, policy_dims d, int32_t n_nodes, int32_t n_edges, int32_t n_devs,
                          uint64_t stream)
{
	berth_rng r = berth_rng_seed(11, stream);
	*t = (instance){.d = d};
	size_t N = (size_t)n_nodes, D = (size_t)n_devs;
	int32_t *from = need(&t->mem, (size_t)n_edges, sizeof *from),
		*to = need(&t->mem, (size_t)n_edges, sizeof *to);
	for (int32_t e = 0; e < n_edges; e++) {
		to[e] = 1 + (int32_t)berth_rng_below(&r, (uint32_t)n_nodes - 1);
		from[e] = (int32_t)berth_rng_below(&r, (uint32_t)to[e]);
	}
	t->mask = need(&t->mem, N * D, 1);
	for (size_t i = 0; i < N * D; i++)
		t->mask[i] = i % D == i / D % D || berth_rng_below(&r, 3) > 0;
	t->in = (policy_input){n_nodes,
	                       n_edges,
	                       n_devs,
	                       normals(t, &r, n_nodes * d.node_in),
	                       normals(t, &r, n_edges * d.edge_in),
	                       normals(t, &r, n_devs * d.dev_in),
	                       normals(t, &r, n_nodes * n_devs * d.pair_in),
	                       normals(t, &r, n_devs * n_devs * d.link_in),
	                       from,
	                       to,
	                       t->mask};
	t->w = normals(t, &r, (int32_t)policy_param_count(&d));
	for (size_t i = 0; i < policy_param_count(&d); i++)
		t->w[i] *= (nn_real)0.5;
	t->acts = need(&t->mem, policy_acts_size(&d, n_nodes, n_edges, n_devs), sizeof *t->acts);
	t->logits = need(&t->mem, N * D, sizeof *t->logits);
	berth_err err;
	assert_ok(policy_input_check(&t->d, &t->in, &err), &err);
}

static size_t n_pairs(const instance *t)
{
	return (size_t)t->in.n_nodes * (size_t)t->in.n_devs;
}

static void forward(instance *t)
{
	policy_forward(&t->d, t->w, &t->in, t->acts, t->logits);
}

/* ---- the second implementation: scalar, in double, weights found by name ---- */

static double weight(const instance *t, const char *prefix, const char *name, int32_t copy, int32_t row,
                     int32_t column)
{
	char full[64];
	snprintf(full, sizeof full, "%s%s", prefix, name);
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor p = policy_tensor_at(&t->d, i);
		if (strcmp(p.name, full) != 0)
			continue;
		assert_true(copy < p.copies && row < p.rows && column < p.columns);
		return t->w[p.offset + (size_t)((copy * p.rows + row) * p.columns + column)];
	}
	fail_msg("no tensor %s", full);
	return 0;
}

static double relu(double x)
{
	return x > 0 ? x : 0;
}

/* sum over k of x[k] * weight[k][column] */
static double times(const instance *t, const char *prefix, const char *name, int32_t copy, const double x[],
                    int32_t n, int32_t column)
{
	double sum = 0;
	for (int32_t k = 0; k < n; k++)
		sum += x[k] * weight(t, prefix, name, copy, k, column);
	return sum;
}

static void features(const nn_real x[], int32_t row, int32_t width, double out[])
{
	for (int32_t k = 0; k < width; k++)
		out[k] = (double)x[row * width + k];
}

enum { WIDE = 16 };

static void ref_mlp(const instance *t, const char *prefix, const nn_real x[], int32_t width, int32_t row,
                    double out[])
{
	double in[WIDE], a[WIDE];
	features(x, row, width, in);
	for (int32_t j = 0; j < t->d.hidden; j++)
		a[j] = relu(times(t, prefix, "w1", 0, in, width, j) + weight(t, prefix, "b1", 0, 0, j));
	for (int32_t j = 0; j < t->d.hidden; j++)
		out[j] = times(t, prefix, "w2", 0, a, t->d.hidden, j) + weight(t, prefix, "b2", 0, 0, j);
}

/* Messages that node n gets through edges whose end `mine` is n: column block 0 from predecessors, 1 from
 * successors. */
static void ref_mean(const instance *t, const char *prefix, int32_t copy, int32_t block, int32_t n,
                     int32_t n_edges, const int32_t mine[], const int32_t other[], const nn_real edge_x[],
                     int32_t width, double h[][WIDE], double out[])
{
	int32_t H = t->d.hidden, count = 0;
	double x[WIDE];
	for (int32_t j = 0; j < H; j++)
		out[j] = 0;
	for (int32_t e = 0; e < n_edges; e++) {
		if (mine[e] != n || other[e] == n)
			continue;
		count++;
		features(edge_x, e, width, x);
		for (int32_t j = 0; j < H; j++)
			out[j] += relu(times(t, prefix, "msg_w", copy, h[other[e]], H, block * H + j) +
			               times(t, prefix, "msg_u", copy, x, width, block * H + j) +
			               weight(t, prefix, "msg_b", copy, 0, block * H + j));
	}
	for (int32_t j = 0; j < H && count; j++)
		out[j] /= count;
}

static void ref_round(const instance *t, const char *prefix, int32_t copy, int32_t n, int32_t n_edges,
                      const int32_t from[], const int32_t to[], const nn_real edge_x[], int32_t width,
                      double h[][WIDE])
{
	int32_t H = t->d.hidden;
	double next[WIDE][WIDE], m[2 * WIDE];
	for (int32_t i = 0; i < n; i++) {
		double mean = 0, variance = 0;
		ref_mean(t, prefix, copy, 0, i, n_edges, to, from, edge_x, width, h, m);
		ref_mean(t, prefix, copy, 1, i, n_edges, from, to, edge_x, width, h, m + H);
		for (int32_t j = 0; j < H; j++) {
			next[i][j] = h[i][j] + relu(times(t, prefix, "upd_w", copy, h[i], H, j) +
			                            times(t, prefix, "upd_m", copy, m, 2 * H, j) +
			                            weight(t, prefix, "upd_b", copy, 0, j));
			mean += next[i][j] / H;
		}
		for (int32_t j = 0; j < H; j++)
			variance += (next[i][j] - mean) * (next[i][j] - mean) / H;
		for (int32_t j = 0; j < H; j++)
			next[i][j] = (next[i][j] - mean) / sqrt(variance + 1e-5) *
			                     weight(t, prefix, "norm_g", copy, 0, j) +
			             weight(t, prefix, "norm_b", copy, 0, j);
	}
	memcpy(h, next, (size_t)n * sizeof *h);
}

static double ref_z(const instance *t, const double h_node[], const double h_dev[], const double x[],
                    int32_t j)
{
	return times(t, "score_", "node", 0, h_node, t->d.hidden, j) +
	       times(t, "score_", "dev", 0, h_dev, t->d.hidden, j) +
	       times(t, "score_", "pair", 0, x, t->d.pair_in, j) + weight(t, "score_", "b", 0, 0, j);
}

static double ref_logit(const instance *t, const double h_node[], const double h_dev[], int32_t pair)
{
	double x[WIDE], sum;
	features(t->in.pair_x, pair, t->d.pair_in, x);
	sum = times(t, "score_", "skip", 0, x, t->d.pair_in, 0);
	for (int32_t j = 0; j < t->d.hidden; j++)
		sum += weight(t, "score_", "v", 0, j, 0) * relu(ref_z(t, h_node, h_dev, x, j));
	return sum;
}

static double ref_step_logit(const instance *t, const double h_node[], const double h_dev[], int32_t pair,
                             const double step_x[])
{
	double x[WIDE], sum = times(t, "step_", "skip", 0, step_x, t->d.step_in, 0);
	features(t->in.pair_x, pair, t->d.pair_in, x);
	for (int32_t j = 0; j < t->d.hidden; j++)
		sum += weight(t, "step_", "v", 0, j, 0) *
		       relu(ref_z(t, h_node, h_dev, x, j) +
		            times(t, "step_", "x", 0, step_x, t->d.step_in, j));
	return sum;
}

static void ref_encode(const instance *t, double node[WIDE][WIDE], double dev[WIDE][WIDE])
{
	int32_t from[WIDE * WIDE], to[WIDE * WIDE], N = t->in.n_nodes, D = t->in.n_devs;
	assert_true(N <= WIDE && D <= WIDE && t->d.hidden <= WIDE);
	for (int32_t i = 0; i < N; i++)
		ref_mlp(t, "node_", t->in.node_x, t->d.node_in, i, node[i]);
	for (int32_t r = 0; r < t->d.rounds; r++)
		ref_round(t, "node_", r, N, t->in.n_edges, t->in.edge_from, t->in.edge_to, t->in.edge_x,
		          t->d.edge_in, node);
	for (int32_t i = 0; i < D; i++)
		ref_mlp(t, "dev_", t->in.dev_x, t->d.dev_in, i, dev[i]);
	for (int32_t i = 0; i < D * D; i++) {
		from[i] = i / D;
		to[i] = i % D;
	}
	ref_round(t, "dev_", 0, D, D * D, from, to, t->in.link_x, t->d.link_in, dev);
}

static void ref_logits(const instance *t, double logits[])
{
	double node[WIDE][WIDE], dev[WIDE][WIDE];
	int32_t N = t->in.n_nodes, D = t->in.n_devs;
	ref_encode(t, node, dev);
	for (int32_t i = 0; i < N * D; i++)
		logits[i] = ref_logit(t, node[i / D], dev[i % D], i);
}

/* ---- forward ---- */

static const policy_dims usual = {.node_in = 3,
                                  .edge_in = 2,
                                  .dev_in = 2,
                                  .pair_in = 3,
                                  .link_in = 2,
                                  .step_in = 4,
                                  .hidden = 5,
                                  .rounds = 2};

/* n_nodes, n_edges, n_devs of instances that stand for the corners: one of each, no edges, isolated nodes. */
static const int32_t sizes[][3] = {{5, 7, 3}, {1, 0, 1}, {1, 0, 4}, {4, 0, 2}, {4, 2, 1}, {2, 3, 2}};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void test_forward_equals_reference(void **state)
{
	(void)state;
	policy_dims dims[] = {usual, usual, usual};
	dims[1].rounds = 0;
	dims[2].edge_in = dims[2].pair_in = dims[2].link_in = dims[2].step_in = 0;
	for (size_t k = 0; k < 3; k++) {
		for (size_t i = 0; i < N_SIZES; i++) {
			instance t;
			double want[WIDE * WIDE];
			instance_init(&t, dims[k], sizes[i][0], sizes[i][1], sizes[i][2], i);
			forward(&t);
			ref_logits(&t, want);
			for (size_t p = 0; p < n_pairs(&t); p++)
				assert_near((double)t.logits[p], want[p], exact ? 1e-11 : 1e-4);
			berth_arena_free(&t.mem);
		}
	}
}

/* ---- step by step ---- */

enum { STEPS = 9 };

/* Random steps of an instance, and a linear loss of their logits and of the keys. */
typedef struct step_case {
	instance t;
	policy_steps steps;
	nn_real *hidden, *logits, *want; /* want [STEPS][n_devs]: weight of each logit in the loss */
	nn_real *dkeys;                  /* [n_nodes] weight of each key */
} step_case;

static void step_case_init(step_case *c, policy_dims d, int32_t n_nodes, int32_t n_edges, int32_t n_devs,
                           uint64_t stream)
{
	berth_rng r = berth_rng_seed(17, stream);
	instance_init(&c->t, d, n_nodes, n_edges, n_devs, stream);
	int32_t *node = need(&c->t.mem, STEPS, sizeof *node);
	for (int i = 0; i < STEPS; i++)
		node[i] = (int32_t)berth_rng_below(&r, (uint32_t)n_nodes);
	c->steps = (policy_steps){STEPS, node, normals(&c->t, &r, STEPS * n_devs * d.step_in)};
	c->hidden = need(&c->t.mem, (size_t)(STEPS * n_devs * d.hidden), sizeof *c->hidden);
	c->logits = need(&c->t.mem, (size_t)(STEPS * n_devs), sizeof *c->logits);
	c->want = normals(&c->t, &r, STEPS * n_devs);
	c->dkeys = normals(&c->t, &r, n_nodes);
}

static void forward_steps(step_case *c)
{
	policy_embed(&c->t.d, c->t.w, &c->t.in, c->t.acts);
	policy_steps_forward(&c->t.d, c->t.w, &c->t.in, c->t.acts, &c->steps, c->hidden, c->logits);
}

static double loss_of_steps(void *ctx)
{
	step_case *c = ctx;
	double sum = 0;
	forward_steps(c);
	const nn_real *key = policy_keys(&c->t.d, &c->t.in, c->t.acts);
	for (int i = 0; i < STEPS * c->t.in.n_devs; i++)
		sum += (double)(c->logits[i] * c->want[i]);
	for (int i = 0; i < c->t.in.n_nodes; i++)
		sum += (double)(key[i] * c->dkeys[i]);
	return sum;
}

static void test_steps_equal_reference(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_SIZES; k++) {
		step_case c;
		double node[WIDE][WIDE], dev[WIDE][WIDE], x[WIDE];
		policy_dims d = usual;
		d.hidden = k == 0 ? 16 : 5;
		step_case_init(&c, d, sizes[k][0], sizes[k][1], sizes[k][2], 50 + k);
		int32_t D = c.t.in.n_devs;
		forward_steps(&c);
		ref_encode(&c.t, node, dev);
		policy_stepper one = policy_stepper_of(&d, c.t.w, &c.t.in, c.t.acts);
		for (int32_t i = 0; i < STEPS; i++) {
			nn_real logits[WIDE];
			policy_step_logits(&one, c.steps.node[i], c.steps.x + i * D * d.step_in, logits);
			for (int32_t v = 0; v < D; v++) {
				features(c.steps.x, i * D + v, d.step_in, x);
				double want = ref_step_logit(&c.t, node[c.steps.node[i]], dev[v],
				                             c.steps.node[i] * D + v, x);
				assert_near((double)c.logits[i * D + v], want, exact ? 1e-11 : 1e-4);
				assert_near((double)logits[v], want, exact ? 1e-11 : 1e-4);
			}
		}
		for (int32_t n = 0; n < c.t.in.n_nodes; n++)
			assert_near((double)policy_keys(&d, &c.t.in, c.t.acts)[n],
			            times(&c.t, "order_", "v", 0, node[n], d.hidden, 0),
			            exact ? 1e-11 : 1e-4);
		berth_arena_free(&c.t.mem);
	}
}

static void test_steps_gradient(void **state)
{
	(void)state;
	size_t kinks = 0, total = 0;
	for (size_t i = 0; i < N_SIZES; i++) {
		step_case c;
		step_case_init(&c, usual, sizes[i][0], sizes[i][1], sizes[i][2], 60 + i);
		const policy_input *in = &c.t.in;
		size_t n = policy_param_count(&usual);
		nn_real *grads = need(&c.t.mem, n, sizeof *grads);
		policy_steps half = c.steps; /* in two pieces, which add up */
		forward_steps(&c);
		policy_backward_begin(&usual, in, c.t.acts);
		half.n = STEPS / 2;
		policy_steps_backward(&usual, c.t.w, in, c.t.acts, &half, c.hidden, c.want, grads);
		size_t done = half.n * (size_t)in->n_devs;
		half = (policy_steps){STEPS - half.n, c.steps.node + half.n,
		                      c.steps.x + done * (size_t)usual.step_in};
		policy_steps_backward(&usual, c.t.w, in, c.t.acts, &half,
		                      c.hidden + done * (size_t)usual.hidden, c.want + done, grads);
		policy_backward_end(&usual, c.t.w, in, c.t.acts, c.dkeys, grads);
		for (int32_t k = 0; k < policy_tensor_count(); k++) {
			policy_tensor p = policy_tensor_at(&usual, k);
			kinks += gradcheck(p.name, p.size, (double *)(void *)(c.t.w + p.offset),
			                   (double *)(void *)(grads + p.offset), loss_of_steps, &c);
		}
		total += n;
		berth_arena_free(&c.t.mem);
	}
	print_message("%zu of %zu entries skipped at kinks\n", kinks, total);
	assert_true(kinks * 100 <= total);
}

static void test_no_nodes(void **state)
{
	(void)state;
	instance t;
	instance_init(&t, usual, 0, 0, 2, 1);
	nn_real *grads = need(&t.mem, policy_param_count(&t.d), sizeof *grads);
	forward(&t);
	policy_backward(&t.d, t.w, &t.in, t.acts, t.logits, grads);
	for (size_t i = 0; i < policy_param_count(&t.d); i++)
		assert_near((double)grads[i], 0, 0);
	berth_arena_free(&t.mem);
}

/* Relabelling nodes and devices, and listing the edges backwards, relabels the logits. */
static void test_relabelling(void **state)
{
	(void)state;
	enum { N = 5, E = 7, D = 3 };
	static const int32_t node_new[N] = {3, 0, 4, 1, 2}, dev_new[D] = {2, 0, 1};
	const policy_dims d = usual;
	instance t;
	instance_init(&t, d, N, E, D, 3);
	nn_real node_x[N * 3], edge_x[E * 2], dev_x[D * 2], pair_x[N * D * 3], link_x[D * D * 2],
		logits[N * D];
	int32_t from[E], to[E];
	policy_input in = {N, E, D, node_x, edge_x, dev_x, pair_x, link_x, from, to, t.mask};
	for (int32_t i = 0; i < N; i++)
		memcpy(node_x + node_new[i] * d.node_in, t.in.node_x + i * d.node_in,
		       (size_t)d.node_in * sizeof *node_x);
	for (int32_t e = 0; e < E; e++) {
		memcpy(edge_x + (E - 1 - e) * d.edge_in, t.in.edge_x + e * d.edge_in,
		       (size_t)d.edge_in * sizeof *edge_x);
		from[E - 1 - e] = node_new[t.in.edge_from[e]];
		to[E - 1 - e] = node_new[t.in.edge_to[e]];
	}
	for (int32_t i = 0; i < D; i++)
		memcpy(dev_x + dev_new[i] * d.dev_in, t.in.dev_x + i * d.dev_in,
		       (size_t)d.dev_in * sizeof *dev_x);
	for (int32_t i = 0; i < D * D; i++)
		memcpy(link_x + (dev_new[i / D] * D + dev_new[i % D]) * d.link_in,
		       t.in.link_x + i * d.link_in, (size_t)d.link_in * sizeof *link_x);
	for (int32_t i = 0; i < N * D; i++)
		memcpy(pair_x + (node_new[i / D] * D + dev_new[i % D]) * d.pair_in,
		       t.in.pair_x + i * d.pair_in, (size_t)d.pair_in * sizeof *pair_x);
	forward(&t);
	policy_forward(&d, t.w, &in, t.acts, logits);
	for (int32_t i = 0; i < N * D; i++)
		assert_near((double)logits[node_new[i / D] * D + dev_new[i % D]], (double)t.logits[i],
		            exact ? 1e-12 : 1e-4);
	berth_arena_free(&t.mem);
}

static void test_same_bits(void **state)
{
	(void)state;
	instance t;
	policy_dims d = usual;
	d.hidden = 32;
	instance_init(&t, d, 20, 40, 4, 5);
	size_t n = policy_param_count(&d), bytes = n * sizeof(nn_real),
	       acts = policy_acts_size(&d, 20, 40, 4) * sizeof *t.acts;
	nn_real *one = need(&t.mem, n, sizeof *one), *two = need(&t.mem, n, sizeof *two), logits[80];
	forward(&t);
	memcpy(logits, t.logits, sizeof logits);
	policy_backward(&d, t.w, &t.in, t.acts, logits, one);
	memset(t.acts, 0xff, acts); /* what was in the scratch must not matter */
	forward(&t);
	assert_memory_equal(logits, t.logits, sizeof logits);
	policy_backward(&d, t.w, &t.in, t.acts, logits, two);
	assert_memory_equal(one, two, bytes);
	memset(two, 0, bytes);
	policy_backward(&d, t.w, &t.in, t.acts, logits, two); /* a second time after one forward */
	assert_memory_equal(one, two, bytes);
	berth_arena_free(&t.mem);
}

enum { WORKERS = 3, ITEMS = 24 };

typedef struct shared_work {
	instance *t;
	nn_real *acts[WORKERS], *logits[ITEMS], *grads[ITEMS];
} shared_work;

static void one_item(void *ctx, int32_t item, int32_t worker)
{
	shared_work *s = ctx;
	policy_forward(&s->t->d, s->t->w, &s->t->in, s->acts[worker], s->logits[item]);
	policy_backward(&s->t->d, s->t->w, &s->t->in, s->acts[worker], s->logits[item], s->grads[item]);
}

/* Several threads at once, each with its own scratch, give the bits of one. */
static void test_same_bits_on_threads(void **state)
{
	(void)state;
	instance t;
	policy_dims d = usual;
	d.hidden = 64;
	instance_init(&t, d, 40, 60, 4, 6);
	size_t n = policy_param_count(&d), acts = policy_acts_size(&d, 40, 60, 4);
	shared_work s = {.t = &t};
	nn_real *want = need(&t.mem, n, sizeof *want);
	for (int i = 0; i < WORKERS; i++)
		s.acts[i] = need(&t.mem, acts, sizeof **s.acts);
	for (int i = 0; i < ITEMS; i++) {
		s.logits[i] = need(&t.mem, n_pairs(&t), sizeof **s.logits);
		s.grads[i] = need(&t.mem, n, sizeof **s.grads);
	}
	berth_pool *pool;
	berth_err err;
	forward(&t);
	policy_backward(&d, t.w, &t.in, t.acts, t.logits, want);
	assert_ok(berth_pool_new(WORKERS, &pool, &err), &err);
	berth_pool_run(pool, ITEMS, one_item, &s);
	berth_pool_free(pool);
	for (int i = 0; i < ITEMS; i++) {
		assert_memory_equal(s.logits[i], t.logits, n_pairs(&t) * sizeof *t.logits);
		assert_memory_equal(s.grads[i], want, n * sizeof *want);
	}
	berth_arena_free(&t.mem);
}

static void test_table(void **state)
{
	(void)state;
	size_t end = 0;
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor p = policy_tensor_at(&usual, i);
		assert_int_equal(p.offset, end);
		assert_int_equal(p.size, (size_t)p.copies * (size_t)p.rows * (size_t)p.columns);
		for (int32_t j = 0; j < i; j++)
			assert_string_not_equal(p.name, policy_tensor_at(&usual, j).name);
		end += p.size;
	}
	assert_int_equal(end, policy_param_count(&usual));
}

static void test_untrained_is_near_uniform(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		instance t;
		policy_dims d = usual;
		d.hidden = 64;
		instance_init(&t, d, 12, 20, 4, seed);
		berth_rng r = berth_rng_seed(seed, BERTH_STREAM_INIT), same = r;
		nn_real *again = need(&t.mem, policy_param_count(&d), sizeof *again);
		policy_init(&d, t.w, &r);
		policy_init(&d, again, &same);
		assert_memory_equal(t.w, again, policy_param_count(&d) * sizeof *again);
		forward(&t);
		for (size_t i = 0; i < n_pairs(&t); i++) {
			assert_true(t.logits[i] != 0);
			assert_near((double)t.logits[i], 0, 0.25);
		}
		berth_arena_free(&t.mem);
	}
}

/* ---- losses ---- */

enum { SAMPLES = 6 };

typedef struct ppo_case {
	instance t;
	policy_ppo_cfg cfg;
	policy_ppo_stats stats;
	int32_t *action; /* [SAMPLES][n_nodes] */
	nn_real *old_logp, *advantage, *work, *dlogits;
	bool cross_entropy;
	double loss;
} ppo_case;

/* A legal device of the node, and the log-probability that it might have been drawn with. */
static void ppo_case_init(ppo_case *c, policy_dims d, int32_t n_nodes, int32_t n_edges, int32_t n_devs,
                          uint64_t stream)
{
	*c = (ppo_case){.cfg = {.clip = 0.2, .entropy = 0.05}};
	instance_init(&c->t, d, n_nodes, n_edges, n_devs, stream);
	berth_rng r = berth_rng_seed(13, stream);
	berth_err err;
	size_t N = (size_t)n_nodes, D = (size_t)n_devs;
	c->action = need(&c->t.mem, SAMPLES * N, sizeof *c->action);
	c->old_logp = need(&c->t.mem, SAMPLES * N, sizeof *c->old_logp);
	c->advantage = normals(&c->t, &r, SAMPLES);
	c->work = need(&c->t.mem, policy_loss_work_size(n_nodes, n_devs), sizeof *c->work);
	c->dlogits = need(&c->t.mem, N * D, sizeof *c->dlogits);
	forward(&c->t);
	assert_ok(policy_log_probs(n_nodes, n_devs, c->t.logits, c->t.mask, c->work, &err), &err);
	for (size_t i = 0; i < SAMPLES * N; i++) {
		size_t a;
		do
			a = berth_rng_below(&r, (uint32_t)n_devs);
		while (!c->t.mask[i % N * D + a]);
		c->action[i] = (int32_t)a;
		c->old_logp[i] = c->work[i % N * D + a] + (nn_real)(0.2 * berth_rng_normal(&r));
	}
}

static berth_status run_loss(ppo_case *c, berth_err *err)
{
	const policy_input *in = &c->t.in;
	if (!c->cross_entropy) {
		BERTH_TRY(policy_ppo_loss(&c->cfg, SAMPLES, in->n_nodes, in->n_devs, c->t.logits, c->t.mask,
		                          c->action, c->old_logp, c->advantage, c->work, c->dlogits,
		                          &c->stats, err));
		c->loss = c->stats.loss;
		return BERTH_OK;
	}
	nn_real w[SAMPLES];
	for (int s = 0; s < SAMPLES; s++)
		w[s] = c->advantage[s] * c->advantage[s];
	return policy_ce_loss(0.7, SAMPLES, in->n_nodes, in->n_devs, c->t.logits, c->t.mask, c->action, w,
	                      c->work, c->dlogits, &c->loss, err);
}

static double loss_of_logits(void *ctx)
{
	ppo_case *c = ctx;
	berth_err err;
	assert_ok(run_loss(c, &err), &err);
	return c->loss;
}

static double loss_of_params(void *ctx)
{
	ppo_case *c = ctx;
	forward(&c->t);
	return loss_of_logits(c);
}

static double ref_logp(const ppo_case *c, size_t n, size_t d)
{
	size_t D = (size_t)c->t.in.n_devs;
	double sum = 0;
	for (size_t k = 0; k < D; k++)
		sum += c->t.mask[n * D + k] ? exp((double)c->t.logits[n * D + k]) : 0;
	return (double)c->t.logits[n * D + d] - log(sum);
}

static void test_ppo_values(void **state)
{
	(void)state;
	ppo_case c;
	ppo_case_init(&c, usual, 5, 7, 3, 21);
	size_t N = 5, D = 3, clipped = 0;
	double objective = 0, kl = 0, entropy = 0;
	for (size_t i = 0; i < SAMPLES * N; i++) {
		double logp = ref_logp(&c, i % N, (size_t)c.action[i]),
		       ratio = exp(logp - (double)c.old_logp[i]), A = (double)c.advantage[i / N];
		objective += fmin(ratio * A, fmin(fmax(ratio, 0.8), 1.2) * A);
		clipped += fabs(ratio - 1) > 0.2;
		kl += (double)c.old_logp[i] - logp;
	}
	for (size_t i = 0; i < N * D; i++)
		entropy -= c.t.mask[i] ? exp(ref_logp(&c, i / D, i % D)) * ref_logp(&c, i / D, i % D) : 0;
	loss_of_logits(&c);
	const double tol = exact ? 1e-12 : 1e-5;
	assert_true(clipped > 3 && clipped < SAMPLES * N - 3);
	assert_near(c.stats.policy_loss, -objective / (double)(SAMPLES * N), tol);
	assert_near(c.stats.kl, kl / (double)(SAMPLES * N), tol);
	assert_near(c.stats.entropy, entropy / (double)N, tol);
	assert_near(c.stats.loss, c.stats.policy_loss - 0.05 * c.stats.entropy, 1e-12);
	assert_near(c.stats.clip_fraction, (double)clipped / (double)(SAMPLES * N), 0);
	berth_arena_free(&c.t.mem);
}

/* Samples of one table, gathered: the loss, statistics and gradient of the samples one by one. */
static void test_gathered_samples(void **state)
{
	(void)state;
	enum { N = 5, D = 3 };
	ppo_case c;
	policy_batch b;
	policy_ppo_stats stats;
	berth_err err;
	nn_real again[N * D] = {0};
	ppo_case_init(&c, usual, N, 7, D, 21);
	berth_rng r = berth_rng_seed(5, 1);
	assert_ok(policy_batch_new(N * D, &c.t.mem, &b, &err), &err);
	forward(&c.t);
	assert_ok(policy_log_probs(N, D, c.t.logits, c.t.mask, b.old_logp, &err), &err);
	for (size_t i = 0; i < N * D; i++)
		b.old_logp[i] += (nn_real)(0.3 * berth_rng_normal(&r));
	for (size_t i = 0; i < SAMPLES * N; i++)
		c.old_logp[i] = b.old_logp[i % N * D + (size_t)c.action[i]];
	memset(c.dlogits, 0, N * D * sizeof *c.dlogits);
	loss_of_logits(&c);
	policy_batch_gather(&b, SAMPLES, N, D, c.action, c.advantage);
	assert_ok(policy_ppo_batch_loss(&c.cfg, &b, c.t.logits, c.t.mask, c.work, again, &stats, &err), &err);
	const double tol = exact ? 1e-12 : 1e-5;
	assert_true(stats.clip_fraction > 0.1 && stats.clip_fraction < 0.9);
	assert_near(stats.clip_fraction, c.stats.clip_fraction, 1e-12);
	assert_near(stats.loss, c.stats.loss, tol);
	assert_near(stats.policy_loss, c.stats.policy_loss, tol);
	assert_near(stats.kl, c.stats.kl, tol);
	assert_near(stats.entropy, c.stats.entropy, tol);
	for (size_t i = 0; i < N * D; i++)
		assert_near((double)again[i], (double)c.dlogits[i], tol);
	berth_arena_free(&c.t.mem);
}

/* Two nodes, two devices, uniform: numbers by hand. */
static void test_ce_values(void **state)
{
	(void)state;
	const nn_real logits[4] = {0}, weight_[] = {1, 3};
	const uint8_t mask[] = {1, 1, 1, 0};
	const int32_t target[] = {0, 0, 1, 0};
	nn_real work[8], dlogits[4] = {0};
	double loss;
	berth_err err;
	assert_ok(policy_ce_loss(2, 2, 2, 2, logits, mask, target, weight_, work, dlogits, &loss, &err),
	          &err);
	assert_near(loss, 2 * log(2) / 2, 1e-6);
	assert_near((double)dlogits[0], 2 * (0.5 - 0.25) / 2, 1e-6);
	assert_near((double)dlogits[1], 2 * (0.5 - 0.75) / 2, 1e-6);
	assert_near((double)dlogits[2], 0, 0);
	assert_near((double)dlogits[3], 0, 0);
}

static void test_losses_refuse(void **state)
{
	(void)state;
	const nn_real logits[4] = {0}, old[2] = {0}, A[1] = {1}, none[1] = {0}, minus[1] = {-1};
	const uint8_t mask[] = {1, 1, 1, 0}, dead[] = {1, 1, 0, 0};
	const int32_t fine[] = {1, 0}, illegal[] = {0, 1}, beyond[] = {2, 0}, below[] = {0, -1};
	const policy_ppo_cfg cfg = {.clip = 0.2, .entropy = 0.01};
	nn_real work[8], dlogits[4] = {9, 9, 9, 9};
	policy_ppo_stats stats = {.loss = 5};
	double loss = 5;
	berth_err err;
	const int32_t *bad[] = {illegal, beyond, below};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(policy_ppo_loss(&cfg, 1, 2, 2, logits, mask, bad[i], old, A, work, dlogits,
		                                 &stats, &err),
		                 BERTH_EINVAL);
		assert_contains(err.msg, "sample 0 puts node");
		assert_int_equal(
			policy_ce_loss(1, 1, 2, 2, logits, mask, bad[i], A, work, dlogits, &loss, &err),
			BERTH_EINVAL);
	}
	assert_int_equal(
		policy_ppo_loss(&cfg, 1, 2, 2, logits, dead, fine, old, A, work, dlogits, &stats, &err),
		BERTH_EINFEASIBLE);
	assert_contains(err.msg, "node 1 has no legal device");
	assert_int_equal(policy_ce_loss(1, 1, 2, 2, logits, mask, fine, none, work, dlogits, &loss, &err),
	                 BERTH_EINVAL);
	assert_int_equal(policy_ce_loss(1, 1, 2, 2, logits, mask, fine, minus, work, dlogits, &loss, &err),
	                 BERTH_EINVAL);
	assert_true(stats.loss == 5 && loss == 5 && dlogits[0] == 9 && dlogits[3] == 9);
}

static void test_checks(void **state)
{
	(void)state;
	instance t;
	berth_err err;
	instance_init(&t, usual, 4, 3, 2, 8);
	policy_input in = t.in;
	const int32_t loop[] = {0, 1, 1};
	in.edge_from = in.edge_to = loop;
	assert_int_equal(policy_input_check(&usual, &in, &err), BERTH_EINVAL);
	assert_contains(err.msg, "edge 0 goes from node 0 to node 0");
	t.mask[4] = t.mask[5] = 0;
	assert_int_equal(policy_input_check(&usual, &t.in, &err), BERTH_EINFEASIBLE);
	assert_contains(err.msg, "node 2 has no legal device");
	nn_real bad[8] = {0, 0, 0, NAN};
	in = t.in;
	in.dev_x = bad;
	assert_int_equal(policy_input_check(&usual, &in, &err), BERTH_EINVAL);
	assert_contains(err.msg, "feature 1 of device 1 is not finite");
	berth_arena_free(&t.mem);
}

/* ---- gradients ---- */

static void check_gradients(bool cross_entropy)
{
	size_t kinks = 0, total = 0;
	for (size_t i = 0; i < N_SIZES; i++) {
		ppo_case c;
		ppo_case_init(&c, usual, sizes[i][0], sizes[i][1], sizes[i][2], 30 + i);
		c.cross_entropy = cross_entropy;
		size_t n = policy_param_count(&usual), pairs = n_pairs(&c.t);
		nn_real *grads = need(&c.t.mem, n, sizeof *grads),
			*dlogits = need(&c.t.mem, pairs, sizeof *dlogits);
		loss_of_params(&c);
		memset(c.dlogits, 0, pairs * sizeof *dlogits);
		loss_of_logits(&c);
		memcpy(dlogits, c.dlogits, pairs * sizeof *dlogits);
		policy_backward(&usual, c.t.w, &c.t.in, c.t.acts, dlogits, grads);
		kinks += gradcheck("logits", pairs, (double *)(void *)c.t.logits, (double *)(void *)dlogits,
		                   loss_of_logits, &c);
		for (int32_t k = 0; k < policy_tensor_count(); k++) {
			policy_tensor p = policy_tensor_at(&usual, k);
			kinks += gradcheck(p.name, p.size, (double *)(void *)(c.t.w + p.offset),
			                   (double *)(void *)(grads + p.offset), loss_of_params, &c);
		}
		total += n + pairs;
		berth_arena_free(&c.t.mem);
	}
	print_message("%zu of %zu entries skipped at kinks\n", kinks, total);
	assert_true(kinks * 100 <= total);
}

static void test_ppo_gradient(void **state)
{
	(void)state;
	check_gradients(false);
}

static void test_ce_gradient(void **state)
{
	(void)state;
	check_gradients(true);
}

/* ---- behaviour ---- */

/* One placement is learnt by heart. */
static void test_ce_overfits(void **state)
{
	(void)state;
	enum { N = 12, D = 4 };
	instance t;
	policy_dims d = usual;
	d.hidden = 32;
	instance_init(&t, d, N, 20, D, 40);
	berth_rng r = berth_rng_seed(1, BERTH_STREAM_INIT);
	policy_init(&d, t.w, &r);
	size_t n = policy_param_count(&d);
	nn_real *grads = need(&t.mem, n, sizeof *grads), work[2 * N * D], dlogits[N * D];
	const nn_real one[] = {1};
	int32_t target[N];
	for (int32_t i = 0; i < N; i++)
		for (int32_t k = 0; k < D; k++)
			if (t.mask[i * D + k])
				target[i] = k;
	adam_cfg cfg = adam_cfg_default();
	cfg.lr = 3e-3;
	adam_state s;
	berth_err err;
	double first = 0, loss = 0;
	assert_ok(adam_new(n, &t.mem, &s, &err), &err);
	for (int k = 0; k < 150; k++) {
		forward(&t);
		memset(dlogits, 0, sizeof dlogits);
		memset(grads, 0, n * sizeof *grads);
		assert_ok(
			policy_ce_loss(1, 1, N, D, t.logits, t.mask, target, one, work, dlogits, &loss, &err),
			&err);
		policy_backward(&d, t.w, &t.in, t.acts, dlogits, grads);
		assert_true(isfinite(adam_update(&cfg, &s, t.w, grads)));
		first = k ? first : loss;
	}
	assert_true(first > 0.5);
	assert_true(loss < 0.01);
	berth_arena_free(&t.mem);
}

static int32_t draw(berth_rng *r, const nn_real logp[], int32_t n)
{
	double u = berth_rng_unit(r);
	int32_t last = 0;
	for (int32_t d = 0; d < n; d++) {
		if (!isfinite(logp[d]))
			continue;
		last = d;
		u -= exp((double)logp[d]);
		if (u < 0)
			return d;
	}
	return last;
}

/* Reward: nodes that stand on their (secret) device. PPO finds it. */
static void test_ppo_learns(void **state)
{
	(void)state;
	enum { N = 6, D = 3, S = 32 };
	instance t;
	policy_dims d = usual;
	d.hidden = 32;
	instance_init(&t, d, N, 8, D, 50);
	memset(t.mask, 1, N * D);
	berth_rng r = berth_rng_seed(2, BERTH_STREAM_INIT);
	policy_init(&d, t.w, &r);
	size_t n = policy_param_count(&d);
	nn_real *grads = need(&t.mem, n, sizeof *grads), logp[N * D], work[2 * N * D], dlogits[N * D],
		old[S * N], advantage[S];
	static const int32_t secret[N] = {2, 0, 1, 1, 2, 0};
	int32_t action[S * N];
	adam_cfg cfg = adam_cfg_default();
	cfg.lr = 3e-3;
	policy_ppo_cfg ppo = {.clip = 0.2, .entropy = 0.01};
	policy_ppo_stats stats = {0};
	adam_state adam;
	berth_err err;
	assert_ok(adam_new(n, &t.mem, &adam, &err), &err);
	for (int update = 0; update < 80; update++) {
		forward(&t);
		assert_ok(policy_log_probs(N, D, t.logits, t.mask, logp, &err), &err);
		nn_real mean = 0;
		for (int s = 0; s < S; s++) {
			advantage[s] = 0;
			for (int i = 0; i < N; i++) {
				int32_t a = action[s * N + i] = draw(&r, logp + i * D, D);
				old[s * N + i] = logp[i * D + a];
				advantage[s] += a == secret[i];
			}
			mean += advantage[s] / S;
		}
		for (int s = 0; s < S; s++)
			advantage[s] -= mean;
		for (int epoch = 0; epoch < 4; epoch++) {
			forward(&t);
			memset(dlogits, 0, sizeof dlogits);
			memset(grads, 0, n * sizeof *grads);
			assert_ok(policy_ppo_loss(&ppo, S, N, D, t.logits, t.mask, action, old, advantage,
			                          work, dlogits, &stats, &err),
			          &err);
			policy_backward(&d, t.w, &t.in, t.acts, dlogits, grads);
			adam_update(&cfg, &adam, t.w, grads);
			if (epoch == 0)
				assert_near(stats.kl, 0, 1e-5);
		}
	}
	forward(&t);
	assert_ok(policy_log_probs(N, D, t.logits, t.mask, logp, &err), &err);
	for (int i = 0; i < N; i++)
		assert_true(logp[i * D + secret[i]] > (nn_real)log(0.8));
	berth_arena_free(&t.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forward_equals_reference),
		cmocka_unit_test(test_no_nodes),
		cmocka_unit_test(test_relabelling),
		cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_same_bits_on_threads),
		cmocka_unit_test(test_steps_equal_reference),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_untrained_is_near_uniform),
		cmocka_unit_test(test_ppo_values),
		cmocka_unit_test(test_gathered_samples),
		cmocka_unit_test(test_ce_values),
		cmocka_unit_test(test_losses_refuse),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_ce_overfits),
		cmocka_unit_test(test_ppo_learns),
	};
	const struct CMUnitTest gradients[] = {
		cmocka_unit_test(test_ppo_gradient),
		cmocka_unit_test(test_ce_gradient),
		cmocka_unit_test(test_steps_gradient),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (exact)
		failed += cmocka_run_group_tests(gradients, NULL, NULL);
	return failed;
}
