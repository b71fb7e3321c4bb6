/* Placements of a small sum of times whose bytes at rest fit, from others. For `least-sum`. */
#pragma once

#include "search.h"
#include "sum_walk.h"

typedef struct sum_improver {
	berth_search *s;
	const int64_t *coloc_bytes, *limit_bytes; /* [n_colocs] at rest; [berth_n_resources] -1: no limit */
	int32_t *coloc;                           /* [n_colocs] in the order in which they begin */
	int32_t *dev, *best_dev;                  /* [n_colocs] in that order */
	int64_t *used;                            /* [berth_n_resources] */
	berth_sum_walk walk;
} sum_improver;

/* In mem. The arrays of bytes are borrowed. Fails: BERTH_ENOMEM. */
berth_status sum_improver_new(berth_search *s, const int64_t *coloc_bytes, const int64_t *limit_bytes,
                              berth_arena *mem, sum_improver *out, berth_err *err);

/* The best of all placements that are one of the two up to some colocation group in the order, the other one
 * behind, and whose bytes fit: op_dev [n_ops] in and out, the better one of it and that. */
void sum_mix(sum_improver *x, const int32_t *first, const int32_t *second, int32_t *op_dev);

/* Runs of colocation groups that follow one another move to another device as long as any gains, and work may
 * be done. op_dev [n_ops] in and out; its bytes fit. */
void sum_move_runs(sum_improver *x, int32_t *op_dev);
