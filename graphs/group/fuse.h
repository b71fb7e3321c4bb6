/* What an inference engine runs as one kernel as one operator. */
#pragma once

#include "graph.h"

/* The kernels of g by the rules of group_fusion.c: op_exit out [n_ops], the operator whose output is its
 * kernel's. tmp is scratch, not reset. Fails: BERTH_ENOMEM. O(ops + edges). */
berth_status berth_fusion_kernels(const berth_graph *g, int32_t *op_exit, berth_arena *tmp, berth_err *err);

/* g with each kernel as one operator, in mem. It is called like its product, or like its exit where it has
 * none or two, and has that one's type, precision and shape; work, parameters and state are sums; what its
 * members handed to each other is neither read nor written; times of its members are dropped, unless it has
 * only one. Members with a pin, forbidden devices or another group of colocation or separation than their
 * exit stay by themselves.
 *   tmp  scratch, another arena than mem, reset at exit
 * Fails: BERTH_ENOMEM; BERTH_EFORMAT (sums beyond the limits of a graph). O(ops + edges). */
berth_status berth_graph_fuse(const berth_graph *g, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_err *err);
