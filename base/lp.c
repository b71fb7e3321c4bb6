/* The LP model: building it, and checking solutions and duals against it. */
#include "lp.h"

#include <math.h>
#include <string.h>

void berth_lp_init(berth_lp *lp, const char *name, berth_arena *mem)
{
	memset(lp, 0, sizeof *lp);
	lp->mem = mem;
	lp->name = name;
}

/* Room for one more in an array of a group that shares its capacity: grown is set to the new one. */
#define GROW(ptr, len, cap, grown) BERTH_TRY(((grown) = (cap), BERTH_GROW(lp->mem, ptr, len, &(grown), err)))

berth_status berth_lp_col(berth_lp *lp, const char *name, double lower, double upper, double cost, bool whole,
                          int32_t *col, berth_err *err)
{
	size_t grown;
	GROW(lp->col_lower, lp->n_cols, lp->cap_cols, grown);
	GROW(lp->col_upper, lp->n_cols, lp->cap_cols, grown);
	GROW(lp->col_cost, lp->n_cols, lp->cap_cols, grown);
	GROW(lp->col_whole, lp->n_cols, lp->cap_cols, grown);
	GROW(lp->col_name, lp->n_cols, lp->cap_cols, grown);
	lp->cap_cols = grown;
	int32_t c = lp->n_cols++;
	lp->col_lower[c] = lower;
	lp->col_upper[c] = upper;
	lp->col_cost[c] = cost;
	lp->col_whole[c] = whole;
	lp->col_name[c] = name;
	if (col)
		*col = c;
	return BERTH_OK;
}

berth_status berth_lp_row(berth_lp *lp, const char *name, double lower, double upper, berth_err *err)
{
	size_t grown;
	GROW(lp->row_lower, lp->n_rows, lp->cap_rows, grown);
	GROW(lp->row_upper, lp->n_rows, lp->cap_rows, grown);
	GROW(lp->row_name, lp->n_rows, lp->cap_rows, grown);
	GROW(lp->row_begin, lp->n_rows, lp->cap_rows, grown);
	lp->cap_rows = grown;
	int32_t r = lp->n_rows++;
	lp->row_lower[r] = lower;
	lp->row_upper[r] = upper;
	lp->row_name[r] = name;
	lp->row_begin[r] = lp->n_entries;
	return BERTH_OK;
}

berth_status berth_lp_put(berth_lp *lp, int32_t col, double value, berth_err *err)
{
	size_t grown;
	if (value == 0)
		return BERTH_OK;
	GROW(lp->entry_col, lp->n_entries, lp->cap_entries, grown);
	GROW(lp->entry_value, lp->n_entries, lp->cap_entries, grown);
	lp->cap_entries = grown;
	lp->entry_col[lp->n_entries] = col;
	lp->entry_value[lp->n_entries++] = value;
	return BERTH_OK;
}

berth_status berth_lp_row_of(berth_lp *lp, const char *name, double lower, double upper, int32_t n,
                             const int32_t *cols, const double *values, berth_err *err)
{
	BERTH_TRY(berth_lp_row(lp, name, lower, upper, err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(berth_lp_put(lp, cols[i], values[i], err));
	return BERTH_OK;
}

double berth_lp_value(const berth_lp *lp, const double *x)
{
	double sum = lp->offset;
	for (int32_t c = 0; c < lp->n_cols; c++)
		sum += lp->col_cost[c] * x[c];
	return sum;
}

/* How far v is outside [lower, upper]. */
static double outside(double v, double lower, double upper)
{
	double low = lower > -BERTH_LP_INF ? lower - v : 0, high = upper < BERTH_LP_INF ? v - upper : 0;
	return fmax(fmax(low, high), 0);
}

double berth_lp_violation(const berth_lp *lp, const double *x)
{
	double worst = 0;
	for (int32_t c = 0; c < lp->n_cols; c++) {
		if (!isfinite(x[c]))
			return INFINITY;
		worst = fmax(worst, outside(x[c], lp->col_lower[c], lp->col_upper[c]));
		if (lp->col_whole[c])
			worst = fmax(worst, fabs(x[c] - round(x[c])));
	}
	for (int32_t r = 0; r < lp->n_rows; r++) {
		double sum = 0;
		for (size_t e = lp->row_begin[r]; e < berth_lp_row_end(lp, r); e++)
			sum += lp->entry_value[e] * x[lp->entry_col[e]];
		worst = fmax(worst, outside(sum, lp->row_lower[r], lp->row_upper[r]));
	}
	return worst;
}

/* min of m * v over lower <= v <= upper */
static double least_product(double m, double lower, double upper)
{
	if (m == 0)
		return 0;
	double end = m > 0 ? lower : upper;
	return end <= -BERTH_LP_INF || end >= BERTH_LP_INF ? -INFINITY : m * end;
}

double berth_lp_dual_value(const berth_lp *lp, const double *y, double *r)
{
	double sum = lp->offset;
	for (int32_t c = 0; c < lp->n_cols; c++)
		r[c] = lp->col_cost[c];
	for (int32_t i = 0; i < lp->n_rows; i++) {
		sum += least_product(y[i], lp->row_lower[i], lp->row_upper[i]);
		for (size_t e = lp->row_begin[i]; e < berth_lp_row_end(lp, i); e++)
			r[lp->entry_col[e]] -= y[i] * lp->entry_value[e];
	}
	for (int32_t c = 0; c < lp->n_cols; c++)
		sum += least_product(r[c], lp->col_lower[c], lp->col_upper[c]);
	return sum;
}

const char *berth_lp_missing(void)
{
	return berth_lp_solver() ? NULL : BERTH_LP_PACKAGE;
}
