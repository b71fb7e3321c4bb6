/* The sum of operator and transfer times of a placement that changes operator by operator. Each tensor counts
 * once for each other device that it is needed on: the latency where nothing overlaps. */
#pragma once

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

/* Move an operator. O(its inputs + its tensors * devs). */
void berth_sum_walk_move(berth_sum_walk *w, int32_t op, int32_t dev);

/* Move all that differ to where they are in op_dev [n_ops]. O(ops) and the moves. */
void berth_sum_walk_follow(berth_sum_walk *w, const int32_t *op_dev);

/* Move a colocation group. */
void berth_sum_walk_move_coloc(berth_sum_walk *w, int32_t coloc, int32_t dev);
