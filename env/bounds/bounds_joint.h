/* A joint lower bound of weighted latency, load and energy, under limits on them: one choice of devices must
 * serve all terms at once. Multipliers of the limits and prices of devices and memory pools are made good by
 * projected supergradients; any of them give a bound. docs/proofs.md, "Joint bound". */
#ifndef BERTH_BOUNDS_JOINT_H
#define BERTH_BOUNDS_JOINT_H

#include "objective.h"

typedef struct berth_joint {
	double latency, load, energy;                /* weights, per second, second and joule */
	double most_latency, most_load, most_energy; /* limits; INFINITY: none */
} berth_joint;

/*   ceft_s, latency_s  length of the CEFT path, and the best bound of the latency
 * Without watts the energy's weight must be 0 and its limit none. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(iterations * ops * devs), at most about 4 million steps or 40 iterations. */
berth_status berth_joint_bound(const berth_problem *p, const berth_joint *j, double ceft_s, double latency_s,
                               berth_arena *tmp, double *out, berth_err *err);

#endif
