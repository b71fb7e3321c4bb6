/* Several graphs as one: models that share a machine at the same time. */
#pragma once

#include "graph.h"

/* Which operators are whose. */
typedef struct berth_graph_parts {
	int32_t n;
	const char **name; /* [n] unlike: a second graph called net is net-2 */
	int32_t *first_op; /* [n+1] operators of part i: first_op[i] to first_op[i+1]-1 */
} berth_graph_parts;

/* The union of g [n]. Operators, groups and shared parameters of a graph called net are called net/NAME, the
 * union by all names with + between, or "net (3 copies)" where all are called net. No edge goes from one
 * graph to another. parts may be NULL. Both live in mem; tmp is scratch, another arena, reset at exit. Fails:
 * BERTH_EFORMAT (sums beyond what a graph holds), BERTH_ENOMEM. O(ops + edges). */
berth_status berth_graph_union(const berth_graph *g, int32_t n, berth_arena *mem, berth_arena *tmp,
                               berth_graph *out, berth_graph_parts *parts, berth_err *err);

/* State all of g to a builder once more, behind what it has. Names begin with prefix/. Texts live in tmp,
 * which the builder needs until it is finished. Fails: as the builder. O(ops + edges). */
berth_status berth_graph_restate(const berth_graph *g, const char *prefix, berth_builder *b, berth_arena *tmp,
                                 berth_err *err);
