/* One round of messages over a graph, as networks over graphs use it:
 *   h_next = layernorm(h + relu(W [h | m_in | m_out] + b))
 * with nn_messages of relu(V h_neighbour + U x_edge + c) from both directions. */
#ifndef BERTH_NN_ROUND_H
#define BERTH_NN_ROUND_H

#include "nn.h"

/* Where a round finds its numbers: offsets in params (and grads), in acts, and in acts as scratch of the
 * backward pass. n nodes, E edges, H hidden. */
typedef struct nn_round {
	size_t msg_w, msg_u, msg_b; /* [H][2H], [width of edge_x][2H], [2H] */
	size_t upd_w, upd_m, upd_b; /* [H][H], [2H][H], [H] */
	size_t norm_g, norm_b;      /* [H] */
	size_t h, h_next;           /* [n][H] */
	size_t inv, p, q, m;        /* nn_inverse_degrees; [n][2H], [E][2H], [n][2H] */
	size_t upd, sum, mean, rstd; /* [n][H], [n][H], [n], [n] */
	size_t d_upd, d_sum, d_p, d_m, d_q; /* like upd, sum, p, m, q */
} nn_round;

/* From h to h_next, all in a. edge_x[E][width]. */
void nn_round_forward(const nn_edges *g, size_t H, size_t width, const nn_real edge_x[], const nn_round *at,
                      const nn_real w[restrict], nn_real a[restrict]);

/* In dh[n][H]: the gradient of h_next; out: the gradient of h. dw accumulates. */
void nn_round_backward(const nn_edges *g, size_t H, size_t width, const nn_real edge_x[], const nn_round *at,
                       const nn_real w[], nn_real a[], nn_real dh[], nn_real dw[]);

#endif
