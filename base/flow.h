/* Maximum flows and minimum cuts by blocking flows: E. A. Dinic, "Algorithm for solution of a problem of
 * maximum flow in networks with power estimation", Soviet Math. Doklady 11, 1970. O(nodes^2 * arcs), and far
 * less on networks where most paths are short. */
#pragma once

#include "arena.h"

/* More than any sum of what can be cut. */
#define BERTH_FLOW_ENDLESS (INT64_C(1) << 61)

typedef struct berth_flow {
	int32_t n_nodes;
	int64_t n_arcs, most_arcs; /* an arc and the one back stand together: a, a ^ 1 */
	int64_t *first, *at;       /* [n_nodes] arcs of a node, the one to look at next; -1: no more */
	int32_t *level, *queue;    /* [n_nodes] */
	int64_t *path;             /* [n_nodes] arcs from the source to the node that is looked at */
	int64_t *next, *room;      /* [most_arcs] the next arc of the node, what may still flow */
	int32_t *to;               /* [most_arcs] */
} berth_flow;

/* No arcs, room for most_joins of them. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_flow_new(int32_t n_nodes, int64_t most_joins, berth_arena *mem, berth_flow *out,
                            berth_err *err);

/* Forget all arcs. */
void berth_flow_clear(berth_flow *f);

/* What may flow from one node to another, and back; at most BERTH_FLOW_ENDLESS. */
void berth_flow_join(berth_flow *f, int32_t from, int32_t to, int64_t room, int64_t back);

/* Let flow as much as can. Finite arcs alone separate the source from the sink. go_on is asked before each
 * round with the arcs that were looked at in the one before; false ends it. Returns false where it did. */
bool berth_flow_max(berth_flow *f, int32_t source, int32_t sink, bool (*go_on)(void *ctx, int64_t arcs),
                    void *ctx);

/* After berth_flow_max: is the node on the source's side of the least cut that is next to the source? */
static inline bool berth_flow_at_source(const berth_flow *f, int32_t node)
{
	return f->level[node] >= 0;
}
