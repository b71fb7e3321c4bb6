/* List scheduling with a device rule of the method's own. */
#ifndef BERTH_LIST_H
#define BERTH_LIST_H

#include "traffic.h"

/* What putting op on dev from start to end is worth; the smallest is taken (ties: the lower device). */
typedef int64_t (*berth_list_score)(void *ctx, berth_partial *part, int32_t op, int32_t dev, int64_t start_ns,
                                    int64_t end_ns);

/* Fill an empty partial schedule. Of the ready operators the one with the largest key comes next (ties: the
 * lower topological index). It goes to its colocation group's device, where that has one. Else it goes to the
 * device with the smallest score, of the legal ones where the colocation group fits. Where it fits nowhere,
 * it goes to the one with the most memory left. tmp is scratch, reset at exit.
 *   insertion  in idle gaps too
 *   traffic    transfers wait for their channels; reset at entry. NULL: they do not wait
 * Fails: BERTH_ENOMEM. O(edges * devs + ops * (log ops + devs * score)). */
berth_status berth_list_schedule(berth_partial *part, const berth_problem *p, const int64_t *op_key,
                                 bool insertion, berth_traffic *traffic, berth_list_score score, void *ctx,
                                 berth_arena *tmp, berth_err *err);

#endif
