/* Whose turn it is, and which pairs there is nothing left to learn of.
 *
 * An update is *flat* where the policy is sure of itself and learns nothing: all placements of the batch have
 * one reward, the entropy of a decision is below 0.1 nats, and the incumbent stays. A pair has *collapsed*
 * after 16 flat updates in a row. It then has its turn one time in 16, since what others learn may change it.
 * One update that is not flat brings it back. Its other turns go to the others. Where all have collapsed,
 * training is done. */
#ifndef BERTH_TRAIN_TURNS_H
#define BERTH_TRAIN_TURNS_H

#include "learner.h"

typedef struct train_turns {
	int64_t next;     /* turns had or passed so far */
	int32_t n_items;
	int64_t *flat;    /* [n_items] flat updates in a row */
} train_turns;

/* Fails: BERTH_ENOMEM. */
berth_status train_turns_new(int32_t n_items, berth_arena *mem, train_turns *out, berth_err *err);

/* The item of that turn where all have theirs, in an order in which neighbours in the list are far apart. */
int32_t train_turns_spread(int64_t turn, int32_t n_items);

/* The next turn's item, in that order: neighbours are often one graph on several systems. -1: all have
 * collapsed. O(n_items). */
int32_t train_turns_next(train_turns *t);

/* An update of an item has told this; improved: its incumbent has changed. */
void train_turns_note(train_turns *t, int32_t item, const berth_step_stats *stats, bool improved);

bool train_turns_collapsed(const train_turns *t, int32_t item);
/* Items that have. */
int32_t train_turns_n_collapsed(const train_turns *t);

#endif
