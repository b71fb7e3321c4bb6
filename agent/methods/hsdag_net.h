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
#ifndef BERTH_HSDAG_NET_H
#define BERTH_HSDAG_NET_H

#include "nn_real.h"
#include "rng.h"

#include <stddef.h>
#include <stdint.h>

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
#define HSDAG_PARAMS(X)        \
	X(in_w1, 1, F, H, HE)     \
	X(in_b1, 1, 1, H, ZERO)   \
	X(in_w2, 1, H, H, HE)     \
	X(in_b2, 1, 1, H, ZERO)   \
	X(in_g, 1, 1, H, ONE)     \
	X(in_b, 1, 1, H, ZERO)    \
	X(gcn1_w, 1, H, H, HE)    \
	X(gcn1_b, 1, 1, H, ZERO)  \
	X(gcn2_w, 1, H, H, HE)    \
	X(gcn2_b, 1, 1, H, ZERO)  \
	X(norm_g, 1, 1, H, ONE)   \
	X(norm_b, 1, 1, H, ZERO)  \
	X(edge_w, 1, H, H, HE)    \
	X(edge_b, 1, 1, H, ZERO)  \
	X(edge_v, 1, H, 1, HE)    \
	X(gcn3_w, 1, H, H, HE)    \
	X(gcn3_b, 1, 1, H, ZERO)  \
	X(pre_w, 1, H, H, HE)     \
	X(pre_b, 1, 1, H, ZERO)   \
	X(post_w, 1, H, H, HE)    \
	X(post_b, 1, 1, H, ZERO)  \
	X(place_w, 1, H, H, HE)   \
	X(place_b, 1, 1, H, ZERO) \
	X(place_v, 1, H, D, PART) \
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

#endif
