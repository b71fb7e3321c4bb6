/* Partitioned Boolean Quadratic Problems: choose one alternative per node so that the sum of node costs and
 * of the costs that each edge puts on the pair of its ends is least. Nothing here knows what nodes and
 * alternatives stand for.
 *
 * Reductions R0, RI, RII and edge normalisation are exact (Scholz & Eckstein, LCTES 2002; Hames & Scholz,
 * JMLC 2006). RN decides where all degrees are above two: early with a one-step look-ahead, or late, when the
 * neighbours are known. Branch and bound proves. */
#pragma once

#include "arena.h"

/* The cost of what is forbidden; sums with it stay at it. */
#define BERTH_PBQP_INF (INT64_C(1) << 61)

typedef struct berth_pbqp berth_pbqp;

typedef enum berth_pbqp_mode {
	BERTH_PBQP_RN_EARLY, /* RN takes the alternative that is best by look-ahead, at once */
	BERTH_PBQP_RN_LATE,  /* RN postpones: the choice is made against all neighbours already chosen */
	BERTH_PBQP_RN_BOTH,  /* both, and the best mixture of the two that the reductions find */
	BERTH_PBQP_BEST,     /* that, then improvement; never worse */
	BERTH_PBQP_EXACT     /* branch and bound from the answer of BEST */
} berth_pbqp_mode;

typedef struct berth_pbqp_stats {
	int64_t cost;        /* of the answer; BERTH_PBQP_INF: none found, or none exists where proven */
	int64_t lower_bound; /* no assignment costs less */
	/* nodes taken by each reduction (RN_BOTH and later ones: in the better of the two RN orders) */
	int32_t n_r0, n_r1, n_r2, n_rn;
	bool proven;         /* the answer is optimal */
	int64_t nodes;       /* of the branch and bound, 0 elsewhere */
} berth_pbqp_stats;

/* A problem of n_nodes nodes with node_n_alts[n_nodes] alternatives each (all > 0), without edges, all costs
 * 0. It grows in mem. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status berth_pbqp_new(int32_t n_nodes, const int32_t *node_n_alts, berth_arena *mem, berth_pbqp **out,
                            berth_err *err);

/* Cost vector [k_node] of a node, to be filled; values in [0, BERTH_PBQP_INF]. A constant added to all of
 * them changes no answer, which is the way to state negative costs. */
int64_t *berth_pbqp_node(berth_pbqp *q, int32_t node);

/* Room for as many edges, before the first one: more may come. Fails: BERTH_ENOMEM. */
berth_status berth_pbqp_reserve(berth_pbqp *q, size_t n_edges, berth_err *err);

/* Costs of an edge, row-major [k_u][k_v], in [0, BERTH_PBQP_INF]; added to those that the pair has, in
 * whichever direction they came. Fails: BERTH_EINVAL (u == v, no such node, a cost out of range),
 * BERTH_ENOMEM. O(k_u * k_v + smaller degree). */
berth_status berth_pbqp_edge(berth_pbqp *q, int32_t u, int32_t v, const int64_t *cost, berth_err *err);

/* Solve.
 *   node_limit  of the branch and bound (EXACT; RN_BOTH and BEST where both orders end in BERTH_PBQP_INF);
 *               <= 0: none
 *   alt         out [n_nodes]; always alternatives that exist, even where the cost is BERTH_PBQP_INF
 *   stats       out, may be NULL
 *   tmp         scratch, returned at exit; may be q's arena
 * Ties go to the lower index; equal input gives equal output. A node limit reached is a result with proven
 * false. Fails: BERTH_EINVAL (a node cost out of range, or finite costs whose sum may reach BERTH_PBQP_INF),
 * BERTH_ENOMEM. O(edges * k^3) without the branch and bound. */
berth_status berth_pbqp_solve(const berth_pbqp *q, berth_pbqp_mode mode, int64_t node_limit, int32_t *alt,
                              berth_pbqp_stats *stats, berth_arena *tmp, berth_err *err);
