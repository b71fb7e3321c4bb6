/* berth compare: methods side by side on graphs and systems. */
#include "budget.h"
#include "compare_fidelity.h"
#include "compare.h"
#include "load.h"
#include "load_system.h"
#include "print.h"
#include "progress.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum output { AS_TEXT, AS_CSV, AS_MARKDOWN, AS_JSON } output;

typedef struct args {
	cli_texts on, methods;
	const char *format;
	int64_t seeds;
	cli_budget budget;
	output output;
	cli_fidelity fidelity;
} args;

/* All rows of one graph on one system. */
typedef struct block {
	const char *graph, *system;
	berth_compare_row *row;
	int32_t n;
} block;

typedef struct state {
	const berth_method **method; /* [n_methods]; single first unless it was named elsewhere */
	int32_t n_methods;
	berth_search_cfg search;
	block *block;
	int32_t n_blocks;
	int32_t at, of; /* rows, for progress */
	cli_progress progress;
} state;

/* ---- arguments ---- */

static berth_status parse_format(const cli *c, args *a, berth_err *err)
{
	static const char *const names[] = {"text", "csv", "markdown", "json"};
	char hint[96];
	if (c->json && a->format && strcmp(a->format, "json") != 0)
		return berth_fail(err, BERTH_EINVAL, "compare: --json and --format %.20s contradict each other", a->format);
	const char *name = c->json ? "json" : a->format ? a->format : "text";
	for (int i = 0; i < 4; i++)
		if (strcmp(names[i], name) == 0) {
			a->output = (output)i;
			return BERTH_OK;
		}
	return berth_fail(err, BERTH_EINVAL, "compare: unknown format '%.20s'%s; known: text, csv, markdown, json", name,
	                  berth_text_suggest(hint, sizeof hint, name, names, 4));
}

static berth_status add_method(cli *c, state *s, const berth_method *m, size_t *cap, berth_err *err)
{
	for (int32_t i = 0; i < s->n_methods; i++)
		if (s->method[i] == m)
			return BERTH_OK;
	BERTH_TRY(BERTH_GROW(&c->mem, s->method, s->n_methods, cap, err));
	s->method[s->n_methods++] = m;
	return BERTH_OK;
}

/* Those that are named, and single in any case; without names the portfolio and berth. */
static berth_status choose_methods(cli *c, const args *a, state *s, berth_err *err)
{
	static const char *const usual[] = {"heft", "ceft-cpop", "pbqp", "ceft-pbqp", "local-search", "anneal", "berth"};
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
		BERTH_TRY(berth_method_find(a->methods.text[i], &m, err));
		BERTH_TRY(add_method(c, s, m, &cap, err));
	}
	for (size_t i = 0; !a->methods.n && i < sizeof usual / sizeof *usual; i++)
		if (berth_method_find(usual[i], &m, NULL) == BERTH_OK)
			BERTH_TRY(add_method(c, s, m, &cap, err));
	if (!a->methods.n && a->budget.policy && berth_method_find("policy", &m, NULL) == BERTH_OK)
		return add_method(c, s, m, &cap, err);
	return BERTH_OK;
}

static berth_status check_args(const cli *c, args *a, berth_err *err)
{
	if (a->budget.evaluations && a->budget.time_s > 0)
		return berth_fail(err, BERTH_EINVAL, "compare: give --evaluations or --time, not both: the budget is the same for all");
	if (a->seeds > 1000)
		return berth_fail(err, BERTH_EINVAL, "compare: option --seeds: %lld is above 1000", (long long)a->seeds);
	return parse_format(c, a, err);
}

/* ---- rows ---- */

static void told(void *ctx, int32_t method, uint64_t seed)
{
	state *s = ctx;
	const block *b = &s->block[s->n_blocks];
	s->at++;
	cli_progress_end(&s->progress);
	if (s->progress.on && s->progress.terminal)
		fprintf(stderr, "\r\033[K[%d/%d] %s on %s: %s, seed %llu", s->at, s->of, b->graph, b->system, s->method[method]->name, (unsigned long long)seed);
	s->progress.shown = true;
}

