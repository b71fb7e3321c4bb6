/* berth zoo: the built-in models. */
#include "options.h"
#include "print.h"
#include "say.h"
#include "text.h"
#include "zoo.h"

#include <stdio.h>
#include <string.h>

static void put_param(berth_json_out *w, const berth_spec_param *p)
{
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_put_string(w, "name", p->name);
	berth_json_put_string(w, "about", p->about);
	if (p->choice) {
		berth_json_put_string(w, "default", p->choice[(int)p->def]);
		berth_json_open(w, "choice", '[');
		for (const char *const *word = p->choice; *word; word++)
			berth_json_put_string(w, NULL, *word);
		berth_json_close(w, ']');
	} else {
		berth_json_put_number(w, "default", p->def);
		berth_json_put_number(w, "min", p->min);
		berth_json_put_number(w, "max", p->max);
	}
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

static berth_status print_json(cli *c, berth_err *err)
{
	int32_t n;
	const berth_zoo_model *m = berth_zoo_list(&n);
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_open(&w, "models", '[');
	for (int32_t i = 0; i < n; i++) {
		berth_json_open(&w, NULL, '{');
		berth_json_put_string(&w, "name", m[i].name);
		berth_json_put_string(&w, "about", m[i].about);
		berth_json_open(&w, "params", '[');
		for (int32_t k = 0; k < m[i].n_params; k++)
			put_param(&w, &m[i].param[k]);
		berth_json_close(&w, ']');
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	return cli_print_json(&w, err);
}

/* Does every model have a parameter of this name? */
static bool is_common(const berth_spec_param *p)
{
	int32_t n;
	const berth_zoo_model *m = berth_zoo_list(&n);
	for (int32_t i = 0; i < n; i++) {
		int32_t k = 0;
		while (k < m[i].n_params && strcmp(m[i].param[k].name, p->name) != 0)
			k++;
		if (k == m[i].n_params)
			return false;
	}
	return true;
}

/* Print " batch=1 dtype=f32": the parameters that all models share, or those that they do not. false: there
 * are none. */
static bool print_defaults(const char *head, const berth_zoo_model *m, bool common)
{
	bool any = false;
	for (int32_t k = 0; k < m->n_params; k++) {
		const berth_spec_param *p = &m->param[k];
		char number[32];
		if (is_common(p) != common)
			continue;
		cli_say("%s %s=%s", any ? "" : head, p->name,
		        p->choice ? p->choice[(int)p->def] : berth_text_double(number, p->def));
		any = true;
	}
	return any;
}

static berth_status print_table(cli *c, berth_err *err)
{
	int32_t n;
	const berth_zoo_model *m = berth_zoo_list(&n);
	cli_table t;
	cli_table_init(&t, &c->mem, "ll");
	cli_table_head(&t, "model|about");
	for (int32_t i = 0; i < n; i++) {
		cli_cell(&t, "%s", m[i].name);
		cli_cell(&t, "%s", m[i].about);
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	cli_say("\n");
	if (n && print_defaults("all take", &m[0], true))
		cli_say("\n");
	for (int32_t i = 0; i < n; i++) {
		char head[64];
		snprintf(head, sizeof head, "%s also", m[i].name);
		if (print_defaults(head, &m[i], false))
			cli_say("\n");
	}
	return BERTH_OK;
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
{
	const cli_option options[] = {CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_zoo, options, argc, argv, 0, 0, err));
	if (c->help)
		return BERTH_OK;
	if (c->json)
		return print_json(c, err);
	return c->quiet ? BERTH_OK : print_table(c, err);
}

const cli_verb cmd_zoo = {"zoo", "zoo [--json]", "list the built-in models",
                          "A model stands wherever a graph file can: zoo:NAME[:key=value...].\n"
                          "Parameters are shown with their defaults; --json tells their ranges.\n"
                          "Example: berth show zoo:bert-base:batch=8:seq=384\n",
                          run};
