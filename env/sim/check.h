/* A placement judged: what it is worth, and what stands against it. Both are results, not errors. */
#pragma once

#include "objective.h"
#include "timeline.h"

typedef enum berth_violation_kind {
	BERTH_VIOLATION_CANNOT_RUN, /* the device cannot run the operator; without a device: none can */
	BERTH_VIOLATION_PIN,        /* the operator is pinned to another device */
	BERTH_VIOLATION_FORBID,     /* the device is forbidden to the operator */
	BERTH_VIOLATION_COLOCATION, /* the operator is apart from its colocation group */
	BERTH_VIOLATION_SEPARATION, /* the operator is together with another of its separation group */
	BERTH_VIOLATION_CONTIGUITY, /* a path leaves the operator's contiguous device and comes back here */
	BERTH_VIOLATION_CUTS,       /* more borders between blocks are cuts than may be (constraints.h) */
	BERTH_VIOLATION_RULES,      /* no placement keeps separation, contiguity and cuts together */
	BERTH_VIOLATION_MEMORY,     /* the peak of a device is above its memory less its margin */
	BERTH_VIOLATION_POOL,       /* the peak of a memory pool is above its bytes */
	BERTH_VIOLATION_LIMIT       /* a metric is above the limit of the objective */
} berth_violation_kind;

typedef struct berth_violation {
	berth_violation_kind kind;
	int32_t op, dev;       /* -1: none in particular */
	int32_t pool;          /* of pools only; -1 otherwise */
	int64_t needed, limit; /* bytes, of memory and pools only; -1 otherwise */
	int metric;            /* a berth_metric, of limits only; -1 otherwise */
	double value, most;    /* the metric's value and limit, in its unit */
	const char *message;
} berth_violation;

typedef struct berth_violations {
	berth_violation *item; /* [n] operators ascending, then devices, pools */
	int32_t n;
	size_t cap;
} berth_violations;

/* "cannot-run", "pin", "forbid", "colocation", "separation", "contiguity", "cuts", "rules", "memory",
 * "pool", "limit". */
const char *berth_violation_name(berth_violation_kind kind);

typedef struct berth_verdict {
	bool feasible;                  /* it runs, and breaks nothing */
	double metric[BERTH_N_METRICS]; /* NAN: not known, or it does not run */
	double value;                   /* of the objective; NAN as above */
	berth_violations broken;        /* all that it breaks; memory and limits only where it runs */
} berth_verdict;

/* Simulate a placement and judge it.
 *   op_dev, order  [n_ops] as berth_timeline_new takes them
 *   o              the objective; NULL: the latency, without limits
 *   t, out         the simulation and the verdict
 * Both live in mem. Fails: BERTH_ENOMEM. */
berth_status berth_judge(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                         const berth_objective *o, berth_arena *mem, berth_timeline *t, berth_verdict *out,
                         berth_err *err);

/* The same for a placement that is simulated already: of t its result, its placement and its peaks are
 * read. O(ops + edges + devs). */
berth_status berth_judge_timeline(const berth_problem *p, const berth_timeline *t, const berth_objective *o,
                                  berth_arena *mem, berth_verdict *out, berth_err *err);

/* The operators that no placement can serve, and why. Empty if berth_problem_feasible is BERTH_OK. As above.
 * O(ops * devs). */
berth_status berth_check_problem(const berth_problem *p, berth_arena *mem, berth_violations *out,
                                 berth_err *err);
