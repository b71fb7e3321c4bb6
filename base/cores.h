/* The cores that this process may run on: neither those that a container or taskset keeps from it nor those
 * that are off. */
#pragma once

#include <stdint.h>

enum { BERTH_MAX_CORES = 1024 };

/* Their numbers (those of the system's processors) into core[max], lowest first; returns how many, 0 where
 * nobody says. With hwloc one processor a core, without it each of the threads that a core's hardware shares
 * is one. */
int32_t berth_cores(int32_t *core, int32_t max);

/* Keep the calling thread on a core from now on. It stays where the system puts it where that cannot be. */
void berth_cores_bind(int32_t core);
