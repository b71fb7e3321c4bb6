/* The nodes of the dynamic program: colocation groups in topological order, those on a circle fused. */
#ifndef BERTH_DP_NODES_H
#define BERTH_DP_NODES_H

#include "problem.h"

typedef struct dp_nodes {
	int32_t n;
	int32_t *op_node;                           /* [n_ops] */
	int32_t *op_off, *op;                       /* CSR [n+1]: operators of a node */
	int32_t *succ_off, *succ, *pred_off, *pred; /* CSR [n+1]: nodes after and before it, with repeats */
} dp_nodes;

/* Backward operators follow their colocation group. Colocation groups that have no forward operator are
 * ordered by the backward edges turned round. In mem. Fails: BERTH_ENOMEM. O(ops + edges). */
berth_status dp_nodes_new(const berth_problem *p, berth_arena *mem, dp_nodes *out, berth_err *err);

#endif
