/* Layers over arrays: linear maps, normalisation, softmax, sums over neighbours, each with its backward pass.
 * Inner loops run along outputs, so that they vectorise without reordering any sum. */
#include "nn.h"

#include "array.h"
#include "nn_gemm.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define EXP _Generic((nn_real)0, float: expf, double: exp)
#define LOG _Generic((nn_real)0, float: logf, double: log)
#define SQRT _Generic((nn_real)0, float: sqrtf, double: sqrt)

/* ---- linear ---- */

void nn_linear(size_t N, size_t K, size_t M, nn_real y[restrict], const nn_real x[restrict],
               const nn_real w[restrict], const nn_real b[restrict])
{
	for (size_t n = 0; n < N; n++)
		BERTH_COPY(y + n * M, b, M);
	nn_linear_add(N, K, M, y, x, w);
}

void nn_linear_add(size_t N, size_t K, size_t M, nn_real y[restrict], const nn_real x[restrict],
                   const nn_real w[restrict])
{
	nn_gemm_add(N, K, M, y, NN_AS_IS, x, NN_AS_IS, w);
}

/* db[M] += sum of the rows of dy[N,M]. */
NN_CLONES static void add_rows(size_t N, size_t M, nn_real db[restrict], const nn_real dy[restrict])
{
	for (size_t n = 0; n < N; n++)
		for (size_t m = 0; m < M; m++)
			db[m] += dy[n * M + m];
}

void nn_linear_backward(size_t N, size_t K, size_t M, nn_real dx[restrict], nn_real dw[restrict],
                        nn_real db[restrict], const nn_real dy[restrict], const nn_real x[restrict],
                        const nn_real w[restrict])
{
	if (dx)
		nn_gemm_add(N, M, K, dx, NN_AS_IS, dy, NN_TRANSPOSED, w);
	nn_gemm_add(K, N, M, dw, NN_TRANSPOSED, x, NN_AS_IS, dy);
	if (db)
		add_rows(N, M, db, dy);
}

/* ---- element by element ---- */

NN_CLONES void nn_relu(size_t n, nn_real y[])
{
	for (size_t i = 0; i < n; i++)
		y[i] = y[i] > 0 ? y[i] : 0;
}

NN_CLONES void nn_relu_backward(size_t n, nn_real dy[restrict], const nn_real y[restrict])
{
	for (size_t i = 0; i < n; i++)
		dy[i] = y[i] > 0 ? dy[i] : 0;
}

/* The logarithm of y = 1 + x by the series of atanh around the nearest power of 2, and what y has lost of x
 * by rounding. Not the C library's: it takes several at once, and its bits are the same on every CPU. */
NN_CLONES void nn_log1p(size_t n, float x[])
{
	const uint32_t root = 0x3f3504f3; /* of 1/2, as bits */
	for (size_t i = 0; i < n; i++) {
		float y = 1 + x[i], m;
		uint32_t bits;
		memcpy(&bits, &y, sizeof bits);
		int32_t exponent = (int32_t)((bits - root) >> 23);
		bits -= (uint32_t)exponent << 23;
		memcpy(&m, &bits, sizeof m);
		float t = (m - 1) / (m + 1), q = t * t, lost = (x[i] - (y - 1)) / y;
		float series = 1 + q * (1.0f / 3 + q * (1.0f / 5 + q * (1.0f / 7 + q * (1.0f / 9))));
		x[i] = (float)exponent * 0.693147181f + 2 * t * series + lost;
	}
}

NN_CLONES void nn_pair_add(size_t N, size_t D, size_t H, nn_real z[restrict], const nn_real a[restrict],
                           const nn_real b[restrict])
{
	for (size_t n = 0; n < N; n++)
		for (size_t d = 0; d < D; d++)
			for (size_t h = 0; h < H; h++)
				z[(n * D + d) * H + h] = a[n * H + h] + b[d * H + h];
}

NN_CLONES void nn_pair_add_backward(size_t N, size_t D, size_t H, nn_real da[restrict], nn_real db[restrict],
                                    const nn_real dz[restrict])
{
	for (size_t n = 0; n < N; n++) {
		for (size_t d = 0; d < D; d++) {
			for (size_t h = 0; h < H; h++) {
				da[n * H + h] += dz[(n * D + d) * H + h];
				db[d * H + h] += dz[(n * D + d) * H + h];
			}
		}
	}
}

/* ---- rows ---- */

