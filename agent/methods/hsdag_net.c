/* The network of HSDAG: embeddings of nodes, scores of edges, logits of clusters. Forward passes are lists of
 * layers, the backward pass the same lists reversed. */
#include "hsdag.h"

#include "nn_table.h"

#define EXP _Generic((nn_real)0, float: expf, double: exp)
#define SQRT _Generic((nn_real)0, float: sqrtf, double: sqrt)

/* ---- layout of the blocks ---- */

NN_TABLE_STRUCT(param_at, HSDAG_PARAMS)

static param_at layout_params(const hsdag_dims *d)
{
	size_t F = (size_t)d->in, H = (size_t)d->hidden, D = (size_t)d->n_devs;
	param_at at = {0};
	HSDAG_PARAMS(NN_TABLE_PARAM)
	return at;
}

/* There are at most as many clusters as nodes. From d_h on: scratch of the backward pass. */
#define HSDAG_ACTS(X)     \
	X(root, 1, N)        \
	X(in_a, 1, N * H)    \
	X(in_y, 1, N * H)    \
	X(in_mean, 1, N)     \
	X(in_rstd, 1, N)     \
	X(h, 1, N * H)       \
	X(mix1, 1, N * H)    \
	X(gcn1, 1, N * H)    \
	X(mix2, 1, N * H)    \
	X(gcn2, 1, N * H)    \
	X(sum, 1, N * H)     \
	X(mean, 1, N)        \
	X(rstd, 1, N)        \
	X(h1, 1, N * H)      \
	X(edge_x, 1, E * H)  \
	X(edge_y, 1, E * H)  \
	X(score, 1, E)       \
	X(mix3, 1, N * H)    \
	X(gcn3, 1, N * H)    \
	X(h2, 1, N * H)      \
	X(pre, 1, N * H)     \
	X(size, 1, N)        \
	X(inside, 1, N)      \
	X(factor, 1, N)      \
	X(pool, 1, N * H)    \
	X(post, 1, N * H)    \
	X(c, 1, N * H)       \
	X(place, 1, N * H)   \
	X(d_h, 1, N * H)     \
	X(d_a, 1, N * H)     \
	X(d_b, 1, N * H)     \
	X(d_g, 1, N * H)     \
	X(d_factor, 1, N)    \
	X(d_score, 1, E)     \
	X(d_edge_x, 1, E * H) \
	X(d_edge_y, 1, E * H)

NN_TABLE_STRUCT(acts_at, HSDAG_ACTS)

static acts_at layout_acts(size_t N, size_t E, size_t H)
{
	acts_at at = {0};
	HSDAG_ACTS(NN_TABLE_ACT)
	return at;
}

typedef struct net {
	size_t N, E, F, H, D;
	const hsdag_graph *g;
	param_at w;
	acts_at a;
} net;

static net net_of(const hsdag_dims *d, const hsdag_graph *g)
{
	size_t N = (size_t)g->n_nodes, E = (size_t)g->n_edges, H = (size_t)d->hidden;
	return (net){N, E, (size_t)d->in, H, (size_t)d->n_devs, g, layout_params(d), layout_acts(N, E, H)};
}

size_t hsdag_param_count(const hsdag_dims *d)
{
	return layout_params(d).total;
}

size_t hsdag_acts_size(const hsdag_dims *d, const hsdag_graph *g)
{
	return net_of(d, g).a.total;
}

void hsdag_init(const hsdag_dims *d, nn_real w[], berth_rng *rng)
{
	size_t F = (size_t)d->in, H = (size_t)d->hidden, D = (size_t)d->n_devs;
	param_at at = layout_params(d);
	HSDAG_PARAMS(NN_TABLE_INIT)
}

/* ---- layers of its own ---- */

/* y = A^ x, symmetric: its own backward pass. root[n] is 1 / sqrt(degree + 1). */
static void mix(const net *t, const nn_real root[restrict], const nn_real x[restrict], nn_real y[restrict])
{
	size_t H = t->H;
	for (size_t v = 0; v < t->N; v++)
		for (size_t k = 0; k < H; k++)
			y[v * H + k] = root[v] * root[v] * x[v * H + k];
	for (size_t e = 0; e < t->E; e++) {
		size_t u = (size_t)t->g->edge_u[e], v = (size_t)t->g->edge_v[e];
		nn_real share = root[u] * root[v];
		for (size_t k = 0; k < H; k++) {
			y[u * H + k] += share * x[v * H + k];
			y[v * H + k] += share * x[u * H + k];
		}
	}
}

