/* Lower bounds along paths of the graph, where latency and energy are weighed against each other.
 *
 * For weights A, C >= 0, path(A, C) is a bound of A * latency + C * (joules beside those at rest). It is the
 * length of the CEFT recurrence with both in the cost of an operator. Limits are weighed in by multipliers.
 * docs/proofs.md, "Path bound". */
#ifndef BERTH_BOUNDS_PATH_H
#define BERTH_BOUNDS_PATH_H

#include "bounds_joint.h"

/* Bound of the weighted sum under the limits of j, with the load's bound load_s. p->has_energy holds where
 * the energy has a weight or a limit. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(edges * devs^2),
 * some 60 times where there are limits. */
berth_status berth_path_joint(const berth_problem *p, const berth_joint *j, double load_s, berth_arena *tmp,
                              double *out, berth_err *err);

/* Bound of energy * latency, from those of either. As above, 13 times. */
berth_status berth_path_edp(const berth_problem *p, double latency_s, double energy_j, berth_arena *tmp,
                            double *out, berth_err *err);

#endif
