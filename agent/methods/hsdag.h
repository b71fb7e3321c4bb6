/* The network of HSDAG (Duan et al., "A Structure-Aware Framework for Learning Device Placements on
 * Computation Graphs", NeurIPS 2024), over an undirected graph of nodes with features:
 *   h  = layernorm(MLP(x) + z)                         z: what earlier steps left, 0 at first
 *   h1 = layernorm(h + GCN(GCN(h)));  s_uv = sigmoid(MLP(h1_u * h1_v));  h2 = h1 + GCN(h1)
 * Outside, the scores s parse the graph into clusters. Then
 *   c_k = post(mean over the cluster of pre(h2)) * (1 + mean score of the edges inside)
 *   logits_k = MLP(c_k)
 * so that the gradient reaches the edge scores through the clusters they made.
 *
 * GCN is relu(A^ h W + b) with A^ the adjacency and the identity, normalised by the roots of the degrees
 * (Kipf & Welling, ICLR 2017).
 *
 * Reconstruction: one plus the mean score, where the released code has the sum. The sum multiplies a
 * single node by 0 and a large cluster by tens. h2 has a residual, without which neighbours look alike.
 * There is no dropout.
 *
 * Nothing here allocates or fails. */
#pragma once

#include "encode.h"
#include "nn.h"
#include "rng.h"
#include "search.h"

typedef struct hsdag_dims {
	int32_t in, hidden, n_devs; /* all >= 1 */
} hsdag_dims;

/* One instance, caller-owned: every unordered pair of neighbours once. */
typedef struct hsdag_graph {
	int32_t n_nodes, n_edges;
	const int32_t *edge_u, *edge_v; /* [n_edges], never the same node */
	const nn_real *node_x;          /* [n_nodes][in] */
} hsdag_graph;

/* What a parsing made. */
typedef struct hsdag_clusters {
	int32_t n;
	const int32_t *node_cluster; /* [n_nodes] in [0, n), none empty */
} hsdag_clusters;

/* As in nn_table.h, weights (in, out): F features, H hidden, D devices. */
#define HSDAG_PARAMS(X)                                                                                      \
	X(in_w1, 1, F, H, HE)                                                                                \
	X(in_b1, 1, 1, H, ZERO)                                                                              \
	X(in_w2, 1, H, H, HE)                                                                                \
	X(in_b2, 1, 1, H, ZERO)                                                                              \
	X(in_g, 1, 1, H, ONE)                                                                                \
	X(in_b, 1, 1, H, ZERO)                                                                               \
	X(gcn1_w, 1, H, H, HE)                                                                               \
	X(gcn1_b, 1, 1, H, ZERO)                                                                             \
	X(gcn2_w, 1, H, H, HE)                                                                               \
	X(gcn2_b, 1, 1, H, ZERO)                                                                             \
	X(norm_g, 1, 1, H, ONE)                                                                              \
	X(norm_b, 1, 1, H, ZERO)                                                                             \
	X(edge_w, 1, H, H, HE)                                                                               \
	X(edge_b, 1, 1, H, ZERO)                                                                             \
	X(edge_v, 1, H, 1, HE)                                                                               \
	X(gcn3_w, 1, H, H, HE)                                                                               \
	X(gcn3_b, 1, 1, H, ZERO)                                                                             \
	X(pre_w, 1, H, H, HE)                                                                                \
	X(pre_b, 1, 1, H, ZERO)                                                                              \
	X(post_w, 1, H, H, HE)                                                                               \
	X(post_b, 1, 1, H, ZERO)                                                                             \
	X(place_w, 1, H, H, HE)                                                                              \
	X(place_b, 1, 1, H, ZERO)                                                                            \
	X(place_v, 1, H, D, PART)                                                                            \
	X(place_c, 1, 1, D, ZERO)

size_t hsdag_param_count(const hsdag_dims *d);

/* Normal weights of variance 2 / rows, zero biases. The last layer is 0.3 of that: a uniform policy on equal
 * devices is a saddle, as no cluster gains by any of them, and a network leaves it late. */
void hsdag_init(const hsdag_dims *d, nn_real params[], berth_rng *rng);

size_t hsdag_acts_size(const hsdag_dims *d, const hsdag_graph *g);

/* Encode; z [n_nodes][hidden] or NULL (0), a constant. Then the scores [n_edges], in (0, 1). O((nodes +
 * edges) * hidden^2). */
void hsdag_embed(const hsdag_dims *d, const nn_real params[restrict], const hsdag_graph *g, const nn_real z[],
                 nn_real acts[restrict]);

