/* A random instance (instance.h) read, compiled and simulated. */
#ifndef COMPILED_INSTANCE_H
#define COMPILED_INSTANCE_H

#include "placement.h"
#include "timeline.h"

typedef struct compiled_instance {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_placement placement;
	berth_timeline t;
} compiled_instance;

/* Up to 14 operators on up to 5 devices. */
void compiled_instance_make(compiled_instance *c, uint64_t seed);
void compiled_instance_free(compiled_instance *c);

/* The sum of check() over those of seeds 0 to n - 1 that have operators and run by the system's rule. */
int compiled_instance_each(uint64_t n, int (*check)(compiled_instance *c, uint64_t seed));

#endif
