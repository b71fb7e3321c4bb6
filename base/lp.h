/* Linear and mixed-integer programs: minimise cost * x + offset over rows lower <= A x <= upper and columns
 * lower <= x <= upper, some of them whole.
 *
 * The model knows no solver: it can be written as an MPS or LP file for any. berth_lp_solve hands it to the
 * one that berth was built with, if any. Bounds at or beyond +-BERTH_LP_INF are none. */
#pragma once

#include "text.h"
#include "threads.h"

#define BERTH_LP_INF 1e30

typedef struct berth_lp {
	berth_arena *mem;
	const char *name;
	double offset;
	int32_t n_cols, n_rows;
	size_t n_entries;
	double *col_lower, *col_upper, *col_cost;
	uint8_t *col_whole;
	const char **col_name;      /* NULL: written as x0, x1, ... */
	double *row_lower, *row_upper;
	const char **row_name;      /* NULL: written as r0, r1, ... */
	size_t *row_begin; /* first entry of a row; a row ends where the next begins, the last at n_entries */
	int32_t *entry_col;
	double *entry_value;
	size_t cap_cols, cap_rows, cap_entries;
} berth_lp;

/* An empty model in mem; name is borrowed. */
void berth_lp_init(berth_lp *lp, const char *name, berth_arena *mem);

/* A new column; name is borrowed, without spaces, at most 255 bytes, may be NULL. *col: its index, may be
 * NULL. Fails: BERTH_ENOMEM. */
berth_status berth_lp_col(berth_lp *lp, const char *name, double lower, double upper, double cost, bool whole,
                          int32_t *col, berth_err *err);

/* A new empty row; its entries follow by berth_lp_put before the next row begins. Fails: BERTH_ENOMEM. */
berth_status berth_lp_row(berth_lp *lp, const char *name, double lower, double upper, berth_err *err);

/* value * col is a term of the last row; a column may come once in a row. Zero terms are dropped. Fails:
 * BERTH_ENOMEM. */
berth_status berth_lp_put(berth_lp *lp, int32_t col, double value, berth_err *err);

/* A row with n terms. Fails: BERTH_ENOMEM. */
berth_status berth_lp_row_of(berth_lp *lp, const char *name, double lower, double upper, int32_t n,
                             const int32_t *cols, const double *values, berth_err *err);

static inline size_t berth_lp_row_end(const berth_lp *lp, int32_t row)
{
	return row + 1 < lp->n_rows ? lp->row_begin[row + 1] : lp->n_entries;
}

/* cost * x + offset, and the largest violation by x [n_cols] of a row, a bound, or a column's wholeness. */
double berth_lp_value(const berth_lp *lp, const double *x);
double berth_lp_violation(const berth_lp *lp, const double *x);

/* The entries by column, in the order of the rows. */
typedef struct berth_lp_columns {
	int32_t *begin; /* [n_cols+1] into row and value */
	int32_t *row;
	double *value;
} berth_lp_columns;

/* They live in mem. Fails: BERTH_EINVAL (more than an int counts), BERTH_ENOMEM. O(columns + entries). */
berth_status berth_lp_by_columns(const berth_lp *lp, berth_lp_columns *out, berth_arena *mem, berth_err *err);

/* Append the model as free MPS. A failed allocation sticks to the buffer. O(entries) and a transpose, in mem
 * of out. */
void berth_lp_write_mps(const berth_lp *lp, berth_strbuf *out);

/* ---- the solver ---- */

typedef enum berth_lp_status {
	BERTH_LP_OPTIMAL, /* within the gap asked for */
	BERTH_LP_LIMIT,   /* a solution and a bound; a limit was reached */
	BERTH_LP_INFEASIBLE,
	BERTH_LP_UNBOUNDED,
	/* no solution when the limit was reached, or the solver gave up; the bound holds if it is finite */
	BERTH_LP_UNKNOWN
} berth_lp_status;

typedef struct berth_lp_options {
	/* of the search tree; 0: no limit. Never seconds: the same model gives the same answer */
	int64_t nodes;
	/* of an LP's simplex; 0: no limit. With one it is the dual simplex: where it is cut, its row duals
	 * prove most of what all of them would */
	int64_t iterations;
	double gap;          /* relative gap at which to stop */
	/* [n_cols] a solution to start from; NULL: none. One that is not feasible is ignored */
	const double *start;
	berth_patience until; /* where it is over the solver is stopped, and the status is unknown */
} berth_lp_options;

typedef struct berth_lp_result {
	berth_lp_status status;
	double value;        /* of x; INFINITY: no solution */
	double bound;        /* the solver's, within its tolerances (about 1e-6); -INFINITY: none */
	double *x;           /* [n_cols] */
	/* [n_rows] of a model without whole columns: change of the value per unit of the row's bound;
	 * else zeros */
	double *row_dual;
	int64_t nodes, iterations;
} berth_lp_result;

/* Name of the solver, for example "cbc"; NULL: built without one. */
const char *berth_lp_solver(void);

/* The package whose lack leaves berth without a solver; NULL where it was built with one. */
#define BERTH_LP_PACKAGE "coinor-libcbc-dev"
const char *berth_lp_missing(void);

/* Solve. Arrays of the result live in mem; tmp is scratch. Prints nothing. Fails: BERTH_EUNSUPPORTED (no
 * solver: names the package), BERTH_ENOMEM, BERTH_EINVAL (a model beyond the solver's size), BERTH_EIO (no
 * process). Infeasible and the like are results. It runs in a child process that loads the solver (some
 * milliseconds), which may abort: then the status is unknown. */
berth_status berth_lp_solve(const berth_lp *lp, const berth_lp_options *options, berth_arena *mem,
                            berth_arena *tmp, berth_lp_result *out, berth_err *err);
