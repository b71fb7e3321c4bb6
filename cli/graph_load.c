/* See graph_load.h. */
#include "graph_load.h"

#include "graph_rules.h"
#include "print.h"

static void warn(const cli *c, const char *spec, const berth_read_report *r)
{
	for (int32_t i = 0; i < r->n_warnings; i++)
		cli_warn(c, "%s: %s", spec, r->warning[i]);
	for (int32_t i = 0; i < r->n_loops; i++)
		cli_warn(c, "%s: loop '%s' is taken to run once (--dim %s=N)", spec, r->loop_name[i],
		         r->loop_name[i]);
}

berth_status cli_graph_load(cli *c, const char *spec, berth_graph *g, berth_read_report *report,
                            berth_err *err)
{
	berth_read_options opt = {c->dim.text, c->dim.n};
	berth_read_report r;
	BERTH_TRY(berth_graph_load(spec, &opt, &c->mem, &c->tmp, g, &r, err));
	warn(c, spec, &r);
	if (report)
		*report = r;
	return BERTH_OK;
}

static berth_status add_rules(cli *c, const berth_system *s, berth_graph *g, berth_err *err)
{
	berth_rule_texts r = {c->pin.text, c->forbid.text, c->colocate.text,
	                      c->pin.n,    c->forbid.n,    c->colocate.n};
	return berth_graph_add_rules(&r, s, &c->mem, &c->tmp, g, err);
}

berth_status cli_instance_load(cli *c, const char *graph, const char *system, berth_graph *g, berth_system *s,
                               berth_read_report *report, berth_err *err)
{
	berth_read_options opt = {c->dim.text, c->dim.n};
	berth_read_report r;
	BERTH_TRY(berth_instance_load(graph, system, &opt, &c->mem, &c->tmp, g, s, &r, err));
	warn(c, graph, &r);
	if (report)
		*report = r;
	return add_rules(c, s, g, err);
}

berth_status cli_placement_read(cli *c, const char *path, const berth_graph *g, const berth_system *s,
                                berth_placement *out, berth_err *err)
{
	const char *warning;
	BERTH_TRY(berth_placement_read(path, g, s, &c->mem, &c->tmp, out, &warning, err));
	if (warning)
		cli_warn(c, "%s", warning);
	return BERTH_OK;
}
