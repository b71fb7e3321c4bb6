/* The bounds that a search is told with. */
#ifndef BERTH_SEARCH_BOUNDS_H
#define BERTH_SEARCH_BOUNDS_H

#include "bounds.h"

/* Bounds in a user's words. */
typedef struct berth_bound_options {
	/* "fast": those of berth_bounds_new. "strong": all that berth_bounds_strengthen can do. "auto" or
	 * NULL: strong ones in 0.2 s of work, or in a tenth of the search where that is more. */
	const char *bound;
	const berth_objective *objective; /* NULL: bounds of all metrics are wanted */
	int64_t evaluations; /* of the search; below 0: not said, as berth_search_options */
	double time_s;       /* of the search; 0: no limit */
	int64_t nodes;       /* of each search of a block between gates; 0: the default */
} berth_bound_options;

/* Work is counted, not timed: the same options give the same bounds (bounds_effort.h). out->kind tells which
 * they are. tmp is scratch. Fails: BERTH_EINVAL (no such word), BERTH_ENOMEM. */
berth_status berth_search_bounds(const berth_problem *p, const berth_bound_options *o, berth_arena *tmp,
                                 berth_bounds *out, berth_err *err);

/* The best certificate of what berth_search_bounds tells, or of told_ns, which an exact method has proven,
 * where a tree proves that in x->nodes nodes. It may prove less. As berth_bounds_certify. Fails: as above;
 * BERTH_EUNSUPPORTED (the cost model has none). */
berth_status berth_search_certify(const berth_problem *p, const berth_bound_options *o, int64_t told_ns,
                                  berth_bound_proof *x, berth_arena *tmp, berth_err *err);

#endif
