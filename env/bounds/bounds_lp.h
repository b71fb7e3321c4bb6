/* A lower bound of the latency from the linear relaxation of the placement model. */
#ifndef BERTH_BOUNDS_LP_H
#define BERTH_BOUNDS_LP_H

#include "problem.h"

/* The relaxation (placement_lp.h) holds for every placement whose latency is at most some upper, so the
 * least of its value and upper is a lower bound. Its value is not taken from the solver: the solver's row
 * duals, those of one-sided rows cut to their sign, are put into the formula of berth_lp_dual_value, which
 * gives a bound whatever they are; 1e-8 of it is taken off for rounding. It weighs paths, loads of devices
 * and channels, and memory together.
 *
 * lower_ns: a bound known already; upper is eight times it. *out_ns: 0 where the model is beyond
 * BERTH_BOUNDS_LP_CELLS edges * devs^2, or there is no solver. tmp's hook gives the memory. Fails:
 * BERTH_ENOMEM. Some seconds at the largest; the simplex is cut after a number of iterations. */
enum { BERTH_BOUNDS_LP_CELLS = 16000 };
berth_status berth_bounds_lp(const berth_problem *p, int64_t lower_ns, berth_arena *tmp, int64_t *out_ns,
                             berth_err *err);

#endif
