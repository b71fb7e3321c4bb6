/* Small linear programs by the simplex method on a tableau. Bland's rule chooses the pivots: the same answer
 * everywhere. */
#include "simplex.h"

enum { PIVOTS = 100 }; /* at most, for each row and column */

typedef struct tableau {
	int32_t rows, cols; /* cols with a slack for each row */
	size_t wide;        /* cols + 1: the last one holds the right sides */
	double *t;          /* [rows + 1][wide] the last row holds reduced gains */
	int32_t *base;      /* [rows] the column that each row stands for */
} tableau;

static double *row_of(const tableau *m, int32_t k)
{
	return m->t + (size_t)k * m->wide;
}

/* The row that column `in` is bounded by first; -1: none. */
static int32_t leaving(const tableau *m, int32_t in)
{
	int32_t out = -1;
	for (int32_t k = 0; k < m->rows; k++) {
		const double *row = row_of(m, k), *best = row_of(m, out < 0 ? 0 : out);
		if (!(row[in] > 1e-9))
			continue;
		double here = row[m->cols] * best[in], there = best[m->cols] * row[in];
		if (out < 0 || here < there || (here == there && m->base[k] < m->base[out]))
			out = k;
	}
	return out;
}

/* *bounded false: nothing bounds it. Bland's rule ends, but only where sums are exact. */
static berth_status climb(tableau *m, bool *bounded, berth_err *err)
{
	const double *gain = row_of(m, m->rows);
	double most = 0;
	int64_t left = (int64_t)PIVOTS * (m->rows + m->cols);
	for (int32_t c = 0; c < m->cols; c++)
		most = fmax(most, gain[c]);
	for (;;) {
		int32_t in = 0;
		while (in < m->cols && !(gain[in] > 1e-12 * most))
			in++;
		int32_t out = in < m->cols ? leaving(m, in) : -1;
		*bounded = in == m->cols;
		if (out < 0)
			return BERTH_OK;
		if (left-- == 0)
			return berth_fail(err, BERTH_ELIMIT,
			                  "a linear program of %d rows and %d columns has no end after %d "
			                  "pivots for each",
			                  m->rows, m->cols - m->rows, PIVOTS);
		double *p = row_of(m, out), by = p[in];
		for (size_t c = 0; c < m->wide; c++)
			p[c] /= by;
		for (int32_t k = 0; k <= m->rows; k++) {
			double *row = row_of(m, k), times = row[in];
			for (size_t c = 0; c < m->wide && k != out; c++)
				row[c] -= times * p[c];
		}
		m->base[out] = in;
	}
}

static berth_status solve(int32_t n_rows, int32_t n_cols, const double *a, const double *limit,
                          const double *gain, berth_arena *tmp, double *x, double *value, berth_err *err)
{
	tableau m;
	bool bounded;
	m = (tableau){.rows = n_rows, .cols = n_cols + n_rows, .wide = (size_t)(n_cols + n_rows) + 1};
	BERTH_TRY_NEW(tmp, (size_t)(n_rows + 1) * m.wide, err, m.t);
	BERTH_TRY_NEW(tmp, n_rows, err, m.base);
	for (int32_t k = 0; k < n_rows; k++) {
		memcpy(row_of(&m, k), a + (size_t)k * (size_t)n_cols, (size_t)n_cols * sizeof *a);
		row_of(&m, k)[n_cols + k] = 1;
		row_of(&m, k)[m.cols] = limit[k];
		m.base[k] = n_cols + k;
	}
	memcpy(row_of(&m, n_rows), gain, (size_t)n_cols * sizeof *gain);
	BERTH_TRY(climb(&m, &bounded, err));
	for (int32_t c = 0; c < n_cols; c++)
		x[c] = 0;
	for (int32_t k = 0; k < n_rows; k++)
		if (m.base[k] < n_cols)
			x[m.base[k]] = row_of(&m, k)[m.cols];
	*value = bounded ? -row_of(&m, n_rows)[m.cols] : INFINITY;
	return BERTH_OK;
}

berth_status berth_simplex_max(int32_t n_rows, int32_t n_cols, const double *a, const double *limit,
                               const double *gain, berth_arena *tmp, double *x, double *value, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	return solve(n_rows, n_cols, a, limit, gain, tmp, x, value, err);
}
