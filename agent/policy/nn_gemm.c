/* Products of small matrices. Tiles of c stay in registers while the inner index runs. Panels of b that do
 * not stand in vectors, being transposed or narrow, are copied into some that do.
 *
 * The text is compiled once for each kernel: for vectors and instructions of a kind, with tiles that fit its
 * registers. Every product is added without being rounded first, as fma() does: by the CPU, or by the C
 * library where the CPU cannot. So all kernels give the same bits. Compilers make one instruction of a sum
 * that stands beside its product; with a sanitizer's checks between them they do not. */
#include "nn_gemm.h"

#include "array.h"

#include <stdbool.h>
#include <string.h>

enum { ROWS = 8, MOST = 16, DEPTH = 128, PARTS = 64 / sizeof(nn_real) };

#define FMA _Generic((nn_real)0, float: __builtin_fmaf, double: __builtin_fma)

/* Where the numbers of a matrix are: element (i, k) is at[i * row + k * column]. */
typedef struct view {
	const nn_real *at;
	size_t row, column;
} view;

/* What a kernel is compiled for: numbers in a vector, rows of a tile, and whether the compiler makes one
 * instruction of a * b + c. */
typedef struct kind {
	int vec, rows;
	bool fused;
} kind;

#define INLINE static inline __attribute__((always_inline))

/* tile_VEC: c[rows][vecs * VEC] += a[rows, K] @ b[K, ...]; c and b by their row strides. rows and vecs are
 * constants of the caller. */
#define TILE(VEC)                                                                                            \
	typedef nn_real vec_##VEC __attribute__((vector_size(VEC * sizeof(nn_real))));                       \
	INLINE void tile_##VEC(bool fused, int rows, int vecs, size_t K, nn_real *c, size_t c_row, view a,   \
	                       const nn_real *b, size_t b_row)                                               \
	{                                                                                                    \
		vec_##VEC sum[ROWS][2], x[2];                                                                \
		for (int i = 0; i < rows; i++)                                                               \
			for (int j = 0; j < vecs; j++)                                                       \
				memcpy(&sum[i][j], c + (size_t)i * c_row + j * VEC, sizeof **sum);           \
		for (size_t k = 0; k < K; k++) {                                                             \
			for (int j = 0; j < vecs; j++)                                                       \
				memcpy(&x[j], b + k * b_row + j * VEC, sizeof *x);                           \
			for (int i = 0; i < rows; i++)                                                       \
				for (int j = 0; j < vecs; j++) {                                             \
					nn_real y = a.at[(size_t)i * a.row + k * a.column];                  \
					vec_##VEC v = x[j], s = sum[i][j];                                   \
					if (fused)                                                           \
						sum[i][j] = s + y * v;                                       \
					else                                                                 \
						for (int n = 0; n < VEC; n++)                                \
							sum[i][j][n] = FMA(y, x[j][n], sum[i][j][n]);        \
				}                                                                            \
		}                                                                                            \
		for (int i = 0; i < rows; i++)                                                               \
			for (int j = 0; j < vecs; j++)                                                       \
				memcpy(c + (size_t)i * c_row + j * VEC, &sum[i][j], sizeof **sum);           \
	}
TILE(4)
TILE(8)
TILE(16)

INLINE void tile(kind is, int rows, int vecs, size_t K, nn_real *c, size_t c_row, view a, const nn_real *b,
                 size_t b_row)
{
	if (is.vec == 16)
		tile_16(is.fused, rows, vecs, K, c, c_row, a, b, b_row);
	else if (is.vec == 8)
		tile_8(is.fused, rows, vecs, K, c, c_row, a, b, b_row);
	else
		tile_4(is.fused, rows, vecs, K, c, c_row, a, b, b_row);
}

/* All rows of a panel that is vecs vectors wide. */
INLINE void panel(kind is, int vecs, size_t N, size_t K, nn_real *c, size_t c_row, view a, const nn_real *b,
                  size_t b_row)
{
	size_t n = 0, rows = (size_t)is.rows;
	for (; n + rows <= N; n += rows, a.at += rows * a.row)
		tile(is, is.rows, vecs, K, c + n * c_row, c_row, a, b, b_row);
	if (n + 4 <= N) {
		tile(is, 4, vecs, K, c + n * c_row, c_row, a, b, b_row);
		n += 4;
		a.at += 4 * a.row;
	}
	for (; n + 2 <= N; n += 2, a.at += 2 * a.row)
		tile(is, 2, vecs, K, c + n * c_row, c_row, a, b, b_row);
	if (n < N)
		tile(is, 1, vecs, K, c + n * c_row, c_row, a, b, b_row);
}

