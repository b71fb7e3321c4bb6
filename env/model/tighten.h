/* Machines short of memory, for training: limits drawn about what a graph needs. */
#ifndef BERTH_TIGHTEN_H
#define BERTH_TIGHTEN_H

#include "graph.h"
#include "rng.h"
#include "system.h"

/* Bytes that g takes on one device when its operators run one after another in topological order. Parameters
 * and state stay, as do outputs of the graph; tensors stay until their last use, a workspace while its
 * operator runs. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(ops + edges). */
berth_status berth_graph_need(const berth_graph *g, berth_arena *tmp, int64_t *bytes, berth_err *err);

/* Set the memory of all devices of s. In all it is between 1.1 and 3 times what g needs, log-uniform. Shares
 * are as before, equal ones where there was no limit, each times e^x with x normal of deviation 0.3. Devices
 * of a memory pool with a limit have theirs in common: the pool gets it, and each of them the part of the
 * pool that it had before. The arrays of s are written. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_system_tighten(const berth_graph *g, berth_rng *rng, berth_system *s, berth_arena *tmp,
                                  berth_err *err);

#endif
