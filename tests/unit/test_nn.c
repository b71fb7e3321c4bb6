/* Layers and Adam: numbers done by hand, and every gradient against finite differences. Built twice: for
 * float, as in the product, and for double, where the gradients are checked. */
#include "nn_table.h"
#include "gradcheck.h"
#include "nn.h"
#include "nn_gemm.h"
#include "rng.h"
#include "support.h"

#include <math.h>
#include <string.h>

enum { MAX = 128 };

#define FMA _Generic((nn_real)0, float: fmaf, double: fma)

static const double tolerance = sizeof(nn_real) == sizeof(double) ? 1e-12 : 1e-5;

/* The gradient tests are registered for double only. */
static double *as_double(nn_real *x)
{
	assert_int_equal(sizeof *x, sizeof(double));
	return (double *)(void *)x;
}

static void fill(berth_rng *r, nn_real x[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (nn_real)berth_rng_normal(r);
}

static double dot(const nn_real x[], const nn_real y[], size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)y[i];
	return sum;
}

/* ---- values ---- */

static void test_linear(void **state)
{
	(void)state;
	const nn_real x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 0, -1, 2, 3, 1}, b[] = {10, 20};
	const nn_real want[] = {1 * 1 + 2 * -1 + 3 * 3 + 10, 2 * 2 + 3 * 1 + 20, 4 - 5 + 18 + 10,
	                        10 + 6 + 20};
	nn_real y[4], keep[2] = {7, 7};
	nn_linear(2, 3, 2, y, x, w, b);
	for (int i = 0; i < 4; i++)
		assert_near(y[i], want[i], 0);
	nn_linear_add(2, 3, 2, y, x, w);
	assert_near(y[0], 2 * want[0] - b[0], 0);
	nn_linear(0, 3, 2, keep, x, w, b); /* no rows: nothing is touched */
	assert_near(keep[0], 7, 0);
	nn_linear(1, 0, 2, keep, x, w, b); /* no inputs: the bias */
	assert_near(keep[1], 20, 0);
}

/* All shapes around the sizes of tiles, against the plain sum. Small whole numbers: every order of summing is
 * exact. What stands behind c stays. */
static void check_gemm(size_t N, size_t K, size_t M, nn_factor ta, nn_factor tb)
{
	static nn_real a[40000], b[40000], c[5000], want[5000];
	for (size_t i = 0; i < N * K; i++)
		a[i] = (nn_real)((int)(i * 7 % 11) - 5);
	for (size_t i = 0; i < K * M; i++)
		b[i] = (nn_real)((int)(i * 5 % 13) - 6);
	for (size_t n = 0; n <= N * M; n++)
		c[n] = want[n] = (nn_real)(n % 17);
	for (size_t n = 0; n < N; n++)
		for (size_t m = 0; m < M; m++)
			for (size_t k = 0; k < K; k++)
				want[n * M + m] += a[ta == NN_AS_IS ? n * K + k : k * N + n] *
				                   b[tb == NN_AS_IS ? k * M + m : m * K + k];
	nn_gemm_add(N, K, M, c, ta, a, tb, b);
	for (size_t i = 0; i <= N * M; i++)
		assert_true(c[i] == want[i]);
}

static void test_gemm(void **state)
{
	static const size_t side[] = {0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 32, 33, 49};
	static const size_t deep[] = {0, 1, 9, 257, 600};
	(void)state;
	for (size_t i = 0; i < sizeof side / sizeof *side; i++)
		for (size_t j = 0; j < sizeof side / sizeof *side; j++)
			for (size_t k = 0; k < sizeof deep / sizeof *deep; k++)
				for (int t = 0; t < 4; t++)
					check_gemm(side[i], deep[k], side[j],
					           t & 1 ? NN_TRANSPOSED : NN_AS_IS,
					           t & 2 ? NN_TRANSPOSED : NN_AS_IS);
}

/* A kernel against plain sums of fma(), bit for bit: of a matrix and a vector in 64-byte parts. */
static void check_kernel(nn_gemm_kernel *kernel, const nn_real *a, const nn_real *b, size_t N, size_t K,
                         size_t M, bool ta, bool tb)
{
	enum { PARTS = 64 / sizeof(nn_real) };
	nn_real c[1300], want[1300];
	memcpy(c, b, sizeof c);
	memcpy(want, b, sizeof want);
	for (size_t i = 0; i < N * M; i++) {
		size_t n = i / M, m = i % M, parts = M == 1 && !ta ? PARTS : 1;
		nn_real part[PARTS] = {parts == 1 ? want[i] : 0};
		for (size_t k = 0; k < K; k++)
			part[k % parts] = FMA(a[ta ? k * N + n : n * K + k], b[tb ? m * K + k : k * M + m],
			                      part[k % parts]);
		for (size_t half = parts / 2; half; half /= 2)
			for (size_t k = 0; k < half; k++)
				part[k] += part[k + half];
		want[i] = parts == 1 ? part[0] : want[i] + part[0];
	}
	kernel(N, K, M, c, ta ? NN_TRANSPOSED : NN_AS_IS, a, tb ? NN_TRANSPOSED : NN_AS_IS, b);
	assert_memory_equal(c, want, sizeof c);
}

