/* Lower bounds along paths of the graph, where latency and energy are weighed against each other.
 *
 * For weights A, C >= 0 and any placement,  A T + C sum_i e_i >= longest + C sum_i min_d e_id,  where T is
 * the latency, e_id = p_d w_id / slots_d the joules of operator i on device d beside those at rest, and
 * longest the length of the CEFT recurrence with the cost A w_id + C (e_id - min_d e_id) of an operator and
 * A times the routed time of a transfer. Proof: by induction the recurrence at (i, device of i) is at most A
 * end(i) + C sum over a path to i of (e - min e), as each step takes one input, its device is one of those
 * that the recurrence minimises over, and no operator stands on a path twice.
 *
 * With idle the watts of all devices at rest, E >= idle T + sum_i e_i. So a T + c E >= path(a + c idle, c);
 * a limit T <= X or E <= Z adds, for any u, z >= 0, u T - u X or z E - z Z. EDP: lines E >= J - alpha T, one
 * for each alpha, and T >= its bound; the product is least where two of these meet. */
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
