/* LP models solved by COIN-OR (EPL): linear programs by Clp, whole columns by Cbc, through their C
 * interfaces. One thread, nothing printed, limits in nodes and iterations, so that the same model gives the
 * same answer. */
#include "lp.h"

#include "apart.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *berth_lp_solver(void)
{
	return "cbc";
}

/* The matrix by columns, in the solver's types. */
typedef struct columns {
	CoinBigIndex *begin;
	int *row;
	double *value;
} columns;

static berth_status by_columns(const berth_lp *lp, columns *t, berth_arena *tmp, berth_err *err)
{
	if (lp->n_entries > INT_MAX)
		return berth_fail(err, BERTH_EINVAL, "model '%s' has %zu entries, the solver takes %d",
		                  lp->name, lp->n_entries, INT_MAX);
	BERTH_TRY(BERTH_NEW(tmp, t->begin, (size_t)lp->n_cols + 2, err));
	BERTH_TRY(BERTH_NEW(tmp, t->row, lp->n_entries, err));
	BERTH_TRY(BERTH_NEW(tmp, t->value, lp->n_entries, err));
	for (size_t e = 0; e < lp->n_entries; e++)
		t->begin[lp->entry_col[e] + 2]++;
	for (int32_t c = 0; c < lp->n_cols; c++)
		t->begin[c + 2] += t->begin[c + 1];
	for (int32_t r = 0; r < lp->n_rows; r++)
		for (size_t e = lp->row_begin[r]; e < berth_lp_row_end(lp, r); e++) {
			CoinBigIndex at = t->begin[lp->entry_col[e] + 1]++;
			t->row[at] = r;
			t->value[at] = lp->entry_value[e];
		}
	return BERTH_OK;
}

static bool has_whole(const berth_lp *lp)
{
	for (int32_t c = 0; c < lp->n_cols; c++)
		if (lp->col_whole[c])
			return true;
	return false;
}

/* ---- linear programs: Clp ---- */

static void read_clp(Clp_Simplex *m, const berth_lp *lp, berth_lp_result *out)
{
	int code = Clp_status(m);
	out->iterations = Clp_numberIterations(m);
	out->status = code == 0   ? BERTH_LP_OPTIMAL
	              : code == 1 ? BERTH_LP_INFEASIBLE
	              : code == 2 ? BERTH_LP_UNBOUNDED
	                          : BERTH_LP_UNKNOWN;
	if (code == 0) {
		memcpy(out->x, Clp_primalColumnSolution(m), (size_t)lp->n_cols * sizeof *out->x);
		out->value = out->bound = berth_lp_value(lp, out->x);
	}
	if (code == 0 || code == 3)
		memcpy(out->row_dual, Clp_dualRowSolution(m), (size_t)lp->n_rows * sizeof *out->row_dual);
}

static berth_status solve_linear(const berth_lp *lp, const berth_lp_options *options, const columns *t,
                                 berth_lp_result *out, berth_err *err)
{
	Clp_Simplex *m = Clp_newModel();
	if (!m)
		return berth_nomem(err);
	Clp_setLogLevel(m, 0);
	Clp_loadProblem(m, lp->n_cols, lp->n_rows, t->begin, t->row, t->value, lp->col_lower, lp->col_upper,
	                lp->col_cost, lp->row_lower, lp->row_upper);
	if (options->iterations > 0) { /* dual: what it has where it is cut is a bound */
		Clp_setMaximumIterations(m,
		                         options->iterations < INT_MAX ? (int)options->iterations : INT_MAX);
		Clp_initialDualSolve(m);
	} else {
		Clp_initialSolve(m);
	}
	read_clp(m, lp, out);
	Clp_deleteModel(m);
	return BERTH_OK;
}

/* ---- whole columns: Cbc ---- */

static void set_number(Cbc_Model *m, const char *name, double v)
{
	char text[40];
	snprintf(text, sizeof text, "%.17g", v);
	Cbc_setParameter(m, name, text);
}

static void set_limits(Cbc_Model *m, const berth_lp_options *options)
{
	Cbc_setLogLevel(m, 0);
	Cbc_setParameter(m, "log", "0");
	Cbc_setParameter(m, "heuristicsOnOff", "off"); /* their small trees run into an assertion of OsiClp
	                                                  (2.10.8); callers bring a start of their own */
	set_number(m, "ratioGap", options->gap > 0 ? options->gap : 0);
	if (options->nodes > 0)
		set_number(m, "maxNodes", (double)(options->nodes < INT_MAX ? options->nodes : INT_MAX));
}

/* Hand over a start that holds. */
static berth_status set_start(Cbc_Model *m, const berth_lp *lp, const double *x, berth_arena *tmp,
                              berth_err *err)
{
	int *col;
	if (!x || !(berth_lp_violation(lp, x) < 1e-6))
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(tmp, col, lp->n_cols, err));
	for (int32_t c = 0; c < lp->n_cols; c++)
		col[c] = c;
	Cbc_setMIPStartI(m, lp->n_cols, col, x);
	return BERTH_OK;
}

