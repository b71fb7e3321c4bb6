/* Separation and contiguity kept: by exact search for a placement that keeps them, and by mending one that
 * breaks them. */
#ifndef BERTH_CONSTRAINTS_MEND_H
#define BERTH_CONSTRAINTS_MEND_H

#include "problem_tables.h"

/* Is it proven, by exact search within a bounded number of steps, that no placement keeps separation and
 * contiguity together with the other rules? Memory is not looked at. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_constraints_prove(const berth_problem *p, berth_arena *tmp, bool *infeasible,
                                     berth_err *err);

/* Mend separation and contiguity of a placement that keeps the other rules. Separated colocation groups come
 * first. Then, in topological order, each group stays where it is wanted, unless its device was left on a
 * path to it. Else it goes to a device that no path to it has left: that of a producer if possible, or the
 * fastest.
 *   op_dev   [n_ops] in and out; groups stay together and on legal devices
 *   kept     do all rules hold now?
 *   tmp      scratch
 * Fails: BERTH_ENOMEM. Passes of O((ops + edges) * devs / 64), then an exact search within a bounded number
 * of steps. */
berth_status berth_constraints_mend(const berth_problem *p, int32_t *op_dev, bool *kept, berth_arena *tmp,
                                    berth_err *err);

#endif
