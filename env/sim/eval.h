/* The score of a placement. One berth_eval belongs to one thread. */
#pragma once

#include "incremental.h"
#include "objective.h"
#include "problem.h"

typedef struct berth_sum_walk {
	const berth_problem *p;
	int32_t *op_dev; /* [n_ops] */
	int32_t *uses;   /* [n_tensors][n_devs] edges to consumers there */
	int64_t sum_ns;
	int32_t n_lost; /* operators that cannot run where they are: sum_ns means nothing then */
} berth_sum_walk;

/* Room for walks, in mem; berth_sum_walk_set before anything else. Fails: BERTH_ENOMEM. */
berth_status berth_sum_walk_new(const berth_problem *p, berth_arena *mem, berth_sum_walk *out,
                                berth_err *err);

/* Begin at op_dev [n_ops]. It is copied. O(ops + edges + tensors * devs). */
void berth_sum_walk_set(berth_sum_walk *w, const int32_t *op_dev);

/* Move a colocation group. */
void berth_sum_walk_move_coloc(berth_sum_walk *w, int32_t coloc, int32_t dev);

/* Score of a placement; smaller is better. Placements that fit memory and keep separation, contiguity and all
 * limits have no excess, and are told apart by value. They come before all others, which go by excess: that
 * of memory, 1 for each breach of constraints.h, and that of the limits, added. */
typedef struct berth_score {
	double excess, value;
} berth_score;

static inline bool berth_score_less(berth_score a, berth_score b)
{
	return a.excess != b.excess ? a.excess < b.excess : a.value < b.value;
}

static inline bool berth_score_feasible(berth_score s)
{
	return !(s.excess > 0);
}

/* The score that any placement improves on. */
berth_score berth_score_worst(void);

typedef struct berth_eval {
	const berth_problem *p;
	berth_objective objective;
	berth_sim *sim;
	uint64_t *scratch;       /* of berth_constraints_broken */
	berth_incremental *near; /* NULL: berth_eval_near makes full runs */
	int32_t n_far;           /* runs since its base was the caller's */
	/* where the latency is a sum of times and all that counts, in the place of near; NULL: not yet */
	berth_sum_walk *walk;
} berth_eval;

berth_status berth_eval_new(const berth_problem *p, const berth_objective *objective, berth_arena *mem,
                            berth_eval *out, berth_err *err);

/* One evaluation by the reference simulator. Pins, forbidden devices and colocation are the caller's care. An
 * operator on a device that cannot run it gives infinite excess. order as in berth_sim_run. */
berth_score berth_eval_run(berth_eval *e, const int32_t *op_dev, const int32_t *order);

/* Prepare for berth_eval_near, in mem. Later calls do nothing. Fails: BERTH_ENOMEM. */
berth_status berth_eval_want_near(berth_eval *e, berth_arena *mem, berth_err *err);

/* A placement, and keys in the place of the system's order rule (berth_sim_use_keys). */
typedef struct berth_keyed {
	const int32_t *op_dev;  /* [n_ops] */
	const uint32_t *op_key; /* [n_ops] or NULL: the system's rule */
} berth_keyed;

/* The score of berth_eval_run(e, op_dev, NULL), by x.op_key where there are keys. */
berth_score berth_eval_keyed(berth_eval *e, berth_keyed x);

/* The same for a placement that differs little from base. The worst score where the latency is above
 * limit_ns. One evaluation. Quick while the base stays the same from call to call; where the latency is a sum
 * of times, while x differs little from the x before, and memory cannot be exceeded or the limit is. */
berth_score berth_eval_near(berth_eval *e, berth_keyed base, berth_keyed x, int64_t limit_ns);

/* Make x the base of berth_eval_near, where it is not, and tell how it runs; prepared by berth_eval_want_log.
 * NULL where runs do not go on from bases. */
const berth_base_log *berth_eval_base(berth_eval *e, berth_keyed x);

/* Prepare for berth_eval_base, in mem. Later calls do nothing. Fails: BERTH_ENOMEM. */
berth_status berth_eval_want_log(berth_eval *e, berth_arena *mem, berth_err *err);

/* The largest latency that an objective of the latency alone values at most at value. A placement above it is
 * worse, whatever else it is worth. INT64_MAX for other objectives. */
int64_t berth_eval_latency_limit(const berth_eval *e, double value);

/* As berth_eval_run, with all metrics: *r is the simulation. Returns the excess. INFINITY where the placement
 * does not run; r is not set then. */
double berth_eval_result(berth_eval *e, const int32_t *op_dev, const int32_t *order, berth_sim_result *r);