/* One where none is named: that of the workload. */
static int32_t n_systems(const args *a)
{
	return a->on.n ? a->on.n : 1;
}

static berth_status fill_block(cli *c, const cli_budget *budget, const char *graph, const char *system, int32_t n_seeds, state *s, berth_err *err)
{
	berth_graph g;
	berth_system y;
	berth_problem p;
	berth_bounds bounds;
	block *b = &s->block[s->n_blocks];
	berth_compare_cfg cfg = {s->method, s->n_methods, n_seeds, s->search, told, s};
	BERTH_TRY(berth_instance_load(graph, system, NULL, &c->mem, &c->tmp, &g, &y, NULL, err));
	BERTH_TRY(berth_problem_new(&g, &y, &c->mem, &c->tmp, &p, err));
	BERTH_TRY(cli_budget_bounds(budget, &p, &c->tmp, &bounds, err));
	BERTH_TRY(BERTH_NEW(&c->mem, b->row, s->n_methods * n_seeds, err));
	b->graph = g.name;
	b->system = y.name;
	berth_status st = berth_compare(&p, &bounds, &cfg, b->row, &b->n, &c->mem, &c->tmp, err);
	s->n_blocks++;
	return st;
}

static berth_status fill_blocks(cli *c, const args *a, state *s, berth_err *err)
{
	int32_t n_seeds = (int32_t)a->seeds;
	BERTH_TRY(BERTH_NEW(&c->mem, s->block, c->n_args * n_systems(a), err));
	s->of = c->n_args * n_systems(a) * s->n_methods * n_seeds;
	for (int32_t i = 0; i < c->n_args; i++)
		for (int32_t k = 0; k < n_systems(a); k++)
			BERTH_TRY(fill_block(c, &a->budget, c->args[i], a->on.n ? a->on.text[k] : NULL, n_seeds, s, err));
	return BERTH_OK;
}

/* ---- output ---- */

static void put_row(berth_json_out *w, const state *s, const block *b, const berth_compare_row *r)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "graph", b->graph);
	berth_json_put_string(w, "system", b->system);
	berth_json_put_string(w, "objective", berth_objective_name(&s->search.objective));
	berth_json_put_string(w, "method", s->method[r->method]->name);
	berth_json_put_int(w, "seed", (int64_t)r->seed);
	berth_json_put_number(w, "value", r->value);
	berth_json_put_number(w, "lower_bound", r->lower_bound);
	berth_json_put_number(w, "gap", r->gap);
	berth_json_put_string(w, "status", r->status);
	berth_json_put_bool(w, "feasible", r->feasible);
	berth_json_put_string(w, "order", berth_order_name(r->order));
	berth_json_put_int(w, "evaluations", r->evaluations);
	berth_json_put_number(w, "solve_s", r->solve_s);
	berth_json_put_number(w, "wall_s", r->wall_s);
	if (r->note)
		berth_json_put_string(w, "note", r->note);
	berth_json_close(w, '}');
}

static berth_status print_json(cli *c, const state *s, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_open(&w, "rows", '[');
	for (int32_t k = 0; k < s->n_blocks; k++)
		for (int32_t i = 0; i < s->block[k].n; i++)
			put_row(&w, s, &s->block[k], &s->block[k].row[i]);
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	return cli_print_json(&w, err);
}

static void number_cell(cli_table *t, double x)
{
	char buf[32];
	cli_cell(t, "%s", isfinite(x) ? berth_text_double(buf, x) : "");
}

