/* How much the strong bounds may cost. */
#pragma once

#include "certify.h"
#include "objective.h"

enum { BERTH_BOUND_NODES = 5000 };

#define BERTH_BOUND_ALL (INT64_MAX / 4) /* work without a limit */

/* Work is counted in steps, and each step at the nanoseconds that it takes on an ordinary core. No clock is
 * read: the same effort gives the same bounds. */
typedef struct berth_bound_effort {
	int64_t nodes;      /* of each search of a block between gates at most */
	int64_t work_ns;    /* of all, about; BERTH_BOUND_ALL: no limit */
	bool latency, load; /* which bounds are wanted: of the latency, of the largest load */
} berth_bound_effort;

/* All that the strong bounds can do for an objective; NULL: for all metrics. */
berth_bound_effort berth_bound_effort_all(const berth_objective *o);

/* The larger of 0.2 seconds of work and a tenth of a search of so many evaluations. Where seconds end it
 * before (0: no limit), a tenth of them at most. */
int64_t berth_bound_work_for(const berth_problem *p, int64_t evaluations, double time_s);

/* What is left of an effort while bounds are made. */
typedef struct berth_bound_work {
	int64_t left_ns;
	bool cut; /* something was left out, or cut, for want of work */
	bool dropped; /* a dual of the solver's proves less than its value */
	berth_bound_proof *proof; /* the best certificate is wanted; NULL: it is not */
} berth_bound_work;

/* Take ns of the work that is left. False, and cut: there is less. */
static inline bool berth_bound_spend(berth_bound_work *w, int64_t ns)
{
	if (w->left_ns >= BERTH_BOUND_ALL)
		return true;
	if (w->left_ns < ns) {
		w->cut = true;
		return false;
	}
	w->left_ns -= ns;
	return true;
}
