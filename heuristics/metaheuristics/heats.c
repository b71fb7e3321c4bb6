/* See heats.h. */
#include "heats.h"

#include <math.h>

#define LEAST_SHARE (1. / 16)

void berth_heats_begin(berth_heats *h, const double *first_temperature)
{
	*h = (berth_heats){.first_temperature = first_temperature, .n_steps = BERTH_HEATS_FIRST_STEPS};
	for (int32_t i = 0; i < BERTH_HEATS; i++)
		h->share[i] = 1;
}

double berth_heats_temperature(const berth_heats *h)
{
	return h->first_temperature[h->at];
}

int64_t berth_heats_steps(const berth_heats *h)
{
	return (int64_t)(h->share[h->at] * (double)h->n_steps);
}

/* What became feasible or needs less memory than it lacked has gained more than any value. */
static double gain_of(berth_score before, berth_score after)
{
	if (before.excess != after.excess)
		return after.excess < before.excess ? INFINITY : 0;
	double gain = log(before.value / after.value);
	return gain > 0 ? gain : 0; /* of values that are 0, not a number */
}

static void share_out(berth_heats *h)
{
	double most = 0;
	for (int32_t i = 0; i < BERTH_HEATS; i++)
		most = fmax(most, h->gain[i]);
	for (int32_t i = 0; i < BERTH_HEATS && most > 0; i++)
		h->share[i] = h->gain[i] >= most / 2 ? fmin(1, h->share[i] * 2)
		                                     : fmax(LEAST_SHARE, h->share[i] / 2);
}

void berth_heats_tell(berth_heats *h, berth_score before, berth_score after)
{
	h->gain[h->at] = gain_of(before, after) / (double)berth_heats_steps(h);
	if (++h->at < BERTH_HEATS)
		return;
	h->at = 0;
	share_out(h);
	if (h->n_steps < INT64_MAX / 4)
		h->n_steps *= 2;
}
