/* The best single device, and why none is an answer. */
#ifndef BERTH_CLI_PLACE_SINGLE_H
#define BERTH_CLI_PLACE_SINGLE_H

#include "check.h"

typedef struct place_single {
	double value;    /* of the best one that is feasible; NAN: none */
	const char *why; /* none is: what stands against it; else NULL */
} place_single;

/* Judge every device with all operators on it (berth_single_placement), none of them mended. Where none is
 * feasible `why` tells it, as "the latency limit excludes every single device". A reason that holds for all
 * devices is told alone; else all that there are. The text lives in mem. Fails: BERTH_ENOMEM. One simulation
 * a device. */
berth_status place_single_find(const berth_problem *p, const berth_objective *o, berth_arena *mem,
                               place_single *out, berth_err *err);

#endif
