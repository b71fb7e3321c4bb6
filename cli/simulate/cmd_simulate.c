/* berth simulate: what a given placement costs. */
#include "budget.h"
#include "cli_granularity.h"
#include "copies_print.h"
#include "engine_plan.h"
#include "engine_rules.h"
#include "exporters.h"
#include "file.h"
#include "graph_load.h"
#include "plan_words.h"
#include "print.h"
#include "report.h"
#include "results.h"
#include "say.h"
#include "simulate_whatif.h"
#include "system_change.h"
#include "tell.h"

typedef struct args {
	const char *on, *placement, *trace;
	cli_texts set, asked, each; /* each: the changes that --what-if asks about, one by one */
	cli_budget budget;
	cli_granularity granularity;
} args;

typedef struct state {
	berth_graph g;
	berth_graph_parts parts;
	berth_system base, s; /* as in the file, and with --set */
	berth_placement placement;
	berth_problem p;
	berth_bounds bounds;
	berth_timeline t;
	berth_verdict v;
	berth_whatif_rows what_if;
} state;

/* ---- passes ---- */

/* --set, after the placement was read: its digest is that of the system as it was. */
static berth_status change_system(cli *c, const args *a, state *s, berth_err *err)
{
	s->base = s->s;
	if (a->set.n)
		BERTH_TRY(berth_system_clone(&s->base, &c->mem, &s->s, err));
	for (int32_t i = 0; i < a->set.n; i++)
		BERTH_TRY(berth_system_set(&s->s, a->set.text[i], &c->tmp, err));
	berth_status st = a->set.n ? berth_system_check(&s->s, &c->tmp, err) : BERTH_OK;
	return st == BERTH_EFORMAT ? berth_fail_in(err, BERTH_EINVAL, "after --set, ") : st;
}

/* ---- what if ---- */

enum { MOST_CHANGES = 10000 };

static berth_status add_change(cli *c, args *a, const char *text, berth_err *err)
{
	if (a->each.n == MOST_CHANGES)
		return berth_fail(err, BERTH_EINVAL, "simulate: --what-if: more than %d changes",
		                  MOST_CHANGES);
	return BERTH_PUSH(&c->mem, a->each.text, a->each.n, &a->each.cap, err, text);
}

/* A change a line, blanks and lines that start with # skipped. */
static berth_status read_changes(cli *c, args *a, const char *path, berth_err *err)
{
	char *data;
	size_t size;
	int32_t before = a->each.n;
	BERTH_TRY(berth_file_read(BERTH_READS_CHANGES, path, &c->mem, &data, &size, err));
	for (char *line = data, *end = data + size; line < end;) {
		size_t n = (size_t)(end - line), len = 0;
		while (len < n && line[len] != '\n')
			len++;
		char *text = line;
		text[len] = '\0';
		text += strspn(text, " \t\r");
		for (size_t k = strlen(text); k > 0 && strchr(" \t\r", text[k - 1]); k--)
			text[k - 1] = '\0';
		if (*text && *text != '#')
			BERTH_TRY(add_change(c, a, text, err));
		line += len + (len < n);
	}
	return a->each.n > before
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EFORMAT,
	                            "%s: no change stands in it; expected a line such as "
	                            "gpu0.memory_bytes=2x",
	                            path);
}

