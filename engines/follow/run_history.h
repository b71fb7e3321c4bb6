/* What adapting goes by: placements that were run, what moving to another one costs, and planning anew. */
#pragma once

#include "arena.h"
#include "fitted_sim.h"
#include "problem.h"
#include "solve.h"
#include "threads.h"

/* Placements that were run, and what a step of theirs took, as long as the machine is the same.
 *
 * The machine is taken to be another one when the running placement takes longer or shorter than before, by
 * more than a threshold. What was known of the others is forgotten then. The engine warms up in the first
 * window after a switch, so that this window stands only until the next one. */

typedef struct berth_run_record {
	int32_t *op_dev, *order;  /* [n_ops] */
	int32_t n_steps;          /* measured since the machine last changed; 0: nothing is known */
	double step_s;            /* mean of windows' medians, weighted by steps */
	bool cold;                /* known from its first window alone */
	double least_s;           /* of its windows but cold ones, on whatever machine; 0: none */
} berth_run_record;

typedef struct berth_run_history {
	int32_t n_ops;
	double threshold;         /* a relative difference below it is noise */
	berth_arena *mem;
	berth_run_record **record;  /* [n] */
	size_t n, cap;
	berth_run_record *now;           /* the one that runs; NULL: none was measured yet */
	bool cold;                /* the last window was the first one after a switch */
	int32_t n_warm;           /* steps since then, without that window */
	int32_t n_changes;        /* how often the machine was taken to be another one */
} berth_run_history;

/* The placement runs: n_steps steps took step_s each. Fails: BERTH_ENOMEM. */
berth_status berth_run_history_measure(berth_run_history *h, const int32_t *op_dev, const int32_t *order,
                                       int32_t n_steps, double step_s, berth_err *err);

/* Was it run on this machine, and is not what runs now? Devices count. The order counts only where the
 * devices are those of what runs. */
bool berth_run_history_has(const berth_run_history *h, const int32_t *op_dev, const int32_t *order);

/* Did what runs run for long enough to be judged? */
bool berth_run_history_judged(const berth_run_history *h);

/* The best placement that was measured better than what runs, by more than noise. NULL: none, or what runs is
 * not judged yet. */
const berth_run_record *berth_run_history_better(const berth_run_history *h);

/* The placement that was fastest, on whatever machine, if that was faster than what runs is now, by more than
 * noise: the machine may be that one again. NULL: none was. */
const berth_run_record *berth_run_history_once_faster(const berth_run_history *h);

/* What a migration from one placement to another takes: parameters and state go over the links. */

typedef struct berth_migration {
	int32_t n_moved; /* operators that change their device */
	double seconds;
} berth_migration;

/* Parameters and state of each operator that changes its device go from the old to the new one, along the
 * route of the tensors nearest in size. A shared parameter goes once to each device that has none of its
 * users yet. All go one after the other, so that it is an upper bound where links work side by side.
 *   from, to  [n_ops] devices
 *   tmp       scratch, reset at exit
 * Fails: BERTH_ENOMEM. O(ops * classes + uses of shared parameters). */
berth_status berth_migration_cost(const berth_problem *p, const int32_t *from, const int32_t *to,
                                  berth_arena *tmp, berth_migration *out, berth_err *err);

/* Placing anew beside what goes on: a method solves on a copy of the present times, in a thread of its own,
 * while the model runs. Its answers depend on these times, never on how long it takes. */

/* What solves; the best single device is considered too. */
#define BERTH_REPLAN_METHOD "ceft-pbqp"


enum { BERTH_REPLAN_METHODS = 2 };

/* Zeros at first. Stays where it is from its beginning until it was given up. */
typedef struct berth_replan {
	berth_arena mem, tmp; /* its own: nobody else allocates while it is under way */
	berth_fitted_sim f;   /* by the times as they were when it began */
	berth_solution answer[BERTH_REPLAN_METHODS]; /* of the method, and the best single device */
	double took_s;                               /* of the clock */
	berth_status st;
	berth_err err;
	berth_task task;
	atomic_bool done;
} berth_replan;

/* Begin with the present times of a calibration, which may change from then on. Always berth_replan_give_up
 * it, also where this fails. Fails: BERTH_ENOMEM. */
berth_status berth_replan_begin(berth_replan *x, const berth_calibration *c, berth_err *err);

/* Has it its answers? */
bool berth_replan_done(const berth_replan *x);

/* Until it has its answers, which live in x. Fails: as berth_solve. */
berth_status berth_replan_wait(berth_replan *x, berth_err *err);

/* Wait for it where it is under way, and forget all of it. */
void berth_replan_give_up(berth_replan *x);
