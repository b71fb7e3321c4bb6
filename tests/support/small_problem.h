/* A problem of a graph and a system, as tests write them. */
#ifndef SMALL_PROBLEM_H
#define SMALL_PROBLEM_H

#include "problem.h"

/* Read both, in mem; what cannot be read fails the test. */
void read_both(const char *graph, const char *system, berth_arena *mem, berth_arena *tmp, berth_graph *g,
               berth_system *s);

typedef struct small_problem {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
} small_problem;

/* Read and compile both; scratch is left as it was. What cannot be read fails the test. */
void small_problem_make(small_problem *w, const char *graph, const char *system);
/* The same of a zoo spec and the name of a built-in system. */
void small_problem_build(small_problem *w, const char *graph, const char *system);
void small_problem_free(small_problem *w);

#endif