static berth_status ask_what_if(cli *c, const args *a, state *s, berth_err *err)
{
	berth_whatif_cfg cfg = {0};
	cli_budget budget = a->budget;
	const char *set, *const *change = a->each.text;
	int32_t n = a->each.n;
	if (!a->set.n && !a->each.n)
		return BERTH_OK;
	if (a->set.n) {
		/* All of --set as one text. */
		const char *text = a->set.text[0];
		for (int32_t i = 1; i < a->set.n && text; i++)
			text = berth_arena_printf(&c->mem, "%s,%s", text, a->set.text[i]);
		set = text;
		BERTH_TRY(berth_got(text, err));
		change = &set;
		n = 1;
	}
	BERTH_TRY(berth_method_find("berth", &cfg.method, err));
	berth_objective of_plan = berth_objective_of_plan(s->placement.objective, &s->p);
	if (!budget.objective)
		budget.objective = berth_objective_name(&of_plan);
	cfg.bound = budget.bound;
	BERTH_TRY(cli_budget_open(&budget, &cfg.search, err));
	berth_status st = cli_budget_policy(&budget, c, &cfg.search, err);
	if (st == BERTH_OK)
		st = berth_whatif_each(&s->g, &s->base, &s->placement, change, n, &cfg, &c->mem, &c->tmp,
		                       &s->what_if, err);
	cli_budget_close(&cfg.search);
	return st;
}

static berth_status simulate(cli *c, const args *a, state *s, berth_err *err)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	BERTH_TRY(cli_plan_words_take(c, a->placement, c->n_args == 1 ? c->args[0] : NULL, err));
	BERTH_TRY(cli_models_load(c, a->on, &s->g, &s->s, &s->parts, err));
	BERTH_TRY(cli_placement_read(c, a->placement, &s->g, &s->s, &s->placement, err));
	if (s->s.order == BERTH_ORDER_GIVEN && !s->placement.order)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: it has no \"order\", but the order of system '%.80s' is 'given': add one",
			a->placement, s->s.name);
	BERTH_TRY(cli_granularity_apply(c, &a->granularity, &s->g, err));
	BERTH_TRY(change_system(c, a, s, err));
	if (!a->granularity.name)
		BERTH_TRY(berth_engine_kernels(&s->s, s->placement.op_dev, &s->g, &c->mem, &c->tmp, err));
	BERTH_TRY(berth_problem_new(&s->g, &s->s, &c->mem, &c->tmp, &s->p, err));
	BERTH_TRY(cli_budget_bounds(&a->budget, &s->p, &latency, &c->tmp, &s->bounds, err));
	berth_objective o = berth_objective_of_plan(s->placement.objective, &s->p);
	if (a->budget.objective) {
		BERTH_TRY(berth_objective_parse(a->budget.objective, &o, err));
		BERTH_TRY(berth_objective_check(&o, &s->p, err));
	}
	return berth_judge(&s->p, s->placement.op_dev, s->placement.order, &o, &c->mem, &s->t, &s->v, err);
}

/* ---- output ---- */

#define SIMULATE(K, IF) \
	K(ALL_OF(metrics_kind), "", "", "", report_metrics(c, s->v.metric)) \
	IF(copies, INT, "replicas", "", "only where the same graph is given several times: how often", \
	  copies) \
	IF(copies, NUMBER, "sample_s", "s", "then: of a period / `replicas`, as in [place](#place)", \
	   s->v.metric[BERTH_THROUGHPUT] / copies) \
	K(BOOL, "feasible", "", "", s->v.feasible) \
	K(LIST(violation_kind), "violations", "", "", report_violations(c, &s->p, &s->v.broken)) \
	K(NS, "lower_bound_s", "s", "of the latency", s->bounds.latency_ns) \
	K(TEXT, "bound", "", "`fast`, `strong` or `auto`, as in [place](#place)", s->bounds.kind) \
	K(TEXT, "order", "", "rule that was used", berth_order_name(s->t.order)) \
	IF(s->parts.n, LIST(model_kind), "models", "", "only with several graphs", \
	   report_models(c, &s->parts, &s->t)) \
	K(LIST(device_kind), "devices", "", "", report_devices(c, &s->p, &s->t)) \
	IF(s->p.n_pools, LIST(pool_kind), "memory_pools", "", "missing where the system has none", \
	   report_pools(c, &s->p, &s->t)) \
	IF(c->compress, OBJECT(packed_kind), "compress", "", "only with `--compress`, where something runs", \
	   report_packed(c, &s->p, &s->t))
RESULT_KIND(simulate_document, "Simulate", "Exit code 3 where the placement is infeasible.", SIMULATE);

