/* See graph_load.h. */
#include "graph_load.h"

#include "graph_rules.h"
#include "print.h"
#include "system_warnings.h"

static berth_status warn_graph(cli *c, const char *spec, const berth_read_report *r, berth_err *err)
{
	for (int32_t i = 0; i < r->n_warnings; i++)
		BERTH_TRY(cli_warn(c, err, "%s: %s", spec, r->warning[i]));
	for (int32_t i = 0; i < r->n_loops; i++)
		BERTH_TRY(cli_warn(c, err, "%s: loop '%s' is taken to run once (--dim %s=N)", spec,
		                   r->loop_name[i], r->loop_name[i]));
	return BERTH_OK;
}

static berth_status warn_system(cli *c, const char *spec, const berth_system *s, const berth_graph *g,
                                berth_err *err)
{
	const char **text;
	int32_t n;
	BERTH_TRY(berth_system_warnings(s, g, &c->mem, &c->tmp, &text, &n, err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(cli_warn(c, err, "%s: %s", spec, text[i]));
	return cli_strict(c, err);
}

berth_status cli_graph_load(cli *c, const char *spec, berth_graph *g, berth_read_report *report,
                            berth_err *err)
{
	berth_read_options opt = {c->dim.text, c->dim.n};
	berth_read_report r;
	BERTH_TRY(berth_graph_load(spec, &opt, &c->mem, &c->tmp, g, &r, err));
	BERTH_TRY(warn_graph(c, spec, &r, err));
	if (report)
		*report = r;
	return cli_strict(c, err);
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
	BERTH_TRY(warn_graph(c, graph, &r, err));
	if (report)
		*report = r;
	BERTH_TRY(add_rules(c, s, g, err));
	return warn_system(c, system ? system : graph, s, g, err);
}

berth_status cli_system_load(cli *c, const char *spec, const berth_graph *g, berth_system *s, berth_err *err)
{
	BERTH_TRY(berth_system_load(spec, &c->mem, &c->tmp, s, err));
	return warn_system(c, spec, s, g, err);
}

berth_status cli_placement_read(cli *c, const char *path, const berth_graph *g, const berth_system *s,
                                berth_placement *out, berth_err *err)
{
	const char *warning;
	BERTH_TRY(berth_placement_read(path, g, s, &c->mem, &c->tmp, out, &warning, err));
	return warning ? cli_warn(c, err, "%s", warning) : BERTH_OK;
}
