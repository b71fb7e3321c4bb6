/* A lower bound of the latency where the fastest devices cannot hold all operators. */
#ifndef BERTH_BOUNDS_MEMORY_H
#define BERTH_BOUNDS_MEMORY_H

#include "problem.h"

/* Let b_i be the bytes that operator i keeps on its device for good (parameters of its own, state, output),
 * and c_d what device d may hold. For every price mu >= 0 of a byte on a device and every path P of the
 * graph, each placement that fits has
 *     latency >= length of P >= length of P + sum_d mu_d (sum of b_i on d - c_d)
 *             >= min over placements of (sum over P of (w_id + mu_d b_i) + transfers of P) + sum_{i not on
 *               P} min_d mu_d b_i - sum_d mu_d c_d,
 * and the minimum over the chain P is a shortest path over (operator, device). P is the critical path of
 * earliest finish times; mu is found by subgradients. 0 where no device has a limit. Rounded down with a
 * margin for sums in double. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(iterations * ops *
 * devs^2). */
berth_status berth_bounds_memory(const berth_problem *p, berth_arena *tmp, int64_t *lower_ns, berth_err *err);

#endif