static berth_status print_json(cli *c, const args *a, const state *s, berth_err *err)
{
	int32_t copies = s->t.r.runs ? copies_given(c) : 0;
	const berth_result *r = RESULT_NEW(&c->mem, simulate_document, SIMULATE);
	return cli_put_result(c,
	                      a->set.n    ? simulate_whatif_set(c, &s->what_if, &s->g, r)
	                      : a->each.n ? simulate_whatif_each(c, &s->what_if, &s->g, r)
	                                  : r,
	                      err);
}

static void print_head(const state *s, int32_t copies)
{
	char a[32], b[32];
	const char *sep = "";
	double latency = s->v.metric[BERTH_LATENCY], bound = (double)s->bounds.latency_ns / 1e9;
	const char *order = berth_order_name(s->t.order);
	bool given = strcmp(order, "given") == 0;
	cli_say("%s on %s", s->g.name, s->s.name);
	if (s->s.engine)
		cli_say(", for %s", s->s.engine->title);
	if (s->s.cost_model->sums_times)
		cli_say(", one operator after the other\n");
	else
		cli_say(", %s%s\n", given ? "in the plan's own order" : "order ", given ? "" : order);
	cli_say("latency %s, ", berth_text_seconds(a, latency));
	cli_say_bound(s->bounds.kind, berth_text_seconds(b, bound));
	if (s->v.broken.n)
		cli_say(" of plans that keep what this one breaks, thus no gap\n");
	else
		cli_say(", gap %s\n", cli_percent(a, berth_gap(latency, bound)));
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		const berth_metric_row *row = &berth_metrics[m];
		double x = s->v.metric[m];
		if (m == BERTH_LATENCY || !row->key || isnan(x))
			continue;
		if (row->per && s->parts.n)
			cli_say("%s%s %.4g periods/s, each a run of all %d models", sep, row->label, 1 / x,
			        (int)s->parts.n);
		else
			cli_say("%s%s %s", sep, row->label, cli_metric(a, (berth_metric)m, x));
		sep = ", ";
	}
	cli_say("\n");
	copies_print_rate(copies, s->v.metric[BERTH_THROUGHPUT]);
	cli_say("\n");
}

static berth_status print_text(cli *c, const args *a, const state *s, berth_err *err)
{
	if (a->each.n)
		BERTH_TRY(simulate_whatif_print_each(c, &s->what_if, err));
	if (a->set.n)
		BERTH_TRY(simulate_whatif_print_set(c, &s->what_if, err));
	if (s->t.r.runs) {
		print_head(s, copies_given(c));
		BERTH_TRY(report_print_models(c, &s->parts, &s->t, err));
		BERTH_TRY(report_print_devices(c, &s->p, &s->t, NULL, NULL, err));
		BERTH_TRY(report_print_pools(c, &s->p, &s->t, NULL, err));
		report_print_packed(c, &s->p, &s->t);
		cli_say("\n");
		BERTH_TRY(report_print_lost(c, &s->p, &s->t, err));
	}
	if (s->v.broken.n) {
		cli_say("infeasible:\n");
		report_print_violations(&s->v.broken);
	}
	return BERTH_OK;
}

static berth_status check_args(cli *c, args *a, berth_err *err)
{
	/* --what-if: a change has a = or begins with a sign; else it is a file of them. */
	for (int32_t i = 0; i < a->asked.n; i++) {
		const char *text = a->asked.text[i];
		if (!*text)
			return berth_fail(err, BERTH_EINVAL,
			                  "simulate: --what-if '' is no change of a machine");
		bool change = strchr("+-", *text) || strchr(text, '=');
		BERTH_TRY(change ? add_change(c, a, text, err) : read_changes(c, a, text, err));
	}
	for (int32_t i = 0; i < a->set.n; i++)
		if (a->set.text[i][0] == '-' || a->set.text[i][0] == '+')
			return berth_fail(
				err, BERTH_EINVAL,
				"simulate: --set changes figures; what '%.80s' would bring tells --what-if",
				a->set.text[i]);
	return BERTH_OK;
}

