/* Times of what an engine makes one operator of (BERTH_GRAIN_KERNEL). */
#pragma once

#include "granularity.h"
#include "problem_tables.h"

/* g with its kernels as operators: op_new [g->n_ops], the one of fused that each is of. */
typedef struct berth_fused {
	const berth_graph *g;
	berth_graph fused;
	int32_t *op_new;
} berth_fused;

/* It lives in mem and borrows g. Fails: BERTH_ENOMEM. O(edges * rules). */
berth_status berth_fused_find(const berth_graph *g, berth_arena *mem, berth_arena *tmp, berth_fused *out,
                              berth_err *err);

/* Does s's engine fuse on dev, a GPU? On a CPU sums of operators are nearer to measured models
 * (docs/export.md). */
bool berth_fused_there(const berth_system *s, int32_t dev);

/* kernel_s out [fused.n_ops]: seconds of each kernel on dev, where its members are predicted by the model of
 * times and it takes less as one: one launch, and nothing is moved that stays inside; else NAN. Scales of
 * dev multiply it as they do an operator of its type. Fails: BERTH_ENOMEM. O(ops). */
berth_status berth_fused_seconds(const berth_fused *x, const berth_system *s, int32_t dev, double *kernel_s,
                                 berth_arena *tmp, berth_err *err);

/* Changes the times of p where its engine fuses: a kernel's is shared among its operators. Fails:
 * BERTH_ENOMEM. O(edges * rules + devs * ops). */
berth_status berth_fused_times(berth_problem *p, berth_err *err);
