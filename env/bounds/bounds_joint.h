/* A joint lower bound of weighted latency, load and energy, under limits on them: one choice of devices must
 * serve all terms at once.
 *
 * With latency T, largest load L, energy E, weights a, b, c >= 0 and limits T <= X, L <= Y, E <= Z, for any
 * multipliers u, v, z >= 0 of the limits
 *     aT + bL + cE >= (a+u) T + (b+v) L + (c+z) E - uX - vY - zZ.
 * E is at least idle T + sum_i p_d(i) w_id(i) / slots (idle: watts of all devices at rest; p_d: what device
 * d draws beside that when busy), so this is at least
 *     A T + B L + C sum_i p_d(i) w_id(i) / slots - ...,   A = a + u + (c+z) idle,  B = b + v,  C = c + z.
 * T is at least the length of the CEFT path, and T and L are at least sum_d lambda_d load_d for any lambda
 * in the simplex. So for any rho >= 0 with B <= sum rho <= A + B
 *     A T + B L >= sum_d rho_d load_d + (A + B - sum rho) ceft,
 * and the whole is at least sum_i min_d (rho_d + C p_d) w_id / slots_d + (A + B - sum rho) ceft - uX - vY -
 * zZ. This is concave in (rho, u, v, z) and is made large by projected supergradients; any point gives a
 * bound. */
#ifndef BERTH_BOUNDS_JOINT_H
#define BERTH_BOUNDS_JOINT_H

#include "objective.h"

typedef struct berth_joint {
	double latency, load, energy;             /* weights, per second, second and joule */
	double most_latency, most_load, most_energy; /* limits; INFINITY: none */
} berth_joint;

/* ceft_s, latency_s: length of the CEFT path, and the best bound of the latency. Without watts the energy's
 * weight must be 0 and its limit none. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(iterations *
 * ops * devs), at most about 4 million steps or 40 iterations. */
berth_status berth_joint_bound(const berth_problem *p, const berth_joint *j, double ceft_s, double latency_s,
                               berth_arena *tmp, double *out, berth_err *err);

#endif