/* Partial sums of fixed places: they vectorise without reordering. */
NN_CLONES void nn_relu_score(size_t N, size_t M, nn_real y[restrict], const nn_real x[restrict],
                             const nn_real v[restrict])
{
	enum { LANES = 16 };
	for (size_t n = 0; n < N; n++) {
		const nn_real *row = x + n * M;
		nn_real part[LANES] = {0};
		size_t m = 0;
		for (; m + LANES <= M; m += LANES)
			for (size_t k = 0; k < LANES; k++)
				part[k] += (row[m + k] > 0 ? row[m + k] : 0) * v[m + k];
		for (; m < M; m++)
			part[m % LANES] += (row[m] > 0 ? row[m] : 0) * v[m];
		for (size_t half = LANES / 2; half; half /= 2)
			for (size_t k = 0; k < half; k++)
				part[k] += part[k + half];
		y[n] = part[0];
	}
}

NN_CLONES void nn_relu_score_backward(size_t N, size_t M, nn_real dx[restrict], nn_real dv[restrict],
                                      const nn_real dy[restrict], const nn_real x[restrict],
                                      const nn_real v[restrict])
{
	for (size_t n = 0; n < N; n++) {
		const nn_real *row = x + n * M;
		for (size_t m = 0; m < M; m++) {
			nn_real through = dy[n] * v[m]; /* whatever the sign: no branch */
			dx[n * M + m] = row[m] > 0 ? through : 0;
			dv[m] += dy[n] * (row[m] > 0 ? row[m] : 0);
		}
	}
}

NN_CLONES void nn_relu_outer_backward(size_t N, size_t M, nn_real y[restrict], const nn_real dy[restrict],
                                      const nn_real v[restrict])
{
	for (size_t n = 0; n < N; n++)
		for (size_t m = 0; m < M; m++) {
			nn_real through = dy[n] * v[m]; /* whatever the sign: no branch */
			y[n * M + m] = y[n * M + m] > 0 ? through : 0;
		}
}

NN_CLONES void nn_scatter_add(size_t N, size_t M, nn_real y[restrict], const nn_real x[restrict],
                              const int32_t row[restrict])
{
	for (size_t n = 0; n < N; n++) {
		nn_real *to = BERTH_ROW(y, row[n], M);
		for (size_t m = 0; m < M; m++)
			to[m] += x[n * M + m];
	}
}

NN_CLONES void nn_layernorm(size_t N, size_t M, nn_real y[restrict], nn_real mean[restrict],
                            nn_real rstd[restrict], const nn_real x[restrict], const nn_real g[restrict],
                            const nn_real b[restrict])
{
	for (size_t n = 0; n < N; n++) {
		const nn_real *row = x + n * M;
		nn_real sum = 0, squares = 0;
		for (size_t m = 0; m < M; m++)
			sum += row[m];
		mean[n] = sum / (nn_real)M;
		for (size_t m = 0; m < M; m++)
			squares += (row[m] - mean[n]) * (row[m] - mean[n]);
		rstd[n] = 1 / SQRT(squares / (nn_real)M + (nn_real)1e-5);
		for (size_t m = 0; m < M; m++)
			y[n * M + m] = (row[m] - mean[n]) * rstd[n] * g[m] + b[m];
	}
}

/* With xhat = (x - mean) * rstd and t = dy * g: dx = rstd * (t - mean of t - xhat * mean of (t * xhat)). */
NN_CLONES void nn_layernorm_backward(size_t N, size_t M, nn_real dx[restrict], nn_real dg[restrict],
                                     nn_real db[restrict], const nn_real dy[restrict],
                                     const nn_real x[restrict], const nn_real mean[restrict],
                                     const nn_real rstd[restrict], const nn_real g[restrict])
{
	for (size_t n = 0; n < N; n++) {
		const nn_real *row = x + n * M, *drow = dy + n * M;
		nn_real t_sum = 0, txhat_sum = 0;
		for (size_t m = 0; m < M; m++) {
			nn_real xhat = (row[m] - mean[n]) * rstd[n];
			dg[m] += drow[m] * xhat;
			db[m] += drow[m];
		}
		for (size_t m = 0; m < M; m++) {
			t_sum += drow[m] * g[m];
			txhat_sum += drow[m] * g[m] * ((row[m] - mean[n]) * rstd[n]);
		}
		nn_real t_mean = t_sum / (nn_real)M, txhat_mean = txhat_sum / (nn_real)M;
		for (size_t m = 0; m < M; m++)
			dx[n * M + m] += rstd[n] * (drow[m] * g[m] - t_mean -
			                            (row[m] - mean[n]) * rstd[n] * txhat_mean);
	}
}

