/* The bounds that a search is told with; see search_bounds.h. */
#include "search_bounds.h"

#include "search.h"
#include "text.h"

enum { FAST, AUTO, STRONG, N_BOUNDS };

berth_status berth_search_bounds(const berth_problem *p, const berth_bound_options *o, berth_arena *tmp,
                                 berth_bounds *out, berth_err *err)
{
	static const char *const names[N_BOUNDS] = {"fast", "auto", "strong"};
	berth_bound_effort e = berth_bound_effort_all(o->objective);
	int64_t evaluations = o->evaluations >= 0 ? o->evaluations
	                      : o->time_s > 0     ? BERTH_UNLIMITED
	                                          : berth_search_cfg_default().evaluations;
	int32_t at = AUTO;
	if (o->bound)
		BERTH_TRY(berth_text_find(names, N_BOUNDS, o->bound, "bound", NULL, &at, err));
	BERTH_TRY(berth_bounds_new(p, tmp, out, err));
	if (at == FAST)
		return BERTH_OK;
	if (at == AUTO)
		e.work_ns = berth_bound_work_for(p, evaluations, o->time_s);
	if (o->nodes > 0)
		e.nodes = o->nodes;
	return berth_bounds_strengthen(p, &e, tmp, out, err);
}
