/* The bounds that a search is told with; see search_bounds.h. */
#include "search_bounds.h"

#include "certify.h"
#include "search.h"
#include "text.h"

enum { FAST, AUTO, STRONG, N_BOUNDS };

/* *at: which of the words; e: the effort that it stands for. */
static berth_status find_effort(const berth_problem *p, const berth_bound_options *o, int32_t *at,
                                berth_bound_effort *e, berth_err *err)
{
	static const char *const names[N_BOUNDS] = {"fast", "auto", "strong"};
	int64_t evaluations = o->evaluations >= 0 ? o->evaluations
	                      : o->time_s > 0     ? BERTH_UNLIMITED
	                                          : berth_search_cfg_default().evaluations;
	*at = AUTO;
	*e = berth_bound_effort_all(o->objective);
	if (o->bound)
		BERTH_TRY(berth_text_find(names, N_BOUNDS, o->bound, "bound", NULL, at, err));
	if (*at == AUTO)
		e->work_ns = berth_bound_work_for(p, evaluations, o->time_s);
	if (o->nodes > 0)
		e->nodes = o->nodes;
	return BERTH_OK;
}

berth_status berth_search_bounds(const berth_problem *p, const berth_bound_options *o, berth_arena *tmp,
                                 berth_bounds *out, berth_err *err)
{
	berth_bound_effort e;
	int32_t at;
	BERTH_TRY(find_effort(p, o, &at, &e, err));
	BERTH_TRY(berth_bounds_new(p, tmp, out, err));
	return at == FAST ? BERTH_OK : berth_bounds_strengthen(p, &e, tmp, out, err);
}

/* A tree for all operators at once: of the latency alone. */
static berth_status certify_whole(const berth_problem *p, int64_t told_ns, berth_bound_proof *x,
                                  berth_arena *tmp, berth_err *err)
{
	int64_t *known;
	size_t cells = (size_t)p->n_devs * (size_t)p->n_devs;
	BERTH_TRY(BERTH_NEW(tmp, known, 2 * cells, err));
	known[0] = x->best.bound_ns;
	known[cells] = told_ns;
	const berth_known_block all = {0, p->n_ops, -1, -1, known, known + cells};
	return berth_certify_blocks(p, &all, 1, x, tmp, err);
}

berth_status berth_search_certify(const berth_problem *p, const berth_bound_options *o, int64_t told_ns,
                                  berth_bound_proof *x, berth_arena *tmp, berth_err *err)
{
	berth_bound_effort e;
	int32_t at;
	BERTH_TRY(find_effort(p, o, &at, &e, err));
	BERTH_TRY(berth_bounds_certify(p, at == FAST ? NULL : &e, x, tmp, err));
	if (x->load || !x->any || x->best.bound_ns >= told_ns || p->n_ops > BERTH_CERTIFICATE_TREE_OPS)
		return BERTH_OK;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = certify_whole(p, told_ns, x, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}
