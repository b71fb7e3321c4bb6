/* Statistics of repeated runs and of methods over instances: means, bootstrap intervals, the signed-rank
 * test, and the correction for many tests. Beside them medians that ask nothing of the distribution, and
 * linear least squares with a prior. */
#include "statistics.h"

#include "rng.h"

/* ---- least squares, by conjugate gradients (Hestenes & Stiefel 1952) in units of deviations ---- */

berth_status berth_ridge_new(int32_t n_cols, berth_arena *mem, berth_ridge *out, berth_err *err)
{
	berth_ridge r = {.mem = mem, .n_cols = n_cols};
	BERTH_TRY_NEW(mem, n_cols, err, r.mean, r.deviation, r.beta, r.latest);
	for (int32_t c = 0; c < n_cols; c++)
		r.deviation[c] = 1;
	*out = r;
	return BERTH_OK;
}

berth_status berth_ridge_row(berth_ridge *r, double y, double noise, berth_err *err)
{
	assert(noise > 0);
	return BERTH_PUSH(r->mem, r->row, r->n_rows, &r->cap_row, err, (berth_ridge_row_of){y, noise});
}

berth_status berth_ridge_put(berth_ridge *r, int32_t col, double x, berth_err *err)
{
	assert(col >= 0 && col < r->n_cols && r->n_rows > 0);
	berth_ridge_entry *old = r->latest[col] ? &r->entry[r->latest[col] - 1] : NULL;
	if (old && old->row == r->n_rows - 1) {
		old->x += x;
		return BERTH_OK;
	}
	BERTH_TRY(BERTH_PUSH(r->mem, r->entry, r->n_entries, &r->cap_entry, err,
	                     (berth_ridge_entry){r->n_rows - 1, col, x}));
	r->latest[col] = r->n_entries;
	return BERTH_OK;
}

/* In units of deviations from the means, z, the sum of squares is |A z - b|^2 + |z|^2 with A = X deviation /
 * noise and b = (y - X mean) / noise. */
typedef struct descent {
	const berth_ridge *r;
	double *a;              /* [n_entries] of A */
	double *z, *slope, *way; /* [n_cols] */
	double *left, *change;  /* [n_rows] b - A z; A way */
} descent;

static berth_status start(const berth_ridge *r, descent *k, berth_arena *tmp, berth_err *err)
{
	k->r = r;
	BERTH_TRY_NEW(tmp, r->n_entries, err, k->a);
	BERTH_TRY_NEW(tmp, r->n_cols, err, k->z, k->slope, k->way);
	BERTH_TRY_NEW(tmp, r->n_rows, err, k->left, k->change);
	for (int32_t i = 0; i < r->n_rows; i++)
		k->left[i] = r->row[i].y / r->row[i].noise;
	for (size_t i = 0; i < r->n_entries; i++) {
		const berth_ridge_entry *e = &r->entry[i];
		k->left[e->row] -= e->x / r->row[e->row].noise * r->mean[e->col];
		k->a[i] = e->x / r->row[e->row].noise * r->deviation[e->col];
	}
	return BERTH_OK;
}

/* slope = A'left - z, half the negative gradient. Returns its square. */
static double find_slope(descent *k)
{
	double square = 0;
	for (int32_t c = 0; c < k->r->n_cols; c++)
		k->slope[c] = -k->z[c];
	for (size_t i = 0; i < k->r->n_entries; i++)
		k->slope[k->r->entry[i].col] += k->a[i] * k->left[k->r->entry[i].row];
	for (int32_t c = 0; c < k->r->n_cols; c++)
		square += k->slope[c] * k->slope[c];
	return square;
}

static void descend(descent *k, int32_t steps)
{
	static const double still = 1e-20; /* of the square of the slope */
	double square = find_slope(k), first = square, last = INFINITY;
	for (int32_t n = 0; n < steps && square > still * first; n++) {
		for (int32_t c = 0; c < k->r->n_cols; c++)
			k->way[c] = k->slope[c] + square / last * k->way[c];
		/* As far along the way as the sum falls. */
		double length = 0;
		for (int32_t i = 0; i < k->r->n_rows; i++)
			k->change[i] = 0;
		for (size_t i = 0; i < k->r->n_entries; i++)
			k->change[k->r->entry[i].row] += k->a[i] * k->way[k->r->entry[i].col];
		for (int32_t i = 0; i < k->r->n_rows; i++)
			length += k->change[i] * k->change[i];
		for (int32_t c = 0; c < k->r->n_cols; c++)
			length += k->way[c] * k->way[c];
		double step = square / length;
		for (int32_t c = 0; c < k->r->n_cols; c++)
			k->z[c] += step * k->way[c];
		for (int32_t i = 0; i < k->r->n_rows; i++)
			k->left[i] -= step * k->change[i];
		last = square;
		square = find_slope(k);
	}
}

berth_status berth_ridge_solve(berth_ridge *r, int32_t steps, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	descent k = {0};
	berth_status st = start(r, &k, tmp, err);
	if (st == BERTH_OK)
		descend(&k, steps);
	for (int32_t c = 0; c < r->n_cols && st == BERTH_OK; c++)
		r->beta[c] = r->mean[c] + r->deviation[c] * k.z[c];
	return st;
}

/* ---- medians ---- */

enum { MOST_COUNTED = 1000 };

int berth_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return BERTH_COMPARE(x, y);
}

