/* The sum of operator and transfer times of a placement that changes operator by operator. Each tensor counts
 * once for each other device that it is needed on: the latency where nothing overlaps. */
#pragma once

#include "problem.h"

typedef struct berth_sum_walk {
	const berth_problem *p;
	int32_t *op_dev; /* [n_ops] */
	int32_t *uses;   /* [n_tensors][n_devs] edges to consumers there */
	int64_t sum_ns;
} berth_sum_walk;

/* Room for walks, in mem; berth_sum_walk_set before anything else. Fails: BERTH_ENOMEM. */
berth_status berth_sum_walk_new(const berth_problem *p, berth_arena *mem, berth_sum_walk *out,
                                berth_err *err);

/* Begin at op_dev [n_ops], where every operator can run. It is copied. O(ops + edges + tensors * devs). */
void berth_sum_walk_set(berth_sum_walk *w, const int32_t *op_dev);

/* Move an operator to a device where it can run. O(its inputs + its tensors * devs). */
void berth_sum_walk_move(berth_sum_walk *w, int32_t op, int32_t dev);

/* Move a colocation group. */
void berth_sum_walk_move_coloc(berth_sum_walk *w, int32_t coloc, int32_t dev);
