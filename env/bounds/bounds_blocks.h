/* A lower bound of the latency from the places where a graph is narrow. */
#ifndef BERTH_BOUNDS_BLOCKS_H
#define BERTH_BOUNDS_BLOCKS_H

#include "bounds_effort.h"
#include "problem.h"

/* A gate is an operator that every other one stands before or after on a path. Bounds of what is between
 * two gates, for each pair of their devices, are added up along the gates. They come from the exact search
 * (exact_search.h) without channels' order, cut after `nodes` nodes. Where more operators are between two
 * gates than it takes, they come from earliest finish times and the load dual. docs/proofs.md, "Gates".
 *
 * Then once more with the simulator's score of each schedule, contention and memory pools included, for
 * blocks that run alone: no tensor passes their gates by. Gates that one passes by are left out where the
 * larger block can still be searched.
 *
 * Of the pairs of devices only those on the shortest chain are searched, with more and more nodes: no other
 * can raise the bound.
 *
 * *lower_ns: 0 where there is no gate and the graph is too large. Blocks that look the same are searched
 * once. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(ops^2 / 64 + blocks * devs^2 * nodes). */
berth_status berth_bounds_blocks(const berth_problem *p, int64_t nodes, berth_bound_work *budget,
                                 berth_arena *tmp, int64_t *lower_ns, berth_err *err);

#endif
