/* Medians with intervals that ask nothing of the distribution. */
#include "median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COUNTED = 1000 };

int berth_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
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
