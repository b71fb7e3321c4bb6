/* See mix.h. */
#include "mix.h"

#include <math.h>

/* Of a draw and its evaluation: estimates need the tails of each new base, or its loads. */
static const double cost_of[BERTH_SCREEN_KINDS] = {1, 2.5, 2.5, 2, 2, 2};

#define FORGOTTEN (1. / 256)   /* of gains and costs, by a draw */
#define NOTHING 1e-5           /* a gain for a cost that is as good as none */
#define MOST 16                /* times its ordinary share, or that part of it */
#define PRIOR_COST 10
#define PROMISE 0.016          /* gain of large pieces at first, so that they are tried */

void berth_mix_begin(berth_mix *m, const double *share)
{
	*m = (berth_mix){.share = share};
	m->gain[BERTH_SCREEN_LOADS_LARGE] = PROMISE;
}

static double rate(const berth_mix *m, int k)
{
	return (m->gain[k] + NOTHING * PRIOR_COST) / (m->cost[k] + PRIOR_COST) + NOTHING;
}

/* weight [BERTH_SCREEN_KINDS] out; returns the sum. */
static double weigh(const berth_mix *m, double *weight)
{
	double mean = 0, sum = 0;
	for (int k = 0; k < BERTH_SCREEN_KINDS; k++)
		mean += m->share[k] * rate(m, k);
	for (int k = 0; k < BERTH_SCREEN_KINDS; k++) {
		weight[k] = m->share[k] * fmax(1. / MOST, fmin(rate(m, k) / mean, MOST));
		sum += weight[k];
	}
	return sum;
}

berth_screen_kind berth_mix_draw(berth_mix *m, berth_rng *rng)
{
	double weight[BERTH_SCREEN_KINDS], at = weigh(m, weight) * berth_rng_unit(rng);
	int kind = BERTH_SCREEN_BLIND;
	for (int k = 0; k < BERTH_SCREEN_KINDS && at >= 0; k++) {
		if (weight[k] > 0)
			kind = k;
		at -= weight[k];
	}
	for (int k = 0; k < BERTH_SCREEN_KINDS; k++) {
		m->gain[k] *= 1 - FORGOTTEN;
		m->cost[k] *= 1 - FORGOTTEN;
	}
	m->cost[kind] += cost_of[kind];
	return (berth_screen_kind)kind;
}

void berth_mix_gain(berth_mix *m, berth_screen_kind kind, double fall)
{
	m->gain[kind] += fall;
}