static void find_roots(const net *t, nn_real root[])
{
	for (size_t v = 0; v < t->N; v++)
		root[v] = 1;
	for (size_t e = 0; e < t->E; e++) {
		root[t->g->edge_u[e]]++;
		root[t->g->edge_v[e]]++;
	}
	for (size_t v = 0; v < t->N; v++)
		root[v] = 1 / SQRT(root[v]);
}

static void gcn(const net *t, const nn_real w[restrict], size_t weight, size_t bias, nn_real a[restrict],
                size_t x, size_t mixed, size_t y)
{
	mix(t, a + t->a.root, a + x, a + mixed);
	nn_linear(t->N, t->H, t->H, a + y, a + mixed, w + weight, w + bias);
	nn_relu(t->N * t->H, a + y);
}

/* In a[dy]: the gradient of y, overwritten; a[dx] += that of x; a[scratch] is used. */
static void gcn_backward(const net *t, const nn_real w[restrict], size_t weight, size_t bias,
                         nn_real a[restrict], size_t mixed, size_t y, size_t dy, size_t dx, size_t scratch,
                         nn_real dw[restrict])
{
	size_t n = t->N * t->H;
	nn_relu_backward(n, a + dy, a + y);
	BERTH_CLEAR(a + scratch, n);
	nn_linear_backward(t->N, t->H, t->H, a + scratch, dw + weight, dw + bias, a + dy, a + mixed,
	                   w + weight);
	mix(t, a + t->a.root, a + scratch, a + dy);
	for (size_t i = 0; i < n; i++)
		a[dx + i] += a[dy + i];
}

/* ---- encoding and scores ---- */

void hsdag_embed(const hsdag_dims *d, const nn_real w[restrict], const hsdag_graph *g, const nn_real z[],
                 nn_real a[restrict])
{
	net t = net_of(d, g);
	size_t n = t.N * t.H;
	find_roots(&t, a + t.a.root);
	nn_linear(t.N, t.F, t.H, a + t.a.in_a, g->node_x, w + t.w.in_w1, w + t.w.in_b1);
	nn_relu(n, a + t.a.in_a);
	nn_linear(t.N, t.H, t.H, a + t.a.in_y, a + t.a.in_a, w + t.w.in_w2, w + t.w.in_b2);
	for (size_t i = 0; z && i < n; i++)
		a[t.a.in_y + i] += z[i];
	nn_layernorm(t.N, t.H, a + t.a.h, a + t.a.in_mean, a + t.a.in_rstd, a + t.a.in_y, w + t.w.in_g,
	             w + t.w.in_b);
	gcn(&t, w, t.w.gcn1_w, t.w.gcn1_b, a, t.a.h, t.a.mix1, t.a.gcn1);
	gcn(&t, w, t.w.gcn2_w, t.w.gcn2_b, a, t.a.gcn1, t.a.mix2, t.a.gcn2);
	for (size_t i = 0; i < n; i++)
		a[t.a.sum + i] = a[t.a.h + i] + a[t.a.gcn2 + i];
	nn_layernorm(t.N, t.H, a + t.a.h1, a + t.a.mean, a + t.a.rstd, a + t.a.sum, w + t.w.norm_g,
	             w + t.w.norm_b);
	size_t H = t.H;
	for (size_t e = 0; e < t.E; e++)
		for (size_t k = 0; k < H; k++)
			a[t.a.edge_x + e * H + k] = a[t.a.h1 + (size_t)t.g->edge_u[e] * H + k] *
			                             a[t.a.h1 + (size_t)t.g->edge_v[e] * H + k];
	nn_linear(t.E, H, H, a + t.a.edge_y, a + t.a.edge_x, w + t.w.edge_w, w + t.w.edge_b);
	nn_relu(t.E * H, a + t.a.edge_y);
	BERTH_CLEAR(a + t.a.score, t.E);
	nn_linear_add(t.E, H, 1, a + t.a.score, a + t.a.edge_y, w + t.w.edge_v);
	for (size_t e = 0; e < t.E; e++)
		a[t.a.score + e] = 1 / (1 + EXP(-a[t.a.score + e]));
	gcn(&t, w, t.w.gcn3_w, t.w.gcn3_b, a, t.a.h1, t.a.mix3, t.a.gcn3);
	for (size_t i = 0; i < n; i++)
		a[t.a.h2 + i] = a[t.a.h1 + i] + a[t.a.gcn3 + i];
}

