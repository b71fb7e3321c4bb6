/* Exact search on small problems: the least latency over all placements and, for each, all orders that a
 * device can start its operators in. There are two levels of depth-first branch and bound.
 *
 * Placement: colocation groups get devices in topological order. A node is cut where a lower bound reaches
 * the incumbent. The bounds are the longest path with the devices decided so far, with critical earliest
 * finish times for the rest; one machine with heads and tails for each device and channel (J. R. Jackson's
 * preemptive schedule, 1955); and the load dual at several fixed prices. Devices that are mirror images are
 * tried once.
 *
 * Order: for a complete placement, pairs of operators on one device are ordered one by one (disjunctive
 * arcs; J. Carlier and E. Pinson, "An algorithm for solving the job-shop problem", Management Science
 * 35(2), 1989). The pair that overlaps in the earliest schedule comes first. Pairs that only fit the
 * incumbent one way are set at once. What is left when no two overlap is a schedule without contention.
 * With a caller that scores it (`leaf`), branching goes on while the score is above the bound, until all
 * pairs are ordered. Without one, the schedule without contention counts, and the result is a lower bound.
 *
 * Why it is exact: docs/proofs.md, "Exact search". */
#pragma once

#include "problem.h"

#include <stdatomic.h>

enum { BERTH_EXACT_SEARCH_OPS = 64, BERTH_EXACT_SEARCH_DEVS = 16 };

#define BERTH_EXACT_SEARCH_NEVER (INT64_MAX / 4)

typedef struct berth_exact_search berth_exact_search;

/* Operators of p as a problem of their own.
 *   ops  [n] ascending in topological order, n <= BERTH_EXACT_SEARCH_OPS
 * Edges that leave or enter the set are dropped. The instance lives in mem. Fails:
 * BERTH_EINVAL (too many operators or devices), BERTH_ENOMEM. */
berth_status berth_exact_search_new(const berth_problem *p, int32_t n, const int32_t *ops, berth_arena *mem,
                                    berth_exact_search **out, berth_err *err);

/* Change the instance: operator i (of the set) takes time_ns on dev; below 0: cannot run there. Before the
 * first run. */
void berth_exact_search_set_time(berth_exact_search *x, int32_t i, int32_t dev, int64_t time_ns);

/* What is around the instance. Operator i starts on dev no earlier than release_ns, and after_ns follow its
 * end there at least. dev holds bytes already. All are 0 at first. Before a run. */
void berth_exact_search_set_outside(berth_exact_search *x, int32_t i, int32_t dev, int64_t release_ns,
                                    int64_t after_ns);
void berth_exact_search_set_held(berth_exact_search *x, int32_t dev, int64_t bytes);

/* Would two instances of one problem, changed alike, have the same results? */
bool berth_exact_search_same(const berth_exact_search *a, const berth_exact_search *b);

typedef struct berth_exact_search_cfg {
	int64_t upper_ns; /* only schedules below it are looked for; BERTH_EXACT_SEARCH_NEVER: any */
	int64_t nodes;    /* limit; <= 0: none */
	/* Score of a placement dev [n] with a topological order [n] of the set's operators;
	 * BERTH_EXACT_SEARCH_NEVER or more: not allowed. NULL: see above. */
	int64_t (*leaf)(void *ctx, const int32_t *dev, const int32_t *order);
	bool (*stop)(void *ctx); /* asked now and then; NULL: never */
	void *ctx;
} berth_exact_search_cfg;

typedef struct berth_exact_search_result {
	int64_t lower_ns; /* proven: no schedule is shorter (upper_ns where there is none below it) */
	int64_t best_ns;  /* the best leaf below upper_ns; BERTH_EXACT_SEARCH_NEVER: none */
	int64_t nodes;
	bool complete;    /* no limit was hit: lower_ns is best_ns, or upper_ns */
} berth_exact_search_result;

/* Search. Scratch is in the instance; runs may follow each other. */
void berth_exact_search_run(berth_exact_search *x, const berth_exact_search_cfg *cfg,
                            berth_exact_search_result *out);
