/* Nodes and ideals of the dynamic program. */
#pragma once

#include "problem.h"

/* The nodes of the dynamic program: colocation groups in topological order, those on a circle fused. */

typedef struct dp_nodes {
	int32_t n;
	int32_t *op_node;                           /* [n_ops] */
	int32_t *op_off, *op;                       /* CSR [n+1]: operators of a node */
	int32_t *succ_off, *succ, *pred_off, *pred; /* CSR [n+1]: nodes after and before it, with repeats */
} dp_nodes;

/* Backward operators follow their colocation group. Colocation groups that have no forward operator are
 * ordered by the backward edges turned round. In mem. Fails: BERTH_ENOMEM. O(ops + edges). */
berth_status dp_nodes_new(const berth_problem *p, berth_arena *mem, dp_nodes *out, berth_err *err);

/* Ideals of the dynamic program: sets of nodes that hold all producers of their nodes. */

/* Smaller ideals come first; 0 is the empty one, n - 1 holds all nodes. */
typedef struct dp_ideals {
	int32_t n, words;
	uint64_t *bits; /* [n][words] nodes of an ideal; NULL: ideal i has the first i nodes */
	/* CSR [n+1]: without one of its last nodes, down_node, ideal i is ideal down_to */
	int32_t *down_off, *down_node, *down_to;
} dp_ideals;

/* All ideals; *all = false where there are too many to list. In mem. Fails: BERTH_ENOMEM. */
berth_status dp_ideals_all(const dp_nodes *x, berth_arena *mem, dp_ideals *out, bool *all, berth_err *err);

/* The prefixes of the nodes' order alone. In mem. Fails: BERTH_ENOMEM. */
berth_status dp_ideals_prefixes(const dp_nodes *x, berth_arena *mem, dp_ideals *out, berth_err *err);

/* Is node v in ideal i? */
bool dp_ideals_has(const dp_ideals *d, int32_t i, int32_t v);
