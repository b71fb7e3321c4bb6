/* berth methods: the placement methods. */
#include "methods.h"
#include "options.h"
#include "print.h"

static berth_status print_json(cli *c, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "default", berth_method_default()->name);
	berth_json_open(&w, "methods", '[');
	for (int32_t i = 0; i < berth_n_methods(); i++) {
		const berth_method *m = berth_method_at(i);
		berth_json_open(&w, NULL, '{');
		berth_json_put_string(&w, "name", m->name);
		berth_json_put_bool(&w, "searches", m->searches);
		berth_json_put_string(&w, "about", m->about);
		berth_json_put_string(&w, "missing_package", berth_method_missing(m));
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	return cli_print_json(&w, err);
}

static berth_status print_table(cli *c, berth_err *err)
{
	cli_table t;
	cli_table_init(&t, &c->mem, "lll");
	cli_table_head(&t, "method|budget|about");
	for (int32_t i = 0; i < berth_n_methods(); i++) {
		const berth_method *m = berth_method_at(i);
		cli_cell(&t, "%s", m->name);
		cli_cell(&t, "%s", m->searches ? "search" : "at once");
		if (berth_method_missing(m))
			cli_cell(&t, "needs %s when berth is built; %s", berth_method_missing(m), m->about);
		else
			cli_cell(&t, "%s", m->about);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
{
	const cli_option options[] = {CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_methods, options, argc, argv, 0, 0, err));
	if (c->help)
		return BERTH_OK;
	if (c->json)
		return print_json(c, err);
	return c->quiet ? BERTH_OK : print_table(c, err);
}

const cli_verb cmd_methods = {
	"methods", "methods [--json]", "list the placement methods",
	"'search' methods use the budget of --evaluations or --time, the others answer at once.\n"
	"Example: berth place zoo:resnet18 --on system:edge --method heft\n",
	run};
