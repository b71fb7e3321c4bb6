/* The parts of a step that all decodings share. */
#ifndef BERTH_LEARNER_UPDATE_H
#define BERTH_LEARNER_UPDATE_H

#include "learner.h"

/* Rewards of the batch's scores, its baseline, and the advantages. keep: share of the pair's baseline that
 * stays, in [0, 1). Reads the pair alone. */
void learner_note_rewards(berth_batch *b, double keep);

/* Take the batch into its pair: the baseline, the number of episodes. */
void learner_settle(const berth_batch *b, double keep);

/* What the last epoch of PPO told. */
void learner_note_ppo(const policy_ppo_stats *now, berth_step_stats *stats);

/* One Adam step from the batch's gradient; *norm: its length. Fails: BERTH_EINVAL where that is not
 * finite. */
berth_status learner_apply(berth_learner *l, const berth_batch *b, double *norm, berth_err *err);

#endif
