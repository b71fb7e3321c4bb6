/* What list schedules share: they are offered to a search with more and more memory asked for, until the
 * placement fits. Ranks of operators by mean times; upward ranks are berth_problem.op_rank_ns. */
#pragma once

#include "partial.h"
#include "problem.h"
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

/* rank_d of CPOP (Topcuoglu, Hariri, Wu 2002): mean times and mean transfers from the sources to each
 * operator, without its own time. op_rank_ns out [n_ops]. O(ops + edges). */
void berth_downward_ranks(const berth_problem *p, int64_t *op_rank_ns);
