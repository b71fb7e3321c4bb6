/* Training over ranks (all_gather.h): each does the portfolio, the draws and the final search of some
 * items, and all know all of the state. One rank does everything, and there is nothing to trade. */
#ifndef BERTH_TRAIN_RANKS_H
#define BERTH_TRAIN_RANKS_H

#include "trainer.h"

/* Does this rank write the files? */
static inline bool trainer_writes(const trainer *w)
{
	return w->cfg->path && w->ranks->me == 0;
}

/* Deal out n <= n_items pieces of so much work [n]: rank out [n]. Fails: BERTH_ENOMEM. */
berth_status trainer_deal(trainer *w, int32_t n, const int64_t *work, int32_t *rank, berth_err *err);

/* Each item's rank for the portfolio, by operators times devices. Fails: BERTH_ENOMEM. */
berth_status trainer_deal_items(trainer *w, berth_err *err);

/* What rank 0 says is true of all. Fails: as berth_ranks_trade. */
berth_status trainer_by_first(trainer *w, bool *x, berth_err *err);

/* Have all ranks the same version, settings, graphs and systems? And the same state? Fail: BERTH_EINVAL. */
berth_status trainer_check_inputs(trainer *w, berth_err *err);
berth_status trainer_check_state(trainer *w, berth_err *err);

/* The bounds, portfolios and incumbents that each rank has found for its items, to all. Fails: as
 * berth_ranks_trade. */
berth_status trainer_trade_starts(trainer *w, berth_err *err);

/* What each rank keeps of pairs that are streamed, those from first up to end; the largest sizes. Fail: as
 * berth_ranks_trade. */
berth_status trainer_trade_streamed(trainer *w, int32_t first, int32_t end, berth_err *err);
berth_status trainer_trade_sizes(trainer *w, learner_sizes *z, berth_err *err);

/* What each rank has done, evaluations of this one being own: out [n ranks] in w->mem. Fails: as
 * berth_ranks_trade. */
berth_status trainer_trade_done(trainer *w, int64_t own, berth_train_rank **out, berth_err *err);

#endif
