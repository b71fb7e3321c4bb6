/* Placing anew beside what goes on: a method solves on a copy of the present times, in a thread of its own,
 * while the model runs. Its answers depend on these times and the seed, never on how long it takes. */
#ifndef BERTH_REPLAN_H
#define BERTH_REPLAN_H

#include "fitted_sim.h"
#include "solve.h"
#include "threads.h"

enum { BERTH_REPLAN_METHODS = 2 };

/* Zeros at first. Stays where it is from its beginning until it was given up. */
typedef struct berth_replan {
	const char *method;
	uint64_t seed;
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
berth_status berth_replan_begin(berth_replan *x, const berth_calibration *c, const char *method,
                                uint64_t seed, berth_err *err);

/* Has it its answers? */
bool berth_replan_done(const berth_replan *x);

/* Until it has its answers, which live in x. Fails: as berth_solve. */
berth_status berth_replan_wait(berth_replan *x, berth_err *err);

/* Wait for it where it is under way, and forget all of it. */
void berth_replan_give_up(berth_replan *x);

#endif
