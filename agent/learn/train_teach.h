/* Teachers. Before a policy learns by drawing it imitates what search has found for each pair (expert
 * iteration: T. Anthony, Z. Tian, D. Barber, "Thinking fast and slow with deep learning and tree search",
 * NeurIPS 2017). A pair's teacher is its incumbent. Three times, at its first turn and at a third and two
 * thirds of its turns, it is searched for a better one: at first from the best of the portfolio, then from
 * what the policy comes to. */
#ifndef BERTH_TRAIN_TEACH_H
#define BERTH_TRAIN_TEACH_H

#include "trainer.h"

static inline bool trainer_teaches(const trainer *w)
{
	return w->cfg->teach > 0;
}

/* Turns that are taught, of all pairs; they come first. */
int64_t trainer_taught_turns(const trainer *w);

/* The next turn. Is it taught, and is its pair searched? */
bool trainer_turn_is_taught(const trainer *w);
bool trainer_turn_searches(const trainer *w);

/* The learner's: what annealing finds with cfg->teach evaluations, which are not counted. Where there are
 * several ranks it is not interrupted. Fails: BERTH_ENOMEM, BERTH_EINTERRUPTED. */
berth_status trainer_teach(void *w, int32_t pair, const int32_t *from, int32_t *op_dev, int32_t *order,
                           berth_score scores[2], berth_err *err);

#endif
