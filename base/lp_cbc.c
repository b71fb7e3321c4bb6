/* LP models solved by COIN-OR (EPL): linear programs by Clp, whole columns by Cbc, through their C
 * interfaces. One thread, nothing printed, limits in nodes and iterations, so that the same model gives the
 * same answer. The solver is loaded and runs in a process of its own: it brings OpenBLAS along, which would
 * start threads in this one, and it ends its process where memory runs out. */
#include "lp.h"

#include "apart.h"
#include "library.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <limits.h>

const char *berth_lp_solver(void)
{
	return "cbc";
}

/* ---- the libraries ---- */

#define CLP(X) \
	X(Clp_status) X(Clp_numberIterations) X(Clp_primalColumnSolution) \
	X(Clp_dualRowSolution) X(Clp_newModel) X(Clp_setLogLevel) X(Clp_loadProblem) \
	X(Clp_setMaximumIterations) X(Clp_initialDualSolve) X(Clp_initialSolve) \
	X(Clp_deleteModel)
#define CBC(X) \
	X(Cbc_setParameter) X(Cbc_setLogLevel) X(Cbc_setMIPStartI) X(Cbc_bestSolution) \
	X(Cbc_getNodeCount) X(Cbc_isProvenOptimal) X(Cbc_isProvenInfeasible) \
	X(Cbc_isContinuousUnbounded) X(Cbc_getBestPossibleObjValue) X(Cbc_newModel) \
	X(Cbc_loadProblem) X(Cbc_setInteger) X(Cbc_solve) X(Cbc_deleteModel)

#define FIELD(f) __typeof__(f) *f;
typedef struct clp {
	CLP(FIELD)
} clp;
typedef struct cbc {
	CBC(FIELD)
} cbc;
#undef FIELD

/* What they take when they are loaded, and the buffer that OpenBLAS may ask for. */
enum { ROOM = 200 << 20 };

/* The solver's exceptions are none that C can catch: from here on C++'s operator new leaves the child, by
 * std::set_new_handler. */
static berth_status leave_without_memory(void *library, berth_err *err)
{
	typedef void (*handler)(void);
	handler (*set_new_handler)(handler);
	BERTH_TRY(berth_library_function(library, "_ZSt15set_new_handlerPFvvE", &set_new_handler, err));
	set_new_handler(berth_apart_no_memory);
	return BERTH_OK;
}

#define LOAD(f) BERTH_TRY(berth_library_function(library, #f, &k->f, err));
static berth_status load_clp(clp *k, berth_err *err)
{
	static const char *const names[] = {"libClp.so.1", "libClp.so", NULL};
	void *library;
	BERTH_TRY(berth_library_open_blas(names, BERTH_LP_PACKAGE, ROOM, &library, err));
	CLP(LOAD)
	return leave_without_memory(library, err);
}

static berth_status load_cbc(cbc *k, berth_err *err)
{
	static const char *const names[] = {"libCbcSolver.so.3", "libCbcSolver.so", NULL};
	void *library;
	BERTH_TRY(berth_library_open_blas(names, BERTH_LP_PACKAGE, ROOM, &library, err));
	CBC(LOAD)
	return leave_without_memory(library, err);
}
#undef LOAD

static bool has_whole(const berth_lp *lp)
{
	for (int32_t c = 0; c < lp->n_cols; c++)
		if (lp->col_whole[c])
			return true;
	return false;
}

/* ---- linear programs: Clp ---- */

static berth_status solve_linear(const berth_lp *lp, const berth_lp_options *options,
                                 const berth_lp_columns *t, berth_lp_result *out, berth_err *err)
{
	clp k;
	BERTH_TRY(load_clp(&k, err));
	Clp_Simplex *m = k.Clp_newModel();
	BERTH_TRY(berth_got(m, err));
	k.Clp_setLogLevel(m, 0);
	k.Clp_loadProblem(m, lp->n_cols, lp->n_rows, t->begin, t->row, t->value, lp->col_lower, lp->col_upper,
	                lp->col_cost, lp->row_lower, lp->row_upper);
	if (options->iterations > 0) { /* dual: what it has where it is cut is a bound */
		k.Clp_setMaximumIterations(m,
		                         options->iterations < INT_MAX ? (int)options->iterations : INT_MAX);
		k.Clp_initialDualSolve(m);
	} else {
		k.Clp_initialSolve(m);
	}
	int code = k.Clp_status(m);
	out->iterations = k.Clp_numberIterations(m);
	out->status = code == 0   ? BERTH_LP_OPTIMAL
	              : code == 1 ? BERTH_LP_INFEASIBLE
	              : code == 2 ? BERTH_LP_UNBOUNDED
	                          : BERTH_LP_UNKNOWN;
	if (code == 0) {
		memcpy(out->x, k.Clp_primalColumnSolution(m), (size_t)lp->n_cols * sizeof *out->x);
		out->value = out->bound = berth_lp_value(lp, out->x);
	}
	if (code == 0 || code == 3)
		memcpy(out->row_dual, k.Clp_dualRowSolution(m), (size_t)lp->n_rows * sizeof *out->row_dual);
	k.Clp_deleteModel(m);
	return BERTH_OK;
}

/* ---- whole columns: Cbc ---- */

static void set_number(const cbc *k, Cbc_Model *m, const char *name, double v)
{
	char text[40];
	snprintf(text, sizeof text, "%.17g", v);
	k->Cbc_setParameter(m, name, text);
}

/* Hand over a start that holds. */
static berth_status set_start(const cbc *k, Cbc_Model *m, const berth_lp *lp, const double *x,
                              berth_arena *tmp, berth_err *err)
{
	int *col;
	if (!x || !(berth_lp_violation(lp, x) < 1e-6))
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, lp->n_cols, err, col);
	for (int32_t c = 0; c < lp->n_cols; c++)
		col[c] = c;
	k->Cbc_setMIPStartI(m, lp->n_cols, col, x);
	return BERTH_OK;
}

