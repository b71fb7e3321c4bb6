/* A trained policy at a glance: where it comes from and how large it is. */
#include "policy_file.h"
#include "print.h"
#include "sandboxed.h"
#include "say.h"
#include "show.h"

static size_t n_params(const berth_policy_file *f)
{
	return policy_param_count(&f->dims);
}

static berth_status print_json(cli *c, const berth_policy_file *f, berth_err *err)
{
	berth_json_out w;
	char digest[65];
	berth_policy_file_digest(f, digest);
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_int(&w, "version", BERTH_POLICY_VERSION);
	berth_json_put_string(&w, "trained_on", f->trained_on);
	berth_json_put_string(&w, "objective", berth_objective_name(&f->objective));
	berth_json_put_bool(&w, "each_objective", f->each_objective);
	berth_json_put_int(&w, "seed", (int64_t)f->seed);
	berth_json_put_int(&w, "evaluations", f->evaluations);
	berth_json_put_int(&w, "steps", f->steps);
	berth_json_put_int(&w, "parameters", (int64_t)n_params(f));
	berth_json_put_string(&w, "decoding", berth_decoding_name(f->cfg.decoding));
	berth_json_put_int(&w, "groups", f->cfg.groups);
	berth_json_put_int(&w, "hidden", f->dims.hidden);
	berth_json_put_int(&w, "rounds", f->dims.rounds);
	berth_json_put_string(&w, "weights_sha256", digest);
	if (f->card)
		berth_policy_card_put(&w, "card", f->card);
	berth_json_close(&w, '}');
	return cli_print_json(&w, err);
}

static void print_text(const berth_policy_file *f)
{
	char a[32], b[32], digest[65];
	berth_policy_file_digest(f, digest);
	/* The first few of what it was trained on, and how many more there are. */
	const char *list = f->trained_on;
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
	cli_say("for %s, seed %llu, %s evaluations in %lld steps\n",
	        berth_policy_file_objective(f), (unsigned long long)f->seed,
	        cli_count(a, f->evaluations), (long long)f->steps);
	cli_say("%s parameters: %d rounds of messages, %d wide; sees graphs as up to %d groups, decodes %s\n",
	        berth_text_count(b, (double)n_params(f)), f->dims.rounds, f->dims.hidden, f->cfg.groups,
	        berth_decoding_name(f->cfg.decoding));
	cli_say("weights: SHA-256 %.12s...\n", digest);
}

/* Which policy it was tuned from: one that a user can find. */
static berth_status print_from(cli *c, const berth_policy_file *f, berth_err *err)
{
	const char *from = f->card->from, *more = f->base ? "; tries its placement, too" : "";
	bool builtin;
	if (!from)
		return BERTH_OK;
	BERTH_TRY(berth_policy_builtin_is(from, &c->tmp, &builtin, err));
	if (builtin)
		cli_say("tuned from the built-in policy%s\n", more);
	else
		cli_say("tuned from the policy of which 'berth show' tells the weights %.12s...%s\n", from,
		        more);
	return BERTH_OK;
}

/* What the card says, a line each; what it does not say is left out. */
static berth_status print_card(cli *c, const berth_policy_file *f, berth_err *err)
{
	const berth_policy_card *x = f->card;
	char text[32];
	if (x->data)
		cli_say("data: %s\n", x->data);
	BERTH_TRY(print_from(c, f, err));
	if (x->pairs >= 0)
		cli_say("learned from %lld pair%s of a graph and a system\n", (long long)x->pairs,
		        x->pairs == 1 ? "" : "s");
	if (x->evaluations >= 0)
		cli_say("cost: %s evaluations of learning\n", cli_count(text, x->evaluations));
	if (!isnan(x->cpu_s))
		cli_say("cost: about %s of CPU\n", berth_text_seconds(text, x->cpu_s));
	if (x->looks >= 0 && x->taken >= 0)
		cli_say("taken: look %lld of %lld%s\n", (long long)x->taken, (long long)x->looks,
		        x->taken ? "" : ", the policy of the start");
	if (x->result)
		cli_say("result: %s\n", x->result);
	return BERTH_OK;
}

static berth_status print_kept(cli *c, const berth_policy_file *f, berth_err *err)
{
	const berth_policy_card *x = f->card;
	cli_table t;
	if (!x->n_kept)
		return BERTH_OK;
	cli_say("\n");
	cli_table_init(&t, &c->mem, "llrr");
	cli_table_head(&t, "kept aside|system|pass before|after");
	for (int32_t i = 0; i < x->n_kept; i++) {
		cli_cell_text(&t, x->kept[i].graph);
		cli_cell_text(&t, x->kept[i].system);
		cli_cell_value(&t, &f->objective, x->kept[i].before);
		cli_cell_value(&t, &f->objective, x->kept[i].after);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

berth_status show_policy(cli *c, const show_args *a, berth_err *err)
{
	berth_policy_file f;
	BERTH_TRY(cli_policy_read(c, a->input, &f, err));
	if (a->out)
		BERTH_TRY(berth_policy_file_write(a->out, &f, NULL, &c->tmp, err));
	if (c->json)
		return print_json(c, &f, err);
	if (c->quiet)
		return BERTH_OK;
	print_text(&f);
	if (!f.card)
		return BERTH_OK;
	BERTH_TRY(print_card(c, &f, err));
	return print_kept(c, &f, err);
}
