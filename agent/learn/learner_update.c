/* The parts of a step that all decodings share; see learner_update.h. */
#include "learner_update.h"

#include <math.h>

#define KEEP 0.7 /* of the baseline, from batch to batch */

void learner_note_rewards(berth_learner *l, berth_pair *pair, int32_t n, berth_step_stats *stats)
{
	double values = 0;
	stats->best = -INFINITY;
	for (int32_t i = 0; i < n; i++) {
		l->reward[i] = berth_reward(pair->reference, l->score[i]);
		stats->best = fmax(stats->best, l->reward[i]);
		if (berth_score_feasible(l->score[i])) {
			stats->feasible++;
			values += l->score[i].value;
		}
	}
	stats->mean = berth_baseline_move(&pair->baseline, pair->episodes > n ? KEEP : 0, n, l->reward);
	for (int32_t i = 0; i < n; i++)
		l->advantage[i] = (nn_real)berth_baseline_advantage(&pair->baseline, l->reward[i]);
	stats->mean_value = stats->feasible ? values / stats->feasible : NAN;
	pair->s->mean = stats->mean_value;
}

void learner_note_ppo(const policy_ppo_stats *now, berth_step_stats *stats)
{
	stats->policy_loss = now->policy_loss;
	stats->kl = now->kl;
	stats->clip_fraction = now->clip_fraction;
	stats->entropy = now->entropy;
}

berth_status learner_apply(berth_learner *l, double *norm, berth_err *err)
{
	return adam_step(l->cfg.lr * l->lr_scale, &l->adam, l->params, l->grads, norm, err);
}
