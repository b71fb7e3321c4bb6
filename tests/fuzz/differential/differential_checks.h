/* What the differential fuzzer holds against each other on one case: a graph, a system and a placement. */
#pragma once

#include "placement.h"
#include "problem.h"
#include "rng.h"

/* A case as its three files, and its compiled form. */
typedef struct differential_case {
	const char *graph, *system, *placement; /* JSON texts, borrowed */
	uint64_t seed;                          /* of what a check draws */
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_placement pl;
	berth_problem p;
} differential_case;

/* Read and compile; false where the texts are no case. differential_close in both cases. */
bool differential_open(differential_case *c, const char *graph, const char *system, const char *placement,
                       uint64_t seed);
void differential_close(differential_case *c);

typedef struct differential_check {
	const char *name, *about;
	/* Every how many cases it is made: the slow ones seldom. */
	int every;
	/* NULL: all is as it has to be. Else what is not, in c->mem. Both arenas are c's own. */
	const char *(*run)(differential_case *c);
} differential_check;

extern const differential_check differential_checks[];
extern const int differential_n_checks;

/* The check of that name; NULL: none. */
const differential_check *differential_find(const char *name);
