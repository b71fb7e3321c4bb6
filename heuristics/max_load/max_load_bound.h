/* A lower bound of the largest load by counting. */
#ifndef BERTH_MAX_LOAD_BOUND_H
#define BERTH_MAX_LOAD_BOUND_H

#include "max_load.h"

/* A lower bound, in seconds, of the largest load of every placement whose largest load is at most upper_s. 0
 * where nothing can be said. Take the items that no CPU takes within upper_s, by least time on an
 * accelerator, the longest first. For every j, consider the first j of them. Of m accelerators some k hold at
 * least k floor(j / m) + min(k, j mod m) of these, at the least the shortest ones (M. Haouari, M. Jemmali,
 * Computers & Operations Research 35, 2008). Transfers count nothing. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(items (log items + accelerators)). */
berth_status berth_max_load_bound(const berth_max_load *m, double upper_s, berth_arena *tmp, double *bound_s,
                                  berth_err *err);

#endif
