/* Certificates while bounds are made. */
#pragma once

#include "certificate_cases.h"
#include "objective.h"

/* The best certificate so far. */
typedef struct berth_bound_proof {
	berth_arena *mem; /* keeps what certificates point to */
	bool load;        /* of the largest load, not of the latency */
	int64_t nodes;    /* of each tree at most */
	bool any;
	berth_certificate best;
} berth_bound_proof;

/* Keep c, whose arrays are in x->mem, if it proves more than the best so far. Its bound is what it proves. x
 * may be NULL. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_bound_proof_offer(berth_bound_proof *x, const berth_problem *p, const berth_certificate *c,
                                     berth_arena *tmp, berth_err *err);

/* ---- trees of cases that prove how long a block takes at least (certificate_cases.h) ---- */

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

/* ---- what the bound by gates knows, as a certificate ---- */

/* Operators first .. last-1 of the topological order between two gates (-1: none). Blocks that look the same
 * have the same tables. */
typedef struct berth_known_block {
	int32_t first, last, entry, exit;
	const int64_t *paths; /* [n_devs][n_devs] by paths alone */
	const int64_t *lower; /* [n_devs][n_devs] all that is known */
} berth_known_block;

/* Offer a certificate of the chain of blocks. What no tree proves in x->nodes nodes is claimed for less. tmp
 * is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_certify_blocks(const berth_problem *p, const berth_known_block *block, int32_t n_blocks,
                                  berth_bound_proof *x, berth_arena *tmp, berth_err *err);

/* ---- what the bound by windows knows, as a certificate ---- */

/* A certificate while its windows are found. */
typedef struct berth_window_proof {
	const berth_problem *p;
	berth_bound_proof *x; /* its arena keeps all */
	berth_certificate c;
	size_t cap_windows, cap_prices;
} berth_window_proof;

/* Add a window, in the order of certificates.
 *   claim  without its prices
 *   price  [..][stride] price vectors in whole numbers
 *   told   by device of the first operator (from the beginning: 0) which of these it needs; -1: none
 * Fails: BERTH_ENOMEM. */
berth_status berth_window_proof_add(berth_window_proof *w, berth_window_claim claim, const double *price,
                                    int32_t stride, const int32_t *told, berth_err *err);

/* Offer it to x. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_window_proof_offer(berth_window_proof *w, berth_arena *tmp, berth_err *err);

/* How much the strong bounds may cost. */
enum { BERTH_BOUND_NODES = 5000 };

#define BERTH_BOUND_ALL (INT64_MAX / 4) /* work without a limit */

/* Work is counted in steps, and each step at the nanoseconds that it takes on an ordinary core. No clock is
 * read: the same effort gives the same bounds. */
typedef struct berth_bound_effort {
	int64_t nodes;      /* of each search of a block between gates at most */
	int64_t work_ns;    /* of all, about; BERTH_BOUND_ALL: no limit */
	bool latency, load; /* which bounds are wanted: of the latency, of the largest load */
} berth_bound_effort;

/* All that the strong bounds can do for an objective; NULL: for all metrics. */
berth_bound_effort berth_bound_effort_all(const berth_objective *o);

/* The larger of 0.2 seconds of work and a tenth of a search of so many evaluations. Where seconds end it
 * before (0: no limit), a tenth of them at most. */
int64_t berth_bound_work_for(const berth_problem *p, int64_t evaluations, double time_s);

/* What is left of an effort while bounds are made. */
typedef struct berth_bound_work {
	int64_t left_ns;
	bool cut; /* something was left out, or cut, for want of work */
	bool dropped; /* a dual of the solver's proves less than its value */
	berth_bound_proof *proof; /* the best certificate is wanted; NULL: it is not */
} berth_bound_work;

/* Take ns of the work that is left. False, and cut: there is less. */
static inline bool berth_bound_spend(berth_bound_work *w, int64_t ns)
{
	if (w->left_ns >= BERTH_BOUND_ALL)
		return true;
	if (w->left_ns < ns) {
		w->cut = true;
		return false;
	}
	w->left_ns -= ns;
	return true;
}