static void test_kernels(void **state)
{
	static const size_t side[] = {1, 3, 9, 17, 36}, deep[] = {5, 17, 130};
	static nn_real a[36 * 130], b[36 * 130];
	berth_rng r = berth_rng_seed(3, 1);
	nn_gemm_kernel *kernel;
	(void)state;
	fill(&r, a, 36 * 130);
	fill(&r, b, 36 * 130);
	for (int number = 0; (kernel = nn_gemm_kernel_of(number)); number++)
		for (size_t i = 0; i < 5 * 5 * 3 * 4; i++)
			check_kernel(kernel, a, b, side[i % 5], deep[i / 25 % 3], side[i / 5 % 5], i / 75 % 2,
			             i / 150);
}

static void test_layernorm(void **state)
{
	(void)state;
	const nn_real x[] = {1, 3, 5, 5}, g[] = {1, 2}, b[] = {0, 1};
	nn_real y[4], mean[2], rstd[2];
	nn_layernorm(2, 2, y, mean, rstd, x, g, b);
	assert_near(y[0], -1, 1e-5);
	assert_near(y[1], 3, 2e-5);
	assert_near(y[2], 0, 0); /* a constant row */
	assert_near(y[3], 1, 0);
}

static void test_log_softmax(void **state)
{
	(void)state;
	const nn_real x[] = {0, (nn_real)log(3), 5, 1000, 1000, -1000, 3, 4, 5};
	const uint8_t mask[] = {1, 1, 0, 1, 1, 1, 0, 0, 1}, none[] = {1, 1, 1, 0, 0, 0, 1, 0, 0};
	nn_real logp[9], before[9];
	assert_int_equal(nn_log_softmax(3, 3, logp, x, mask), 3);
	assert_near(logp[0], log(0.25), tolerance);
	assert_near(logp[1], log(0.75), tolerance);
	assert_true(isinf(logp[2]) && logp[2] < 0);
	assert_near(logp[3], log(0.5), tolerance);
	assert_near(logp[5], -2000 - log(2), 1e-3);
	assert_near(logp[8], 0, 0);
	memcpy(before, logp, sizeof before);
	assert_int_equal(nn_log_softmax(3, 3, logp, x, none), 1);
	assert_memory_equal(logp, before, sizeof before);
}

static void test_messages(void **state)
{
	(void)state;
	const int32_t from[] = {0, 1, 0}, to[] = {2, 2, 1};
	const nn_edges g = {4, 3, from, to}, complete = {2, 4, NULL, NULL};
	/* H = 1: each row is {to successors, to predecessors} */
	const nn_real p[] = {1, 10, 2, 20, 3, 30, 4, 40}, q[] = {0, 1, -5, 2, (nn_real)0.5, 3},
		      q4[] = {9, 9, 1, 2, 3, 4, 9, 9};
	nn_real inv[8], m[8];
	nn_inverse_degrees(&g, inv);
	assert_near(inv[0], 0, 0);
	assert_near(inv[1], 0.5, 0);
	assert_near(inv[4], 0.5, 0);
	nn_messages(&g, 1, m, p, q, inv);
	const double want[] = {0, (31 + 23) / 2.0, 1.5, 32, (1 + 0) / 2.0, 0, 0, 0};
	for (int i = 0; i < 8; i++)
		assert_near(m[i], want[i], 0);
	nn_inverse_degrees(&complete, inv);
	nn_messages(&complete, 1, m, p, q4, inv);
	const double want2[] = {2 + 3, 20 + 2, 1 + 1, 10 + 4}; /* edge 1 is (0, 1), edge 2 is (1, 0) */
	for (int i = 0; i < 4; i++)
		assert_near(m[i], want2[i], 0);
}

/* With both betas 0 the moments are the gradient and its square, so each step is lr * sign(g), as exactly as
 * eps allows. */
