/* The two policies of DOPPLER: gradients of a whole episode's loss against finite differences; steps one by
 * one equal the episode at once; ready operators. Built twice: for float, as in the product, and for double
 * (see test_nn.c). */
#include "doppler.h"
#include "gradcheck.h"
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const bool exact = sizeof(nn_real) == sizeof(double);

enum { OPS = 5, EDGES = 6, DEVS = 3 };

/* A diamond with a tail, and an operator of its own; the topological order is not that of the indices. */
static const int32_t from[EDGES] = {0, 0, 1, 2, 3, 0}, to[EDGES] = {2, 1, 3, 3, 4, 3};
static const int32_t out_off[OPS + 2] = {0, 3, 4, 5, 6, 6, 6}, out_to[EDGES] = {2, 1, 3, 3, 3, 4};
static const int32_t topo[OPS + 1] = {5, 0, 2, 1, 3, 4}, below[OPS + 1] = {1, 3, 3, 4, -1, -1},
				above[OPS + 1] = {-1, 0, 0, 2, 3, -1};

typedef struct subject {
	berth_arena mem;
	doppler_dims d;
	doppler_input in;
	doppler_episode ep;
	nn_real *w, *grads, *acts, *work;
	int32_t ready[OPS + 1], waits[OPS + 1];
} subject;

static void *need(subject *x, size_t n, size_t size)
{
	void *p = berth_arena_alloc(&x->mem, n, size);
	assert_non_null(p);
	return p;
}

static nn_real *normals(subject *x, berth_rng *r, size_t n)
{
	nn_real *v = need(x, n, sizeof *v);
	for (size_t i = 0; i < n; i++)
		v[i] = (nn_real)berth_rng_normal(r);
	return v;
}

static void open_subject(subject *x, int32_t hidden, int32_t rounds, uint64_t seed)
{
	static const int32_t order[OPS + 1] = {0, 2, 5, 1, 3, 4}, dev[OPS + 1] = {0, 1, 1, 2, 1, 0};
	berth_rng r = berth_rng_seed(seed, 3);
	*x = (subject){.d = {hidden, rounds}};
	x->in = (doppler_input){OPS + 1,
	                        EDGES,
	                        DEVS,
	                        normals(x, &r, (OPS + 1) * DOPPLER_NODE),
	                        normals(x, &r, EDGES),
	                        from,
	                        to,
	                        topo,
	                        below,
	                        above,
	                        out_off,
	                        out_to};
	x->w = normals(x, &r, doppler_param_count(&x->d));
	for (size_t i = 0; i < doppler_param_count(&x->d); i++)
		x->w[i] *= (nn_real)0.5;
	x->grads = need(x, doppler_param_count(&x->d), sizeof *x->grads);
	x->acts = need(x, doppler_acts_size(&x->d, &x->in), sizeof *x->acts);
	x->work = need(x, doppler_work_size(&x->d, &x->in), sizeof *x->work);
	x->ep.op = need(x, OPS + 1, sizeof *x->ep.op);
	x->ep.dev = need(x, OPS + 1, sizeof *x->ep.dev);
	memcpy(x->ep.op, order, sizeof order);
	memcpy(x->ep.dev, dev, sizeof dev);
	x->ep.dev_x = normals(x, &r, (OPS + 1) * DEVS * DOPPLER_DEV);
	x->ep.mask = need(x, (OPS + 1) * DEVS, 1);
	for (size_t i = 0; i < (OPS + 1) * DEVS; i++)
		x->ep.mask[i] = (int32_t)(i % DEVS) == dev[i / DEVS] || i / DEVS == 4 || i % 4 != 2;
	for (size_t i = 3 * DEVS; i < 4 * DEVS; i++)
		x->ep.mask[i] = (int32_t)(i % DEVS) == dev[3]; /* a step without choice */
}

/* Two episodes of unlike weights: their losses add up. */
static double loss(void *ctx)
{
	subject *x = ctx;
	doppler_embed(&x->d, x->w, &x->in, x->acts);
	memset(x->grads, 0, doppler_param_count(&x->d) * sizeof *x->grads);
	doppler_backward_begin(&x->d, &x->in, x->acts);
	double sum = doppler_episode_backward(&x->d, x->w, &x->in, x->acts, &x->ep, 1.3, x->work, x->ready,
	                                      x->waits, x->grads);
	x->ep.dev[4] = 2;
	sum += doppler_episode_backward(&x->d, x->w, &x->in, x->acts, &x->ep, -0.4, x->work, x->ready,
	                                x->waits, x->grads);
	x->ep.dev[4] = 1;
	doppler_backward_end(&x->d, x->w, &x->in, x->acts, x->grads);
	return sum;
}

static void test_gradients(void **state)
{
	(void)state;
	for (int32_t rounds = 0; rounds < 3 && exact; rounds++) {
		subject x;
		open_subject(&x, 4, rounds, 5 + (uint64_t)rounds);
		size_t n = doppler_param_count(&x.d);
		double *grads = need(&x, n, sizeof *grads);
		loss(&x);
		for (size_t i = 0; i < n; i++)
			grads[i] = (double)x.grads[i];
		size_t kinks = gradcheck("doppler", n, (double *)(void *)x.w, grads, loss, &x);
		assert_true(kinks <= n / 20);
		berth_arena_free(&x.mem);
	}
}

/* The log-probabilities that steps give one by one are those of the episode's loss. */
static void test_steps_equal_the_episode(void **state)
{
	(void)state;
	subject x;
	open_subject(&x, 5, 2, 9);
	nn_real held[DEVS * 5] = {0}, scratch[2 * DEVS * 5], logits[DEVS], p[OPS + 1];
	double sum = 0;
	int32_t n;
	doppler_embed(&x.d, x.w, &x.in, x.acts);
	const nn_real *scores = doppler_scores(&x.d, &x.in, x.acts);
	doppler_ready_start(&x.in, x.ready, x.waits, &n);
	for (int step = 0; step <= OPS; step++) {
		int32_t op = x.ep.op[step], dev = x.ep.dev[step], at = -1;
		double total = 0;
		doppler_ready_probs(scores, x.ready, n, p);
		for (int32_t i = 0; i < n; i++)
			at = x.ready[i] == op ? i : at;
		assert_true(at >= 0);
		sum += log((double)p[at]);
		doppler_place_logits(&x.d, x.w, &x.in, x.acts, op, x.ep.dev_x + step * DEVS * DOPPLER_DEV,
		                     held, scratch, logits);
		for (int d = 0; d < DEVS; d++)
			total += x.ep.mask[step * DEVS + d] ? exp((double)logits[d]) : 0;
		sum += (double)logits[dev] - log(total);
		doppler_hold(&x.d, &x.in, x.acts, op, dev, held);
		assert_int_equal(doppler_ready_take(&x.in, x.ready, x.waits, &n, at), op);
	}
	assert_int_equal(n, 0);
	doppler_backward_begin(&x.d, &x.in, x.acts);
	assert_near(doppler_episode_backward(&x.d, x.w, &x.in, x.acts, &x.ep, 1, x.work, x.ready, x.waits,
	                                     x.grads),
	            -sum / (OPS + 1), exact ? 1e-12 : 1e-4);
	berth_arena_free(&x.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients),
	                                   cmocka_unit_test(test_steps_equal_the_episode)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
