/* A failing case made smaller: operators, devices, edges, links, pools and keys are left out one by one, as
 * long as the same check still fails. */
#pragma once

#include "differential_checks.h"

typedef struct shrunk {
	char *graph, *system, *placement; /* malloc */
	int operators, devices;
	char why[512]; /* what the check says of the small case */
} shrunk;

/* seed is the failing case's. False: the check does not fail on it. shrunk_free in both cases. */
bool shrink(const differential_check *check, uint64_t seed, const char *graph, const char *system,
            const char *placement, shrunk *out);
void shrunk_free(shrunk *s);
