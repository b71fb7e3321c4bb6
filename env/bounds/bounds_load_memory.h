/* A lower bound of the largest load where devices cannot hold all operators. */
#ifndef BERTH_BOUNDS_LOAD_MEMORY_H
#define BERTH_BOUNDS_LOAD_MEMORY_H

#include "bounds_effort.h"
#include "problem.h"

/* The load dual (bounds_load.h) with a price for each byte that an operator keeps for good on a device or in
 * a memory pool, less what the limits are worth at these prices. Any prices give a bound of the largest load,
 * and so of the latency. They are found by subgradients, rounded to whole numbers and proven by the
 * certificate's checker. docs/proofs.md, "Load and memory".
 *
 * *lower_ns: 0 where nothing has a limit, or too little work is left. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(iterations * ops * devs). */
berth_status berth_bounds_load_memory(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                      int64_t *lower_ns, berth_err *err);

#endif