static void read_cbc(const cbc *k, Cbc_Model *m, const berth_lp *lp, const berth_lp_options *options,
                     berth_lp_result *out)
{
	const double *x = k->Cbc_bestSolution(m);
	if (x && berth_lp_violation(lp, x) < 1e-4) {
		memcpy(out->x, x, (size_t)lp->n_cols * sizeof *out->x);
		for (int32_t c = 0; c < lp->n_cols; c++)
			if (lp->col_whole[c])
				out->x[c] = round(out->x[c]);
		out->value = berth_lp_value(lp, out->x);
	}
	out->nodes = k->Cbc_getNodeCount(m);
	bool proven = k->Cbc_isProvenOptimal(m) && isfinite(out->value);
	if (k->Cbc_isProvenInfeasible(m))
		out->status = BERTH_LP_INFEASIBLE;
	else if (k->Cbc_isContinuousUnbounded(m))
		out->status = BERTH_LP_UNBOUNDED;
	else
		out->status = proven                 ? BERTH_LP_OPTIMAL
		              : isfinite(out->value) ? BERTH_LP_LIMIT
		                                     : BERTH_LP_UNKNOWN;
	if (out->status == BERTH_LP_OPTIMAL || out->status == BERTH_LP_LIMIT ||
	    out->status == BERTH_LP_UNKNOWN) {
		double bound = k->Cbc_getBestPossibleObjValue(m) + lp->offset;
		out->bound = fabs(bound) < BERTH_LP_INF ? fmin(bound, out->value) : -INFINITY;
	}
	if (proven && !(options->gap > 0))
		out->bound = out->value;
}

static berth_status solve_whole(const berth_lp *lp, const berth_lp_options *options,
                                const berth_lp_columns *t, berth_lp_result *out, berth_arena *tmp,
                                berth_err *err)
{
	cbc k;
	BERTH_TRY(load_cbc(&k, err));
	Cbc_Model *m = k.Cbc_newModel();
	BERTH_TRY(berth_got(m, err));
	k.Cbc_loadProblem(m, lp->n_cols, lp->n_rows, t->begin, t->row, t->value, lp->col_lower, lp->col_upper,
	                lp->col_cost, lp->row_lower, lp->row_upper);
	for (int32_t c = 0; c < lp->n_cols; c++)
		if (lp->col_whole[c])
			k.Cbc_setInteger(m, c);
	k.Cbc_setLogLevel(m, 0);
	k.Cbc_setParameter(m, "log", "0");
	/* Heuristics' small trees run into an assertion of OsiClp (2.10.8); callers bring a start. */
	k.Cbc_setParameter(m, "heuristicsOnOff", "off");
	set_number(&k, m, "ratioGap", options->gap > 0 ? options->gap : 0);
	if (options->nodes > 0)
		set_number(&k, m, "maxNodes", (double)(options->nodes < INT_MAX ? options->nodes : INT_MAX));
	if (options->until.end_s > 0) { /* before it is stopped without an answer */
		k.Cbc_setParameter(m, "timeMode", "elapsed");
		set_number(&k, m, "sec", fmax(0.9 * (options->until.end_s - berth_wall_seconds()), 0.01));
	}
	berth_status st = set_start(&k, m, lp, options->start, tmp, err);
	if (st == BERTH_OK) {
		k.Cbc_solve(m);
		read_cbc(&k, m, lp, options, out);
	}
	k.Cbc_deleteModel(m);
	return st;
}

/* ---- a process of its own ---- Assertions inside Cbc 2.10.8 fail now and then on models that are in order,
 * and end the process that it runs in. Without an answer the status is unknown. Out of memory is told. */

typedef struct lp_work {
	const berth_lp *lp;
	const berth_lp_options *options;
	berth_lp_result *out;
	berth_arena *tmp;
} lp_work;

static berth_status work(void *ctx, berth_err *err)
{
	lp_work *w = ctx;
	berth_lp_columns t;
	BERTH_TRY(berth_lp_by_columns(w->lp, &t, w->tmp, err));
	return has_whole(w->lp) ? solve_whole(w->lp, w->options, &t, w->out, w->tmp, err)
	                        : solve_linear(w->lp, w->options, &t, w->out, err);
}

berth_status berth_lp_solve(const berth_lp *lp, const berth_lp_options *options, berth_arena *mem,
                            berth_arena *tmp, berth_lp_result *out, berth_err *err)
{
	static const berth_lp_options none = {0};
	berth_lp_result r = {.status = BERTH_LP_UNKNOWN, .value = INFINITY, .bound = -INFINITY}, got = r;
	bool answered;
	BERTH_TRY_NEW(mem, lp->n_cols, err, r.x);
	BERTH_TRY_NEW(mem, lp->n_rows, err, r.row_dual);
	got.x = r.x;
	got.row_dual = r.row_dual;
	lp_work w = {lp, options ? options : &none, &got, tmp};
	const berth_apart_block blocks[] = {{&got, sizeof got},
	                                    {r.x, (size_t)lp->n_cols * sizeof *r.x},
	                                    {r.row_dual, (size_t)lp->n_rows * sizeof *r.row_dual}};
	BERTH_TRY(berth_apart(&w.options->until, work, &w, 3, blocks, &answered, err));
	if (!answered) { /* a part may have come */
		memset(r.x, 0, (size_t)lp->n_cols * sizeof *r.x);
		memset(r.row_dual, 0, (size_t)lp->n_rows * sizeof *r.row_dual);
	}
	*out = answered ? got : r;
	return BERTH_OK;
}
