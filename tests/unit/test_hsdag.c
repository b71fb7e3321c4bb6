/* The network of HSDAG: the gradient of logits and scores together against finite differences; relabelled
 * nodes give relabelled results. Built twice: for float, as in the product, and for double (see
 * test_nn.c). */
#include "gradcheck.h"
#include "hsdag.h"
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const bool exact = sizeof(nn_real) == sizeof(double);

enum { NODES = 6, EDGES = 6, FEATURES = 3, HIDDEN = 4, DEVS = 3 };

/* A square with two tails; one cluster of four with three edges inside, two single nodes. */
static const int32_t edge_u[EDGES] = {0, 1, 2, 0, 3, 4}, edge_v[EDGES] = {1, 2, 3, 3, 4, 5},
		     cluster[NODES] = {1, 1, 1, 1, 0, 2};

typedef struct subject {
	berth_arena mem;
	hsdag_dims d;
	hsdag_graph g;
	hsdag_clusters c;
	nn_real *w, *grads, *acts, *z, *logits, *weight;
} subject;

static nn_real *normals(subject *x, berth_rng *r, size_t n)
{
	nn_real *v = berth_arena_alloc(&x->mem, n, sizeof *v);
	assert_non_null(v);
	for (size_t i = 0; i < n; i++)
		v[i] = (nn_real)berth_rng_normal(r);
	return v;
}

static void open_subject(subject *x)
{
	berth_rng r = berth_rng_seed(4, 1);
	*x = (subject){.d = {FEATURES, HIDDEN, DEVS}, .c = {3, cluster}};
	x->g = (hsdag_graph){NODES, EDGES, edge_u, edge_v, normals(x, &r, NODES * FEATURES)};
	x->w = normals(x, &r, hsdag_param_count(&x->d));
	x->grads = normals(x, &r, hsdag_param_count(&x->d));
	x->acts = normals(x, &r, hsdag_acts_size(&x->d, &x->g));
	x->z = normals(x, &r, NODES * HIDDEN);
	x->logits = normals(x, &r, NODES * DEVS);
	x->weight = normals(x, &r, NODES * DEVS);
}

static double loss(void *ctx)
{
	subject *x = ctx;
	double sum = 0;
	hsdag_embed(&x->d, x->w, &x->g, x->z, x->acts);
	hsdag_place(&x->d, x->w, &x->g, &x->c, x->acts, x->logits);
	for (size_t i = 0; i < 3 * DEVS; i++)
		sum += (double)(x->logits[i] * x->weight[i]);
	return sum;
}

static void test_gradients(void **state)
{
	(void)state;
	subject x;
	open_subject(&x);
	size_t n = hsdag_param_count(&x.d);
	loss(&x);
	memset(x.grads, 0, n * sizeof *x.grads);
	hsdag_backward(&x.d, x.w, &x.g, &x.c, x.acts, x.weight, x.grads);
	if (exact)
		assert_true(gradcheck("hsdag", n, (double *)(void *)x.w,
		                      (const double *)(const void *)x.grads, loss, &x) <= n / 10);
	else
		for (size_t i = 0; i < n; i++)
			assert_true(isfinite(x.grads[i]));
	berth_arena_free(&x.mem);
}

/* Nodes and clusters under other names: the same scores, and logits row by row. */
static void test_relabelling(void **state)
{
	(void)state;
	static const int32_t name[NODES] = {3, 5, 0, 1, 4, 2}, cluster_name[3] = {2, 0, 1};
	int32_t u[EDGES], v[EDGES], moved[NODES];
	nn_real node_x[NODES * FEATURES], z[NODES * HIDDEN], logits[3 * DEVS], scores[EDGES];
	subject x;
	open_subject(&x);
	loss(&x);
	memcpy(logits, x.logits, sizeof logits);
	memcpy(scores, hsdag_scores(&x.d, &x.g, x.acts), sizeof scores);
	for (size_t i = 0; i < NODES; i++) {
		memcpy(node_x + (size_t)name[i] * FEATURES, x.g.node_x + i * FEATURES, FEATURES * sizeof *z);
		memcpy(z + (size_t)name[i] * HIDDEN, x.z + i * HIDDEN, HIDDEN * sizeof *z);
		moved[name[i]] = cluster_name[cluster[i]];
	}
	for (int e = 0; e < EDGES; e++) {
		u[e] = name[edge_v[e]]; /* turned round: edges have no direction */
		v[e] = name[edge_u[e]];
	}
	x.g = (hsdag_graph){NODES, EDGES, u, v, node_x};
	x.c.node_cluster = moved;
	x.z = z;
	loss(&x);
	for (size_t e = 0; e < EDGES; e++)
		assert_near(hsdag_scores(&x.d, &x.g, x.acts)[e], scores[e], exact ? 1e-12 : 1e-5);
	for (size_t k = 0; k < 3; k++)
		for (size_t d = 0; d < DEVS; d++)
			assert_near(x.logits[(size_t)cluster_name[k] * DEVS + d], logits[k * DEVS + d],
			            exact ? 1e-12 : 1e-4);
	berth_arena_free(&x.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients),
	                                   cmocka_unit_test(test_relabelling)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
