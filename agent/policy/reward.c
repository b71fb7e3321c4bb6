/* Rewards; see reward.h. */
#include "reward.h"

#include <math.h>

double berth_reward(double reference, berth_score score)
{
	double r = -3;
	if (score.value > 0 && isfinite(score.value) && reference > 0)
		r = fmin(fmax(log(reference / score.value), -3), 3);
	else if (score.value == 0)
		r = 0; /* a graph that takes no time */
	return berth_score_feasible(score) ? r : r - 0.5 - 5 * fmin(score.excess, 2);
}

double berth_baseline_move(berth_baseline *b, double keep, int32_t n, const double *reward)
{
	double sum = 0, squares = 0;
	for (int32_t i = 0; i < n; i++)
		sum += reward[i];
	double mean = sum / n;
	for (int32_t i = 0; i < n; i++)
		squares += (reward[i] - mean) * (reward[i] - mean);
	b->mean = keep * b->mean + (1 - keep) * mean;
	b->var = keep * b->var + (1 - keep) * (squares / n);
	return mean;
}

double berth_baseline_advantage(const berth_baseline *b, double reward)
{
	return fmin(fmax((reward - b->mean) / (sqrt(b->var) + 1e-6), -4), 4);
}