size_t nn_log_softmax(size_t N, size_t M, nn_real logp[restrict], const nn_real x[restrict],
                      const uint8_t mask[restrict])
{
	for (size_t n = 0; n < N; n++)
		if (!memchr(mask + n * M, 1, M))
			return n;
	for (size_t i = 0; i < N * M; i += M) {
		nn_real max = -INFINITY, sum = 0;
		for (size_t m = 0; m < M; m++)
			max = mask[i + m] && x[i + m] > max ? x[i + m] : max;
		for (size_t m = 0; m < M; m++)
			sum += mask[i + m] ? EXP(x[i + m] - max) : 0;
		nn_real log_sum = LOG(sum);
		for (size_t m = 0; m < M; m++)
			logp[i + m] = mask[i + m] ? x[i + m] - max - log_sum : -INFINITY;
	}
	return N;
}

void nn_log_softmax_backward(size_t N, size_t M, nn_real dx[restrict], const nn_real dlogp[restrict],
                             const nn_real logp[restrict])
{
	for (size_t i = 0; i < N * M; i += M) {
		nn_real sum = 0;
		for (size_t m = 0; m < M; m++)
			sum += dlogp[i + m];
		for (size_t m = 0; m < M; m++)
			dx[i + m] += nn_flush(dlogp[i + m] - EXP(logp[i + m]) * sum, NN_TINY);
	}
}

/* ---- messages ---- */

static void ends_of(const nn_edges *g, size_t e, size_t *u, size_t *v)
{
	*u = g->from ? (size_t)g->from[e] : e / g->n_nodes;
	*v = g->to ? (size_t)g->to[e] : e % g->n_nodes;
	assert(*u < g->n_nodes && *v < g->n_nodes);
}

void nn_inverse_degrees(const nn_edges *g, nn_real inv[restrict])
{
	size_t u, v;
	BERTH_CLEAR(inv, 2 * g->n_nodes);
	for (size_t e = 0; e < g->n_edges; e++) {
		ends_of(g, e, &u, &v);
		if (u != v) {
			inv[2 * v]++;
			inv[2 * u + 1]++;
		}
	}
	for (size_t i = 0; i < 2 * g->n_nodes; i++)
		inv[i] = inv[i] > 0 ? 1 / inv[i] : 0;
}

static void message(size_t H, nn_real m[restrict], const nn_real p[restrict], const nn_real q[restrict],
                    nn_real inv)
{
	for (size_t h = 0; h < H; h++) {
		nn_real z = p[h] + q[h];
		m[h] += inv * (z > 0 ? z : 0);
	}
}

NN_CLONES void nn_messages(const nn_edges *g, size_t H, nn_real m[restrict], const nn_real p[restrict],
                           const nn_real q[restrict], const nn_real inv[restrict])
{
	size_t u, v;
	BERTH_CLEAR(m, 2 * g->n_nodes * H);
	for (size_t e = 0; e < g->n_edges; e++) {
		ends_of(g, e, &u, &v);
		if (u == v)
			continue;
		message(H, m + 2 * H * v, p + 2 * H * u, q + 2 * H * e, inv[2 * v]);
		message(H, m + 2 * H * u + H, p + 2 * H * v + H, q + 2 * H * e + H, inv[2 * u + 1]);
	}
}

static void message_backward(size_t H, nn_real dp[restrict], nn_real dq[restrict], const nn_real dm[restrict],
                             const nn_real p[restrict], const nn_real q[restrict], nn_real inv)
{
	for (size_t h = 0; h < H; h++) {
		nn_real through = inv * dm[h], dz = p[h] + q[h] > 0 ? through : 0;
		dp[h] += dz;
		dq[h] = dz;
	}
}

NN_CLONES void nn_messages_backward(const nn_edges *g, size_t H, nn_real dp[restrict], nn_real dq[restrict],
                                    const nn_real dm[restrict], const nn_real p[restrict],
                                    const nn_real q[restrict], const nn_real inv[restrict])
{
	size_t u, v;
	for (size_t e = 0; e < g->n_edges; e++) {
		nn_real *dq_e = dq + 2 * H * e;
		const nn_real *q_e = q + 2 * H * e;
		ends_of(g, e, &u, &v);
		if (u == v) {
			BERTH_CLEAR(dq_e, 2 * H);
			continue;
		}
		message_backward(H, dp + 2 * H * u, dq_e, dm + 2 * H * v, p + 2 * H * u, q_e, inv[2 * v]);
		message_backward(H, dp + 2 * H * v + H, dq_e + H, dm + 2 * H * u + H, p + 2 * H * v + H,
		                 q_e + H, inv[2 * u + 1]);
	}
}
