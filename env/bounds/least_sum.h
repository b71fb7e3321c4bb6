/* The least sum of operator and transfer times, each tensor once to each other device that needs it: the
 * latency where nothing overlaps (cost_serial.c). Two devices: one minimum cut. More: a PBQP. Memory: bytes
 * have prices, by which the least sum less what the room costs is a bound (Lagrange). */
#pragma once

#include "problem.h"

/* Who asks. */
typedef struct berth_sum_asker {
	/* May about so many nanoseconds of work be done? */
	bool (*go_on)(void *ctx, double ns);
	/* A placement that is cheapest at some prices; do its bytes [n_colocs] fit? Returns the least sum
	 * known of a placement that keeps all limits, INT64_MAX: of none. NULL: what fits does. */
	int64_t (*found)(void *ctx, const int32_t *op_dev, const int64_t *coloc_bytes, bool fits);
	void *ctx;
	/* [n_colocs] what they take of their devices; NULL: bytes at rest. With others no bound is made. */
	const int64_t *coloc_bytes;
} berth_sum_asker;

/* *bound_ns: no placement that keeps the limits of memory has a smaller sum, as far as the work went; 0 where
 * that was nowhere. The least sum itself where memory is plenty, and with three devices or more where the
 * solver of the PBQP ends. Nothing is known of rules other than those of legal devices. tmp is scratch, reset
 * at exit. Fails: BERTH_ENOMEM, BERTH_ELIMIT (more than 2^30 nodes). O(a minimum cut) for each price. */
berth_status berth_least_sum(const berth_problem *p, const berth_sum_asker *who, berth_arena *tmp,
                             int64_t *bound_ns, berth_err *err);

/* ---- between least_sum.c and least_sum_pbqp.c ---- */

/* The problem as a PBQP. A node is a colocation group, its alternatives are the devices where it may stand.
 * A tensor that several other groups consume is a node, too: its alternatives are its home with the devices
 * that it goes to. Where these are too many each consumer pays an equal share; the sum is a bound then. */
typedef struct berth_sum_pbqp {
	const berth_problem *p;
	struct berth_pbqp *q;
	int32_t n_nodes, *alt_off, *alt_dev; /* [n_colocs+1], alternatives of groups, ascending */
	double entries;             /* of all matrices */
	bool exact;                 /* no tensor is shared out */
} berth_sum_pbqp;

/* usable [n_colocs][n_devs]: a colocation group may stand there. out->q is NULL where matrices would be too
 * large. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_sum_pbqp_new(const berth_problem *p, const bool *usable, berth_arena *mem,
                                berth_sum_pbqp *out, berth_err *err);

/* A placement of a small sum of times and prices [n_colocs][n_devs], op_dev [n_ops] out; *least_ns: none is
 * smaller. With effort it is looked for longer. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_sum_pbqp_solve(const berth_sum_pbqp *x, const int64_t *price_ns, bool effort,
                                  int32_t *op_dev, int64_t *least_ns, berth_arena *tmp, berth_err *err);
