/* berth compare: methods side by side on graphs and systems. */
#include "budget.h"
#include "compare_fidelity.h"
#include "compare_plans.h"
#include "compare_print.h"
#include "graph_load.h"
#include "own_method.h"
#include "place_decoder.h"
#include "place_engine.h"
#include "progress.h"
#include "report.h"
#include "sandboxed.h"

#include <unistd.h>

typedef struct args {
	cli_texts on, methods, policies;
	compare_plans plans;
	const char *format, *against, *report;
	int64_t seeds;
	cli_budget budget;
	cli_granularity granularity;
	cli_compare_format output;
	cli_fidelity fidelity;
} args;

typedef struct state {
	cli_comparison r;
	const berth_method **method; /* growing; single first unless it was named elsewhere */
	int32_t n_methods;
	berth_search_cfg search;
	int32_t at, of; /* rows, for progress */
	cli_progress progress;
} state;

/* ---- arguments ---- */

/* The word's place in names[n]. */
static berth_status choose_word(const char *what, const char *word, const char *const *names, int32_t n,
                                int32_t *at, berth_err *err)
{
	berth_status st = berth_text_find(names, n, word, what, NULL, at, err);
	return st == BERTH_OK ? st : berth_fail_in(err, st, "compare: ");
}

static berth_status parse_output(cli *c, args *a, berth_err *err)
{
	static const char *const formats[] = {"text", "csv", "markdown", "latex"};
	static const char *const tables[] = {"rows", "instances", "methods"};
	int32_t format = CLI_AS_TEXT, table = -1;
	if (a->format && strcmp(a->format, "json") == 0)
		return berth_fail(err, BERTH_EINVAL, "compare: --format json is called --json");
	if (c->json && a->format)
		return berth_fail(err, BERTH_EINVAL,
		                  "compare: --json and --format %.20s contradict each other", a->format);
	if (a->format) {
		const char *colon = strchr(a->format, ':');
		const char *word = berth_arena_strndup(&c->mem, a->format, strcspn(a->format, ":"));
		BERTH_TRY(berth_got(word, err));
		BERTH_TRY(choose_word("format", word, formats, 4, &format, err));
		if (colon)
			BERTH_TRY(choose_word("table", colon + 1, tables, 3, &table, err));
	}
	a->output = (cli_compare_format){.as = (cli_format)format,
	                                 .named = table >= 0,
	                                 .table = table >= 0 ? (cli_compare_table)table : CLI_TABLE_ROWS};
	return BERTH_OK;
}

static berth_status add_method(cli *c, state *s, const berth_method *m, size_t *cap, berth_err *err)
{
	for (int32_t i = 0; i < s->n_methods; i++)
		if (strcmp(s->method[i]->name, m->name) == 0)
			return BERTH_OK;
	return BERTH_PUSH(&c->mem, s->method, s->n_methods, cap, err, m);
}

/* Is it the name of a plan's row? */
static bool is_plan(const args *a, const char *name)
{
	for (int32_t i = 0; i < a->plans.n; i++)
		if (strcmp(a->plans.name[i], name) == 0)
			return true;
	return false;
}

/* ---- rows of policies ---- */

/* A method that uses a policy, with one that was named. */
typedef struct policied {
	berth_method m; /* first: a search knows its method by this */
	const berth_method *of;
	const berth_policy_file *policy;
} policied;

static berth_status run_policied(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const policied *x = (const policied *)s->method;
	s->cfg.policy = x->policy;
	return x->of->run(s, tmp, err);
}

static bool uses_policy(const berth_method *m)
{
	return strcmp(m->name, "policy") == 0 || strcmp(m->name, "berth") == 0;
}

/* Is it the name of a row that is there already? */
static bool is_method(const state *s, const char *name)
{
	for (int32_t i = 0; i < s->n_methods; i++)
		if (strcmp(s->method[i]->name, name) == 0)
			return true;
	return false;
}

/* NAME=FILE: each method that uses a policy once more with it, as "METHOD NAME". One FILE alone is the policy
 * of all. What is a file as a whole has no name. */
