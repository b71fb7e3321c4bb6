/* Iterated local search as a tool for other methods; see local_search.c. */
#ifndef BERTH_LOCAL_SEARCH_H
#define BERTH_LOCAL_SEARCH_H

#include "search.h"

/* Go on from the incumbent of s until the budget ends. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_local_search(berth_search *s, berth_arena *tmp, berth_err *err);

#endif
