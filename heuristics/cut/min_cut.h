/* Maximum flows, and placements by minimum cuts. */
#pragma once

#include "arena.h"
#include "problem.h"

#include <stdbool.h>
#include <stdint.h>

/* Maximum flow and minimum cut by blocking flows: E. A. Dinic, "Algorithm for solution of a problem of
 * maximum flow in networks with power estimation", Soviet Math. Doklady 11, 1970. O(nodes^2 * arcs), and far
 * less on the networks of placements, where most paths are short. */

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

/* The placement on two devices with the least sum of operator and transfer times, by a minimum cut: H. S.
 * Stone, "Multiprocessor scheduling with the aid of network flow algorithms", IEEE Trans. Software Eng.
 * SE-3(1), 1977. A tensor travels once, however many consumers it has on the other device, as in C. Hu, W.
 * Bao, D. Wang, F. Liu, "Dynamic adaptive DNN surgery for inference acceleration on the edge", INFOCOM 2019.
 *
 * The sum is the latency where nothing overlaps: in a chain, or on a device and a server of which one
 * waits for the other. */

typedef struct berth_min_cut {
	const berth_problem *p;
	berth_flow flow;
	int32_t *node;    /* [n_colocs] its node; -1: it stays */
	int32_t *fixed;   /* [n_colocs] where it is now */
	int64_t *stay[2]; /* [n_colocs] what it costs to be on the first device, on the second one */
	uint8_t *seen;    /* [n_devs] */
	int32_t n_nodes;
} berth_min_cut;

/* Room for cuts of p, in mem. Fails: BERTH_ENOMEM, BERTH_ELIMIT (more than 2^30 nodes). */
berth_status berth_min_cut_new(const berth_problem *p, berth_arena *mem, berth_min_cut *out, berth_err *err);

/* Change a placement to the one with the least sum among all that leave the colocation groups where they are
 * that are on neither of the devices dev[0] and dev[1], and spread the others over these two. Transfers from
 * and to the former count. byte_ns [n_devs], or NULL: none, is what each byte that a colocation group takes
 * with it (coloc_bytes [n_colocs]) costs on a device, in ns. op_dev in out [n_ops]. Returns false where go_on
 * ended it; then op_dev is as it was. */
bool berth_min_cut_place(berth_min_cut *c, const int32_t dev[2], const double *byte_ns,
                         const int64_t *coloc_bytes, bool (*go_on)(void *ctx, int64_t arcs), void *ctx,
                         int32_t *op_dev);

/* Sum of the times of all operators, and of all tensors to each other device that they are needed on, in ns.
 * seen [n_devs] is scratch of zeros, and left so. */
int64_t berth_sum_of_times(const berth_problem *p, const int32_t *op_dev, uint8_t *seen);
