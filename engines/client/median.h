/* The median of repeated measurements and how sure it is. */
#pragma once

#include "arena.h"

#include <stdint.h>

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