/* The rows as they are, for other programs. */
static berth_status print_csv(cli *c, const state *s, berth_err *err)
{
	static const char *const head[] = {"graph", "system", "objective", "method", "seed", "value", "lower_bound", "gap", "feasible", "order", "evaluations",
	                                   "solve_s", "wall_s"};
	cli_table t;
	cli_table_init(&t, &c->mem, "lllllllllllll");
	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		cli_cell(&t, "%s", head[i]);
	for (int32_t k = 0; k < s->n_blocks; k++)
		for (int32_t i = 0; i < s->block[k].n; i++) {
			const berth_compare_row *r = &s->block[k].row[i];
			cli_cell(&t, "%s", s->block[k].graph);
			cli_cell(&t, "%s", s->block[k].system);
			cli_cell(&t, "%s", berth_objective_name(&s->search.objective));
			cli_cell(&t, "%s", s->method[r->method]->name);
			cli_cell(&t, "%llu", (unsigned long long)r->seed);
			number_cell(&t, r->value);
			number_cell(&t, r->lower_bound);
			number_cell(&t, r->gap);
			cli_cell(&t, "%s", r->feasible ? "true" : "false");
			cli_cell(&t, "%s", berth_order_name(r->order));
			cli_cell(&t, "%lld", (long long)r->evaluations);
			number_cell(&t, r->solve_s);
			number_cell(&t, r->wall_s);
		}
	return cli_table_print(&t, CLI_AS_CSV, err);
}

static void spread_cells(cli_table *t, const berth_compare_summary *m, const berth_objective *o)
{
	char a[32], b[32];
	cli_cell(t, "%s .. %s", cli_value(a, o, m->least), cli_value(b, o, m->most));
	if (isnan(m->low))
		cli_cell(t, "-");
	else
		cli_cell(t, "%s .. %s", cli_value(a, o, m->low), cli_value(b, o, m->high));
}

static void summary_cells(cli_table *t, const state *s, const berth_compare_row *row, const berth_compare_summary *m, double single, bool many)
{
	char buf[32];
	const berth_objective *o = &s->search.objective;
	cli_cell(t, "%s", m->n_feasible ? cli_value(buf, o, m->median) : row->status);
	if (many)
		spread_cells(t, m, o);
	cli_cell(t, "%s", cli_percent(buf, m->gap));
	if (single > 0 && m->median > 0)
		cli_cell(t, "%.2f", single / m->median);
	else
		cli_cell(t, "-");
	cli_cell(t, "%s", cli_count(buf, llround(m->evaluations)));
	cli_cell(t, "%s", berth_text_seconds(buf, m->solve_s));
}

static int32_t rows_of(const block *b, int32_t first, int32_t n_seeds)
{
	return b->n - first < n_seeds ? b->n - first : n_seeds;
}

/* Median of the best single device; NAN: not feasible, or not reached. */
static berth_status single_value(cli *c, const state *s, const block *b, int32_t n_seeds, double *out, berth_err *err)
{
	berth_compare_summary m;
	*out = NAN;
	for (int32_t i = 0; i < b->n; i += n_seeds)
		if (strcmp(s->method[b->row[i].method]->name, "single") == 0) {
			BERTH_TRY(berth_compare_summarise(&b->row[i], rows_of(b, i, n_seeds), &c->tmp, &m, err));
			*out = m.median;
		}
	return BERTH_OK;
}

static void heading(const state *s, const block *b, cli_format format)
{
	char bound[32];
	printf("%s%s on %s, %s", format == CLI_AS_MARKDOWN ? "### " : "", b->graph, b->system, berth_objective_name(&s->search.objective));
	printf("; lower bound %s%s\n", b->n ? cli_value(bound, &s->search.objective, b->row[0].lower_bound) : "-", format == CLI_AS_MARKDOWN ? "\n" : "");
}

static berth_status print_block(cli *c, const state *s, const block *b, int32_t n_seeds, cli_format format, berth_err *err)
{
	cli_table t;
	double single;
	bool many = n_seeds > 1;
	BERTH_TRY(single_value(c, s, b, n_seeds, &single, err));
	cli_table_init(&t, &c->mem, many ? "lrrrrrrr" : "lrrrrr");
	cli_cell(&t, "method");
	cli_cell(&t, "%s", many ? "median" : "value");
	if (many) {
		cli_cell(&t, "least .. most");
		cli_cell(&t, "95 %% of medians");
	}
	cli_cell(&t, "gap");
	cli_cell(&t, "single / it");
	cli_cell(&t, "evaluations");
	cli_cell(&t, "CPU time");
	for (int32_t i = 0; i < b->n; i += n_seeds) {
		berth_compare_summary m;
		BERTH_TRY(berth_compare_summarise(&b->row[i], rows_of(b, i, n_seeds), &c->tmp, &m, err));
		cli_cell(&t, "%s", s->method[b->row[i].method]->name);
		summary_cells(&t, s, &b->row[i], &m, single, many);
	}
	heading(s, b, format);
	return cli_table_print(&t, format, err);
}

