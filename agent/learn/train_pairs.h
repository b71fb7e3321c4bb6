/* The pairs of a training: all held open, or, where they are streamed, each opened for its turn out of its
 * description, and closed after it. What is kept of a closed pair: its numbers, and the incumbent, a byte an
 * operator (and four where it has an order of its own). Both ways make the same bits. */
#ifndef BERTH_TRAIN_PAIRS_H
#define BERTH_TRAIN_PAIRS_H

#include "trainer.h"

static inline bool trainer_streams(const trainer *w)
{
	return !w->items;
}

/* SHA-256 of the graph and of the system. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status trainer_digest(const berth_problem *p, berth_arena *tmp, char digest[TRAIN_DIGEST],
                            berth_err *err);

/* What is made small for pair i, whose problem is p: the objective of all pairs, or one of its own, drawn by
 * the seed. */
berth_objective trainer_objective(const trainer *w, int32_t i, const berth_problem *p);

/* The problem, the search with the incumbent, and the learner's encoding of pair i. What is open stays so.
 * One thread a pair. Fails: as cfg->open; BERTH_EFORMAT (the graph or the system is another than before, or
 * than with the rank that opened it first), BERTH_ENOMEM. */
berth_status trainer_open(trainer *w, int32_t i, berth_err *err);

/* As much of a search as takes an incumbent. Fails: BERTH_ENOMEM. */
berth_status trainer_open_slot(trainer *w, int32_t i, berth_err *err);

/* Close it, where pairs are streamed; its incumbent stays. Fails: BERTH_ENOMEM. */
berth_status trainer_close(trainer *w, int32_t i, berth_err *err);

/* The learner's: open the pairs of its batches, those of other ranks as slots. */
berth_status trainer_open_round(void *w, int32_t n, berth_err *err);

/* The incumbent's device and, where it has one, position of every operator, out [n_ops]; of an open or a
 * closed pair. Positions are 0 where it has no order. */
void trainer_incumbent(const trainer *w, int32_t i, int32_t *op_dev, int32_t *op_order);

/* A copy of it, as the incumbent of a closed pair. Fails: BERTH_ENOMEM. */
berth_status trainer_put_incumbent(trainer *w, int32_t i, const int32_t *op_dev, const int32_t *op_order,
                                   berth_err *err);

#endif
