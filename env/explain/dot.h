/* A graph as DOT text for Graphviz. */
#ifndef BERTH_DOT_H
#define BERTH_DOT_H

#include "graph.h"
#include "system.h"

/* One node an operator (name and type), one arrow a use of a tensor (its size).
 *   s, op_dev   a system and the device of each operator [n_ops], which colours the nodes; or both NULL
 * Text in mem. Fails: BERTH_ENOMEM. O(ops + edges). */
berth_status berth_graph_write_dot(const berth_graph *g, const berth_system *s, const int32_t *op_dev,
                                   berth_arena *mem, const char **text, size_t *len, berth_err *err);

#endif
