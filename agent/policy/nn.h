/* The parts of networks, and the number type that they are made of. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number type of the network: float in the product. The gradient tests compile the same text with
 * -DNN_REAL=double, where finite differences are exact enough to find every slip. */

#ifndef NN_REAL

#define NN_REAL float

#endif

typedef NN_REAL nn_real;

/* x, or 0 where it is closer to 0 than least. Products of numbers near the least float are slow (an operation
 * takes a hundred times as long), and gradients of a policy that is sure of itself come there. */
static inline nn_real nn_flush(nn_real x, nn_real least)
{
	return x > -least && x < least ? 0 : x;
}

/* A gradient closer to 0 than this moves no weight: Adam adds 1e-8 to its size. */
#define NN_TINY ((nn_real)1e-20)

/* Before a function whose inner loops have independent iterations: the build compiles it for several
 * instruction sets where it can. The same bits on all of them: nothing is contracted, no sum is reordered. */
#ifndef NN_CLONES

#define NN_CLONES

#endif

/* Layers as pure functions over row-major arrays: outputs first, then inputs, parameters stored (in, out).
 * What a backward pass needs of its forward pass is an output of it. Gradients accumulate (the caller zeroes
 * the block) unless said otherwise. Nothing here allocates or fails.
 *
 * Reproducible: every sum runs in an order that depends on the shapes only. Equal inputs give equal bits,
 * whatever the CPU, but for the C library's exp, log and sqrt. */

/* y[N,M] = x[N,K] @ w[K,M] + b[M]. */
void nn_linear(size_t N, size_t K, size_t M, nn_real y[restrict], const nn_real x[restrict],
               const nn_real w[restrict], const nn_real b[restrict]);

/* y[N,M] += x[N,K] @ w[K,M]. */
void nn_linear_add(size_t N, size_t K, size_t M, nn_real y[restrict], const nn_real x[restrict],
                   const nn_real w[restrict]);

/* dx[N,K] += dy[N,M] @ w';  dw[K,M] += x' @ dy;  db[M] += sum of the rows of dy. dx NULL: x is no variable;
 * db NULL: no bias. */
void nn_linear_backward(size_t N, size_t K, size_t M, nn_real dx[restrict], nn_real dw[restrict],
                        nn_real db[restrict], const nn_real dy[restrict], const nn_real x[restrict],
                        const nn_real w[restrict]);

/* y = max(y, 0), in place. */
void nn_relu(size_t n, nn_real y[]);

/* dy = 0 where y (what nn_relu left) is 0, in place. */
void nn_relu_backward(size_t n, nn_real dy[restrict], const nn_real y[restrict]);

/* x[n] = log(1 + x), of numbers from 0 to 1e30; to six places, in place. */
void nn_log1p(size_t n, float x[]);

/* y[N] = relu(x[N,M]) @ v[M]. */
void nn_relu_score(size_t N, size_t M, nn_real y[restrict], const nn_real x[restrict],
                   const nn_real v[restrict]);

/* dx[N,M] is overwritten; dv[M] accumulates. */
void nn_relu_score_backward(size_t N, size_t M, nn_real dx[restrict], nn_real dv[restrict],
                            const nn_real dy[restrict], const nn_real x[restrict], const nn_real v[restrict]);

/* y[N,M], what nn_relu left, becomes the gradient of what went into it where y @ v[M] has the gradient
 * dy[N]. */
void nn_relu_outer_backward(size_t N, size_t M, nn_real y[restrict], const nn_real dy[restrict],
                            const nn_real v[restrict]);

/* y[row[n]][M] += x[n][M], in order of n. */
void nn_scatter_add(size_t N, size_t M, nn_real y[restrict], const nn_real x[restrict],
                    const int32_t row[restrict]);

/* y[n] = (x[n] - mean) * rstd * g + b over each row of M, with rstd = 1 / sqrt(variance + 1e-5) (Ba, Kiros &
 * Hinton 2016). mean[N] and rstd[N] are kept for the backward pass. */
void nn_layernorm(size_t N, size_t M, nn_real y[restrict], nn_real mean[restrict], nn_real rstd[restrict],
                  const nn_real x[restrict], const nn_real g[restrict], const nn_real b[restrict]);

void nn_layernorm_backward(size_t N, size_t M, nn_real dx[restrict], nn_real dg[restrict],
                           nn_real db[restrict], const nn_real dy[restrict], const nn_real x[restrict],
                           const nn_real mean[restrict], const nn_real rstd[restrict],
                           const nn_real g[restrict]);

/* logp[n,m] = log of the softmax over the columns with mask 1; -INFINITY where mask is 0. The maximum over
 * legal columns is subtracted, so nothing overflows. Returns the first row without a legal column, and then
 * writes nothing; N where all is well. */
size_t nn_log_softmax(size_t N, size_t M, nn_real logp[restrict], const nn_real x[restrict],
                      const uint8_t mask[restrict]);

/* dx[n,m] += dlogp[n,m] - exp(logp[n,m]) * sum of the row of dlogp. Illegal columns have dlogp 0, and get
 * 0. */
void nn_log_softmax_backward(size_t N, size_t M, nn_real dx[restrict], const nn_real dlogp[restrict],
                             const nn_real logp[restrict]);

/* Who talks to whom: edge e goes from node from[e] to node to[e]. from and to NULL: the complete graph, edge
 * u * n_nodes + v for every ordered pair (n_edges = n_nodes^2). An edge of a node to itself carries
 * nothing. */
typedef struct nn_edges {
	size_t n_nodes, n_edges;
	const int32_t *from, *to;
} nn_edges;

/* inv[n][2]: 1 / number of incoming and of outgoing edges of each node; 0 where there are none. */
void nn_inverse_degrees(const nn_edges *g, nn_real inv[restrict]);

/* Mean messages in both directions, H numbers each: for the edge e = (u, v)
 *   m[v][0..H)  gets relu(p[u] + q[e])[0..H)  * inv[v][0]     (what v hears from its predecessors)
 *   m[u][H..2H) gets relu(p[v] + q[e])[H..2H) * inv[u][1]     (what u hears from its successors)
 * p[n_nodes][2H], q[n_edges][2H], m[n_nodes][2H]; 0 for a node without neighbours. O(edges * H), sums in
 * order of the edges. */
void nn_messages(const nn_edges *g, size_t H, nn_real m[restrict], const nn_real p[restrict],
                 const nn_real q[restrict], const nn_real inv[restrict]);

/* dp accumulates; dq[n_edges][2H] is overwritten. */
void nn_messages_backward(const nn_edges *g, size_t H, nn_real dp[restrict], nn_real dq[restrict],
                          const nn_real dm[restrict], const nn_real p[restrict], const nn_real q[restrict],
                          const nn_real inv[restrict]);

/* z[N,D,H] = a[N,H] + b[D,H], each broadcast over the other's index. */
void nn_pair_add(size_t N, size_t D, size_t H, nn_real z[restrict], const nn_real a[restrict],
                 const nn_real b[restrict]);

void nn_pair_add_backward(size_t N, size_t D, size_t H, nn_real da[restrict], nn_real db[restrict],
                          const nn_real dz[restrict]);
