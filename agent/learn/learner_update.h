/* The parts of a step that all decodings share. */
#ifndef BERTH_LEARNER_UPDATE_H
#define BERTH_LEARNER_UPDATE_H

#include "learner.h"

/* Rewards of the batch's scores l->score [n], the moving baseline, and the advantages. */
void learner_note_rewards(berth_learner *l, berth_pair *pair, int32_t n, berth_step_stats *stats);

/* What the last epoch of PPO told. */
void learner_note_ppo(const policy_ppo_stats *now, berth_step_stats *stats);

/* One Adam step from l->grads; *norm: their length. Fails: BERTH_EINVAL where they are not finite. */
berth_status learner_apply(berth_learner *l, double *norm, berth_err *err);

#endif
