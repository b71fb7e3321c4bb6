/* Linear least squares with a prior: y = X beta + noise. Each row says how large its noise is. Each unknown
 * has a mean and a deviation that are known beforehand. That is ridge regression (Hoerl & Kennard 1970)
 * with a mean and a deviation of its own for each unknown. What the rows do not tell stays at its mean.
 * What they tell of several unknowns together is shared among them by their deviations.
 *
 * Solved by conjugate gradients for least squares (Hestenes & Stiefel 1952), in units of deviations. */
#pragma once

#include "arena.h"

#include <stdint.h>

typedef struct berth_ridge_entry {
	int32_t row, col;
	double x;
} berth_ridge_entry;

typedef struct berth_ridge_row_of {
	double y, noise;
} berth_ridge_row_of;

typedef struct berth_ridge {
	berth_arena *mem;
	int32_t n_cols, n_rows;
	double *mean, *deviation;   /* [n_cols] the caller's; deviation > 0 */
	double *beta;               /* [n_cols] out */
	berth_ridge_row_of *row;    /* [n_rows] */
	berth_ridge_entry *entry;   /* row by row, each column once a row */
	size_t n_entries, cap_entry, cap_row;
	size_t *latest;             /* [n_cols] 1 + the latest entry of the column; 0: none */
} berth_ridge;

/* No rows; means 0, deviations 1. All lives in mem. Fails: BERTH_ENOMEM. */
berth_status berth_ridge_new(int32_t n_cols, berth_arena *mem, berth_ridge *out, berth_err *err);

/* Add a row: what was observed, and the size of its noise (> 0). berth_ridge_put then sets coefficients of
 * that row; those of one column add up. */
berth_status berth_ridge_row(berth_ridge *r, double y, double noise, berth_err *err);
berth_status berth_ridge_put(berth_ridge *r, int32_t col, double x, berth_err *err);

/* Find beta by at most that many steps. It ends earlier once the slope has fallen to 1e-10 of what it was.
 * tmp is scratch. Fails: BERTH_ENOMEM. O(steps * entries). */
berth_status berth_ridge_solve(berth_ridge *r, int32_t steps, berth_arena *tmp, berth_err *err);
