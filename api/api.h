/* What the objects of berth.h are made of, and what the files of this room share. */
#pragma once

#include "status.h" /* first: berth.h leaves its copy out */

#include "berth.h"

#include "check.h"
#include "load.h"
#include "partial.h"
#include "placement.h"
#include "search.h"
#include "system.h"

struct berth_model {
	berth_arena mem;
	berth_graph g;
	berth_read_report report;
};

struct berth_machine {
	berth_arena mem;
	berth_system s;
	const char **warning; /* [n_warnings] */
	int32_t n_warnings;
};

struct berth_plan {
	berth_arena mem;
	const berth_model *model;
	berth_graph g;  /* the model's, with the rules of the options */
	berth_system s; /* the machine's; of a plan's file as its engine runs plans, with times as it says */
	berth_problem p;
	berth_bounds bounds;
	double lower_bound;
	berth_placement placement;
	const char *status;
	berth_timeline t;
	berth_verdict v;
};

/* An object that is given to the caller if st is fine, and freed otherwise. */
#define GIVE(st, object, free_object, out) \
	do {                               \
		if ((st) == BERTH_OK)      \
			*(out) = (object); \
		else                       \
			free_object(object); \
		return (st);               \
	} while (0)

/* What a search is told through, behind the callback of the options. */
typedef struct api_listener {
	const berth_options *options;
	atomic_int stop;
} api_listener;

/* The options, or the defaults where there are none. */
berth_options api_options(const berth_options *options);

/* The search that the options describe; its pool is the caller's to free. What they name lives in mem.
 * Fails: BERTH_EINVAL, BERTH_EFORMAT and BERTH_EIO (the policy), BERTH_ENOMEM. */
berth_status api_search_cfg(const berth_options *o, api_listener *l, berth_arena *mem, berth_search_cfg *out,
                            berth_err *err);

/* Fill problem and bounds of a plan that has no more than a system, or nothing at all: the machine's then.
 * The bounds are those that the options ask for, the fast ones where o is NULL. Fails as berth_problem_new;
 * BERTH_EINVAL (no such bound or objective). */
berth_status api_plan_compile(berth_plan *plan, const berth_model *model, const berth_machine *machine,
                              const berth_options *o, berth_arena *tmp, berth_err *err);

/* plain with the rules of the options, in mem. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status api_add_rules(const berth_graph *plain, const berth_machine *machine, const berth_options *o,
                           berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_err *err);

/* Simulate and judge the placement that the plan holds. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status api_plan_judge(berth_plan *plan, berth_err *err);

/* The objective that the plan was made for. */
berth_objective api_plan_objective(const berth_plan *plan);

/* BERTH_EINFEASIBLE where an operator sits where it cannot run. */
berth_status api_plan_runs(const berth_plan *plan, berth_err *err);

/* ---- users' own methods ---- */

struct berth_evaluator {
	berth_plan plan; /* of one that a user made: the problem; else zeros */
	berth_plan told; /* the same with the best so far, which is in mem of its own */
	berth_search own, *s;
	berth_pool *pool;
	api_listener listener;
	berth_view view;
	berth_partial *part;
	int32_t n_placed, ready_of; /* ready_ns is of this operator; -1: of none */
	int64_t *ready_ns;          /* [n_devs] */
	int32_t *place_of;          /* [n_ops] scratch */
	/* what was asked for in vain: beyond the budget, and no placements; the first of these; -1: none */
	int64_t refused, illegal;
	int32_t illegal_op, illegal_dev;
};

/* An evaluator, zeros before, on a search; what it needs beside lives in mem. Fails: BERTH_ENOMEM. */
berth_status api_evaluator_open(berth_evaluator *e, berth_search *s, berth_arena *mem, berth_err *err);

/* Can these [n_ops] be a placement and an order? */
bool api_evaluator_legal(berth_evaluator *e, const int32_t *device);
bool api_evaluator_ordered(const berth_evaluator *e, const int32_t *order);
