/* Statistics of repeated runs and of methods over instances: means, bootstrap intervals, the signed-rank
 * test, and the correction for many tests. */
#include "statistics.h"

#include "rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000, MOST_COUNTED = 200 };

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

berth_interval berth_bootstrap(const double *x, int32_t n,
                               double (*statistic)(const double *x, int32_t n, berth_arena *tmp),
                               berth_arena *tmp)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_interval r = {statistic(x, n, tmp), NAN, NAN};
	double *draw = berth_arena_alloc(tmp, (size_t)n, sizeof *draw),
	       *all = berth_arena_alloc(tmp, RESAMPLES, sizeof *all);
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

/* ---- tests ---- */

static int compare_sizes(const void *pa, const void *pb)
{
	double a = fabs(*(const double *)pa), b = fabs(*(const double *)pb);
	return (a > b) - (a < b);
}

typedef struct ranks {
	int32_t n;
	int32_t *twice;  /* [n] twice the rank, by size */
	int64_t plus, all; /* sums of twice the ranks: of the positive ones, of all */
	double ties;     /* sum of t^3 - t over runs of t equal sizes */
} ranks;

/* x[n] is sorted by size and holds no zero. */
static void rank(const double *x, ranks *r)
{
	for (int32_t i = 0, end; i < r->n; i = end) {
		for (end = i; end < r->n && fabs(x[end]) == fabs(x[i]); end++)
			;
		double t = end - i;
		r->ties += t * t * t - t;
		for (int32_t k = i; k < end; k++) {
			r->twice[k] = i + 1 + end;
			r->all += r->twice[k];
			r->plus += x[k] > 0 ? r->twice[k] : 0;
		}
	}
}

/* Probability that random signs give a sum of positive ranks of at most `least`; sum [least + 1] is
 * scratch. */
static double probability_up_to(const ranks *r, int64_t least, double *sum)
{
	double p = 0;
	memset(sum, 0, (size_t)(least + 1) * sizeof *sum);
	sum[0] = 1;
	for (int32_t k = 0; k < r->n; k++)
		for (int64_t v = least; v >= 0; v--)
			sum[v] = (sum[v] + (v >= r->twice[k] ? sum[v - r->twice[k]] : 0)) / 2;
	for (int64_t v = 0; v <= least; v++)
		p += sum[v];
	return p;
}

static double normal_two_sided(const ranks *r, int64_t least)
{
	double n = r->n, mean = n * (n + 1) / 4, var = n * (n + 1) * (2 * n + 1) / 24 - r->ties / 48;
	double z = fmax(mean - (double)least / 2 - 0.5, 0) / sqrt(var);
	return erfc(z / sqrt(2));
}

static double signed_rank(double *x, int32_t n, berth_arena *tmp)
{
	ranks r = {.n = n, .twice = berth_arena_alloc(tmp, (size_t)n, sizeof *r.twice)};
	if (!r.twice)
		return NAN;
	qsort(x, (size_t)n, sizeof *x, compare_sizes);
	rank(x, &r);
	int64_t least = r.plus < r.all - r.plus ? r.plus : r.all - r.plus;
	if (n > MOST_COUNTED)
		return normal_two_sided(&r, least);
	double *sum = berth_arena_alloc(tmp, (size_t)least + 1, sizeof *sum);
	return sum ? fmin(2 * probability_up_to(&r, least, sum), 1) : NAN;
}

double berth_signed_rank(const double *x, int32_t n, berth_arena *tmp)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	double *differ = berth_arena_alloc(tmp, (size_t)n + 1, sizeof *differ), p = differ ? 1 : NAN;
	int32_t n_differ = 0;
	for (int32_t i = 0; differ && i < n; i++) {
		if (isnan(x[i]))
			p = NAN;
		else if (x[i] != 0)
			differ[n_differ++] = x[i];
	}
	if (!isnan(p) && n_differ > 0)
		p = signed_rank(differ, n_differ, tmp);
	berth_arena_reset(tmp, mark);
	return p;
}

void berth_holm(const double *p, int32_t n, double *corrected)
{
	int32_t tests = 0;
	for (int32_t i = 0; i < n; i++)
		tests += !isnan(p[i]);
	for (int32_t i = 0; i < n; i++) {
		int32_t smaller = 0;
		for (int32_t k = 0; k < n; k++)
			smaller += p[k] < p[i];
		corrected[i] = fmin((tests - smaller) * p[i], 1);
		if (isnan(p[i]))
			corrected[i] = NAN;
	}
	/* never below what a smaller one got; an entry that was raised already is such a one's too */
	for (int32_t i = 0; i < n; i++)
		for (int32_t k = 0; k < n; k++)
			if (p[k] <= p[i] && corrected[k] > corrected[i])
				corrected[i] = corrected[k];
}
