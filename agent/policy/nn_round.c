/* A round of messages; see nn_round.h. */
#include "nn_round.h"

#include <string.h>

nn_round nn_round_at(nn_round at, const nn_edges *g, size_t H, size_t width, size_t r)
{
	size_t n = g->n_nodes;
	at.msg_w += r * H * 2 * H;
	at.msg_u += r * width * 2 * H;
	at.msg_b += r * 2 * H;
	at.upd_w += r * H * H;
	at.upd_m += r * 2 * H * H;
	at.upd_b += r * H;
	at.norm_g += r * H;
	at.norm_b += r * H;
	at.h += r * n * H;
	at.h_next = at.h + n * H;
	at.p += r * n * 2 * H;
	at.q += r * g->n_edges * 2 * H;
	at.m += r * n * 2 * H;
	at.upd += r * n * H;
	at.sum += r * n * H;
	at.mean += r * n;
	at.rstd += r * n;
	return at;
}

void nn_round_forward(const nn_edges *g, size_t H, size_t width, const nn_real edge_x[], const nn_round *at,
                      const nn_real w[restrict], nn_real a[restrict])
{
	size_t n = g->n_nodes;
	memset(a + at->p, 0, n * 2 * H * sizeof *a);
	nn_linear_add(n, H, 2 * H, a + at->p, a + at->h, w + at->msg_w);
	nn_linear(g->n_edges, width, 2 * H, a + at->q, edge_x, w + at->msg_u, w + at->msg_b);
	nn_messages(g, H, a + at->m, a + at->p, a + at->q, a + at->inv);
	nn_linear(n, H, H, a + at->upd, a + at->h, w + at->upd_w, w + at->upd_b);
	nn_linear_add(n, 2 * H, H, a + at->upd, a + at->m, w + at->upd_m);
	nn_relu(n * H, a + at->upd);
	for (size_t i = 0; i < n * H; i++)
		a[at->sum + i] = a[at->h + i] + a[at->upd + i];
	nn_layernorm(n, H, a + at->h_next, a + at->mean, a + at->rstd, a + at->sum, w + at->norm_g,
	             w + at->norm_b);
}

void nn_round_backward(const nn_edges *g, size_t H, size_t width, const nn_real edge_x[], const nn_round *at,
                       const nn_real w[], nn_real a[], nn_real dh[], nn_real dw[])
{
	size_t n = g->n_nodes;
	nn_real *d_upd = a + at->d_upd, *d_sum = a + at->d_sum, *dp = a + at->d_p, *dm = a + at->d_m,
		*dq = a + at->d_q;
	memset(d_sum, 0, n * H * sizeof *d_sum);
	memset(dm, 0, n * 2 * H * sizeof *dm);
	memset(dp, 0, n * 2 * H * sizeof *dp);
	nn_layernorm_backward(n, H, d_sum, dw + at->norm_g, dw + at->norm_b, dh, a + at->sum, a + at->mean,
	                      a + at->rstd, w + at->norm_g);
	memcpy(dh, d_sum, n * H * sizeof *dh);
	memcpy(d_upd, d_sum, n * H * sizeof *d_upd);
	nn_relu_backward(n * H, d_upd, a + at->upd);
	nn_linear_backward(n, 2 * H, H, dm, dw + at->upd_m, NULL, d_upd, a + at->m, w + at->upd_m);
	nn_linear_backward(n, H, H, dh, dw + at->upd_w, dw + at->upd_b, d_upd, a + at->h, w + at->upd_w);
	nn_messages_backward(g, H, dp, dq, dm, a + at->p, a + at->q, a + at->inv);
	nn_linear_backward(g->n_edges, width, 2 * H, NULL, dw + at->msg_u, dw + at->msg_b, dq, edge_x,
	                   w + at->msg_u);
	nn_linear_backward(n, H, 2 * H, dh, dw + at->msg_w, NULL, dp, a + at->h, w + at->msg_w);
}
