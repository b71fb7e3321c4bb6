/* A lower bound of the latency where the fastest devices cannot hold all operators. */
#ifndef BERTH_BOUNDS_MEMORY_H
#define BERTH_BOUNDS_MEMORY_H

#include "bounds_effort.h"
#include "problem.h"

/* The length of the critical path of earliest finish times, when each device, and each memory pool, has a
 * price for what operators keep on it for good, less what its memory is worth at that price. Any prices give
 * a bound; they are found by subgradients. docs/proofs.md, "Memory".
 *
 * *lower_ns: 0 where nothing has a limit, or too little work is left; rounded down with a margin for sums in
 * double. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(iterations * ops * devs^2). */
berth_status berth_bounds_memory(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                 int64_t *lower_ns, berth_err *err);

#endif