const nn_real *hsdag_scores(const hsdag_dims *d, const hsdag_graph *g, const nn_real acts[]);

/* logits [c->n][n_devs] of embedded acts. Afterwards the clusters' embeddings [c->n][hidden]. */
void hsdag_place(const hsdag_dims *d, const nn_real params[restrict], const hsdag_graph *g,
                 const hsdag_clusters *c, nn_real acts[restrict], nn_real logits[restrict]);

const nn_real *hsdag_embeddings(const hsdag_dims *d, const hsdag_graph *g, const nn_real acts[]);

/* grads += the gradient for dlogits, after hsdag_embed and hsdag_place of the same arguments. */
void hsdag_backward(const hsdag_dims *d, const nn_real params[restrict], const hsdag_graph *g,
                    const hsdag_clusters *c, nn_real acts[restrict], const nn_real dlogits[restrict],
                    nn_real grads[restrict]);

/* HSDAG on a problem: the features of its nodes, the parsing of its graph by learned scores, and the
 * method. */

enum {
	HSDAG_TYPES = 16,
	HSDAG_DEGREES = 6,
	HSDAG_POSITION = 16,
	HSDAG_FEATURES = HSDAG_TYPES + 2 * HSDAG_DEGREES + HSDAG_POSITION + 3
};

/* A problem as the network reads it. Nodes are chains of operators (step one of the paper), heavier groups
 * where more than HSDAG_MOST are left. */
enum { HSDAG_MOST = 2048 };

typedef struct hsdag_view {
	const berth_problem *p;
	hsdag_graph g;
	berth_coarsening nodes;
	/* [n_edges of the operators' graph] the pair of nodes that the edge joins. -1: it is inside one. */
	int32_t *edge_link;
	int32_t *op_fallback; /* [n_ops] */
} hsdag_view;

/* Features of a node [HSDAG_FEATURES]: share of each operator type, one-hot degrees in and out, fractal
 * dimension, sines and cosines of its place in topological order, and, for the output's shape that graphs do
 * not keep, logarithms of the bytes it makes and of its mean time. In mem; tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM. O(nodes * edges). */
berth_status hsdag_view_new(const berth_problem *p, berth_arena *mem, berth_arena *tmp, hsdag_view *out,
                            berth_err *err);

/* Fractal dimension of every node of an undirected graph, out [n_nodes]: the slope of log(nodes within r
 * hops) over log r, least squares over the radii at which there is a node more; 0 with fewer than two. Nodes
 * out of reach do not count. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status hsdag_fractal_dimensions(const hsdag_graph *g, double *dimension, berth_arena *tmp,
                                      berth_err *err);

/* A parsing: an encoding of groups only (no features but the mask), so that encode.h draws and projects. */
typedef struct hsdag_parsing {
	berth_encoding e; /* p, co.op_group, n_groups, n_devs, in.mask, op_fallback */
	hsdag_clusters c;
	/* room, owned by the parsing */
	int32_t *node_cluster, *op_cluster;
	uint8_t *mask;
	double *edge_score;
} hsdag_parsing;

/* Room for parsings of v, in mem. */
berth_status hsdag_parsing_new(const hsdag_view *v, berth_arena *mem, hsdag_parsing *out, berth_err *err);

/* Parse by scores [n_edges of v->g] into about `target` clusters. a and b are scratch, two arenas, both
 * reset at exit. Fails: BERTH_ENOMEM. */
berth_status hsdag_parse(const hsdag_view *v, const nn_real *scores, int32_t target, berth_arena *a,
                         berth_arena *b, hsdag_parsing *out, berth_err *err);

typedef struct berth_hsdag_cfg {
	bool ppo;                      /* false: REINFORCE as released; default true */
	int32_t groups;                /* clusters that parsing stops at; default 64 */
	int32_t hidden;                /* default 64 */
	int32_t batch;                 /* placements drawn from one parsing (PPO); default 10 */
	int32_t epochs;                /* gradient steps on them; default 4 */
	double lr, clip, entropy;      /* defaults 5e-4, 0.2, 0.005 */
	int32_t steps;                 /* of an episode (REINFORCE); default 20 */
	double discount, reinforce_lr; /* defaults 0.95 and 1e-3 */
} berth_hsdag_cfg;

berth_hsdag_cfg berth_hsdag_cfg_default(void);

/* Draw, score and learn until the budget of s ends; at least one placement is offered. Fails: BERTH_ENOMEM,
 * BERTH_EINVAL (numbers no longer finite). */
berth_status berth_hsdag_run(berth_search *s, const berth_hsdag_cfg *cfg, berth_arena *tmp, berth_err *err);