static void test_adam_without_memory(void **state)
{
	(void)state;
	const adam_cfg cfg = {.lr = 1, .beta1 = 0, .beta2 = 0, .eps = 1e-30, .max_norm = 0};
	const nn_real g[] = {2, -4, 8}, none[] = {0, 0, 0};
	nn_real w[] = {1, 1, 1};
	berth_arena mem = {0};
	berth_err err;
	adam_state s;
	assert_ok(adam_new(3, &mem, &s, &err), &err);
	assert_near(adam_update(&cfg, &s, w, g), sqrt(84), 1e-12);
	assert_true(w[0] == 0 && w[1] == 2 && w[2] == 0);
	assert_true(s.m[1] == -4 && s.v[2] == 64 && s.step == 1);
	adam_update(&cfg, &s, w, none);
	assert_true(w[0] == 0 && w[1] == 2 && w[2] == 0 && s.step == 2);
	berth_arena_free(&mem);
}

/* Against the formulas of the paper, with clipping: |g| = 5 is scaled to norm 1. */
static void test_adam_formula(void **state)
{
	(void)state;
	const adam_cfg cfg = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-3, .max_norm = 1};
	const nn_real g[] = {3, -4};
	nn_real w[] = {1, 2};
	double x[] = {0.6, -0.8}, m[2] = {0}, v[2] = {0}, want[] = {1, 2};
	berth_arena mem = {0};
	berth_err err;
	adam_state s;
	assert_ok(adam_new(2, &mem, &s, &err), &err);
	for (int t = 1; t <= 5; t++) {
		assert_near(adam_update(&cfg, &s, w, g), 5, 1e-12);
		for (int i = 0; i < 2; i++) {
			m[i] = 0.9 * m[i] + 0.1 * x[i];
			v[i] = 0.99 * v[i] + 0.01 * x[i] * x[i];
			want[i] -=
				0.1 * (m[i] / (1 - pow(0.9, t))) / (sqrt(v[i] / (1 - pow(0.99, t))) + 1e-3);
			assert_near(w[i], want[i], tolerance);
		}
	}
	berth_arena_free(&mem);
}

static void test_adam_refuses_nan(void **state)
{
	(void)state;
	const adam_cfg cfg = adam_cfg_default();
	const nn_real g[] = {1, NAN};
	nn_real w[] = {1, 2};
	berth_arena mem = {0};
	berth_err err;
	adam_state s;
	assert_ok(adam_new(2, &mem, &s, &err), &err);
	assert_true(!isfinite(adam_update(&cfg, &s, w, g)));
	double norm;
	assert_int_equal(adam_step(0.25, &s, w, g, &norm, &err), BERTH_EINVAL);
	assert_contains(err.msg, "no longer finite; use a lower learning rate than 0.25");
	assert_true(w[0] == 1 && w[1] == 2 && s.step == 0 && s.m[0] == 0);
	berth_arena_free(&mem);
	failing_allocator f;
	failing_allocator_init(&f, 0);
	berth_arena_init(&mem, &f.hook);
	assert_int_equal(adam_new(2, &mem, &s, &err), BERTH_ENOMEM);
	berth_arena_free(&mem);
}

/* ---- gradients: the loss is a random linear function of the layer's output ---- */

typedef struct layer {
	void (*forward)(struct layer *t);
	size_t N, K, M, n_out;
	nn_real x[MAX], w[MAX], b[MAX], r[MAX]; /* r: weights of the outputs in the loss */
	nn_real y[MAX], mean[MAX], rstd[MAX];
	nn_edges g;
	const uint8_t *mask;
} layer;

static double layer_loss(void *ctx)
{
	layer *t = ctx;
	double sum = 0;
	t->forward(t);
	for (size_t i = 0; i < t->n_out; i++)
		if (isfinite(t->y[i]))
			sum += (double)t->r[i] * (double)t->y[i];
	return sum;
}

static void layer_init(layer *t, uint64_t stream)
{
	berth_rng r = berth_rng_seed(7, stream);
	fill(&r, t->x, MAX);
	fill(&r, t->w, MAX);
	fill(&r, t->b, MAX);
	fill(&r, t->r, MAX);
}

static void linear_forward(layer *t)
{
	nn_linear(t->N, t->K, t->M, t->y, t->x, t->w, t->b);
}

static void test_linear_gradient(void **state)
{
	(void)state;
	layer t = {.forward = linear_forward, .N = 4, .K = 3, .M = 5, .n_out = 20};
	nn_real dx[MAX] = {0}, dw[MAX] = {0}, db[MAX] = {0};
	layer_init(&t, 1);
	nn_linear_backward(t.N, t.K, t.M, dx, dw, db, t.r, t.x, t.w);
	assert_int_equal(gradcheck("x", 12, as_double(t.x), as_double(dx), layer_loss, &t), 0);
	assert_int_equal(gradcheck("w", 15, as_double(t.w), as_double(dw), layer_loss, &t), 0);
	assert_int_equal(gradcheck("b", 5, as_double(t.b), as_double(db), layer_loss, &t), 0);
	/* gradients accumulate */
	nn_real once = dw[3];
	nn_linear_backward(t.N, t.K, t.M, NULL, dw, NULL, t.r, t.x, t.w);
	assert_near(dw[3], 2 * once, 1e-12);
}

