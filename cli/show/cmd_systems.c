/* berth systems: the built-in machines. */
#include "load_system.h"
#include "options.h"
#include "print.h"
#include "systems_builtin.h"

static berth_status print_json(cli *c, berth_err *err)
{
	int32_t n;
	const berth_system_row *row = berth_system_builtin_list(&n);
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_open(&w, "systems", '[');
	for (int32_t i = 0; i < n; i++) {
		berth_system s;
		BERTH_TRY(berth_system_builtin(row[i].name, &c->mem, &c->tmp, &s, err));
		berth_json_open(&w, NULL, '{');
		berth_json_put_string(&w, "name", row[i].name);
		berth_json_put_string(&w, "about", row[i].about);
		berth_json_open(&w, "devices", '[');
		berth_json_flat(&w, true);
		for (int32_t d = 0; d < s.n_devs; d++)
			berth_json_put_string(&w, NULL, s.dev_name[d]);
		berth_json_close(&w, ']');
		berth_json_flat(&w, false);
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	return cli_print_json(&w, err);
}

static berth_status print_table(cli *c, berth_err *err)
{
	int32_t n;
	const berth_system_row *row = berth_system_builtin_list(&n);
	cli_table t;
	cli_table_init(&t, &c->mem, "ll");
	cli_table_head(&t, "system|about");
	for (int32_t i = 0; i < n; i++) {
		cli_cell(&t, "%s", row[i].name);
		cli_cell(&t, "%s", row[i].about);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
{
	const cli_option options[] = {CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_systems, options, argc, argv, 0, 0, err));
	if (c->help)
		return BERTH_OK;
	if (c->json)
		return print_json(c, err);
	return c->quiet ? BERTH_OK : print_table(c, err);
}

const cli_verb cmd_systems = {
	"systems", "systems [--json]", "list the built-in systems",
	"A system stands wherever a system file can: system:NAME.\n"
	"Random machines, as in system:random:devices=6:topology=hosts:seed=7, have keys with these "
	"defaults, in TFLOP/s, GB, GB/s and microseconds:\n"
	"  devices=4 heterogeneity=0.5 tflops=10 memory=16 bandwidth=10 latency=10 "
	"topology=full|bus|star|hosts seed=1\n"
	"system:host is the machine that berth runs on, as 'berth profile --system' has described it.\n"
	"Example: berth show system:edge -o edge.json\n",
	run};
