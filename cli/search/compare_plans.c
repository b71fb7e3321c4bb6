/* See compare_plans.h. */
#include "compare_plans.h"

#include "engine_default.h"
#include "graph_load.h"

int32_t compare_plans_count(const compare_plans *a)
{
	return a->files.n + a->engines.n;
}

berth_status compare_plans_name(cli *c, const compare_plans *a, const char **name, berth_err *err)
{
	const berth_engine_default *e;
	for (int32_t i = 0; i < a->files.n; i++)
		name[i] = a->files.text[i];
	for (int32_t i = 0; i < a->engines.n; i++) {
		BERTH_TRY(berth_engine_default_find(a->engines.text[i], &e, err));
		if (!(name[a->files.n + i] = berth_arena_printf(&c->mem, "%s default", e->name)))
			return berth_nomem(err);
	}
	return BERTH_OK;
}

static berth_status ask_engine(cli *c, const char *name, const berth_problem *p, berth_compare_plan *out,
                               berth_err *err)
{
	const berth_engine_default *e;
	int32_t *op_dev;
	BERTH_TRY(berth_engine_default_find(name, &e, err));
	BERTH_TRY(BERTH_NEW(&c->mem, op_dev, p->n_ops, err));
	BERTH_TRY(e->place(p, &c->tmp, op_dev, &out->why, err));
	out->op_dev = out->why ? NULL : op_dev;
	return BERTH_OK;
}

berth_status compare_plans_read(cli *c, const compare_plans *a, const berth_graph *g, const berth_system *s,
                                const char *const *name, berth_compare_plan **plan, berth_err *err)
{
	berth_compare_plan *out;
	BERTH_TRY(BERTH_NEW(&c->mem, out, compare_plans_count(a), err));
	for (int32_t i = 0; i < compare_plans_count(a); i++)
		out[i].name = name[i];
	for (int32_t i = 0; i < a->files.n; i++) {
		berth_placement placement;
		BERTH_TRY(cli_placement_read(c, a->files.text[i], g, s, &placement, err));
		out[i].op_dev = placement.op_dev;
		out[i].order = placement.order;
	}
	*plan = out;
	return BERTH_OK;
}

berth_status compare_plans_ask(cli *c, const compare_plans *a, const berth_problem *p,
                               berth_compare_plan *plan, berth_err *err)
{
	for (int32_t i = 0; i < a->engines.n; i++)
		BERTH_TRY(ask_engine(c, a->engines.text[i], p, &plan[a->files.n + i], err));
	return BERTH_OK;
}
