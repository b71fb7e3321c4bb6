/* LP models as text: free MPS, and the LP format of CPLEX, both as far as all common solvers read them. */
#include "lp.h"

#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

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

/* Entries by column: off [n_cols+1] into row and value. */
typedef struct columns {
	size_t *off;
	int32_t *row;
	double *value;
} columns;

static bool transpose(const berth_lp *lp, berth_arena *mem, columns *t)
{
	if (BERTH_NEW(mem, t->off, (size_t)lp->n_cols + 2, NULL) != BERTH_OK ||
	    BERTH_NEW(mem, t->row, lp->n_entries, NULL) != BERTH_OK ||
	    BERTH_NEW(mem, t->value, lp->n_entries, NULL) != BERTH_OK)
		return false;
	for (size_t e = 0; e < lp->n_entries; e++)
		t->off[lp->entry_col[e] + 2]++;
	for (int32_t c = 0; c < lp->n_cols; c++)
		t->off[c + 2] += t->off[c + 1];
	for (int32_t r = 0; r < lp->n_rows; r++)
		for (size_t e = lp->row_begin[r]; e < berth_lp_row_end(lp, r); e++) {
			size_t at = t->off[lp->entry_col[e] + 1]++;
			t->row[at] = r;
			t->value[at] = lp->entry_value[e];
		}
	return true;
}

static void mps_columns(const berth_lp *lp, const columns *t, berth_strbuf *out)
{
	char col[NAME], row[NAME];
	bool whole = false;
	berth_strbuf_printf(out, "COLUMNS\n");
	for (int32_t c = 0; c < lp->n_cols; c++) {
		if (whole != (lp->col_whole[c] != 0)) {
			whole = !whole;
			berth_strbuf_printf(out, " M 'MARKER' '%s'\n", whole ? "INTORG" : "INTEND");
		}
		if (lp->col_cost[c] != 0 || t->off[c] == t->off[c + 1])
			mps_number(out, "", col_name(lp, c, col), "COST", lp->col_cost[c]);
		for (size_t e = t->off[c]; e < t->off[c + 1]; e++)
			mps_number(out, "", col_name(lp, c, col), row_name(lp, t->row[e], row), t->value[e]);
	}
	if (whole)
		berth_strbuf_printf(out, " M 'MARKER' 'INTEND'\n");
}

static void mps_rows(const berth_lp *lp, berth_strbuf *out)
{
	char row[NAME];
	berth_strbuf_printf(out, "ROWS\n N COST\n");
	for (int32_t r = 0; r < lp->n_rows; r++)
		berth_strbuf_printf(out, " %c %s\n", row_kind(lp, r), row_name(lp, r, row));
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

static void mps_bounds(const berth_lp *lp, berth_strbuf *out)
{
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
}

void berth_lp_write_mps(const berth_lp *lp, berth_strbuf *out)
{
	columns t = {0};
	if (!transpose(lp, out->mem, &t)) {
		out->failed = true;
		return;
	}
	berth_strbuf_printf(out, "NAME %s\n", lp->name);
	mps_rows(lp, out);
	mps_columns(lp, &t, out);
	mps_sides(lp, out);
	mps_bounds(lp, out);
	berth_strbuf_printf(out, "ENDATA\n");
}

/* ---- LP format ---- */

#define CONSTANT                                                                                             \
	"constant_one" /* a column fixed at 1 for the offset: not all readers take a bare number in the      \
	                  objective */

/* A term; lines are broken after every eighth, as readers limit their length. */
static void lp_term(berth_strbuf *out, int64_t *n, double v, const char *name)
{
	char digits[32];
	if (*n > 0 && *n % 8 == 0)
		berth_strbuf_printf(out, "\n ");
	berth_strbuf_printf(out, " %s %s %s", v < 0 ? "-" : "+", berth_text_double(digits, fabs(v)), name);
	++*n;
}

static void lp_row_terms(const berth_lp *lp, int32_t r, berth_strbuf *out)
{
	char col[NAME];
	int64_t n = 0;
	for (size_t e = lp->row_begin[r]; e < berth_lp_row_end(lp, r); e++)
		lp_term(out, &n, lp->entry_value[e], col_name(lp, lp->entry_col[e], col));
	if (n == 0 && lp->n_cols > 0)
		lp_term(out, &n, 0, col_name(lp, 0, col));
}

static void lp_row(const berth_lp *lp, int32_t r, const char *suffix, const char *relation, double side,
                   berth_strbuf *out)
{
	char row[NAME], digits[32];
	berth_strbuf_printf(out, " %s%s:", row_name(lp, r, row), suffix);
	lp_row_terms(lp, r, out);
	berth_strbuf_printf(out, " %s %s\n", relation, berth_text_double(digits, side));
}

static void lp_rows(const berth_lp *lp, berth_strbuf *out)
{
	berth_strbuf_printf(out, "Subject To\n");
	for (int32_t r = 0; r < lp->n_rows; r++) {
		char kind = row_kind(lp, r);
		if (kind == 'E')
			lp_row(lp, r, "", "=", lp->row_lower[r], out);
		if (kind == 'G')
			lp_row(lp, r, "", ">=", lp->row_lower[r], out);
		if (kind == 'L')
			lp_row(lp, r, "", "<=", lp->row_upper[r], out);
		if (kind == 'G' && has_upper(lp->row_upper[r]))
			lp_row(lp, r, "_up", "<=", lp->row_upper[r], out);
	}
}

static void lp_bounds(const berth_lp *lp, berth_strbuf *out)
{
	char col[NAME], low[32], high[32];
	berth_strbuf_printf(out, "Bounds\n");
	for (int32_t c = 0; c < lp->n_cols; c++)
		berth_strbuf_printf(
			out, " %s <= %s <= %s\n",
			has_lower(lp->col_lower[c]) ? berth_text_double(low, lp->col_lower[c]) : "-inf",
			col_name(lp, c, col),
			has_upper(lp->col_upper[c]) ? berth_text_double(high, lp->col_upper[c]) : "+inf");
	if (lp->offset != 0)
		berth_strbuf_printf(out, " 1 <= %s <= 1\n", CONSTANT);
	int64_t n = 0;
	for (int32_t c = 0; c < lp->n_cols; c++)
		if (lp->col_whole[c])
			berth_strbuf_printf(out, "%s %s",
			                    n++ == 0     ? "Generals\n"
			                    : n % 8 == 0 ? "\n"
			                                 : "",
			                    col_name(lp, c, col));
	if (n > 0)
		berth_strbuf_printf(out, "\n");
}

void berth_lp_write_lp(const berth_lp *lp, berth_strbuf *out)
{
	char col[NAME];
	int64_t n = 0;
	berth_strbuf_printf(out, "\\ %s\nMinimize\n obj:", lp->name);
	for (int32_t c = 0; c < lp->n_cols; c++)
		if (lp->col_cost[c] != 0)
			lp_term(out, &n, lp->col_cost[c], col_name(lp, c, col));
	if (n == 0 && lp->n_cols > 0)
		lp_term(out, &n, 0, col_name(lp, 0, col));
	if (lp->offset != 0)
		lp_term(out, &n, lp->offset, CONSTANT);
	berth_strbuf_printf(out, "\n");
	lp_rows(lp, out);
	lp_bounds(lp, out);
	berth_strbuf_printf(out, "End\n");
}
