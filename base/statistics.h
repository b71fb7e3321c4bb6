/* Statistics of repeated runs and of methods over instances. Bootstrap intervals are percentile intervals of
 * seeded resamples (Efron 1979), so they are the same on each call. */
#pragma once

#include "arena.h"

#include <stdint.h>

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
