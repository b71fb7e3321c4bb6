/* Statistics of repeated runs. Bootstrap intervals are percentile intervals of seeded resamples (Efron 1979), so they are the same on each call. */
#ifndef BERTH_STATISTICS_H
#define BERTH_STATISTICS_H

#include "arena.h"

#include <stdint.h>

typedef struct berth_interval {
	double middle, low, high;
} berth_interval;

/* Of x[n], n >= 1, NAN anywhere gives NAN. x is not changed; tmp is scratch, reset at exit. NAN where memory runs out. */
double berth_median(const double *x, int32_t n, berth_arena *tmp);
/* Interquartile mean: of the middle half, values at its ends weighted by their share (Agarwal et al., NeurIPS 2021). */
double berth_iqm(const double *x, int32_t n, berth_arena *tmp);
double berth_geomean(const double *x, int32_t n);

/* The statistic of x[n] with its 95 % bootstrap interval over 2,000 resamples. */
berth_interval berth_bootstrap(const double *x, int32_t n, double (*statistic)(const double *x, int32_t n, berth_arena *tmp), berth_arena *tmp);

#endif
