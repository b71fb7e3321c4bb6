/* Rewards of placements, and the moving baseline that makes advantages of them. */
#ifndef BERTH_REWARD_H
#define BERTH_REWARD_H

#include "eval.h"

/* log(reference / value), in [-3, 3]. Lower for what does not fit memory, by its excess. reference: value of
 * the best single device. */
double berth_reward(double reference, berth_score score);

/* Mean and variance of rewards, moving from batch to batch. All 0 at first. */
typedef struct berth_baseline {
	double mean, var;
} berth_baseline;

/* Take a batch of n >= 1 rewards in. keep: share of the old figures that stays, in [0, 1); 0 in the first
 * batch. Returns the batch's mean. */
double berth_baseline_move(berth_baseline *b, double keep, int32_t n, const double *reward);

/* A reward in standard deviations above the mean, within [-4, 4]. */
double berth_baseline_advantage(const berth_baseline *b, double reward);

#endif
