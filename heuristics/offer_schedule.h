/* List schedules offered to a search: with more and more memory asked for, until the placement fits. */
#ifndef BERTH_OFFER_SCHEDULE_H
#define BERTH_OFFER_SCHEDULE_H

#include "partial.h"
#include "search.h"

/* Fill an empty partial schedule; ctx is the method's. */
typedef berth_status (*berth_schedule_fn)(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err);

/* How much of the tensors a schedule asks memory for (berth_partial_limit_memory), try by try: only what
 * stays at first, the upper bound in the end. */
enum { BERTH_MEMORY_TRIES = 4 };
extern const double berth_memory_share[BERTH_MEMORY_TRIES];

/* Make a schedule and offer its placement under the system's rule and with the order of its starts, up to
 * BERTH_MEMORY_TRIES times, until it fits. Two evaluations a try. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. */
berth_status berth_offer_schedule(berth_search *s, berth_schedule_fn schedule, void *ctx, berth_arena *tmp,
                                  berth_err *err);

#endif
