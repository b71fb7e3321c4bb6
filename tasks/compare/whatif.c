/* A placement on changed systems: as it is, where its devices are still there, and solved anew from there.
 * What either costs and what stands against it is one row of what-if. */
#include "whatif.h"

#include "system_change.h"

typedef struct asker {
	const berth_whatif_cfg *cfg;
	const berth_graph *g;
	berth_problem p;
	berth_arena *mem, *tmp;
} asker;

static berth_whatif_side no_side(const char *broken)
{
	berth_whatif_side side = {.v.value = NAN, .broken = broken};
	for (int m = 0; m < BERTH_N_METRICS; m++)
		side.v.metric[m] = NAN;
	return side;
}

/* The placement on the changed system, whose devices may have other numbers: the same by names. It is none
 * where a device is gone that runs something. */
static berth_status move_over(const asker *a, const berth_system *from, berth_whatif_row *row, berth_err *err)
{
	int32_t *op_dev, *as;
	BERTH_TRY_NEW(a->tmp, from->n_devs, err, as);
	for (int32_t d = 0; d < from->n_devs; d++)
		as[d] = berth_system_find_dev(&row->s, from->dev_name[d]);
	BERTH_TRY_NEW(a->mem, a->g->n_ops, err, op_dev);
	for (int32_t op = 0; op < a->g->n_ops; op++) {
		op_dev[op] = as[row->same.op_dev[op]];
		if (op_dev[op] < 0) {
			const char *gone = from->dev_name[row->same.op_dev[op]];
			const char *broken = berth_arena_printf(a->mem, "device '%s' is gone", gone);
			row->same = no_side(broken);
			return berth_got(broken, err);
		}
	}
	row->same.op_dev = op_dev;
	return BERTH_OK;
}

static berth_status judge_side(const asker *a, berth_whatif_side *side, berth_err *err)
{
	berth_timeline t;
	const berth_objective *o = &a->cfg->search.objective;
	BERTH_TRY(berth_timeline_new(&a->p, side->op_dev, side->order, a->tmp, &t, err));
	BERTH_TRY(berth_judge_timeline(&a->p, &t, o, a->mem, &side->v, err));
	side->answered = t.r.runs;
	side->broken = side->v.feasible ? NULL : side->v.broken.item[0].message;
	return BERTH_OK;
}

static berth_status solve_anew(const asker *a, const berth_bounds *bounds, const berth_whatif_row *row,
                          berth_whatif_side *side, berth_err *err)
{
	berth_search_cfg cfg = a->cfg->search;
	berth_solution r;
	*side = no_side(NULL);
	if (berth_problem_feasible(&a->p, NULL) != BERTH_OK) {
		side->broken = "no placement keeps the rules";
		return BERTH_OK;
	}
	cfg.start_dev = row->same.op_dev;
	cfg.start_order = row->same.order;
	berth_status st = berth_solve(&a->p, bounds, a->cfg->method, &cfg, a->mem, a->tmp, &r, err);
	if (st == BERTH_ELIMIT) {
		side->broken = "no placement was found";
		return BERTH_OK;
	}
	BERTH_TRY(st);
	side->evaluations = r.evaluations;
	side->op_dev = r.op_dev;
	side->order = r.op_order;
	return judge_side(a, side, err);
}

berth_status berth_whatif(const berth_graph *g, const berth_system *s, const int32_t *op_dev,
                          const int32_t *order, const char *changes, const berth_whatif_cfg *cfg,
                          berth_arena *mem, berth_arena *tmp, berth_whatif_row *out, berth_err *err)
{
	asker a = {.cfg = cfg, .g = g, .mem = mem, .tmp = tmp};
	berth_whatif_row row;
	BERTH_SCRATCH(tmp);
	const berth_search_cfg *search = &a.cfg->search;
	berth_bound_options how = berth_solve_bound(a.cfg->bound, search);
	berth_bounds bounds;
	row = (berth_whatif_row){.same = {.op_dev = op_dev, .order = order, .evaluations = 1}};
	BERTH_TRY(berth_system_change(s, changes ? changes : "", a.mem, a.tmp, &row.s, err));
	BERTH_TRY(move_over(&a, s, &row, err));
	BERTH_TRY(berth_problem_new(a.g, &row.s, a.mem, a.tmp, &a.p, err));
	BERTH_TRY(berth_objective_check(&search->objective, &a.p, err));
	BERTH_TRY(berth_search_bounds(&a.p, &how, a.tmp, &bounds, err));
	BERTH_TRY(berth_bounds_objective(&a.p, &bounds, &search->objective, a.tmp, &row.lower_bound, err));
	if (row.same.op_dev)
		BERTH_TRY(judge_side(&a, &row.same, err));
	BERTH_TRY(solve_anew(&a, &bounds, &row, &row.anew, err));
	*out = row;
	return BERTH_OK;
}

berth_status berth_whatif_each(const berth_graph *g, const berth_system *s, const berth_placement *placement,
                               const char *const *change, int32_t n, const berth_whatif_cfg *cfg,
                               berth_arena *mem, berth_arena *tmp, berth_whatif_rows *out, berth_err *err)
{
	berth_whatif_rows x = {.objective = cfg->search.objective, .n = n + 1};
	BERTH_TRY_NEW(mem, x.n, err, x.change, x.row);
	x.change[0] = "as it is";
	for (int32_t i = 0; i < x.n; i++) {
		if (i)
			x.change[i] = change[i - 1];
		BERTH_TRY(berth_whatif(g, s, placement->op_dev, placement->order, i ? x.change[i] : NULL, cfg,
		                       mem, tmp, &x.row[i], err));
	}
	*out = x;
	return BERTH_OK;
}
