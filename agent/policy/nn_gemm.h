/* Products of small matrices, row-major. The sums run over the inner index from its beginning, one product
 * after the other, each added as by fma(); those of a matrix and a vector in a fixed number of parts. So the
 * bits depend on the numbers and shapes alone, not on CPU or threads. Nothing is allocated.
 *
 * The sizes of policies: inner and outer sides of some tens, rows from one to some thousands. */
#pragma once

#include "nn.h"

#include <stddef.h>

/* A factor as it stands in memory. */
typedef enum nn_factor {
	NN_AS_IS,     /* rows of the factor are rows of the array */
	NN_TRANSPOSED /* rows of the factor are columns of the array */
} nn_factor;

/* c[N,M] += a[N,K] @ b[K,M], either factor stored as told. O(N K M). */
typedef void nn_gemm_kernel(size_t N, size_t K, size_t M, nn_real c[restrict], nn_factor ta,
                            const nn_real a[restrict], nn_factor tb, const nn_real b[restrict]);

nn_gemm_kernel nn_gemm_add;

/* The kernels that this CPU can run, from number 0, which nn_gemm_add takes; NULL: no more. Tests compare
 * them. */
nn_gemm_kernel *nn_gemm_kernel_of(int number);

/* Kernels by instruction set, the widest first: X(set, numbers in a vector, rows of a tile). The build
 * defines them where it can. */
#ifndef NN_KERNELS

#define NN_KERNELS(X)

#endif

/* One round of messages over a graph, as networks over graphs use it:
 *   h_next = layernorm(h + relu(W [h | m_in | m_out] + b))
 * with nn_messages of relu(V h_neighbour + U x_edge + c) from both directions. */

/* The tensors of R rounds, for the lists of nn_table.h: parameters, activations, and scratch of the backward
 * pass, which all rounds share. P: prefix of the names, or nothing. */
#define NN_ROUND_PARAMS(X, P, R, width, H)                                                                   \
	X(P##msg_w, R, H, 2 * (H), HE)                                                                       \
	X(P##msg_u, R, width, 2 * (H), HE)                                                                   \
	X(P##msg_b, R, 1, 2 * (H), ZERO)                                                                     \
	X(P##upd_w, R, H, H, HE)                                                                             \
	X(P##upd_m, R, 2 * (H), H, HE)                                                                       \
	X(P##upd_b, R, 1, H, ZERO)                                                                           \
	X(P##norm_g, R, 1, H, ONE)                                                                           \
	X(P##norm_b, R, 1, H, ZERO)
#define NN_ROUND_ACTS(X, P, R, n, E, H)                                                                      \
	X(P##h, (R) + 1, (n) * (H))                                                                          \
	X(P##inv, 1, (n)*2)                                                                                  \
	X(P##p, R, (n)*2 * (H))                                                                              \
	X(P##q, R, (E)*2 * (H))                                                                              \
	X(P##m, R, (n)*2 * (H))                                                                              \
	X(P##upd, R, (n) * (H))                                                                              \
	X(P##sum, R, (n) * (H))                                                                              \
	X(P##mean, R, n)                                                                                     \
	X(P##rstd, R, n)
#define NN_ROUND_SCRATCH(X, n, E, H)                                                                         \
	X(d_upd, 1, (n) * (H))                                                                               \
	X(d_sum, 1, (n) * (H))                                                                               \
	X(d_p, 1, (n)*2 * (H))                                                                               \
	X(d_m, 1, (n)*2 * (H))                                                                               \
	X(d_q, 1, (E)*2 * (H))

/* Where a round finds its numbers: offsets in params (and grads), in acts, and in acts as scratch of the
 * backward pass. n nodes, E edges, H hidden. */
typedef struct nn_round {
	size_t msg_w, msg_u, msg_b;         /* [H][2H], [width of edge_x][2H], [2H] */
	size_t upd_w, upd_m, upd_b;         /* [H][H], [2H][H], [H] */
	size_t norm_g, norm_b;              /* [H] */
	size_t h, h_next;                   /* [n][H] */
	size_t inv, p, q, m;                /* nn_inverse_degrees; [n][2H], [E][2H], [n][2H] */
	size_t upd, sum, mean, rstd;        /* [n][H], [n][H], [n], [n] */
	size_t d_upd, d_sum, d_p, d_m, d_q; /* like upd, sum, p, m, q */
} nn_round;

/* The first round of these lists, from pointers to the structs of offsets of parameters and activations. */
#define NN_ROUND_FIRST(P, w, a)                                                                              \
	((nn_round){.msg_w = (w)->P##msg_w,                                                                  \
	            .msg_u = (w)->P##msg_u,                                                                  \
	            .msg_b = (w)->P##msg_b,                                                                  \
	            .upd_w = (w)->P##upd_w,                                                                  \
	            .upd_m = (w)->P##upd_m,                                                                  \
	            .upd_b = (w)->P##upd_b,                                                                  \
	            .norm_g = (w)->P##norm_g,                                                                \
	            .norm_b = (w)->P##norm_b,                                                                \
	            .h = (a)->P##h,                                                                          \
	            .inv = (a)->P##inv,                                                                      \
	            .p = (a)->P##p,                                                                          \
	            .q = (a)->P##q,                                                                          \
	            .m = (a)->P##m,                                                                          \
	            .upd = (a)->P##upd,                                                                      \
	            .sum = (a)->P##sum,                                                                      \
	            .mean = (a)->P##mean,                                                                    \
	            .rstd = (a)->P##rstd,                                                                    \
	            .d_upd = (a)->d_upd,                                                                     \
	            .d_sum = (a)->d_sum,                                                                     \
	            .d_p = (a)->d_p,                                                                         \
	            .d_m = (a)->d_m,                                                                         \
	            .d_q = (a)->d_q})

/* Round r of as many as the lists have, counted from 0. width: of edge_x. */
nn_round nn_round_at(nn_round first, const nn_edges *g, size_t H, size_t width, size_t r);

/* From h to h_next, all in a. edge_x[E][width]. */
void nn_round_forward(const nn_edges *g, size_t H, size_t width, const nn_real edge_x[], const nn_round *at,
                      const nn_real w[restrict], nn_real a[restrict]);

/* In dh[n][H]: the gradient of h_next; out: the gradient of h. dw accumulates. */
void nn_round_backward(const nn_edges *g, size_t H, size_t width, const nn_real edge_x[], const nn_round *at,
                       const nn_real w[], nn_real a[], nn_real dh[], nn_real dw[]);
