/* How far a comparison of two placements may be off, as far as times are predicted. */
#pragma once

#include "problem_tables.h"

/* Expected error of the ratio of two placements' times, a and b [n_ops], as a share: what a device's times
 * are off by is common to all of its operators, and that of unlike devices independent, so what both
 * placements have on a device cancels. 0 where all times are measured, or the two are the same. Operators
 * that cannot run are not counted. O(ops * types that a device names). */
double berth_ratio_error(const berth_problem *p, const int32_t *a, const int32_t *b);

/* What the times of the operators that op_dev [n_ops] has on dev are from: "model", or several, as in
 * "measured, roofline"; NULL: none is there. The text is static. O(ops). */
const char *berth_times_from(const berth_problem *p, const int32_t *op_dev, int32_t dev);
