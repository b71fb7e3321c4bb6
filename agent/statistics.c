/* Statistics of repeated runs; see statistics.h. */
#include "statistics.h"

#include "rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000 };

static int compare(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;
	return (a > b) - (a < b);
}

/* A sorted copy, or NULL where x holds a NAN or memory runs out. */
static double *sorted(const double *x, int32_t n, berth_arena *tmp)
{
	double *copy = berth_arena_alloc(tmp, (size_t)n, sizeof *copy);
	for (int32_t i = 0; copy && i < n; i++) {
		if (isnan(x[i]))
			return NULL;
		copy[i] = x[i];
	}
	if (copy)
		qsort(copy, (size_t)n, sizeof *copy, compare);
	return copy;
}

double berth_median(const double *x, int32_t n, berth_arena *tmp)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	double *s = sorted(x, n, tmp);
	double m = s ? (s[(n - 1) / 2] + s[n / 2]) / 2 : NAN;
	berth_arena_reset(tmp, mark);
	return m;
}

double berth_iqm(const double *x, int32_t n, berth_arena *tmp)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	double *s = sorted(x, n, tmp), sum = 0, weight = 0;
	for (int32_t i = 0; s && i < n; i++) {
		/* value i stands for [i, i + 1) of n; how much of it lies in the middle half? */
		double share = fmin(i + 1, n * 0.75) - fmax(i, n * 0.25);
		if (share > 0) {
			sum += share * s[i];
			weight += share;
		}
	}
	berth_arena_reset(tmp, mark);
	return s ? sum / weight : NAN;
}

double berth_geomean(const double *x, int32_t n)
{
	double sum = 0;
	for (int32_t i = 0; i < n; i++)
		sum += log(x[i]);
	return exp(sum / n);
}

berth_interval berth_bootstrap(const double *x, int32_t n, double (*statistic)(const double *x, int32_t n, berth_arena *tmp), berth_arena *tmp)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_interval r = {statistic(x, n, tmp), NAN, NAN};
	double *draw = berth_arena_alloc(tmp, (size_t)n, sizeof *draw), *all = berth_arena_alloc(tmp, RESAMPLES, sizeof *all);
	berth_rng rng = berth_rng_seed(1, 0);
	if (draw && all && !isnan(r.middle)) {
		for (int32_t k = 0; k < RESAMPLES; k++) {
			for (int32_t i = 0; i < n; i++)
				draw[i] = x[berth_rng_below(&rng, (uint32_t)n)];
			all[k] = statistic(draw, n, tmp);
		}
		qsort(all, RESAMPLES, sizeof *all, compare);
		r.low = all[RESAMPLES / 40];
		r.high = all[RESAMPLES - 1 - RESAMPLES / 40];
	}
	berth_arena_reset(tmp, mark);
	return r;
}