/* A panel of which only `wide` columns are there: c goes through a row of its own. */
INLINE void narrow(kind is, size_t N, size_t K, size_t wide, nn_real *c, size_t c_row, view a,
                   const nn_real *b)
{
	nn_real row[MOST] = {0};
	for (size_t n = 0; n < N; n++, a.at += a.row) {
		BERTH_COPY(row, c + n * c_row, wide);
		tile(is, 1, 1, K, row, MOST, a, b, (size_t)is.vec);
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
INLINE void stretch(kind is, size_t N, size_t K, size_t M, nn_real *c, view a, view b)
{
	nn_real copy[DEPTH * 2 * MOST];
	size_t m = 0, vec = (size_t)is.vec;
	for (; m + 2 * vec <= M; m += 2 * vec) {
		view p = {b.at + m * b.column, b.row, b.column};
		if (b.column != 1)
			copy_panel(K, 2 * vec, 2 * vec, copy, p);
		panel(is, 2, N, K, c + m, M, a, b.column != 1 ? copy : p.at, b.column != 1 ? 2 * vec : b.row);
	}
	for (; m + vec <= M; m += vec) {
		view p = {b.at + m * b.column, b.row, b.column};
		if (b.column != 1)
			copy_panel(K, vec, vec, copy, p);
		panel(is, 1, N, K, c + m, M, a, b.column != 1 ? copy : p.at, b.column != 1 ? vec : b.row);
	}
	if (m < M) {
		copy_panel(K, M - m, vec, copy, (view){b.at + m * b.column, b.row, b.column});
		narrow(is, N, K, M - m, c + m, M, a, copy);
	}
}

INLINE nn_real add_product(kind is, nn_real a, nn_real b, nn_real sum)
{
	return is.fused ? sum + a * b : FMA(a, b, sum);
}

/* c[N] += a[N,K] @ b[K], rows of a in one piece. Partial sums of fixed places: they vectorise. */
INLINE void times_vector(kind is, size_t N, size_t K, nn_real *c, const nn_real *a, const nn_real *b)
{
	for (size_t n = 0; n < N; n++, a += K) {
		nn_real part[PARTS] = {0};
		size_t k = 0;
		for (; k + PARTS <= K; k += PARTS)
			for (size_t i = 0; i < PARTS; i++)
				part[i] = add_product(is, a[k + i], b[k + i], part[i]);
		for (size_t i = 0; k + i < K; i++)
			part[i] = add_product(is, a[k + i], b[k + i], part[i]);
		for (size_t half = PARTS / 2; half; half /= 2)
			for (size_t i = 0; i < half; i++)
				part[i] += part[i + half];
		c[n] += part[0];
	}
}

INLINE void gemm_add(kind is, size_t N, size_t K, size_t M, nn_real *c, nn_factor ta, const nn_real *a,
                     nn_factor tb, const nn_real *b)
{
	view x = {a, ta == NN_AS_IS ? K : 1, ta == NN_AS_IS ? 1 : N};
	view y = {b, tb == NN_AS_IS ? M : 1, tb == NN_AS_IS ? 1 : K};
	if (M == 1 && ta == NN_AS_IS) {
		times_vector(is, N, K, c, a, b);
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
		stretch(is, N, n, M, c, (view){x.at + k * x.column, x.row, x.column},
		        (view){y.at + k * y.row, y.row, y.column});
	}
}

static void plain(size_t N, size_t K, size_t M, nn_real c[restrict], nn_factor ta, const nn_real a[restrict],
                  nn_factor tb, const nn_real b[restrict])
{
	gemm_add((kind){4, 4, false}, N, K, M, c, ta, a, tb, b);
}

#define KERNEL(name, vec, rows)                                                                              \
	__attribute__((target(#name ",fma"))) static void name(                                              \
		size_t N, size_t K, size_t M, nn_real c[restrict], nn_factor ta, const nn_real a[restrict],  \
		nn_factor tb, const nn_real b[restrict])                                                     \
	{                                                                                                    \
		gemm_add((kind){vec, rows, true}, N, K, M, c, ta, a, tb, b);                                 \
	}
NN_KERNELS(KERNEL)

#define TAKE(name, vec, rows)                                                                                \
	if (__builtin_cpu_supports(#name) && __builtin_cpu_supports("fma") && skip-- == 0)                   \
		return name;

nn_gemm_kernel *nn_gemm_kernel_of(int skip)
{
	NN_KERNELS(TAKE)
	return skip == 0 ? plain : NULL;
}

void nn_gemm_add(size_t N, size_t K, size_t M, nn_real c[restrict], nn_factor ta, const nn_real a[restrict],
                 nn_factor tb, const nn_real b[restrict])
{
	nn_gemm_kernel_of(0)(N, K, M, c, ta, a, tb, b);
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
