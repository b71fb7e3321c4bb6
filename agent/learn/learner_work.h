/* What the two decodings of the learner share; for learner.c and sequence.c. */
#ifndef BERTH_LEARNER_WORK_H
#define BERTH_LEARNER_WORK_H

#include "learner.h"

/* Seed of the episodes of a pair. */
uint64_t learner_seed_of(const berth_learner *l, int32_t pair);

/* Rewards of the batch's scores l->score [n], the moving baseline, and the advantages. */
void learner_note_rewards(berth_learner *l, berth_pair *t, int32_t n, berth_step_stats *stats);

/* What the last epoch of PPO told. */
void learner_note_ppo(const policy_ppo_stats *now, berth_step_stats *stats);

/* One Adam step from l->grads. Fails: BERTH_EINVAL where they are not finite. */
berth_status learner_apply(berth_learner *l, double *norm, berth_err *err);

/* Placements of a step at most; the window from which the elite is taken when steps take n. */
int32_t learner_batch_most(const berth_learner_cfg *cfg);
int32_t learner_window(const berth_learner_cfg *cfg, int32_t n);

/* ---- one shot, in one_shot.c ---- */

/* A step; see berth_learner_step. */
berth_status one_shot_step(berth_learner *l, int32_t pair, int32_t left, berth_step_stats *stats,
                           berth_err *err);

/* Gradient steps of cloning op_devs [n] -> [n_ops], until their mean probability is mass. */
berth_status one_shot_clone(berth_learner *l, int32_t pair, int32_t n, const int32_t *const *op_devs,
                            int32_t steps, double mass, berth_err *err);

/* See berth_learner_offer_greedy. */
berth_status one_shot_offer_greedy(berth_learner *l, int32_t pair, berth_err *err);

/* ---- the sequential decoding, in sequence.c ---- */

berth_status sequence_new(berth_learner *l, size_t n_ops, size_t n_cells, size_t n_groups, berth_arena *mem,
                          berth_err *err);

/* A step; see berth_learner_step. */
berth_status sequence_step(berth_learner *l, int32_t pair, int32_t left, berth_step_stats *stats,
                           berth_err *err);

/* Gradient steps of imitating op_dev [n_ops], until the mean probability of its choices is mass. */
berth_status sequence_clone(berth_learner *l, int32_t pair, const int32_t *op_dev, int32_t steps, double mass,
                            berth_err *err);

/* See berth_learner_offer_greedy. */
berth_status sequence_offer_greedy(berth_learner *l, int32_t pair, berth_arena *tmp, berth_err *err);

#endif
