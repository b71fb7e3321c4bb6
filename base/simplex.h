/* Small linear programs with nothing but "at most": the simplex method on a tableau. For a few dozen rows and
 * columns; larger ones, and whole numbers, are lp.h's. */
#pragma once

#include "arena.h"

/* max gain x over a x <= limit, x >= 0.
 *   a      [n_rows][n_cols] of a size near 1: entries up to 1e-9 are no pivots
 *   limit  [n_rows] at least 0
 *   gain   [n_cols]
 *   x      out [n_cols]
 *   value  out: gain x; INFINITY where nothing bounds it, or seems to by rounding
 * Bland's rule, which gives the same x everywhere. tmp is scratch, reset at exit. Fails: BERTH_ELIMIT (it has
 * not ended after so many pivots as only rounding, or a program made for it, can ask for), BERTH_ENOMEM.
 * O(pivots * rows * (rows + cols)). */
berth_status berth_simplex_max(int32_t n_rows, int32_t n_cols, const double *a, const double *limit,
                               const double *gain, berth_arena *tmp, double *x, double *value,
                               berth_err *err);
