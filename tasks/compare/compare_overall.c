/* Methods over instances: what a table of many graphs comes to. */
#include "compare.h"

#include <math.h>

#define SAME 1e-9 /* relative */

typedef struct table {
	const berth_compare_summary *summary; /* [n_instances][n_methods] */
	int32_t n_instances, n_methods, single, against;
	double *x;                            /* [n_instances] scratch */
} table;

static double value(const table *t, int32_t instance, int32_t method)
{
	return t->summary[(size_t)instance * (size_t)t->n_methods + (size_t)method].median;
}

static double geomean(const double *x, int32_t n, berth_arena *tmp)
{
	(void)tmp;
	return berth_geomean(x, n);
}

static berth_status find_ratio(const table *t, int32_t method, berth_arena *tmp, berth_compare_overall *o,
                               berth_err *err)
{
	o->ratio = (berth_interval){NAN, NAN, NAN};
	for (int32_t i = 0; i < t->n_instances && t->single >= 0; i++) {
		double ratio = value(t, i, method) / value(t, i, t->single);
		if (ratio > 0 && isfinite(ratio))
			t->x[o->n_ratios++] = ratio;
	}
	if (o->n_ratios >= BERTH_LEAST_FOR_INTERVAL) {
		o->ratio = berth_bootstrap(t->x, o->n_ratios, geomean, tmp);
		return isnan(o->ratio.low) ? berth_nomem(err) : BERTH_OK;
	}
	if (o->n_ratios)
		o->ratio.middle = berth_geomean(t->x, o->n_ratios);
	return BERTH_OK;
}

static void find_gap(const table *t, int32_t method, berth_compare_overall *o)
{
	for (int32_t i = 0; i < t->n_instances; i++) {
		double gap = t->summary[(size_t)i * (size_t)t->n_methods + (size_t)method].gap;
		if (!isnan(gap))
			t->x[o->n_gaps++] = 1 + gap;
	}
	o->gap = o->n_gaps ? berth_geomean(t->x, o->n_gaps) - 1 : NAN;
}

/* Logarithm of the ratio of two values, below 0 where a is better; of no value at all it is infinite. */
static double difference(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b) ? 0 : isnan(a) ? INFINITY : -INFINITY;
	return fabs(a - b) <= SAME * fmax(fabs(a), fabs(b)) ? 0 : log(a / b);
}

static berth_status fight(const table *t, int32_t method, berth_arena *tmp, berth_compare_overall *o,
                          berth_err *err)
{
	o->p = o->p_corrected = NAN;
	for (int32_t i = 0; i < t->n_instances; i++) {
		double d = t->x[i] = difference(value(t, i, method), value(t, i, t->against));
		o->wins += d < 0;
		o->ties += d == 0;
		o->losses += d > 0;
	}
	if (method == t->against)
		return BERTH_OK;
	o->p = berth_signed_rank(t->x, t->n_instances, tmp);
	return isnan(o->p) ? berth_nomem(err) : BERTH_OK;
}

static void add_up(const table *t, int32_t method, berth_compare_overall *o)
{
	int64_t n_rows = 0;
	for (int32_t i = 0; i < t->n_instances; i++) {
		const berth_compare_summary *s =
			&t->summary[(size_t)i * (size_t)t->n_methods + (size_t)method];
		n_rows += s->n_rows;
		o->n_feasible += s->n_feasible > 0;
		o->evaluations += s->evaluations * s->n_rows;
		o->solve_s += s->solve_s * s->n_rows;
	}
	o->n_instances = t->n_instances;
	if (n_rows) {
		o->evaluations /= (double)n_rows;
		o->solve_s /= (double)n_rows;
	}
}

static berth_status over_instances(table *t, berth_arena *tmp, berth_compare_overall *out, berth_err *err)
{
	double *p, *corrected;
	BERTH_TRY(BERTH_NEW(tmp, t->x, t->n_instances, err));
	BERTH_TRY(BERTH_NEW(tmp, p, t->n_methods, err));
	BERTH_TRY(BERTH_NEW(tmp, corrected, t->n_methods, err));
	for (int32_t m = 0; m < t->n_methods; m++) {
		out[m] = (berth_compare_overall){0};
		add_up(t, m, &out[m]);
		find_gap(t, m, &out[m]);
		BERTH_TRY(find_ratio(t, m, tmp, &out[m], err));
		BERTH_TRY(fight(t, m, tmp, &out[m], err));
		p[m] = out[m].p;
	}
	berth_holm(p, t->n_methods, corrected);
	for (int32_t m = 0; m < t->n_methods; m++)
		out[m].p_corrected = corrected[m];
	return BERTH_OK;
}

berth_status berth_compare_over_instances(const berth_compare_summary *summary, int32_t n_instances,
                                          int32_t n_methods, int32_t single, int32_t against,
                                          berth_arena *tmp, berth_compare_overall *out, berth_err *err)
{
	table t = {summary, n_instances, n_methods, single, against, NULL};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = over_instances(&t, tmp, out, err);
	berth_arena_reset(tmp, mark);
	return st;
}
