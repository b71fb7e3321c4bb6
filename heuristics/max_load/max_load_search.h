/* The smallest largest load as a part of other searches: annealing for it, in turn with others or for
 * itself, and the dynamic program as a seed. */
#pragma once

#include "max_load.h"
#include "search.h"

/* Is the value of s the largest load, with nothing else to mind? So it is for the throughput of the cost
 * models whose loads are sums, without limits, separation and contiguity. */
bool berth_max_load_knows(const berth_search *s);

/* From the incumbent of s, about `moves` moves of items, swaps and moves of connected sets. Each counts as an
 * evaluation; what is better is offered. Runs of annealing alternate over temperatures, each from the
 * best so far or from where the last one ended. Stops early when the search is stopped. One thread. tmp is
 * scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_max_load_search(berth_search *s, berth_max_load *m, int64_t moves, berth_arena *tmp,
                                   berth_err *err);

/* Runs in a search that has other parts, each from the incumbent. */
typedef struct berth_max_load_turns {
	berth_rng rng;
	int64_t moves; /* of the next run */
	int32_t at;    /* how many there were */
} berth_max_load_turns;

berth_max_load_turns berth_max_load_turns_new(const berth_search *s);

/* The next run, where the incumbent of s is feasible: 16 moves take about as long as an evaluation of a walk
 * that simulates, and count as one. One more for the best, which is offered in any case. *ended: the budget
 * is at its end. berth_max_load_knows must hold. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM,
 * BERTH_ELIMIT (berth_max_load_new). */
berth_status berth_max_load_turn(berth_max_load_turns *t, berth_search *s, bool *ended, berth_arena *tmp,
                                 berth_err *err);

/* Offer what `dp` finds within a hundredth of its work; nothing where it does not know the machine or the
 * objective. Its work is counted as that of a seed. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_dp_seed(berth_search *s, berth_arena *tmp, berth_err *err);
