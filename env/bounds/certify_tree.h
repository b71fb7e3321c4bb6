/* Trees of cases that prove how long a block takes at least (certificate_cases.h). */
#ifndef BERTH_CERTIFY_TREE_H
#define BERTH_CERTIFY_TREE_H

#include "certificate_cases.h"

/* Price vectors of loads that trees may use. */
typedef struct berth_tree_prices {
	int64_t *price; /* [n][n_devs + n_pools] */
	int32_t n;
	size_t cap; /* of price, in numbers */
} berth_tree_prices;

/* Look for a tree that no schedule of the block, between its gates on from and to, ends before claim_ns. In
 * at most so many nodes for each of two ways to branch. *proven: tree is one. Prices that it uses are added.
 * mem keeps tree and prices; tmp is scratch, reset at exit. *nodes: those that were tried are added. Fails:
 * BERTH_ENOMEM. */
berth_status berth_tree_prove(berth_block *b, int32_t from, int32_t to, int64_t claim_ns, int64_t most_nodes,
                              berth_tree_prices *prices, berth_arena *mem, berth_arena *tmp,
                              berth_case_tree *tree, bool *proven, int64_t *nodes, berth_err *err);

/* The best of some price vectors for the loads of n operators: *at, in prices; *ns is what these load at
 * least. 0: nothing, and no prices. Fails: BERTH_ENOMEM. */
berth_status berth_tree_loads(const berth_problem *p, int32_t n, const int32_t *op, berth_tree_prices *prices,
                              int32_t *at, int64_t *ns, berth_arena *mem, berth_arena *tmp, berth_err *err);

/* The largest claim from least_ns, which is proven, to most_ns that a tree for all operators of p proves, by
 * halves after most_ns itself. *ns: least_ns where the graph is too large for trees. *nodes: how many were
 * tried.
 *   stop  asked before each tree; NULL: never
 * tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_tree_climb(const berth_problem *p, int64_t least_ns, int64_t most_ns, int64_t most_nodes,
                              bool (*stop)(void *ctx), void *ctx, berth_arena *tmp, int64_t *ns,
                              int64_t *nodes, berth_err *err);

#endif
