/* Earliest task first where no device refuses an operator: neither by memory nor by separation, and without
 * colocation groups and favourite children. */
#ifndef BERTH_ETF_FREE_H
#define BERTH_ETF_FREE_H

#include "etf.h"

/* Is that so for schedules of part's problem? */
bool etf_is_free(const berth_problem *p, const berth_partial *part);

/* What etf_schedule makes of such a problem, without looking again at all that wait for a device each time
 * that something is placed there. *n_steps (may be NULL): pairs that were put into a heap. tmp is scratch,
 * reset at exit. Fails: BERTH_ENOMEM. O(ops * devs * log ops): each pair is in a heap twice at most. */
berth_status etf_free_schedule(const berth_problem *p, etf_key key, berth_partial *part, int64_t *n_steps,
                               berth_arena *tmp, berth_err *err);

#endif
