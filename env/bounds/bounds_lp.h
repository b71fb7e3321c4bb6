/* Lower bounds of the latency and of the largest load from the linear relaxation of the placement model. */
#ifndef BERTH_BOUNDS_LP_H
#define BERTH_BOUNDS_LP_H

#include "bounds_effort.h"
#include "problem.h"

enum { BERTH_BOUNDS_LP_CELLS = 16000 };

/* The least of the value of the relaxation (placement_lp.h) and `upper`, the latency up to which the model
 * holds. It weighs paths, loads of devices and channels, and memory together. The value is not taken from the
 * solver: its duals, in whole numbers, are checked exactly (certificate.h), whatever they are. Where they do
 * not prove what the solver says, budget->dropped is set. docs/proofs.md, "Linear relaxation".
 *   lower_ns  a bound known already; upper is eight times it
 *   *out_ns   0 where the model is beyond BERTH_BOUNDS_LP_CELLS edges * devs^2 or operators * devs, where
 *             solving it would take more than the work that is left, or where there is no solver
 * tmp's hook gives the memory. Fails: BERTH_ENOMEM. Some seconds at the largest; the simplex is cut after a
 * number of iterations. */
berth_status berth_bounds_lp(const berth_problem *p, int64_t lower_ns, berth_bound_work *budget,
                             berth_arena *tmp, int64_t *out_ns, berth_err *err);

/* The same for the throughput: a lower bound of the largest load of a device or channel, from one that is
 * known already. It weighs operators and transfers together, where a channel carries one at a time, under
 * what devices can hold. */
berth_status berth_bounds_load_lp(const berth_problem *p, double lower_ns, berth_bound_work *budget,
                                  berth_arena *tmp, double *out_ns, berth_err *err);

#endif
