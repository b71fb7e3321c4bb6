/* Annealing for the smallest largest load. */
#ifndef BERTH_MAX_LOAD_SEARCH_H
#define BERTH_MAX_LOAD_SEARCH_H

#include "max_load.h"
#include "search.h"

/* From the incumbent of s, about `moves` moves of items, swaps and moves of connected sets. Each counts as an
 * evaluation; what is better is offered. Runs of annealing alternate over temperatures, each from the
 * best so far or from where the last one ended. Stops early when the search is stopped. One thread. tmp is
 * scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_max_load_search(berth_search *s, berth_max_load *m, int64_t moves, berth_arena *tmp,
                                   berth_err *err);

#endif
