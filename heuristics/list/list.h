/* List scheduling with a device rule of the method's own. */
#ifndef BERTH_LIST_H
#define BERTH_LIST_H

#include "partial.h"

/* What putting op on dev from start to end is worth; the smallest is taken (ties: the lower device). */
typedef int64_t (*berth_list_score)(void *ctx, berth_partial *part, int32_t op, int32_t dev, int64_t start_ns,
                                    int64_t end_ns);

/* Of the ready operators the one with the largest key next (ties: the lower topological index), to the
 * device with the smallest score: over its colocation group's device, else over legal devices where the
 * colocation group fits, else the one with most room. Nothing is placed yet. tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM. O(edges * devs + ops * (log ops + devs * score)). */
berth_status berth_list_schedule(berth_partial *part, const berth_problem *p, const int64_t *op_key,
                                 bool insertion, berth_list_score score, void *ctx, berth_arena *tmp,
                                 berth_err *err);

#endif
