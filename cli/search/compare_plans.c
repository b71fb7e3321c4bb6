/* See compare_plans.h. */
#include "compare_plans.h"

#include "engine_default.h"
#include "graph_load.h"
#include "load.h"
#include "sandboxed.h"

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

static berth_status ask_engine(cli *c, const berth_engine_default *e, const berth_export_source *x,
                               berth_compare_plan *out, berth_err *err)
{
	int32_t *op_dev;
	BERTH_TRY(BERTH_NEW(&c->mem, op_dev, x->g->n_ops, err));
	BERTH_TRY(berth_engine_default_of(e, x, &c->tmp, op_dev, &out->why, err));
	out->op_dev = out->why ? NULL : op_dev;
	return BERTH_OK;
}

/* The model is read once more, for what its graph does not say. */
static berth_status ask_of_file(cli *c, const berth_engine_default *e, const char *spec,
                                berth_export_source x, berth_compare_plan *out, berth_err *err)
{
	berth_read_options opt = cli_read_options(c), words;
	berth_content model;
	if (c->sandbox || berth_file_is_stream(spec)) {
		out->why = "it takes reading the model once more: not from a pipe, and not in a sandbox";
		return BERTH_OK;
	}
	BERTH_TRY(berth_model_map(spec, &opt, &c->mem, &model, &words, err));
	x.model = &model;
	x.read = &words;
	berth_status st = ask_engine(c, e, &x, out, err);
	berth_model_unmap(&model);
	return st;
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

static berth_status ask(cli *c, const berth_engine_default *e, const char *spec, const char *format,
                        const berth_export_source *x, berth_compare_plan *out, berth_err *err)
{
	if (berth_engine_default_runs(e, format))
		return e->reads ? ask_of_file(c, e, spec, *x, out, err) : ask_engine(c, e, x, out, err);
	out->why = berth_arena_printf(&c->mem, "%s runs files of the format %s", e->name, e->format[0]);
	return out->why ? BERTH_OK : berth_nomem(err);
}

berth_status compare_plans_ask(cli *c, const compare_plans *a, const char *spec, const char *format,
                               const berth_problem *p, berth_compare_plan *plan, berth_err *err)
{
	const berth_export_source x = {.g = p->g, .s = p->s, .p = p};
	const berth_engine_default *e;
	if (berth_module_file_length(spec))
		format = "PyTorch";
	for (int32_t i = 0; i < a->engines.n; i++) {
		BERTH_TRY(berth_engine_default_find(a->engines.text[i], &e, err));
		BERTH_TRY(ask(c, e, spec, format, &x, &plan[a->files.n + i], err));
	}
	return BERTH_OK;
}