static berth_status run(cli *c, berth_err *err)
{
	args a = {.budget = cli_budget_default(), .granularity = cli_granularity_default()};
	state s = {0};
	const cli_option options[] = {
		CLI_ON(&a.on),
		{"placement", 0, CLI_FILE_IN, &a.placement, "FILE", "which device runs which operator"},
		{"trace", 0, CLI_FILE_OUT, &a.trace, "OUT",
	         "write the timeline as a Chrome trace (Perfetto shows it)"},
		{"set", 0, CLI_MANY, &a.set, "NAME.KEY=VALUE|2x",
	         "change a figure of a device or link; the placement is solved anew too"},
		{"what-if", 0, CLI_FILES_MANY, &a.asked, "CHANGE,...|FILE",
	         "ask what changes such as those of --set would bring, or devices and links more or less: a "
	         "row each, and one a line of a file"},
		CLI_GRANULARITY(&a.granularity),
		CLI_SEARCH(&a.budget),
		CLI_BOUND(&a.budget),
		CLI_COMPRESS(c),
		CLI_RULES(c),
		CLI_FOR(c),
		CLI_INPUT(c),
		CLI_COMMON(c)};
	a.budget.objective = NULL;
	a.budget.evaluations.n = 1000;
	BERTH_TRY(cli_parse(c, options, 1, -1, err));
	if (c->help)
		return BERTH_OK;
	BERTH_TRY(check_args(c, &a, err));
	BERTH_TRY(cli_granularity_open(c, &a.granularity, err));
	BERTH_TRY(simulate(c, &a, &s, err));
	BERTH_TRY(ask_what_if(c, &a, &s, err));
	if (c->json)
		BERTH_TRY(print_json(c, &a, &s, err));
	else if (cli_in_words(c))
		BERTH_TRY(print_text(c, &a, &s, err));
	if (a.trace) {
		berth_export_source x = {
			.g = &s.g, .s = &s.s, .op_dev = s.placement.op_dev, .p = &s.p, .t = &s.t};
		if (!s.t.r.runs)
			return berth_fail(err, BERTH_EINFEASIBLE, "no trace is written: %s",
			                  s.v.broken.item[0].message);
		BERTH_TRY(berth_export("trace", &x, a.trace, &c->mem, &c->tmp, err));
	}
	return s.v.broken.n ? report_broken(c, a.placement, &s.v.broken, err) : BERTH_OK;
}

static const cli_rule rules[] = {
	{"", "!placement",
         "simulate: --placement FILE is missing: simulate GRAPH --on SYSTEM --placement PLAN"},
	{"compress", "set|what-if",
         "simulate: --compress is for the machine as it is: leave out --set and --what-if"},
	{"set", "what-if",
         "simulate: --set changes one machine, --what-if asks about several; give one of the two"}};

const cli_verb cmd_simulate = {
	"simulate",
	"simulate GRAPH... --on SYSTEM --placement FILE [--trace OUT.json] [--set "
	"DEVICE_OR_LINK.KEY=VALUE|2x] [--what-if CHANGE,...|FILE]",
	"tell what a placement costs, and what it breaks",
	"--set takes keys of berth-system files, more than once: gpu0.peak_flops=2x, "
	"gpu0.memory_bytes=16GB, "
	"cpu0:gpu0.bandwidth=32GB/s, a shared link by its name. The changed machine stands beside the one "
	"in the file, with the same placement and solved anew.\n"
	"--what-if also takes -gpu1 (without that device), +gpu2=like:gpu0, -cpu0:gpu1 (without "
	"that link), +gpu0:gpu1=12GB/s@5us; changes of one row have commas between them.\n"
	"An infeasible placement is reported with exit code 3.\n"
	"Example: berth simulate zoo:resnet50 --on system:cpu+2gpu --placement plan.json --trace "
	"plan-trace.json\n",
	run,
	CLI_RULES_OF(rules)};
