/* Rounds of the sequential decoding over ranks: each rank draws some of the batches and finds their
 * gradients, and all ranks take all gradient steps, in the order of the batches. No sum is made over ranks,
 * so the bits do not depend on how many there are.
 *
 * What goes over the wire after an epoch: the gradient of each batch, as many floats as the network has
 * parameters; after the first one also rewards, and the best placement with its order. */
#pragma once

#include "learner.h"

static inline bool sequence_is_shared(const berth_learner *l)
{
	return l->ranks && l->ranks->n > 1;
}

static inline bool sequence_is_mine(const berth_learner *l, const berth_batch *b)
{
	return !sequence_is_shared(l) || b->rank == l->ranks->me;
}

/* Deal out the first n batches, in the order given, by their work [n]. */
void sequence_deal(berth_learner *l, int32_t n, const int32_t *order, const int64_t *work);

/* What came of epoch `epoch` of the first n batches to all ranks. Fails: as berth_ranks_trade. */
berth_status sequence_trade(berth_learner *l, int32_t n, int32_t epoch, berth_err *err);