static void relu_forward(layer *t)
{
	memcpy(t->y, t->x, sizeof t->y);
	nn_relu(t->n_out, t->y);
}

static void test_relu_gradient(void **state)
{
	(void)state;
	layer t = {.forward = relu_forward, .n_out = 10};
	nn_real dx[MAX];
	layer_init(&t, 2);
	relu_forward(&t);
	memcpy(dx, t.r, sizeof dx);
	nn_relu_backward(10, dx, t.y);
	assert_int_equal(gradcheck("x", 10, as_double(t.x), as_double(dx), layer_loss, &t), 0);
}

static void layernorm_forward(layer *t)
{
	nn_layernorm(t->N, t->M, t->y, t->mean, t->rstd, t->x, t->w, t->b);
}

static void test_layernorm_gradient(void **state)
{
	(void)state;
	layer t = {.forward = layernorm_forward, .N = 3, .M = 4, .n_out = 12};
	nn_real dx[MAX] = {0}, dg[MAX] = {0}, db[MAX] = {0};
	layer_init(&t, 3);
	layernorm_forward(&t);
	nn_layernorm_backward(t.N, t.M, dx, dg, db, t.r, t.x, t.mean, t.rstd, t.w);
	assert_int_equal(gradcheck("x", 12, as_double(t.x), as_double(dx), layer_loss, &t), 0);
	assert_int_equal(gradcheck("g", 4, as_double(t.w), as_double(dg), layer_loss, &t), 0);
	assert_int_equal(gradcheck("b", 4, as_double(t.b), as_double(db), layer_loss, &t), 0);
}

static void log_softmax_forward(layer *t)
{
	nn_log_softmax(t->N, t->M, t->y, t->x, t->mask);
}

static void test_log_softmax_gradient(void **state)
{
	(void)state;
	static const uint8_t mask[] = {1, 1, 1, 1, 0, 1, 0, 0, 1};
	layer t = {.forward = log_softmax_forward, .N = 3, .M = 3, .n_out = 9, .mask = mask};
	nn_real dx[MAX] = {0}, dlogp[MAX] = {0};
	layer_init(&t, 4);
	log_softmax_forward(&t);
	for (int i = 0; i < 9; i++)
		dlogp[i] = mask[i] ? t.r[i] : 0;
	nn_log_softmax_backward(3, 3, dx, dlogp, t.y);
	assert_int_equal(gradcheck("x", 9, as_double(t.x), as_double(dx), layer_loss, &t), 0);
}

static void messages_forward(layer *t)
{
	nn_real inv[MAX];
	nn_inverse_degrees(&t->g, inv);
	nn_messages(&t->g, t->M, t->y, t->x, t->w, inv);
}

static void check_messages(const nn_edges *g, uint64_t stream)
{
	layer t = {.forward = messages_forward, .M = 3, .n_out = g->n_nodes * 6, .g = *g};
	nn_real dp[MAX] = {0}, dq[MAX], inv[MAX];
	layer_init(&t, stream);
	memset(dq, 0xff, sizeof dq); /* is overwritten */
	nn_inverse_degrees(g, inv);
	nn_messages_backward(g, 3, dp, dq, t.r, t.x, t.w, inv);
	assert_int_equal(gradcheck("p", g->n_nodes * 6, as_double(t.x), as_double(dp), layer_loss, &t), 0);
	assert_int_equal(gradcheck("q", g->n_edges * 6, as_double(t.w), as_double(dq), layer_loss, &t), 0);
}

static void test_messages_gradient(void **state)
{
	(void)state;
	/* node 4 hears nobody; (0, 2) stands twice */
	const int32_t from[] = {0, 0, 1, 2, 0}, to[] = {1, 2, 3, 3, 2};
	check_messages(&(nn_edges){5, 5, from, to}, 5);
	check_messages(&(nn_edges){3, 9, NULL, NULL}, 6);
	check_messages(&(nn_edges){1, 1, NULL, NULL}, 7);
	check_messages(&(nn_edges){2, 0, NULL, NULL}, 8);
}

static void pair_forward(layer *t)
{
	nn_pair_add(t->N, t->K, t->M, t->y, t->x, t->w);
}