const nn_real *hsdag_scores(const hsdag_dims *d, const hsdag_graph *g, const nn_real a[])
{
	return a + net_of(d, g).a.score;
}

const nn_real *hsdag_embeddings(const hsdag_dims *d, const hsdag_graph *g, const nn_real a[])
{
	return a + net_of(d, g).a.c;
}

/* The cluster of an edge inside one; -1: it joins two. */
static int32_t inside_of(const hsdag_graph *g, const hsdag_clusters *c, size_t e)
{
	int32_t k = c->node_cluster[g->edge_u[e]];
	return k == c->node_cluster[g->edge_v[e]] ? k : -1;
}

/* ---- clusters ---- */

/* size, inside and factor of every cluster; pool: the means of pre. */
static void pool(const net *t, const hsdag_clusters *c, nn_real a[restrict])
{
	size_t H = t->H, C = (size_t)c->n;
	BERTH_CLEAR(a + t->a.size, C);
	BERTH_CLEAR(a + t->a.inside, C);
	BERTH_CLEAR(a + t->a.factor, C);
	BERTH_CLEAR(a + t->a.pool, C * H);
	for (size_t v = 0; v < t->N; v++)
		a[t->a.size + (size_t)c->node_cluster[v]]++;
	for (size_t v = 0; v < t->N; v++) {
		size_t k = (size_t)c->node_cluster[v];
		for (size_t i = 0; i < H; i++)
			a[t->a.pool + k * H + i] += a[t->a.pre + v * H + i] / a[t->a.size + k];
	}
	for (size_t e = 0; e < t->E; e++) {
		int32_t k = inside_of(t->g, c, e);
		if (k < 0)
			continue;
		a[t->a.inside + (size_t)k]++;
		a[t->a.factor + (size_t)k] += a[t->a.score + e];
	}
	for (size_t k = 0; k < C; k++)
		a[t->a.factor + k] =
			1 + (a[t->a.inside + k] > 0 ? a[t->a.factor + k] / a[t->a.inside + k] : 0);
}

void hsdag_place(const hsdag_dims *d, const nn_real w[restrict], const hsdag_graph *g,
                 const hsdag_clusters *c, nn_real a[restrict], nn_real logits[restrict])
{
	net t = net_of(d, g);
	size_t H = t.H, C = (size_t)c->n;
	nn_linear(t.N, H, H, a + t.a.pre, a + t.a.h2, w + t.w.pre_w, w + t.w.pre_b);
	pool(&t, c, a);
	nn_linear(C, H, H, a + t.a.post, a + t.a.pool, w + t.w.post_w, w + t.w.post_b);
	for (size_t i = 0; i < C * H; i++)
		a[t.a.c + i] = a[t.a.post + i] * a[t.a.factor + i / H];
	nn_linear(C, H, H, a + t.a.place, a + t.a.c, w + t.w.place_w, w + t.w.place_b);
	nn_relu(C * H, a + t.a.place);
	nn_linear(C, H, t.D, logits, a + t.a.place, w + t.w.place_v, w + t.w.place_c);
}

/* From dlogits to d_factor, and to d_a: the gradient of h2. */
static void place_backward(const net *t, const nn_real w[restrict], const hsdag_clusters *c,
                           nn_real a[restrict], const nn_real dlogits[restrict], nn_real dw[restrict])
{
	size_t H = t->H, C = (size_t)c->n, n = t->N * H;
	nn_real *da = a + t->a.d_a, *db = a + t->a.d_b;
	BERTH_CLEAR(da, C * H);
	BERTH_CLEAR(db, C * H);
	BERTH_CLEAR(a + t->a.d_factor, C);
	nn_linear_backward(C, H, t->D, da, dw + t->w.place_v, dw + t->w.place_c, dlogits, a + t->a.place,
	                   w + t->w.place_v);
	nn_relu_backward(C * H, da, a + t->a.place);
	nn_linear_backward(C, H, H, db, dw + t->w.place_w, dw + t->w.place_b, da, a + t->a.c,
	                   w + t->w.place_w);
	for (size_t i = 0; i < C * H; i++) {
		a[t->a.d_factor + i / H] += db[i] * a[t->a.post + i];
		db[i] *= a[t->a.factor + i / H];
	}
	BERTH_CLEAR(da, C * H);
	nn_linear_backward(C, H, H, da, dw + t->w.post_w, dw + t->w.post_b, db, a + t->a.pool,
	                   w + t->w.post_w);
	for (size_t i = 0; i < n; i++) {
		size_t k = (size_t)c->node_cluster[i / H];
		db[i] = da[k * H + i % H] / a[t->a.size + k];
	}
	BERTH_CLEAR(da, n);
	nn_linear_backward(t->N, H, H, da, dw + t->w.pre_w, dw + t->w.pre_b, db, a + t->a.h2, w + t->w.pre_w);
}