static berth_status add_policies(cli *c, args *a, state *s, size_t *cap, berth_err *err)
{
	const int32_t n = s->n_methods;
	for (int32_t i = 0; i < a->policies.n; i++) {
		const char *text = a->policies.text[i];
		const char *equals = access(text, F_OK) == 0 ? NULL : strchr(text, '=');
		berth_policy_file *file;
		if (!equals && a->policies.n == 1) {
			a->budget.policy = text;
			return BERTH_OK;
		}
		if (!equals || equals == text)
			return berth_fail(err, BERTH_EINVAL,
			                  "compare: --policy '%.80s': of several each needs a name, as in "
			                  "ours=FILE",
			                  text);
		BERTH_TRY_NEW(&c->mem, 1, err, file);
		BERTH_TRY(cli_policy_read(c, equals + 1, file, err));
		for (int32_t k = 0; k < n; k++) {
			policied *x;
			if (!uses_policy(s->method[k]))
				continue;
			BERTH_TRY_NEW(&c->mem, 1, err, x);
			*x = (policied){*s->method[k], s->method[k], file};
			x->m.run = run_policied;
			x->m.name = berth_arena_printf(&c->mem, "%s %.*s", x->of->name,
			                               (int)(equals - text), text);
			BERTH_TRY(berth_got(x->m.name, err));
			if (is_method(s, x->m.name))
				return berth_fail(err, BERTH_EINVAL,
				                  "compare: --policy '%.80s': that name is taken", text);
			BERTH_TRY(add_method(c, s, &x->m, cap, err));
		}
		if (s->n_methods == n)
			return berth_fail(err, BERTH_EINVAL,
			                  "compare: --policy '%.80s': no method uses it; name policy or "
			                  "berth in --methods",
			                  text);
	}
	return BERTH_OK;
}

/* Those that are named, and single in any case; without names the portfolio and berth. */
static berth_status choose_methods(cli *c, args *a, state *s, berth_err *err)
{
	static const char *const usual[] = {"heft",         "ceft-cpop", "pbqp", "ceft-pbqp",
	                                    "local-search", "anneal",    "berth"};
	const berth_method *m;
	size_t cap = 0;
	bool named_single = false;
	for (int32_t i = 0; i < a->methods.n; i++)
		named_single |= strcmp(a->methods.text[i], "single") == 0;
	if (!named_single) {
		BERTH_TRY(berth_method_find("single", &m, err));
		BERTH_TRY(add_method(c, s, m, &cap, err));
	}
	for (int32_t i = 0; i < a->methods.n; i++) {
		BERTH_TRY(berth_method_named(a->methods.text[i], &c->mem, &m, err));
		BERTH_TRY(add_method(c, s, m, &cap, err));
	}
	for (size_t i = 0; !a->methods.n && i < sizeof usual / sizeof *usual; i++)
		if (berth_method_find(usual[i], &m, NULL) == BERTH_OK)
			BERTH_TRY(add_method(c, s, m, &cap, err));
	if (!a->methods.n && a->policies.n && berth_method_find("policy", &m, NULL) == BERTH_OK)
		BERTH_TRY(add_method(c, s, m, &cap, err));
	BERTH_TRY(add_policies(c, a, s, &cap, err));
	if (!a->against || is_plan(a, a->against) || is_method(s, a->against))
		return BERTH_OK;
	BERTH_TRY(berth_method_find(a->against, &m, err));
	return add_method(c, s, m, &cap, err);
}

static berth_status same_name(const char *name, bool is_method, berth_err *err)
{
	if (is_method)
		return berth_fail(err, BERTH_EINVAL,
		                  "compare: the placement '%.80s' is called as a method; call it otherwise: "
		                  "NAME=FILE",
		                  name);
	return berth_fail(err, BERTH_EINVAL, "compare: '%.80s' is named twice; expected it once", name);
}

/* Of methods, then of plans. No two are the same. */
static berth_status name_rows(cli *c, const args *a, state *s, berth_err *err)
{
	s->r.n_methods = s->n_methods + a->plans.n;
	BERTH_TRY_NEW(&c->mem, s->r.n_methods, err, s->r.name);
	for (int32_t i = 0; i < s->n_methods; i++)
		s->r.name[i] = s->method[i]->name;
	for (int32_t i = 0; i < a->plans.n; i++)
		s->r.name[s->n_methods + i] = a->plans.name[i];
	for (int32_t i = s->n_methods; i < s->r.n_methods; i++)
		for (int32_t k = 0; k < i; k++)
			if (strcmp(s->r.name[i], s->r.name[k]) == 0)
				return same_name(s->r.name[i], k < s->n_methods, err);
	return BERTH_OK;
}

