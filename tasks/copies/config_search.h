/* A search for configurations where there are too many to look at each. */
#ifndef BERTH_CONFIG_SEARCH_H
#define BERTH_CONFIG_SEARCH_H

#include "configure.h"

/* Visit good configurations: for each deadline each host by itself, and for each number of hosts those that
 * are best for the goal by themselves, where a bound does not tell that these are worse than what was seen;
 * then from the best eight of these every change of one host, of two hosts' places, and of the deadline, for
 * as long as that gains. *bound: no configuration has a smaller value of the goal, by formulas. tmp is
 * scratch, reset at exit. Fails as berth_configure_each. O(deadlines * hosts * copies), and that of each
 * round of changes. */
berth_status berth_config_search(berth_exchanger *e, berth_goal goal, berth_exchange_kind kind,
                                 berth_arena *tmp, berth_config_visit *visit, void *ctx, double *bound,
                                 berth_err *err);

#endif
