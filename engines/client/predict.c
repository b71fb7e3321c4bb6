/* See predict.h. */
#include "predict.h"

#include <math.h>
#include <stdlib.h>

enum { TERMS = 3 };

typedef struct work {
	const berth_graph *g;
	double coef[TERMS];   /* overhead, seconds per FLOP, seconds per byte */
	double *ratio;        /* [n] measured / line, of the operators looked at */
} work;

static double term(const berth_graph *g, int32_t op, int k)
{
	return k == 0   ? 1
	       : k == 1 ? g->op_flops[op]
	                : (double)g->op_read_bytes[op] + (double)g->op_write_bytes[op];
}

static double line(const work *w, int32_t op)
{
	double t = 0;
	for (int k = 0; k < TERMS; k++)
		t += w->coef[k] * term(w->g, op, k);
	return t;
}

/* Coordinate descent on the sum of (line / seconds - 1)^2, coefficients >= 0. Three numbers need no more. */
static void fit_line(work *w, const double *seconds)
{
	double a[TERMS][TERMS] = {{0}}, b[TERMS] = {0};
	for (int32_t op = 0; op < w->g->n_ops; op++) {
		if (!(seconds[op] > 0))
			continue;
		for (int i = 0; i < TERMS; i++) {
			b[i] += term(w->g, op, i) / seconds[op];
			for (int k = 0; k < TERMS; k++)
				a[i][k] +=
					term(w->g, op, i) * term(w->g, op, k) / (seconds[op] * seconds[op]);
		}
	}
	for (int round = 0; round < 2000; round++)
		for (int i = 0; i < TERMS; i++) {
			double rest = b[i];
			for (int k = 0; k < TERMS; k++)
				rest -= k == i ? 0 : a[i][k] * w->coef[k];
			w->coef[i] = a[i][i] > 0 ? fmax(0, rest / a[i][i]) : 0;
		}
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

/* Sorted ratios of the measured operators of a type (ANY: of all). */
enum { ANY = -2 };
static int32_t ratios(work *w, const double *seconds, int32_t type)
{
	int32_t n = 0;
	for (int32_t op = 0; op < w->g->n_ops; op++)
		if (seconds[op] > 0 && (type == ANY || w->g->op_type[op] == type))
			w->ratio[n++] = seconds[op] / fmax(line(w, op), 1e-12);
	qsort(w->ratio, (size_t)n, sizeof *w->ratio, by_value);
	return n;
}

static double quantile(const work *w, int32_t n, double q)
{
	return w->ratio[(int32_t)floor(q * (double)(n - 1) + 0.5)];
}

typedef struct factors {
	double middle, low, high;
	bool done;
} factors;

static factors factors_of(work *w, const double *seconds, int32_t type)
{
	int32_t n = ratios(w, seconds, type);
	factors f = {1, 1, 1, true};
	if (n)
		f.middle = quantile(w, n, 0.5);
	if (n < 5) {
		n = ratios(w, seconds, ANY);
		f.low = f.middle * quantile(w, n, 0.1) / quantile(w, n, 0.5);
		f.high = f.middle * quantile(w, n, 0.9) / quantile(w, n, 0.5);
		return f;
	}
	f.low = quantile(w, n, 0.1);
	f.high = quantile(w, n, 0.9);
	return f;
}

static berth_status predict(const berth_graph *g, const double *measured, double *seconds, double *low,
                            double *high, int32_t *n_predicted, berth_arena *tmp, berth_err *err)
{
	work w = {.g = g};
	factors *f;
	BERTH_TRY(BERTH_NEW(tmp, w.ratio, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, f, g->n_types + 1, err));
	fit_line(&w, measured);
	if (ratios(&w, measured, ANY) < 3)
		return BERTH_OK;
	for (int32_t op = 0; op < g->n_ops; op++) {
		factors *mine = &f[g->op_type[op] + 1];
		if (!isnan(measured[op]))
			continue;
		if (!mine->done)
			*mine = factors_of(&w, measured, g->op_type[op]);
		seconds[op] = mine->middle * line(&w, op);
		low[op] = mine->low * line(&w, op);
		high[op] = mine->high * line(&w, op);
		++*n_predicted;
	}
	return BERTH_OK;
}

berth_status berth_predict_times(const berth_graph *g, double *seconds, double *low, double *high,
                                 int32_t *n_predicted, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	double *measured;
	*n_predicted = 0;
	BERTH_TRY(BERTH_NEW(tmp, measured, g->n_ops, err));
	for (int32_t op = 0; op < g->n_ops; op++)
		measured[op] = seconds[op];
	berth_status st = predict(g, measured, seconds, low, high, n_predicted, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}
