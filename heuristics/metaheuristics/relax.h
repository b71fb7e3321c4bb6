/* What would have to give way for a problem without a feasible placement to have one: the smallest change of
 * one rule, each with a placement that was found for it. */
#pragma once

#include "infeasible_subset.h"

typedef struct berth_relaxation {
	berth_rule rule;
	int64_t add_bytes; /* MEMORY and POOL: added to memory_bytes, to bytes of the pool; -1 otherwise */
	double most;       /* LIMIT: the new limit, in the unit of the metric; NAN otherwise: the rule goes */
	bool least;        /* MEMORY, POOL and LIMIT: proven that less is not enough */
	const char *text;  /* "+312 MiB on gpu1" */
} berth_relaxation;

typedef struct berth_relaxations {
	berth_relaxation *item; /* [n] memory by rising bytes, limits by rising share, then rules */
	int32_t n;
	bool together;          /* no one of them is enough: all of them together are */
} berth_relaxations;

/* Relaxations of a problem that is infeasible, or for which no feasible placement was found.
 *   subset       of berth_infeasible_subset_find. Its rules are tried; where it is not proven, what `op_dev`
 *                breaks
 *   op_dev       [n_ops] the least infeasible placement that was found, or NULL. Searches start from it, and
 *                no relaxation asks for more than it needs
 *   order        [n_ops] its order, or NULL: the system's rule
 *   until        searches end there, and what was not found by then is left out. NULL: to the end
 * The list lives in mem; tmp is scratch, another arena, reset at exit. Fails: BERTH_ENOMEM. A few short
 * searches a rule. */
berth_status berth_relax(const berth_problem *p, const berth_objective *o,
                         const berth_infeasible_subset *subset, const int32_t *op_dev,
                         const int32_t *order, const berth_patience *until, berth_arena *mem,
                         berth_arena *tmp, berth_relaxations *out, berth_err *err);
