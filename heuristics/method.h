/* A placement method, and running one. Each method is a file of its own, with a line in a registry. */
#pragma once

#include "search.h"

typedef struct berth_method {
	const char *name;  /* as on the command line */
	const char *about; /* one sentence with the source */
	bool searches;     /* uses the budget of evaluations; the others answer at once */
	/* Offer at least one legal placement to the search; its incumbent is the answer. Fails:
	 * BERTH_ENOMEM, BERTH_EINVAL, BERTH_EUNSUPPORTED (a kind of rule, objective or limit that the method
	 * cannot do). */
	berth_status (*run)(berth_search *s, berth_arena *tmp, berth_err *err);
	/* The package whose lack at build time leaves the method unable to run; NULL: it can. The pointer is
	 * NULL where the method stands on no optional library; ask berth_method_missing. */
	const char *(*missing)(void);
	const char *source; /* who published it, where and when */
} berth_method;

static inline const char *berth_method_missing(const berth_method *m)
{
	return m->missing ? m->missing() : NULL;
}

/* Run a method on a search. Where the graph has blocks, a method that searches starts behind stages
 * (stages.h). Afterwards the incumbent is repaired (repair.h), where it is not feasible. The incumbent of a
 * method that searches is repaired only while budget is left, for the sake of the rule of search.h; such a
 * method does well to start from a repaired placement. Pins, forbidden devices and colocation hold by
 * construction. tmp is scratch, reset at exit. Fails: as the method does. */
berth_status berth_method_run(const berth_method *m, berth_search *s, berth_arena *tmp, berth_err *err);

/* Run a method that answers at once for the search s, but on a search of its own: sub, which lives in tmp. It
 * knows the objective and the seed of s, and its limit of time, but no incumbent. What it counted as work, s
 * has counted. Fails: BERTH_ENOMEM, and as the method does. */
berth_status berth_method_run_apart(const berth_method *m, berth_search *s, const berth_objective *objective,
                                    berth_search *sub, berth_arena *tmp, berth_err *err);

/* For each limit in turn, while the incumbent of s breaks it: the method searches for that metric alone,
 * under the limits before it, until a placement keeps the limit. What it finds is offered to s. So what the
 * method finds with this seed and budget for the metric of a limit, it finds under the limit too. The
 * evaluations are of the budget of s; where the first limit needs all of it nothing is left. Nothing is done
 * for methods that do not search, or that do not search for such a metric. tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM, and as the method. */
berth_status berth_limits_first(const berth_method *m, berth_search *s, berth_arena *tmp, berth_err *err);