static void print_notes(const state *s, const block *b)
{
	for (int32_t i = 0; i < b->n; i++)
		if (b->row[i].note && (i == 0 || b->row[i - 1].method != b->row[i].method || !b->row[i - 1].note))
			printf("%s: %s\n", s->method[b->row[i].method]->name, b->row[i].note);
}

static berth_status print(cli *c, const args *a, const state *s, berth_err *err)
{
	cli_format format = a->output == AS_MARKDOWN ? CLI_AS_MARKDOWN : CLI_AS_TEXT;
	if (a->output == AS_JSON)
		return print_json(c, s, err);
	if (c->quiet)
		return BERTH_OK;
	if (a->output == AS_CSV)
		return print_csv(c, s, err);
	for (int32_t k = 0; k < s->n_blocks; k++) {
		if (k)
			putchar('\n');
		BERTH_TRY(print_block(c, s, &s->block[k], (int32_t)a->seeds, format, err));
		print_notes(s, &s->block[k]);
	}
	return BERTH_OK;
}

static berth_status compare(cli *c, args *a, state *s, berth_err *err)
{
	BERTH_TRY(check_args(c, a, err));
	BERTH_TRY(choose_methods(c, a, s, err));
	BERTH_TRY(cli_budget_open(&a->budget, &s->search, err));
	cli_progress_start(&s->progress, c, "", &s->search);
	s->search.progress = NULL; /* a line a row is enough */
	berth_status st = cli_budget_policy(&a->budget, c, &s->search, err);
	if (st == BERTH_OK)
		st = fill_blocks(c, a, s, err);
	cli_progress_end(&s->progress);
	cli_budget_close(&s->search);
	if (st == BERTH_OK || st == BERTH_EINTERRUPTED) {
		berth_status printed = print(c, a, s, err);
		st = printed == BERTH_OK ? st : printed;
	}
	return st;
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
{
	args a = {.seeds = 1, .budget = cli_budget_default()};
	state s = {0};
	const cli_option options[] = {
		{"on", 0, CLI_LIST, &a.on, "SYSTEM,...", "the machines"},
		{"methods", 0, CLI_LIST, &a.methods, "M,...", "methods beside single (default: portfolio, searches, berth)"},
		{"seeds", 0, CLI_COUNT, &a.seeds, "N", "seeds from --seed on (default 1)"},
		{"format", 0, CLI_TEXT, &a.format, "F", "text (default), csv, markdown or json"},
		CLI_BUDGET(&a.budget),
		CLI_FIDELITY(&a.fidelity),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_compare, options, argc, argv, 1, -1, err));
	if (!c->help && a.fidelity.on && a.on.n != 1)
		return berth_fail(err, BERTH_EINVAL, "compare --fidelity: --on takes one system, whose devices have the names of the engine's");
	if (!c->help && a.fidelity.on)
		return cli_fidelity_run(c, &a.fidelity, a.on.text[0], a.budget.seed, err);
	return c->help ? BERTH_OK : compare(c, &a, &s, err);
}

const cli_verb cmd_compare = {"compare",
                              "compare GRAPH... --on SYSTEM[,SYSTEM...] [--methods a,b,...] [--objective O] [--evaluations N | --time S] [--seeds N] [--fidelity]",
                              "compare methods with equal budgets",
                              "Every row has the same budget; 'single / it' is the best single device's value over the method's.\n"
                              "With several seeds: median, range, and the 95 % bootstrap interval of the median (from 5 seeds on).\n"
                              "Example: berth compare zoo:resnet50 zoo:bert-base --on system:edge --seeds 5 --format markdown\n",
                              run};
