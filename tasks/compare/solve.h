/* One run of one method on one problem, and what is told about it: value, bound, gap, cost. The verbs place
 * and compare stand on it. */
#pragma once

#include "methods.h"
#include "placement.h"
#include "search.h"

typedef struct berth_solution {
	const berth_problem *p;
	const berth_method *method;
	berth_objective objective;
	uint64_t seed;
	int32_t walks;          /* of annealing, side by side, as was asked for */
	bool answered;          /* there is a placement: op_dev is set */
	bool feasible;          /* and it keeps all rules and fits */
	berth_proof proof;      /* what an exact method says of the value */
	bool interrupted;       /* the user had enough of it */
	const berth_search_point *found; /* [n_found] of a method in a process of its own */
	int32_t n_found;
	const char *note;       /* what the method did that it may not; NULL: nothing */
	double value;           /* NAN where it is not feasible */
	/* The larger of the problem's bound and one that the method has proven. NAN: not known. */
	double lower_bound, gap;
	const char *bound_kind; /* as berth_bounds; "proven": by the method */
	/* "optimal" (proven), "limit" (an exact method hit a limit), "feasible" or "infeasible". */
	const char *status;
	/* names of seeds that were cut short or left out for want of time (seeds.h) */
	const char *const *left_out;
	int32_t n_left_out;
	bool late;              /* the time was over before anything was searched behind the seeds */
	bool beyond;            /* so were the evaluations: the seeds took more */
	int64_t nodes;          /* of an exact method's search tree; 0: none */
	int32_t groups;         /* that it solved in the place of the operators; 0: it solved these */
	bool groups_optimal;    /* as groups, they are proven best */
	berth_order order;      /* rule that the value stands for */
	int64_t evaluations;
	double solve_s, wall_s; /* CPU seconds of all threads, seconds of the clock: of the method alone */
	int32_t *op_dev;        /* [n_ops] */
	int32_t *op_order;      /* [n_ops] where order is GIVEN, else NULL */
} berth_solution;

/* Run a method.
 *   bounds  of the problem      mem  holds the result      tmp  scratch, another arena, reset at exit
 * An infeasible problem or answer is a result, not an error. On a system whose order is `given`, a method
 * that makes none is taken to mean the topological order. Fails: BERTH_EINVAL (the method cannot do this
 * problem), BERTH_EFORMAT (objective without watts), BERTH_ELIMIT (no answer within the limits),
 * BERTH_ENOMEM. */
berth_status berth_solve(const berth_problem *p, const berth_bounds *bounds, const berth_method *m,
                         const berth_search_cfg *cfg, berth_arena *mem, berth_arena *tmp, berth_solution *out,
                         berth_err *err);

/* Is op_dev [n_ops] one of the placements that p is searched and bounded over: colocation groups
 * together, on devices that are legal for them? NULL: no. */
bool berth_solve_has(const berth_problem *p, const int32_t *op_dev);

/* Its status, from what else it says. */
void berth_solution_settle(berth_solution *r);

/* How to bound what is searched so: `bound` is one of the words of search.h. */
berth_bound_options berth_solve_bound(const char *bound, const berth_search_cfg *cfg);

/* What a placement file says of the answer, beside the names and digests that are in it; borrows its arrays.
 * Fails: BERTH_ENOMEM. */
berth_status berth_solution_tell(const berth_solution *r, berth_arena *mem, berth_placement *p,
                                 berth_err *err);
/* The answer as a placement file has it; borrows its arrays. Fails: BERTH_ENOMEM. */
berth_status berth_solution_placement(const berth_solution *r, berth_arena *mem, berth_arena *tmp,
                                      berth_placement *out, berth_err *err);
