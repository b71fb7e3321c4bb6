/* Changed systems; see whatif.h. */
#include "whatif.h"

#include "system_set.h"
#include "timeline.h"

#include <math.h>
#include <string.h>

typedef struct asker {
	const berth_whatif_cfg *cfg;
	const berth_graph *g;
	berth_problem p;
	berth_arena *mem, *tmp;
} asker;

static berth_status apply(berth_system *s, const char *changes, berth_arena *tmp, berth_err *err)
{
	for (const char *at = changes; *at;) {
		size_t n = strcspn(at, ",");
		char *one = berth_arena_strndup(tmp, at, n);
		if (!one)
			return berth_nomem(err);
		BERTH_TRY(berth_system_set(s, one, tmp, err));
		at += n + (at[n] == ',');
	}
	berth_status st = berth_system_check(s, tmp, err);
	return st == BERTH_EFORMAT ? berth_fail_in(err, BERTH_EINVAL, "after '%.80s': ", changes) : st;
}

static berth_status judge(const asker *a, berth_whatif_side *side, berth_err *err)
{
	berth_timeline t;
	const berth_objective *o = &a->cfg->search.objective;
	BERTH_TRY(berth_timeline_new(&a->p, side->op_dev, side->order, a->tmp, &t, err));
	BERTH_TRY(berth_judge_timeline(&a->p, &t, o, a->mem, &side->v, err));
	side->answered = t.r.runs;
	side->broken = side->v.feasible ? NULL : side->v.broken.item[0].message;
	return BERTH_OK;
}

/* The placement that keeps colocation and legal devices can be offered to a search. */
static bool is_legal(const berth_problem *p, const int32_t *op_dev)
{
	for (int32_t op = 0; op < p->n_ops; op++)
		if (!berth_op_legal(p, op, op_dev[op]) ||
		    op_dev[op] != op_dev[p->coloc_op[p->coloc_off[p->op_coloc[op]]]])
			return false;
	return true;
}

static berth_status solve(const asker *a, const berth_whatif_row *row, berth_whatif_side *side,
                          berth_err *err)
{
	berth_search *s;
	*side = (berth_whatif_side){.v.value = NAN};
	for (int m = 0; m < BERTH_N_METRICS; m++)
		side->v.metric[m] = NAN;
	if (berth_problem_feasible(&a->p, NULL) != BERTH_OK) {
		side->broken = "no placement keeps the rules";
		return BERTH_OK;
	}
	BERTH_TRY(BERTH_NEW(a->mem, s, 1, err));
	BERTH_TRY(berth_search_new(&a->p, &a->cfg->search, a->mem, s, err));
	s->bound = row->lower_bound;
	if (is_legal(&a->p, row->same.op_dev))
		berth_search_offer(s, row->same.op_dev, row->same.order);
	BERTH_TRY(berth_method_run(a->cfg->method, s, a->tmp, err));
	side->evaluations = s->evaluations;
	if (!isfinite(s->best.excess)) {
		side->broken = "no placement was found";
		return BERTH_OK;
	}
	side->op_dev = s->best_dev;
	side->order = berth_search_order(s);
	return judge(a, side, err);
}

static berth_status ask(asker *a, const berth_system *s, const int32_t *op_dev, const int32_t *order,
                        const char *changes, berth_whatif_row *row, berth_err *err)
{
	berth_bounds bounds;
	*row = (berth_whatif_row){.same = {.op_dev = op_dev, .order = order, .evaluations = 1}};
	BERTH_TRY(berth_system_clone(s, a->mem, &row->s, err));
	BERTH_TRY(apply(&row->s, changes ? changes : "", a->tmp, err));
	BERTH_TRY(berth_problem_new(a->g, &row->s, a->mem, a->tmp, &a->p, err));
	BERTH_TRY(berth_objective_check(&a->cfg->search.objective, &a->p, err));
	BERTH_TRY(berth_bounds_new(&a->p, a->tmp, &bounds, err));
	BERTH_TRY(berth_bounds_objective(&a->p, &bounds, &a->cfg->search.objective, a->tmp, &row->lower_bound,
	                                 err));
	BERTH_TRY(judge(a, &row->same, err));
	return solve(a, row, &row->anew, err);
}

berth_status berth_whatif(const berth_graph *g, const berth_system *s, const int32_t *op_dev,
                          const int32_t *order, const char *changes, const berth_whatif_cfg *cfg,
                          berth_arena *mem, berth_arena *tmp, berth_whatif_row *out, berth_err *err)
{
	asker a = {.cfg = cfg, .g = g, .mem = mem, .tmp = tmp};
	berth_whatif_row row;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = ask(&a, s, op_dev, order, changes, &row, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = row;
	return st;
}