/* One where none is named: that of the workload. */
static int32_t n_systems(const args *a)
{
	return a->on.n ? a->on.n : 1;
}

static const char one_budget[] =
	"compare: give one of --evaluations, --time S and --time Scpu: the budget is the same for all";

/* ---- rows ---- */

static void told(void *ctx, int32_t method, uint64_t seed)
{
	state *s = ctx;
	const cli_compare_block *b = &s->r.block[s->r.n_blocks];
	s->at++;
	cli_progress_line(&s->progress, "[%d/%d] %s on %s: %s, seed %llu", s->at, s->of, b->graph, b->system,
	                  s->r.name[method], (unsigned long long)seed);
}

/* A graph on a system, and the plans for it. */
typedef struct instance {
	const char *spec; /* of the graph */
	berth_graph read, g; /* g: with the rules of a granularity, or with kernels */
	berth_system y;
	berth_problem p, whole; /* whole: without kernels, as plans may cut them; p where there are none */
	berth_compare_plan *plan;
} instance;

static berth_status load(cli *c, args *a, const char *graph, const char *system, instance *x, berth_err *err)
{
	x->spec = graph;
	BERTH_TRY(cli_instance_load(c, graph, system, &x->g, &x->y, NULL, err));
	BERTH_TRY_NEW(&c->mem, a->plans.n, err, x->plan);
	BERTH_TRY(compare_plans_read(c, &a->plans, &x->g, &x->y, x->plan, err));
	BERTH_TRY(cli_granularity_apply(c, &a->granularity, &x->g, err));
	x->read = x->g;
	bool fused = x->y.engine && x->y.engine->fuses && !a->granularity.name;
	if (fused)
		BERTH_TRY(berth_engine_kernels(&x->y, NULL, &x->g, &c->mem, &c->tmp, err));
	BERTH_TRY(berth_problem_new(&x->g, &x->y, &c->mem, &c->tmp, &x->p, err));
	x->whole = x->p;
	return fused ? berth_problem_new(&x->read, &x->y, &c->mem, &c->tmp, &x->whole, err) : BERTH_OK;
}

/* Of all plans that are used; rows are for one. */
static berth_status take_objective(const compare_plans *x, const instance *all, int32_t n, state *s,
                                   berth_err *err)
{
	for (int32_t i = 0; i < n && x->objective; i++) {
		berth_objective own = berth_objective_of_plan(x->objective, &all[i].p);
		if (i && strcmp(own.text, s->r.objective.text) != 0)
			return berth_fail(err, BERTH_EINVAL,
			                  "compare: %s is a plan for %s, which not all of the systems have "
			                  "figures for: say one by --objective",
			                  x->objective_of, x->objective);
		s->r.objective = own;
	}
	return BERTH_OK;
}

static berth_status fill_block(cli *c, args *a, const instance *x, state *s, berth_err *err)
{
	berth_bounds bounds;
	cli_compare_block *b = &s->r.block[s->r.n_blocks];
	berth_compare_cfg cfg = {.method = s->method,
	                         .n_methods = s->n_methods,
	                         .n_seeds = s->r.n_seeds,
	                         .plan = x->plan,
	                         .n_plans = a->plans.n,
	                         .plans_of = &x->whole,
	                         .search = s->search,
	                         .told = told,
	                         .told_ctx = s};
	cfg.search.objective = s->r.objective;
	BERTH_TRY(compare_plans_ask(c, &a->plans, x->spec, &x->whole, x->plan, err));
	BERTH_TRY(cli_budget_bounds(&a->budget, &x->p, &s->r.objective, &c->tmp, &bounds, err));
	BERTH_TRY_NEW(&c->mem, s->r.n_methods * s->r.n_seeds, err, b->row);
	b->graph = x->g.name;
	b->system = x->y.name;
	b->bound_kind = bounds.kind;
	berth_status st = berth_compare(&x->p, &bounds, &cfg, b->row, &b->n, &c->mem, &c->tmp, err);
	s->r.n_blocks++;
	return st;
}

