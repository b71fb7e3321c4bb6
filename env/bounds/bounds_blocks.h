/* A lower bound of the latency from the places where a graph is narrow. */
#ifndef BERTH_BOUNDS_BLOCKS_H
#define BERTH_BOUNDS_BLOCKS_H

#include "problem.h"

/* A gate is an operator that every other one stands before or after on a path. All that is between two gates
 * starts after the first ends and ends before the second starts, so with
 *     B(d, e) <= the time from the end of gate k on device d to the end of gate k+1 on e, of what is between
 *       them alone,
 * F(k+1, e) = min over d of F(k, d) + B(d, e) is a lower bound of the end of gate k+1 on e, and what comes
 * before the first gate and after the last is added likewise. B comes from the exact search of
 * exact_search.h without channels' order, cut after `nodes` nodes (its bound holds then as well); where more
 * operators are between two gates than it takes, from the critical earliest finish times between them and
 * the load dual at a few prices. Tensors that pass a gate by, colocation across gates and memory beyond one
 * block are left out, which only lowers the bound.
 *
 * *lower_ns: 0 where there is no gate and the graph is too large. Blocks that look the same are searched
 * once. O(ops^2 / 64 + blocks * devs^2 * nodes). tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_bounds_blocks(const berth_problem *p, int64_t nodes, berth_arena *tmp, int64_t *lower_ns,
                                 berth_err *err);

#endif
