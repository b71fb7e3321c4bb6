/* A trained policy at a glance: where it comes from and how large it is. */
#include "policy_file.h"
#include "print.h"
#include "sandboxed.h"
#include "say.h"
#include "show.h"
#include "text.h"

#include <string.h>

static size_t n_params(const berth_policy_file *f)
{
	return policy_param_count(&f->dims);
}

static berth_status print_json(cli *c, const berth_policy_file *f, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_int(&w, "version", BERTH_POLICY_VERSION);
	berth_json_put_string(&w, "trained_on", f->trained_on);
	berth_json_put_string(&w, "objective", berth_objective_name(&f->objective));
	berth_json_put_int(&w, "seed", (int64_t)f->seed);
	berth_json_put_int(&w, "evaluations", f->evaluations);
	berth_json_put_int(&w, "steps", f->steps);
	berth_json_put_int(&w, "parameters", (int64_t)n_params(f));
	berth_json_put_string(&w, "decoding", berth_decoding_name(f->cfg.decoding));
	berth_json_put_int(&w, "groups", f->cfg.groups);
	berth_json_put_int(&w, "hidden", f->dims.hidden);
	berth_json_put_int(&w, "rounds", f->dims.rounds);
	berth_json_close(&w, '}');
	return cli_print_json(&w, err);
}

/* The first few of what it was trained on, and how many more there are. */
static void print_trained_on(const char *list)
{
	enum { SHOWN = 4 };
	int n = 1;
	const char *end = NULL;
	for (const char *at = list; (at = strstr(at, "; ")); at += 2)
		if (n++ == SHOWN)
			end = at;
	if (end)
		cli_say("policy trained on %.*s and %d more\n", (int)(end - list), list, n - SHOWN);
	else
		cli_say("policy trained on %s\n", list);
}

static void print_text(const berth_policy_file *f)
{
	char a[32], b[32];
	print_trained_on(f->trained_on);
	cli_say("for %s, seed %llu, %s evaluations in %lld steps\n",
	        berth_objective_name(&f->objective), (unsigned long long)f->seed,
	        cli_count(a, f->evaluations), (long long)f->steps);
	cli_say("%s parameters: %d rounds of messages, %d wide; sees graphs as up to %d groups, decodes %s\n",
	        berth_text_count(b, (double)n_params(f)), f->dims.rounds, f->dims.hidden, f->cfg.groups,
	        berth_decoding_name(f->cfg.decoding));
}

berth_status show_policy(cli *c, const show_args *a, berth_err *err)
{
	berth_policy_file f;
	BERTH_TRY(cli_policy_read(c, a->input, &f, err));
	if (a->out)
		BERTH_TRY(berth_policy_file_write(a->out, &f, NULL, &c->tmp, err));
	if (c->json)
		return print_json(c, &f, err);
	if (!c->quiet)
		print_text(&f);
	return BERTH_OK;
}