static void read_cbc(Cbc_Model *m, const berth_lp *lp, const berth_lp_options *options, berth_lp_result *out)
{
	const double *x = Cbc_bestSolution(m);
	if (x && berth_lp_violation(lp, x) < 1e-4) {
		memcpy(out->x, x, (size_t)lp->n_cols * sizeof *out->x);
		for (int32_t c = 0; c < lp->n_cols; c++)
			if (lp->col_whole[c])
				out->x[c] = round(out->x[c]);
		out->value = berth_lp_value(lp, out->x);
	}
	out->nodes = Cbc_getNodeCount(m);
	bool proven = Cbc_isProvenOptimal(m) && isfinite(out->value);
	if (Cbc_isProvenInfeasible(m))
		out->status = BERTH_LP_INFEASIBLE;
	else if (Cbc_isContinuousUnbounded(m))
		out->status = BERTH_LP_UNBOUNDED;
	else
		out->status = proven                 ? BERTH_LP_OPTIMAL
		              : isfinite(out->value) ? BERTH_LP_LIMIT
		                                     : BERTH_LP_UNKNOWN;
	if (out->status == BERTH_LP_OPTIMAL || out->status == BERTH_LP_LIMIT ||
	    out->status == BERTH_LP_UNKNOWN) {
		double bound = Cbc_getBestPossibleObjValue(m) + lp->offset;
		out->bound = fabs(bound) < BERTH_LP_INF ? fmin(bound, out->value) : -INFINITY;
	}
	if (proven && !(options->gap > 0))
		out->bound = out->value;
}

static berth_status solve_whole(const berth_lp *lp, const berth_lp_options *options, const columns *t,
                                berth_lp_result *out, berth_arena *tmp, berth_err *err)
{
	Cbc_Model *m = Cbc_newModel();
	if (!m)
		return berth_nomem(err);
	Cbc_loadProblem(m, lp->n_cols, lp->n_rows, t->begin, t->row, t->value, lp->col_lower, lp->col_upper,
	                lp->col_cost, lp->row_lower, lp->row_upper);
	for (int32_t c = 0; c < lp->n_cols; c++)
		if (lp->col_whole[c])
			Cbc_setInteger(m, c);
	set_limits(m, options);
	berth_status st = set_start(m, lp, options->start, tmp, err);
	if (st == BERTH_OK) {
		Cbc_solve(m);
		read_cbc(m, lp, options, out);
	}
	Cbc_deleteModel(m);
	return st;
}

/* ---- a process of its own ---- Assertions inside Cbc 2.10.8 fail now and then on models that are in order,
 * and end the process that it runs in. Without an answer the status is unknown. */

typedef struct whole_work {
	const berth_lp *lp;
	const berth_lp_options *options;
	const columns *t;
	berth_lp_result *out;
	berth_arena *tmp;
} whole_work;

static berth_status work_whole(void *ctx, berth_err *err)
{
	whole_work *w = ctx;
	return solve_whole(w->lp, w->options, w->t, w->out, w->tmp, err);
}

static berth_status solve_apart(const berth_lp *lp, const berth_lp_options *options, const columns *t,
                                berth_lp_result *out, berth_arena *tmp, berth_err *err)
{
	berth_lp_result r = *out;
	whole_work w = {lp, options, t, &r, tmp};
	const berth_apart_block blocks[] = {{&r, sizeof r}, {r.x, (size_t)lp->n_cols * sizeof *r.x}};
	bool answered;
	BERTH_TRY(berth_apart(work_whole, &w, 2, blocks, &answered, err));
	if (answered)
		*out = r;
	return BERTH_OK;
}

/* ---- */

static berth_status solve(const berth_lp *lp, const berth_lp_options *options, berth_arena *tmp,
                          berth_lp_result *out, berth_err *err)
{
	columns t = {0};
	BERTH_TRY(by_columns(lp, &t, tmp, err));
	return has_whole(lp) ? solve_apart(lp, options, &t, out, tmp, err)
	                     : solve_linear(lp, options, &t, out, err);
}

berth_status berth_lp_solve(const berth_lp *lp, const berth_lp_options *options, berth_arena *mem,
                            berth_arena *tmp, berth_lp_result *out, berth_err *err)
{
	static const berth_lp_options none = {0};
	berth_lp_result r = {.status = BERTH_LP_UNKNOWN, .value = INFINITY, .bound = -INFINITY};
	BERTH_TRY(BERTH_NEW(mem, r.x, lp->n_cols, err));
	BERTH_TRY(BERTH_NEW(mem, r.row_dual, lp->n_rows, err));
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = solve(lp, options ? options : &none, tmp, &r, err);
	if (mem != tmp)
		berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = r;
	return st;
}