static berth_status fill_blocks(cli *c, args *a, state *s, berth_err *err)
{
	const int32_t n = c->n_args * n_systems(a);
	instance *all;
	BERTH_TRY_NEW(&c->mem, n, err, s->r.block);
	BERTH_TRY_NEW(&c->mem, n, err, all);
	s->of = n * s->r.n_methods * s->r.n_seeds;
	for (int32_t i = 0; i < n; i++) {
		const char *graph = c->args[i / n_systems(a)];
		if (i % n_systems(a) == 0)
			BERTH_TRY(place_decoder_note_reading(c, graph, err));
		BERTH_TRY(load(c, a, graph, a->on.n ? a->on.text[i % a->on.n] : NULL, &all[i], err));
	}
	BERTH_TRY(take_objective(&a->plans, all, n, s, err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(fill_block(c, a, &all[i], s, err));
	return compare_plans_tell(c, &a->plans, err);
}

/* How values came to be, row by row of what methods made: for pictures. */
static void put_curves(berth_json_out *w, const state *s)
{
	berth_json_open(w, "curves", '[');
	for (int32_t k = 0; k < s->r.n_blocks; k++)
		for (int32_t i = 0; i < s->r.block[k].n && i < s->n_methods * s->r.n_seeds; i++) {
			const berth_compare_row *row = &s->r.block[k].row[i];
			berth_json_open(w, NULL, '{');
			berth_json_put_string(w, "graph", s->r.block[k].graph);
			berth_json_put_string(w, "system", s->r.block[k].system);
			berth_json_put_string(w, "method", s->r.name[row->method]);
			berth_json_open(w, "evaluations", '[');
			for (int32_t f = 0; f < row->n_found; f++)
				berth_json_put_int(w, NULL, row->found[f].evaluations);
			berth_json_close(w, ']');
			berth_json_open(w, "seconds", '[');
			for (int32_t f = 0; f < row->n_found; f++)
				berth_json_put_number(w, NULL, row->found[f].cpu_s);
			berth_json_close(w, ']');
			berth_json_open(w, "value", '[');
			for (int32_t f = 0; f < row->n_found; f++)
				berth_json_put_number(w, NULL, row->found[f].value);
			berth_json_close(w, ']');
			berth_json_close(w, '}');
		}
	berth_json_close(w, ']');
}

static berth_status write_report(cli *c, const args *a, const state *s, berth_err *err)
{
	berth_page page;
	const berth_result *document;
	const cli_compare_block *only = s->r.n_blocks == 1 ? s->r.block : NULL;
	BERTH_TRY(cli_compare_document(c, &s->r, &document, err));
	BERTH_TRY(cli_report_open(c, &page, "compare", only ? only->graph : NULL, only ? only->system : NULL,
	                          berth_objective_unit(&s->r.objective), document, err));
	put_curves(&page.w, s);
	return cli_report_write(c, &page, a->report, err);
}

static berth_status print_all(cli *c, const args *a, const state *s, berth_err *err)
{
	BERTH_TRY(cli_compare_print(c, &s->r, &a->output, err));
	return a->report ? write_report(c, a, s, err) : BERTH_OK;
}

static berth_status compare(cli *c, args *a, state *s, berth_err *err)
{
	if (a->seeds > 1000)
		return berth_fail(err, BERTH_EINVAL, "compare: option --seeds: %lld is above 1000",
		                  (long long)a->seeds);
	if (a->budget.limit_s[0] > 0 && a->budget.limit_s[1] > 0)
		return berth_fail(err, BERTH_EINVAL, "%s", one_budget);
	BERTH_TRY(parse_output(c, a, err));
	BERTH_TRY(compare_plans_open(c, &a->plans, err));
	if (a->plans.files && c->n_args * n_systems(a) > 1)
		return berth_fail(err, BERTH_EINVAL,
		                  "compare: --placement FILE takes one graph on one system: a placement is "
		                  "for both; NAME=FOLDER takes a folder of them");
	a->plans.asks_objective = !a->budget.objective;
	BERTH_TRY(choose_methods(c, a, s, err));
	BERTH_TRY(name_rows(c, a, s, err));
	/* Whom wins and losses are counted against: who was named, else berth, else the best single
	 * device. */
	s->r.single = s->r.against = -1;
	for (int32_t i = 0; i < s->r.n_methods; i++) {
		const char *name = s->r.name[i];
		if (strcmp(name, "single") == 0)
			s->r.single = i;
		if (strcmp(name, a->against ? a->against : "berth") == 0)
			s->r.against = i;
	}
	if (s->r.against < 0)
		s->r.against = s->r.single;
	BERTH_TRY(cli_budget_open(&a->budget, &s->search, err));
	s->r.objective = s->search.objective;
	s->r.n_seeds = (int32_t)a->seeds;
	s->r.evaluations = s->search.evaluations;
	s->r.time_s = s->search.time_s;
	s->r.cpu_s = s->search.cpu_s;
	cli_progress_open(&s->progress, c, ""); /* a line a row is enough: the searches tell nothing */
	berth_status st = cli_budget_policy(&a->budget, c, &s->search, err);
	if (st == BERTH_OK)
		st = fill_blocks(c, a, s, err);
	cli_progress_end(&s->progress);
	cli_budget_close(&s->search);
	if (st == BERTH_OK || st == BERTH_EINTERRUPTED) {
		berth_status printed = print_all(c, a, s, err);
		st = printed == BERTH_OK ? st : printed;
	}
	return st;
}

static berth_status run(cli *c, berth_err *err)
{
	args a = {.seeds = 1,
	          .fidelity = cli_fidelity_default(),
	          .budget = cli_budget_default(),
	          .granularity = cli_granularity_default()};
	state s = {0};
	const cli_option options[] = {
		{"on", 0, CLI_FILES_IN, &a.on, "SYSTEM,...", "the machines"},
		{"methods", 0, CLI_LIST, &a.methods, "M,...",
	         "methods beside single; ./mine.so: yours\tportfolio, searches, berth"},
		{"placement", 0, CLI_FILES_IN, &a.plans.given, "[NAME=]FILE,...",
	         "placements as rows of their own; a folder has those of many graphs and systems"},
		{"seeds", 0, CLI_COUNT, &a.seeds, "N", "seeds from --seed on"},
		{"format", 0, CLI_TEXT, &a.format, "F[:TABLE]",
	         "text, csv, markdown or latex; and of its tables one: rows, instances or methods (csv: "
	         "rows, else the other two)\ttext"},
		{"against", 0, CLI_TEXT, &a.against, "M",
	         "count wins and losses against M, a method or a plan's row\tberth, else single"},
		CLI_GRANULARITY(&a.granularity),
		CLI_BUDGET_ALONE(&a.budget),
		{"policy", 0, CLI_FILES_IN, &a.policies, "[NAME=]FILE,...",
	         "a trained policy for all rows, or several with names, each with rows of its own"},
		CLI_REPORT(&a.report),
		CLI_FIDELITY(&a.fidelity),
		CLI_COMPRESS(c),
		CLI_RULES(c),
		CLI_FOR(c),
		CLI_INPUT(c),
		CLI_COMMON(c)};
	a.budget.objective = NULL;
	BERTH_TRY(cli_parse(c, options, 1, -1, err));
	if (!c->help && a.fidelity.on && a.on.n != 1)
		return berth_fail(err, BERTH_EINVAL,
		                  "compare --fidelity: --on takes one system, whose devices have the names "
		                  "of the engine's");
	if (c->help)
		return BERTH_OK;
	BERTH_TRY(cli_granularity_open(c, &a.granularity, err));
	a.fidelity.report = a.report;
	if (a.fidelity.on)
		return cli_fidelity_run(c, &a.fidelity, a.on.text[0], a.budget.seed, err);
	return compare(c, &a, &s, err);
}

static const cli_rule rules[] = {
	{"fidelity", "placement|for",
         "compare: --fidelity measures placements of its own; leave out --placement and --for"},
	{"evaluations", "time", one_budget}};

const cli_verb cmd_compare = {
	"compare",
	"compare GRAPH... --on SYSTEM[,SYSTEM...] [--methods a,b,...] [--placement [NAME=]FILE,...] "
	"[--for ENGINE] [--objective O] [--evaluations N | "
	"--time S|Scpu] [--seeds N] [--fidelity] [--report FILE.html]",
	"compare methods with equal budgets",
	"Every row has the same budget; 'it / single' is the method's value over the best single device's: "
	"smaller is better. A row without a value has a status and a note of why; the exit code is 0 all the "
	"same.\n"
	"With several seeds: median, range, and the 95 % bootstrap interval of the median (from 5 seeds "
	"on).\n"
	"With several graphs or systems: over all, the geometric mean of the value over the best single "
	"device's, wins, ties and losses against one method, "
	"and how likely they are by chance (signed-rank test, corrected by "
	"Holm).\n"
	"Example: berth compare zoo:resnet50 zoo:bert-base --on system:edge --seeds 5 --format markdown\n",
	run,
	CLI_RULES_OF(rules)};
