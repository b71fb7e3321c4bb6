/* A block between two gates as a problem of its own, to be scored by the simulator. */
#ifndef BERTH_BLOCK_ALONE_H
#define BERTH_BLOCK_ALONE_H

#include "problem.h"

typedef struct berth_block_alone berth_block_alone;

/* Operators ops [n] of p, ascending in topological order and by index, which breaks ties on channels, with
 * the edges among them. Where `entry` is set, ops[0] is a gate after whose end the block begins. *out is NULL
 * where the compiled block has other times than p. mem keeps it; tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(n * devs + classes * devs^3). */
berth_status berth_block_alone_new(const berth_problem *p, int32_t n, const int32_t *ops, bool entry,
                                   berth_arena *mem, berth_arena *tmp, berth_block_alone **out,
                                   berth_err *err);

/* What the simulator tells from the end of the gate on, for the placement dev [n] with the topological order
 * order [n], by numbers in the block. Memory does not count. */
int64_t berth_block_alone_ns(berth_block_alone *b, const int32_t *dev, const int32_t *order);

#endif