static void test_pair_gradient(void **state)
{
	(void)state;
	layer t = {.forward = pair_forward, .N = 3, .K = 2, .M = 4, .n_out = 24};
	nn_real da[MAX] = {0}, db[MAX] = {0};
	layer_init(&t, 9);
	nn_pair_add_backward(3, 2, 4, da, db, t.r);
	assert_int_equal(gradcheck("a", 12, as_double(t.x), as_double(da), layer_loss, &t), 0);
	assert_int_equal(gradcheck("b", 8, as_double(t.w), as_double(db), layer_loss, &t), 0);
	assert_near(layer_loss(&t), dot(t.x, da, 12) + dot(t.w, db, 8), 1e-12);
}

static void relu_score_forward(layer *t)
{
	nn_relu_score(t->N, t->M, t->y, t->x, t->w);
}

/* Rows of 19: one whole block of lanes and a rest. */
static void test_relu_score_gradient(void **state)
{
	(void)state;
	layer t = {.forward = relu_score_forward, .N = 2, .M = 19, .n_out = 2};
	nn_real dx[MAX] = {0}, dv[MAX] = {0};
	layer_init(&t, 10);
	nn_relu_score_backward(2, 19, dx, dv, t.r, t.x, t.w);
	assert_int_equal(gradcheck("x", 38, as_double(t.x), as_double(dx), layer_loss, &t), 0);
	assert_int_equal(gradcheck("v", 19, as_double(t.w), as_double(dv), layer_loss, &t), 0);
	assert_near(layer_loss(&t), dot(t.w, dv, 19), 1e-12);
}

/* A policy that is sure of itself has gradients near the least float, where arithmetic takes a hundred times
 * as long. They are 0 instead. */
static void test_nothing_subnormal(void **state)
{
	(void)state;
	const nn_real logp[] = {0, (nn_real)(sizeof(nn_real) == sizeof(float) ? -95 : -720)},
		      dlogp[] = {(nn_real)0.5, 0};
	nn_real dx[2] = {0}, w[] = {1, 1}, g[] = {1, 0}, none[2] = {0};
	nn_log_softmax_backward(1, 2, dx, dlogp, logp);
	assert_near(dx[1], 0, 0);
	const adam_cfg cfg = adam_cfg_default();
	berth_arena mem = {0};
	berth_err err;
	adam_state s;
	assert_ok(adam_new(2, &mem, &s, &err), &err);
	adam_update(&cfg, &s, w, g);
	for (int i = 0; i < 10000; i++)
		adam_update(&cfg, &s, w, none);
	assert_near(s.m[0], 0, 0); /* 0.9 of the least float is that float again */
	g[1] = (nn_real)(sizeof(nn_real) == sizeof(float) ? 1e-20 : 1e-160);
	adam_update(&cfg, &s, w, g);
	for (int i = 0; i < 2; i++)
		assert_true(fpclassify(s.m[i]) != FP_SUBNORMAL && fpclassify(s.v[i]) != FP_SUBNORMAL);
	berth_arena_free(&mem);
}

/* Six places of the C library's. */
static void test_log1p(void **state)
{
	(void)state;
	for (double x = 1e-20; x < 1e30; x *= 1.0137) {
		float v[] = {(float)x, 0};
		nn_log1p(2, v);
		assert_true(fabs((double)v[0] / log1p(x) - 1) < 1e-6 && v[1] == 0);
	}
}

int main(void)
{
	const struct CMUnitTest values[] = {
		cmocka_unit_test(test_gemm),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_log1p),
		cmocka_unit_test(test_linear),           cmocka_unit_test(test_layernorm),
		cmocka_unit_test(test_log_softmax),      cmocka_unit_test(test_messages),
		cmocka_unit_test(test_adam_without_memory), cmocka_unit_test(test_adam_formula),
		cmocka_unit_test(test_adam_refuses_nan), cmocka_unit_test(test_nothing_subnormal),
	};
	const struct CMUnitTest gradients[] = {
		cmocka_unit_test(test_linear_gradient),      cmocka_unit_test(test_relu_gradient),
		cmocka_unit_test(test_layernorm_gradient),   cmocka_unit_test(test_log_softmax_gradient),
		cmocka_unit_test(test_messages_gradient),    cmocka_unit_test(test_pair_gradient),
		cmocka_unit_test(test_relu_score_gradient),
	};
	int failed = cmocka_run_group_tests(values, NULL, NULL);
	if (sizeof(nn_real) == sizeof(double))
		failed += cmocka_run_group_tests(gradients, NULL, NULL);
	return failed;
}
