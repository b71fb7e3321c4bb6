/* First improvement: the local search that other methods start with, end with, or are made of. */
#pragma once

#include "moves.h"
#include "search.h"

/* Disjoint blocks of operators that move together: CSR off [n+1] into op. Colocation groups stay whole. */
typedef struct berth_blocks {
	int32_t n;
	const int32_t *off, *op;
} berth_blocks;

/* First improvement over moves of single colocation groups, in random order, until a whole round brings
 * nothing or `evaluations` are made. op_dev in and out, with its score. Batches of candidates run on all
 * workers; the result does not depend on their number. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_improve(berth_search *s, int32_t *op_dev, berth_score *score, int64_t evaluations,
                           berth_rng *rng, berth_arena *tmp, berth_err *err);

/* The same over moves of blocks. Of a block, the operators that are not legal on the new device stay where
 * they are. */
berth_status berth_improve_blocks(berth_search *s, const berth_blocks *blocks, int32_t *op_dev,
                                  berth_score *score, int64_t evaluations, berth_rng *rng, berth_arena *tmp,
                                  berth_err *err);

/* Go on from the incumbent of s until the budget ends. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_local_search(berth_search *s, berth_arena *tmp, berth_err *err);