static double middle(const double *sorted, int32_t n)
{
	return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/* How many samples at either end can be left out: the largest k with 2 P(B <= k - 1) <= 0.05. Above
 * MOST_COUNTED samples it is by the normal distribution, as 2^-n is soon too small for a number. */
static int32_t left_out(int32_t n)
{
	if (n > MOST_COUNTED)
		return (int32_t)floor(0.5 * n + 0.5 - 0.98 * sqrt(n)) - 1;
	double p = pow(0.5, n), sum = 0;
	int32_t k = 0;
	while (k < n / 2 && 2 * (sum + p) <= 0.05) {
		sum += p;
		p *= (double)(n - k) / (double)(k + 1);
		k++;
	}
	return k > 0 ? k - 1 : 0;
}

berth_status berth_spread_of(const double *x, int32_t n, berth_arena *tmp, berth_spread *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	double *y;
	BERTH_TRY_NEW(tmp, n, err, y);
	memcpy(y, x, (size_t)n * sizeof *y);
	qsort(y, (size_t)n, sizeof *y, berth_by_value);
	int32_t k = left_out(n);
	*out = (berth_spread){middle(y, n), y[k], y[n - 1 - k], 0};
	for (int32_t i = 0; i < n; i++)
		y[i] = fabs(y[i] - out->median);
	qsort(y, (size_t)n, sizeof *y, berth_by_value);
	out->mad = middle(y, n);
	return BERTH_OK;
}

berth_status berth_median_of(const double *x, int32_t n, berth_arena *tmp, double *out, berth_err *err)
{
	berth_spread s = {.median = NAN};
	if (n > 0)
		BERTH_TRY(berth_spread_of(x, n, tmp, &s, err));
	*out = s.median;
	return BERTH_OK;
}

double berth_spread_width(const berth_spread *s)
{
	return s->median > 0 ? (s->high - s->low) / s->median : 0;
}

berth_status berth_line_through(const double *x, const double *y, int32_t n, berth_arena *tmp, double *start,
                                double *slope, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	double *room;
	int32_t k = 0;
	BERTH_TRY_NEW(tmp, (size_t)n * (size_t)n, err, room);
	for (int32_t i = 0; i < n; i++)
		for (int32_t j = 0; j < i; j++)
			if (x[i] != x[j])
				room[k++] = (y[i] - y[j]) / (x[i] - x[j]);
	BERTH_TRY(berth_median_of(room, k, tmp, slope, err));
	*slope = fmax(0, *slope);
	for (int32_t i = 0; i < n; i++)
		room[i] = y[i] - *slope * x[i];
	BERTH_TRY(berth_median_of(room, n, tmp, start, err));
	*start = fmax(0, *start);
	return BERTH_OK;
}

/* ---- means, intervals and tests ---- */

enum { RESAMPLES = 2000, MOST_RANKED = 200 };

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
		qsort(copy, (size_t)n, sizeof *copy, berth_by_value);
	return copy;
}

double berth_median(const double *x, int32_t n, berth_arena *tmp)
{
	BERTH_SCRATCH(tmp);
	double *s = sorted(x, n, tmp);
	return s ? (s[(n - 1) / 2] + s[n / 2]) / 2 : NAN;
}

double berth_iqm(const double *x, int32_t n, berth_arena *tmp)
{
	BERTH_SCRATCH(tmp);
	double *s = sorted(x, n, tmp), sum = 0, weight = 0;
	for (int32_t i = 0; s && i < n; i++) {
		/* value i stands for [i, i + 1) of n; how much of it lies in the middle half? */
		double share = fmin(i + 1, n * 0.75) - fmax(i, n * 0.25);
		if (share > 0) {
			sum += share * s[i];
			weight += share;
		}
	}
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
	BERTH_SCRATCH(tmp);
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
		qsort(all, RESAMPLES, sizeof *all, berth_by_value);
		r.low = all[RESAMPLES / 40];
		r.high = all[RESAMPLES - 1 - RESAMPLES / 40];
	}
	return r;
}

/* ---- tests ---- */

static int compare_sizes(const void *pa, const void *pb)
{
	double a = fabs(*(const double *)pa), b = fabs(*(const double *)pb);
	return BERTH_COMPARE(a, b);
}

typedef struct ranks {
	int32_t n;
	int32_t *twice;  /* [n] twice the rank, by size */
	int64_t plus, all; /* sums of twice the ranks: of the positive ones, of all */
	double ties;     /* sum of t^3 - t over runs of t equal sizes */
} ranks;

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
	/* x[n] is sorted by size and holds no zero. */
	for (int32_t i = 0, end; i < r.n; i = end) {
		for (end = i; end < r.n && fabs(x[end]) == fabs(x[i]); end++)
			;
		double t = end - i;
		r.ties += t * t * t - t;
		for (int32_t k = i; k < end; k++) {
			r.twice[k] = i + 1 + end;
			r.all += r.twice[k];
			r.plus += x[k] > 0 ? r.twice[k] : 0;
		}
	}
	int64_t least = r.plus < r.all - r.plus ? r.plus : r.all - r.plus;
	if (n > MOST_RANKED)
		return normal_two_sided(&r, least);
	double *sum = berth_arena_alloc(tmp, (size_t)least + 1, sizeof *sum);
	return sum ? fmin(2 * probability_up_to(&r, least, sum), 1) : NAN;
}

double berth_signed_rank(const double *x, int32_t n, berth_arena *tmp)
{
	BERTH_SCRATCH(tmp);
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
