/* Statistics of repeated runs and of methods over instances. Bootstrap intervals are percentile intervals of
 * seeded resamples (Efron 1979), so they are the same on each call. */
#pragma once

#include "arena.h"

typedef struct berth_ridge_entry {
	int32_t row, col;
	double x;
} berth_ridge_entry;

typedef struct berth_ridge_row_of {
	double y, noise;
} berth_ridge_row_of;

typedef struct berth_ridge {
	berth_arena *mem;
	int32_t n_cols, n_rows;
	double *mean, *deviation;   /* [n_cols] the caller's; deviation > 0 */
	double *beta;               /* [n_cols] out */
	berth_ridge_row_of *row;    /* [n_rows] */
	berth_ridge_entry *entry;   /* row by row, each column once a row */
	size_t n_entries, cap_entry, cap_row;
	size_t *latest;             /* [n_cols] 1 + the latest entry of the column; 0: none */
} berth_ridge;

/* No rows; means 0, deviations 1. All lives in mem. Fails: BERTH_ENOMEM. */
berth_status berth_ridge_new(int32_t n_cols, berth_arena *mem, berth_ridge *out, berth_err *err);

/* Add a row: what was observed, and the size of its noise (> 0). berth_ridge_put then sets coefficients of
 * that row; those of one column add up. */
berth_status berth_ridge_row(berth_ridge *r, double y, double noise, berth_err *err);
berth_status berth_ridge_put(berth_ridge *r, int32_t col, double x, berth_err *err);

/* Find beta by at most that many steps. It ends earlier once the slope has fallen to 1e-10 of what it was.
 * tmp is scratch. Fails: BERTH_ENOMEM. O(steps * entries). */
berth_status berth_ridge_solve(berth_ridge *r, int32_t steps, berth_arena *tmp, berth_err *err);

/* The order of two doubles, for qsort. */
int berth_by_value(const void *a, const void *b);

typedef struct berth_spread {
	double median;
	/* Interval of the median by order statistics, of 95 % or more. Of fewer than 6 samples it goes from
	 * the least to the largest. */
	double low, high;
	double mad; /* median absolute deviation from the median */
} berth_spread;

/* Of x[n], n >= 1, finite. The number of samples below the true median is binomial(n, 1/2). So the k-th
 * samples from either end cover it with probability 1 - 2 P(B <= k - 1). x is not changed. tmp is scratch,
 * reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_spread_of(const double *x, int32_t n, berth_arena *tmp, berth_spread *out, berth_err *err);

/* The median alone; NAN of none. Fails: BERTH_ENOMEM. */
berth_status berth_median_of(const double *x, int32_t n, berth_arena *tmp, double *out, berth_err *err);

/* (high - low) / median; 0 for a median of 0. */
double berth_spread_width(const berth_spread *s);

/* A line y = start + slope * x through n points (Theil 1950, Sen 1968). The slope is the median of the slopes
 * between pairs of different x. The start is the median of what is left. Neither is below 0. tmp: n * n
 * numbers. Fails: BERTH_ENOMEM. O(n * n log n). */
berth_status berth_line_through(const double *x, const double *y, int32_t n, berth_arena *tmp, double *start,
                                double *slope, berth_err *err);

typedef struct berth_interval {
	double middle, low, high;
} berth_interval;

/* Of x[n], n >= 1, NAN anywhere gives NAN. x is not changed; tmp is scratch, reset at exit. NAN where memory
 * runs out. */
double berth_median(const double *x, int32_t n, berth_arena *tmp);
/* Interquartile mean: of the middle half, values at its ends weighted by their share (Agarwal et al.,
 * NeurIPS 2021). */
double berth_iqm(const double *x, int32_t n, berth_arena *tmp);
double berth_geomean(const double *x, int32_t n);

/* The statistic of x[n] with its 95 % bootstrap interval over 2,000 resamples. */
berth_interval berth_bootstrap(const double *x, int32_t n,
                               double (*statistic)(const double *x, int32_t n, berth_arena *tmp),
                               berth_arena *tmp);

/* Two-sided p-value of the signed-rank test (F. Wilcoxon, Biometrics Bulletin 1, 1945) that differences x[n]
 * are symmetric around 0. Zeros are left out, equal sizes share their mean rank; INFINITY and -INFINITY are
 * the largest sizes. Up to 200 differences the distribution over all signs is counted in full, ties
 * included; beyond, the normal approximation with the correction for ties. 1 where nothing differs; NAN
 * where x holds a NAN or memory runs out. O(n^3) up to 200, else O(n log n). */
double berth_signed_rank(const double *x, int32_t n, berth_arena *tmp);

/* p[n] of n tests corrected for their number (S. Holm, Scandinavian J. of Statistics 6, 1979), out [n],
 * another array: whoever keeps to those below 0.05 errs in any of them with probability 0.05 at most. NAN
 * entries are no tests and stay NAN. O(n^2). */
void berth_holm(const double *p, int32_t n, double *corrected);
