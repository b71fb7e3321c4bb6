/* Products of small matrices. Tiles of c stay in registers while the inner index runs. A tile is up to four
 * rows and two vectors wide: with the vectors of b and the number of a, all of it fits the sixteen registers
 * of AVX2. Vectors of 64 bytes do not, and are kept on the stack there. Panels of b that do not stand in
 * vectors, being transposed or narrow, are copied into some that do. */
#include "nn_gemm.h"

#include "array.h"

#include <string.h>

enum { VEC = 32 / sizeof(nn_real), PANEL = 2 * VEC, ROWS = 4, DEPTH = 256, PARTS = 64 / sizeof(nn_real) };

typedef nn_real vec __attribute__((vector_size(32)));

/* Where the numbers of a matrix are: element (i, k) is at[i * row + k * column]. */
typedef struct view {
	const nn_real *at;
	size_t row, column;
} view;

#define INLINE static inline __attribute__((always_inline))

/* c[rows][vecs * VEC] += a[rows, K] @ b[K, ...]; c and b by their row strides. rows and vecs are constants of
 * the caller. */
INLINE void tile(int rows, int vecs, size_t K, nn_real *c, size_t c_row, view a, const nn_real *b,
                 size_t b_row)
{
	vec sum[ROWS][2], x[2];
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < vecs; j++)
			memcpy(&sum[i][j], c + (size_t)i * c_row + (size_t)j * VEC, sizeof(vec));
	for (size_t k = 0; k < K; k++) {
		for (int j = 0; j < vecs; j++)
			memcpy(&x[j], b + k * b_row + (size_t)j * VEC, sizeof(vec));
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < vecs; j++)
				sum[i][j] += a.at[(size_t)i * a.row + k * a.column] * x[j];
	}
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < vecs; j++)
			memcpy(c + (size_t)i * c_row + (size_t)j * VEC, &sum[i][j], sizeof(vec));
}

/* All rows of a panel that is vecs vectors wide. */
INLINE void panel(int vecs, size_t N, size_t K, nn_real *c, size_t c_row, view a, const nn_real *b,
                  size_t b_row)
{
	size_t n = 0;
	for (; n + ROWS <= N; n += ROWS, a.at += ROWS * a.row)
		tile(ROWS, vecs, K, c + n * c_row, c_row, a, b, b_row);
	for (; n < N; n++, a.at += a.row)
		tile(1, vecs, K, c + n * c_row, c_row, a, b, b_row);
}

/* A panel of which only `wide` columns are there: c goes through a row of its own. */
INLINE void narrow(size_t N, size_t K, size_t wide, nn_real *c, size_t c_row, view a, const nn_real *b)
{
	nn_real row[VEC] = {0};
	for (size_t n = 0; n < N; n++, a.at += a.row) {
		BERTH_COPY(row, c + n * c_row, wide);
		tile(1, 1, K, row, VEC, a, b, VEC);
		BERTH_COPY(c + n * c_row, row, wide);
	}
}

/* K rows of b, `wide` of their columns, as rows of `full`; what is not there is 0. */
INLINE void copy_panel(size_t K, size_t wide, size_t full, nn_real *to, view b)
{
	for (size_t k = 0; k < K; k++)
		for (size_t m = 0; m < full; m++)
			to[k * full + m] = m < wide ? b.at[k * b.row + m * b.column] : 0;
}

/* One stretch of the inner index. */
INLINE void stretch(size_t N, size_t K, size_t M, nn_real *c, view a, view b)
{
	nn_real copy[DEPTH * PANEL];
	size_t m = 0;
	for (; m + PANEL <= M; m += PANEL) {
		view p = {b.at + m * b.column, b.row, b.column};
		if (b.column != 1)
			copy_panel(K, PANEL, PANEL, copy, p);
		panel(2, N, K, c + m, M, a, b.column != 1 ? copy : p.at, b.column != 1 ? PANEL : b.row);
	}
	for (; m + VEC <= M; m += VEC) {
		view p = {b.at + m * b.column, b.row, b.column};
		if (b.column != 1)
			copy_panel(K, VEC, VEC, copy, p);
		panel(1, N, K, c + m, M, a, b.column != 1 ? copy : p.at, b.column != 1 ? VEC : b.row);
	}
	if (m < M) {
		copy_panel(K, M - m, VEC, copy, (view){b.at + m * b.column, b.row, b.column});
		narrow(N, K, M - m, c + m, M, a, copy);
	}
}

/* c[N] += a[N,K] @ b[K], rows of a in one piece. Partial sums of fixed places: they vectorise. */
INLINE void times_vector(size_t N, size_t K, nn_real *c, const nn_real *a, const nn_real *b)
{
	for (size_t n = 0; n < N; n++, a += K) {
		nn_real part[PARTS] = {0};
		size_t k = 0;
		for (; k + PARTS <= K; k += PARTS)
			for (size_t i = 0; i < PARTS; i++)
				part[i] += a[k + i] * b[k + i];
		for (size_t i = 0; k + i < K; i++)
			part[i] += a[k + i] * b[k + i];
		for (size_t half = PARTS / 2; half; half /= 2)
			for (size_t i = 0; i < half; i++)
				part[i] += part[i + half];
		c[n] += part[0];
	}
}

NN_CLONES void nn_gemm_add(size_t N, size_t K, size_t M, nn_real c[restrict], nn_factor ta,
                           const nn_real a[restrict], nn_factor tb, const nn_real b[restrict])
{
	view x = {a, ta == NN_AS_IS ? K : 1, ta == NN_AS_IS ? 1 : N};
	view y = {b, tb == NN_AS_IS ? M : 1, tb == NN_AS_IS ? 1 : K};
	if (M == 1 && ta == NN_AS_IS) {
		times_vector(N, K, c, a, b);
		return;
	}
	if (M == 1) { /* the same, transposed: one wide row */
		view row = {b, 0, 1}, rows = {a, N, 1};
		x = row;
		y = rows;
		M = N;
		N = 1;
	}
	for (size_t k = 0; k < K; k += DEPTH) {
		size_t n = K - k < DEPTH ? K - k : DEPTH;
		stretch(N, n, M, c, (view){x.at + k * x.column, x.row, x.column},
		        (view){y.at + k * y.row, y.row, y.column});
	}
}

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
	BERTH_CLEAR(a + at->p, n * 2 * H);
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
	BERTH_CLEAR(d_sum, n * H);
	BERTH_CLEAR(dm, n * 2 * H);
	BERTH_CLEAR(dp, n * 2 * H);
	nn_layernorm_backward(n, H, d_sum, dw + at->norm_g, dw + at->norm_b, dh, a + at->sum, a + at->mean,
	                      a + at->rstd, w + at->norm_g);
	BERTH_COPY(dh, d_sum, n * H);
	BERTH_COPY(d_upd, d_sum, n * H);
	nn_relu_backward(n * H, d_upd, a + at->upd);
	nn_linear_backward(n, 2 * H, H, dm, dw + at->upd_m, NULL, d_upd, a + at->m, w + at->upd_m);
	nn_linear_backward(n, H, H, dh, dw + at->upd_w, dw + at->upd_b, d_upd, a + at->h, w + at->upd_w);
	nn_messages_backward(g, H, dp, dq, dm, a + at->p, a + at->q, a + at->inv);
	nn_linear_backward(g->n_edges, width, 2 * H, NULL, dw + at->msg_u, dw + at->msg_b, dq, edge_x,
	                   w + at->msg_u);
	nn_linear_backward(n, H, 2 * H, dh, dw + at->msg_w, NULL, dp, a + at->h, w + at->msg_w);
}
