/* Refinement back through the levels of a coarsening: first improvement over moves of groups, then of the
 * nodes of finer levels, last of colocation groups. Without that last, ungrouped search grouping could
 * exclude the optimum. */
#ifndef BERTH_REFINE_H
#define BERTH_REFINE_H

#include "coarsen.h"
#include "improve.h"

typedef struct berth_levels {
	int32_t n;           /* coarsest first; the last one is the colocation groups */
	berth_blocks *level; /* [n] */
} berth_levels;

/* Block lists of the levels of c that are worth a round: each at least a quarter smaller than the next finer
 * one. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_levels_new(const berth_problem *p, const berth_coarsening *c, berth_arena *mem,
                              berth_levels *out, berth_err *err);

/* op_dev and score in and out. About `evaluations` evaluations over all levels; the last level gets what the
 * others leave. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_refine(berth_search *s, const berth_levels *levels, int32_t *op_dev, berth_score *score,
                          int64_t evaluations, berth_rng *rng, berth_arena *tmp, berth_err *err);

#endif
