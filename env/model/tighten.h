/* Machines short of memory, for training: limits drawn about what a graph needs. */
#ifndef BERTH_TIGHTEN_H
#define BERTH_TIGHTEN_H

#include "graph.h"
#include "rng.h"
#include "system.h"

/* Bytes that g takes on one device when its operators run one after another in topological order:
 * parameters, state, the largest workspace, tensors until their last use, outputs of the graph to the end.
 * tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(ops + edges). */
berth_status berth_graph_need(const berth_graph *g, berth_arena *tmp, int64_t *bytes, berth_err *err);

/* Set the memory of all devices of s: in all between 1.1 and 3 times what g needs (log-uniform), in shares
 * as before (equal ones where there was no limit), each times e^x, x normal with deviation 0.3. s's arrays
 * are written. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_system_tighten(const berth_graph *g, berth_rng *rng, berth_system *s, berth_arena *tmp,
                                  berth_err *err);

#endif
