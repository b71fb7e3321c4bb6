/* A walk over placements together with a given order, for which a device waits: keys only tell schedules in
 * which no device ever waits for what is not ready. Moves are those of job-shop search. */
#pragma once

#include "method.h"

typedef struct berth_order_walk berth_order_walk;

/* Has the search orders to walk over: the model of costs looks at them, and the objective is one of a longest
 * path? */
bool berth_order_walk_works(const berth_search *s);

/* In mem; rng is copied. Fails: BERTH_ENOMEM. 160 bytes an operator, 4 for each operator and device, and
 * where runs are simulated those of tails.h. */
berth_status berth_order_walk_new(berth_search *s, berth_rng rng, berth_arena *mem, berth_order_walk **out,
                                  berth_err *err);

/* Go on from the incumbent, if it is better than what the walk has found itself. One evaluation. */
void berth_order_walk_start(berth_order_walk *w);

/* So many evaluations more, or somewhat above. False: the budget is at its end. */
bool berth_order_walk_run(berth_order_walk *w, int64_t n);

/* Does the order decide, and are runs longest paths (op_sequence.h)? Transfers take next to nothing then, or
 * nothing can move. */
bool berth_orders_decide(const berth_search *s);

/* Are they longest paths, whatever transfers take? A step is then many times as quick as a run. */
bool berth_order_walk_quick(const berth_search *s);

/* Walk from the incumbent until the budget is at its end: for methods that find nothing to move, but orders.
 * tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_walk_orders(berth_search *s, berth_arena *tmp, berth_err *err);