/* From d_factor to d_h: the share of the gradient of h1 that comes through the scores. */
static void scores_backward(const net *t, const nn_real w[restrict], const hsdag_clusters *c,
                            nn_real a[restrict], nn_real dw[restrict])
{
	size_t H = t->H;
	nn_real *ds = a + t->a.d_score, *dx = a + t->a.d_edge_x, *dy = a + t->a.d_edge_y;
	for (size_t e = 0; e < t->E; e++) {
		int32_t k = inside_of(t->g, c, e);
		nn_real s = a[t->a.score + e];
		ds[e] = k < 0 ? 0 : a[t->a.d_factor + (size_t)k] / a[t->a.inside + (size_t)k] * s * (1 - s);
	}
	BERTH_CLEAR(dy, t->E * H);
	BERTH_CLEAR(dx, t->E * H);
	nn_linear_backward(t->E, H, 1, dy, dw + t->w.edge_v, NULL, ds, a + t->a.edge_y, w + t->w.edge_v);
	nn_relu_backward(t->E * H, dy, a + t->a.edge_y);
	nn_linear_backward(t->E, H, H, dx, dw + t->w.edge_w, dw + t->w.edge_b, dy, a + t->a.edge_x,
	                   w + t->w.edge_w);
	for (size_t e = 0; e < t->E; e++) {
		size_t u = (size_t)t->g->edge_u[e] * H, v = (size_t)t->g->edge_v[e] * H;
		for (size_t k = 0; k < H; k++) {
			a[t->a.d_h + u + k] += dx[e * H + k] * a[t->a.h1 + v + k];
			a[t->a.d_h + v + k] += dx[e * H + k] * a[t->a.h1 + u + k];
		}
	}
}

void hsdag_backward(const hsdag_dims *d, const nn_real w[restrict], const hsdag_graph *g,
                    const hsdag_clusters *c, nn_real a[restrict], const nn_real dlogits[restrict],
                    nn_real dw[restrict])
{
	net t = net_of(d, g);
	size_t n = t.N * t.H;
	nn_real *dh = a + t.a.d_h, *da = a + t.a.d_a, *db = a + t.a.d_b;
	place_backward(&t, w, c, a, dlogits, dw);
	BERTH_COPY(dh, da, n);
	gcn_backward(&t, w, t.w.gcn3_w, t.w.gcn3_b, a, t.a.mix3, t.a.gcn3, t.a.d_a, t.a.d_h, t.a.d_b, dw);
	scores_backward(&t, w, c, a, dw);
	BERTH_CLEAR(da, n);
	nn_layernorm_backward(t.N, t.H, da, dw + t.w.norm_g, dw + t.w.norm_b, dh, a + t.a.sum, a + t.a.mean,
	                      a + t.a.rstd, w + t.w.norm_g);
	BERTH_COPY(dh, da, n);
	BERTH_CLEAR(a + t.a.d_g, n);
	gcn_backward(&t, w, t.w.gcn2_w, t.w.gcn2_b, a, t.a.mix2, t.a.gcn2, t.a.d_a, t.a.d_g, t.a.d_b, dw);
	gcn_backward(&t, w, t.w.gcn1_w, t.w.gcn1_b, a, t.a.mix1, t.a.gcn1, t.a.d_g, t.a.d_h, t.a.d_b, dw);
	BERTH_CLEAR(da, n);
	nn_layernorm_backward(t.N, t.H, da, dw + t.w.in_g, dw + t.w.in_b, dh, a + t.a.in_y, a + t.a.in_mean,
	                      a + t.a.in_rstd, w + t.w.in_g);
	BERTH_CLEAR(db, n);
	nn_linear_backward(t.N, t.H, t.H, db, dw + t.w.in_w2, dw + t.w.in_b2, da, a + t.a.in_a,
	                   w + t.w.in_w2);
	nn_relu_backward(n, db, a + t.a.in_a);
	nn_linear_backward(t.N, t.F, t.H, NULL, dw + t.w.in_w1, dw + t.w.in_b1, db, g->node_x, w + t.w.in_w1);
}
