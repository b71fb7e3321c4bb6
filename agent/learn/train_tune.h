/* Fine-tuning: training that begins at a policy, and keeps the best that it comes to.
 *
 * At the start and at up to 32 even places of the budget the policy is looked at: one pass of it (the method
 * `policy`, which tries the pass of the policy of the start, too) for each pair that is kept aside and for
 * each that is learned from. A policy is taken where no pair that is kept aside is worse than with the policy
 * of the start, and the mean of log(before / now) over all pairs is higher than that of the one taken before.
 * Learning ends early after 12 looks in a row that took none (early stopping, Prechelt 1998). All of it is a
 * function of the seed and the budget. */
#ifndef BERTH_TRAIN_TUNE_H
#define BERTH_TRAIN_TUNE_H

#include "trainer.h"

static inline bool trainer_tunes(const trainer *w)
{
	return w->cfg->from != NULL;
}

/* Room, and the digests of what is kept aside. Fails: BERTH_ENOMEM. */
berth_status trainer_tune_open(trainer *w, berth_err *err);

/* One look at the policy of the start. Fails: BERTH_EINVAL (numbers that are not finite), BERTH_ENOMEM. */
berth_status trainer_tune_begin(trainer *w, berth_err *err);

/* The state was read, tune.best with it: look at that again. Fails: as above; BERTH_EFORMAT where it is not
 * what a look takes. */
berth_status trainer_tune_resume(trainer *w, berth_err *err);

/* After a round in which `learned` of `budget` evaluations were made: look where one is due. Fails: as
 * trainer_tune_begin. */
berth_status trainer_tune_look(trainer *w, int64_t learned, int64_t budget, berth_err *err);

/* Is it of no use to learn on? */
bool trainer_tune_over(const trainer *w);

/* The card of the policy that is taken, in mem. Fails: BERTH_ENOMEM. */
berth_status trainer_tune_card(const trainer *w, berth_arena *mem, berth_policy_card *out, berth_err *err);

/* What is told at the end, in w->mem. Fails: BERTH_ENOMEM. */
berth_status trainer_tune_report(const trainer *w, berth_train_tuned *out, berth_err *err);

#endif
