/* What a migration from one placement to another takes: parameters and state go over the links. */
#ifndef BERTH_MIGRATION_COST_H
#define BERTH_MIGRATION_COST_H

#include "problem.h"

typedef struct berth_migration {
	int32_t n_moved; /* operators that change their device */
	double seconds;
} berth_migration;

/* Parameters and state of each operator that changes its device go from the old to the new one, along the
 * route of the tensors nearest in size. A shared parameter goes once to each device that has none of its
 * users yet. All go one after the other, so that it is an upper bound where links work side by side.
 *   from, to  [n_ops] devices
 *   tmp       scratch, reset at exit
 * Fails: BERTH_ENOMEM. O(ops * classes + uses of shared parameters). */
berth_status berth_migration_cost(const berth_problem *p, const int32_t *from, const int32_t *to,
                                  berth_arena *tmp, berth_migration *out, berth_err *err);

#endif
