/* The parts of a step that all decodings share; see learner_update.h. */
#include "learner_update.h"

#include <math.h>

static double keep_of(const berth_pair *pair, double keep)
{
	return pair->episodes > 0 ? keep : 0;
}

void learner_note_rewards(berth_batch *b, double keep)
{
	berth_step_stats *stats = &b->stats;
	double values = 0;
	stats->n = b->n;
	stats->best = -INFINITY;
	stats->worst = INFINITY;
	for (int32_t i = 0; i < b->n; i++) {
		b->reward[i] = berth_reward(b->pair->reference, b->score[i]);
		stats->best = fmax(stats->best, b->reward[i]);
		stats->worst = fmin(stats->worst, b->reward[i]);
		if (berth_score_feasible(b->score[i])) {
			stats->feasible++;
			values += b->score[i].value;
		}
	}
	b->baseline = b->pair->baseline;
	stats->mean = berth_baseline_move(&b->baseline, keep_of(b->pair, keep), b->n, b->reward);
	for (int32_t i = 0; i < b->n; i++)
		b->advantage[i] = (nn_real)berth_baseline_advantage(&b->baseline, b->reward[i]);
	stats->mean_value = stats->feasible ? values / stats->feasible : NAN;
}

void learner_settle(const berth_batch *b, double keep)
{
	berth_pair *pair = b->pair;
	berth_baseline_move(&pair->baseline, keep_of(pair, keep), b->n, b->reward);
	pair->episodes += b->n;
	pair->s->mean = b->stats.mean_value;
}

void learner_note_ppo(const policy_ppo_stats *now, berth_step_stats *stats)
{
	stats->policy_loss = now->policy_loss;
	stats->kl = now->kl;
	stats->clip_fraction = now->clip_fraction;
	stats->entropy = now->entropy;
}

berth_status learner_apply(berth_learner *l, const berth_batch *b, double *norm, berth_err *err)
{
	return adam_step(l->cfg.lr * l->lr_scale, &l->adam, l->params, b->grads, norm, err);
}
