/* What an answer is held against: the best single device, and single operators where blocks were kept whole.
 */
#pragma once

#include "check.h"
#include "solve.h"

typedef struct berth_single {
	double value;    /* of the best device that is feasible; NAN: none */
	int32_t dev;     /* that device; -1: none */
	const char *why; /* none is: what stands against it; else NULL */
} berth_single;

/* Judge every device with all operators on it (berth_single_placement), none of them mended. Where none is
 * feasible `why` tells it, as "the latency limit excludes every single device". A reason that holds for all
 * devices is told alone; else all that there are. The text lives in mem. Fails: BERTH_ENOMEM. One simulation
 * a device. */
berth_status berth_single_best(const berth_problem *p, const berth_objective *o, berth_arena *mem,
                               berth_single *out, berth_err *err);

/* What a granularity and a limit of cuts cost. */
typedef struct berth_finer {
	bool known;
	double value; /* of single operators; NAN: nothing was found that fits */
	double cost;  /* coarse value / finer value - 1, at least 0; NAN: one of them is not known */
	int64_t cuts; /* of the answer; -1: cuts are not limited */
	int64_t evaluations;
	double wall_s;
} berth_finer;

/* Solve `whole`, the graph without these rules, on the system of r's problem by r's method with the budget of
 * cfg, and put that beside r. A finer plan is never worse: the coarse one is legal there too. Untouched where
 * r was interrupted. Fails: as berth_solve does. */
berth_status berth_finer_find(const berth_graph *whole, const berth_solution *r, const berth_search_cfg *cfg,
                              berth_arena *mem, berth_arena *tmp, berth_finer *out, berth_err *err);
