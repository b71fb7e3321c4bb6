/* The LP model: building it, checking solutions and duals against it, and writing it as free MPS, as far
 * as all common solvers read it. */
#include "lp.h"

#include <inttypes.h>
#include <limits.h>

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

berth_status berth_lp_by_columns(const berth_lp *lp, berth_lp_columns *t, berth_arena *mem, berth_err *err)
{
	if (lp->n_entries > INT_MAX)
		return berth_fail(err, BERTH_EINVAL, "model '%s' has %zu entries, the solver takes %d",
		                  lp->name, lp->n_entries, INT_MAX);
	BERTH_TRY_NEW(mem, (size_t)lp->n_cols + 2, err, t->begin);
	BERTH_TRY_NEW(mem, lp->n_entries, err, t->row, t->value);
	for (size_t e = 0; e < lp->n_entries; e++)
		t->begin[lp->entry_col[e] + 2]++;
	for (int32_t c = 0; c < lp->n_cols; c++)
		t->begin[c + 2] += t->begin[c + 1];
	for (int32_t r = 0; r < lp->n_rows; r++)
		for (size_t e = lp->row_begin[r]; e < berth_lp_row_end(lp, r); e++) {
			int32_t at = t->begin[lp->entry_col[e] + 1]++;
			t->row[at] = r;
			t->value[at] = lp->entry_value[e];
		}
	return BERTH_OK;
}

const char *berth_lp_missing(void)
{
	return berth_lp_solver() ? NULL : BERTH_LP_PACKAGE;
}

/* ---- as text ---- */

#define NAME 40

static const char *name_of(const char *name, char kind, int32_t index, char buf[NAME])
{
	if (name)
		return name;
	snprintf(buf, NAME, "%c%" PRId32, kind, index);
	return buf;
}

static const char *col_name(const berth_lp *lp, int32_t c, char buf[NAME])
{
	return name_of(lp->col_name[c], 'x', c, buf);
}

static const char *row_name(const berth_lp *lp, int32_t r, char buf[NAME])
{
	return name_of(lp->row_name[r], 'r', r, buf);
}

static bool has_lower(double v)
{
	return v > -BERTH_LP_INF;
}

static bool has_upper(double v)
{
	return v < BERTH_LP_INF;
}

/* N: free, E, G, L; a range is written as G with its width. */
static char row_kind(const berth_lp *lp, int32_t r)
{
	bool low = has_lower(lp->row_lower[r]), high = has_upper(lp->row_upper[r]);
	if (low && high && lp->row_lower[r] == lp->row_upper[r])
		return 'E';
	return low ? 'G' : high ? 'L' : 'N';
}

/* ---- MPS ---- */

/* A data line: section word (may be empty), one or two names, a number. */
static void mps_number(berth_strbuf *out, const char *section, const char *first, const char *second,
                       double v)
{
	char digits[32];
	berth_strbuf_printf(out, " %s%s%s%s%s %s\n", section, section[0] ? " " : "", first,
	                    second[0] ? " " : "", second, berth_text_double(digits, v));
}

static void mps_columns(const berth_lp *lp, const berth_lp_columns *t, berth_strbuf *out)
{
	char col[NAME], row[NAME];
	bool whole = false;
	berth_strbuf_printf(out, "COLUMNS\n");
	for (int32_t c = 0; c < lp->n_cols; c++) {
		if (whole != (lp->col_whole[c] != 0)) {
			whole = !whole;
			berth_strbuf_printf(out, " M 'MARKER' '%s'\n", whole ? "INTORG" : "INTEND");
		}
		if (lp->col_cost[c] != 0 || t->begin[c] == t->begin[c + 1])
			mps_number(out, "", col_name(lp, c, col), "COST", lp->col_cost[c]);
		BERTH_EACH (e, t->begin, c)
			mps_number(out, "", col_name(lp, c, col), row_name(lp, t->row[e], row), t->value[e]);
	}
	if (whole)
		berth_strbuf_printf(out, " M 'MARKER' 'INTEND'\n");
}

static void mps_sides(const berth_lp *lp, berth_strbuf *out)
{
	char row[NAME];
	berth_strbuf_printf(out, "RHS\n");
	if (lp->offset != 0)
		mps_number(out, "RHS", "COST", "", -lp->offset);
	for (int32_t r = 0; r < lp->n_rows; r++) {
		double v = row_kind(lp, r) == 'L' ? lp->row_upper[r] : lp->row_lower[r];
		if (row_kind(lp, r) != 'N' && v != 0)
			mps_number(out, "RHS", row_name(lp, r, row), "", v);
	}
	berth_strbuf_printf(out, "RANGES\n");
	for (int32_t r = 0; r < lp->n_rows; r++)
		if (row_kind(lp, r) == 'G' && has_upper(lp->row_upper[r]))
			mps_number(out, "RNG", row_name(lp, r, row), "", lp->row_upper[r] - lp->row_lower[r]);
}

void berth_lp_write_mps(const berth_lp *lp, berth_strbuf *out)
{
	berth_lp_columns t;
	if (berth_lp_by_columns(lp, &t, out->mem, NULL) != BERTH_OK) {
		out->failed = true;
		return;
	}
	berth_strbuf_printf(out, "NAME %s\n", lp->name);
	char row[NAME];
	berth_strbuf_printf(out, "ROWS\n N COST\n");
	for (int32_t r = 0; r < lp->n_rows; r++)
		berth_strbuf_printf(out, " %c %s\n", row_kind(lp, r), row_name(lp, r, row));
	mps_columns(lp, &t, out);
	mps_sides(lp, out);
	char col[NAME];
	berth_strbuf_printf(out, "BOUNDS\n");
	for (int32_t c = 0; c < lp->n_cols; c++) {
		double low = lp->col_lower[c], high = lp->col_upper[c];
		const char *name = col_name(lp, c, col);
		if (!has_lower(low))
			berth_strbuf_printf(out, " %s BND %s\n", has_upper(high) ? "MI" : "FR", name);
		else
			mps_number(out, "LO BND", name, "", low);
		if (has_upper(high))
			mps_number(out, "UP BND", name, "", high);
		else if (has_lower(low))
			berth_strbuf_printf(out, " PL BND %s\n", name); /* else readers take whole columns for
			                                                   0 or 1 */
	}
	berth_strbuf_printf(out, "ENDATA\n");
}
