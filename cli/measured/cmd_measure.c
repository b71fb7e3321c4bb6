/* berth measure: what a placement costs in reality. */
#include "bounds.h"
#include "engine.h"
#include "file.h"
#include "graph_load.h"
#include "page_plan.h"
#include "placement.h"
#include "plan_words.h"
#include "print.h"
#include "progress.h"
#include "report.h"
#include "results.h"
#include "say.h"
#include "tell.h"
#include "times.h"

typedef struct args {
	const char *on, *placement, *trace, *report;
	cli_engine engine;
	int64_t repeats;
	double time_s;
	bool operators;
} args;

typedef struct state {
	berth_graph g;
	berth_system s;
	berth_placement placement;
	berth_problem p;
	berth_bounds bounds;
	berth_timeline t;         /* simulated */
	berth_verdict v;
	berth_measurement run;
	berth_operator_time *operators; /* [n_operators] */
	int32_t n_operators;
	const char *engine;
	double *busy_s;           /* [n_devs] */
	double strain;            /* median; NAN: not said */
	int32_t single_dev;       /* predicted to be the best alone; -1: the plan is that, or none can */
	double single_s;          /* everything there, median; NAN: not run */
} state;

/* ---- passes ---- */

/* The order that the simulator starts operators in, unless the placement has one. */
static berth_status order_of(cli *c, const state *s, const int32_t **out, berth_err *err)
{
	int32_t *order;
	berth_sim *sim;
	*out = s->placement.order;
	if (*out || !s->t.r.runs)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, s->g.n_ops, err, order);
	BERTH_TRY(berth_sim_new(&s->p, &c->mem, &sim, err));
	*out = order;
	berth_start_order(&s->p, sim, s->placement.op_dev, order);
	return BERTH_OK;
}

/* The device on which everything is predicted to be fastest, and allowed; -1: the plan is just that, or there
 * is none. */
static berth_status find_single(cli *c, state *s, int32_t *op_dev, berth_err *err)
{
	int64_t best = INT64_MAX;
	bool is_plan = true;
	s->single_dev = -1;
	for (int32_t d = 0; d < s->s.n_devs; d++) {
		berth_timeline t;
		berth_verdict v;
		for (int32_t op = 0; op < s->g.n_ops; op++)
			op_dev[op] = d;
		BERTH_TRY(berth_judge(&s->p, op_dev, NULL, NULL, &c->mem, &t, &v, err));
		if (v.feasible && t.r.latency_ns < best) {
			best = t.r.latency_ns;
			s->single_dev = d;
		}
	}
	for (int32_t op = 0; op < s->g.n_ops; op++) {
		is_plan = is_plan && s->placement.op_dev[op] == s->single_dev;
		op_dev[op] = s->single_dev;
	}
	if (is_plan)
		s->single_dev = -1;
	return BERTH_OK;
}

/* What the plan is worth beside one device. Where the engine cannot run that, nothing is told. */
static berth_status measure_single(cli *c, berth_measured *m, const berth_steady_cfg *runs, state *s,
                                   berth_err *err)
{
	int32_t *op_dev;
	berth_measurement run;
	berth_err why;
	if (s->s.order == BERTH_ORDER_GIVEN)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, s->g.n_ops, err, op_dev);
	BERTH_TRY(find_single(c, s, op_dev, err));
	if (s->single_dev < 0)
		return BERTH_OK;
	berth_status st = berth_steady_run(m, runs, op_dev, s->g.topo_op, &c->mem, &c->tmp, &run, &why);
	if (st == BERTH_OK)
		s->single_s = run.wall.median;
	return st == BERTH_ENOMEM ? berth_nomem(err) : BERTH_OK;
}

/* Runs of a placement, told and timed. */
typedef struct runs_told {
	cli_progress progress; /* first: callbacks have this one */
	const berth_steady_cfg *runs;
	bool quiet;
} runs_told;

static void count(void *ctx, const char *what, int32_t done, int32_t of)
{
	cli_progress_count(&((runs_told *)ctx)->progress, what, done, of);
}

/* How long all takes, where that is worth a word. */
static void before(void *ctx, double run_s)
{
	static const double worth_s = 2;
	const runs_told *x = ctx;
	const berth_steady_cfg *r = x->runs;
	char one[32], least[32], most[32];
	if (x->quiet || !(run_s * r->most > worth_s))
		return;
	const double first_s = run_s * (r->least + r->warmup);
	berth_text_seconds(least, fmin(r->time_s, first_s));
	berth_text_seconds(most, fmin(r->time_s, fmax(first_s, 2 * run_s * r->most)));
	cli_say_error("berth: a run takes %s: the placement is measured for %s%s%s (--time S)\n",
	              berth_text_seconds(one, run_s), least, strcmp(least, most) ? " to " : "",
	              strcmp(least, most) ? most : "");
}

static berth_status measure(cli *c, const args *a, state *s, berth_err *err)
{
	berth_measured m;
	const int32_t *order;
	BERTH_TRY(order_of(c, s, &order, err));
	BERTH_TRY(cli_engine_open(c, &a->engine, c->args[0], &s->g, &s->s, NULL, &m, &s->engine, err));
	int32_t least = a->repeats ? (int32_t)a->repeats : 21, most = a->repeats ? least : 168;
	runs_told told = {.quiet = c->quiet};
	/* half of the time is the single device's */
	const berth_steady_cfg runs = {.warmup = 3, .least = least, .most = most, .width = 0.03,
	                               .time_s = a->time_s / 2, .before = before,
	                               .progress = count, .progress_ctx = &told};
	told.runs = &runs;
	cli_progress_open(&told.progress, c, s->g.name);
	berth_status st =
		berth_steady_run(&m, &runs, s->placement.op_dev, order, &c->mem, &c->tmp, &s->run, err);
	if (st == BERTH_OK && (a->operators || a->trace || a->report))
		st = berth_measured_operators(&m, s->placement.op_dev, order, &c->mem, &c->tmp, &s->operators,
		                              &s->n_operators, err);
	if (st == BERTH_OK)
		st = measure_single(c, &m, &runs, s, err);
	cli_progress_end(&told.progress);
	berth_measured_close(&m);
	BERTH_TRY(st);
	berth_spread strain;
	BERTH_TRY_NEW(&c->mem, s->s.n_devs, err, s->busy_s);
	for (int32_t k = 0; k < s->run.n_segments; k++) {
		const berth_segment *g = &s->run.segment[k];
		for (int32_t i = 0; i < s->run.n_samples; i++)
			s->busy_s[g->dev] += (g->end_s[i] - g->start_s[i]) / s->run.n_samples;
	}
	s->strain = NAN;
	if (s->run.n_samples && !isnan(s->run.strain[0])) {
		BERTH_TRY(berth_spread_of(s->run.strain, s->run.n_samples, &c->tmp, &strain, err));
		s->strain = strain.median;
	}
	return BERTH_OK;
}

/* ---- output ---- */

static const berth_result_list *devices(cli *c, const state *s)
{
	berth_result_list *all = berth_result_list_new(&c->mem, &device_kind);
	for (int32_t d = 0; d < s->s.n_devs; d++)
		report_add_device(all, &s->p, s->placement.op_dev, d, s->busy_s ? s->busy_s[d] : NAN, NAN);
	return all;
}

static double largest_load(const state *s)
{
	double load = 0;
	for (int32_t d = 0; s->busy_s && d < s->s.n_devs; d++)
		load = fmax(load, s->busy_s[d]);
	return load;
}

#define OPERATOR(K, IF) \
	K(TEXT_OR_NULL, "name", "", "null: a kernel of no operator", x->op < 0 ? NULL : s->g.op_name[x->op]) \
	K(TEXT, "device", "", "", s->s.dev_name[x->dev]) \
	K(TEXT, "kernel", "", "what the engine calls it", x->kernel) \
	K(TEXT_OR_NULL, "in", "", "operator that it is fused into", x->in < 0 ? NULL : s->g.op_name[x->in]) \
	K(NUMBER, "start_s", "s", "from the start of the run", x->start_s) \
	K(NUMBER, "end_s", "s", "", x->end_s)
static RESULT_FLAT_KIND(operator_kind, "Operator time", "", OPERATOR);

#define MEASURE(K, IF) \
	K(ALL_OF(metrics_kind), "", "", "", report_metrics(c, metric)) \
	K(BOOL, "feasible", "", "", s->v.feasible) \
	K(LIST(violation_kind), "violations", "", "", report_violations(c, &s->p, &s->v.broken)) \
	K(NS, "lower_bound_s", "s", "of the simulator", s->bounds.latency_ns) \
	K(TEXT, "order", "", "`given`", "given") \
	K(LIST(device_kind), "devices", "", "`peak_memory_bytes` is not measured", devices(c, s)) \
	K(TEXT_OR_NULL, "engine", "", "name, version and options; null: not run", s->engine) \
	K(NUMBERS, "samples_s", "s", "the runs", s->run.wall_s, s->run.n_samples) \
	K(NUMBERS_OR_NULLS, "interval_s", "s", \
	  "interval of the median, low and high; 95 % from 6 runs on", interval, 2) \
	K(NUMBER_OR_NULL, "simulated_s", "s", "the same placement in the simulator", \
	  s->t.r.runs ? (double)s->t.r.latency_ns * 1e-9 : NAN) \
	K(TEXT_OR_NULL, "single_device", "", \
	  "the device that is predicted to be the best alone; null: the placement is that, or it was not " \
	  "run", \
	  isnan(s->single_s) ? NULL : s->s.dev_name[s->single_dev]) \
	K(NUMBER_OR_NULL, "single_s", "s", "everything there, run as the placement was: its median", \
	  s->single_s) \
	K(INT, "segments", "", "pieces that ran as one", s->run.n_segments) \
	K(NUMBER_OR_NULL, "strain", "", \
	  "median of wall seconds for each CPU second of the work; null: not said", ran ? s->strain : NAN) \
	K(NUMBER_OR_NULL, "difference", "", \
	  "of outputs from the unsplit model's, relative to the largest", ran ? s->run.max_difference : NAN) \
	IF(s->n_operators, LIST(operator_kind), "operators", "", \
	   "only with `--operators`, `--trace` or `--report`", operators)
RESULT_KIND(measure_document, "Measure", "", MEASURE);

static berth_status fill(cli *c, const state *s, const berth_result **out, berth_err *err)
{
	bool ran = s->run.n_samples > 0;
	double *interval, metric[BERTH_N_METRICS];
	berth_result_list *operators = berth_result_list_new(&c->mem, &operator_kind);
	BERTH_TRY_NEW(&c->mem, 2, err, interval);
	interval[0] = ran ? s->run.wall.low : NAN;
	interval[1] = ran ? s->run.wall.high : NAN;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		metric[m] = NAN;
	metric[BERTH_LATENCY] = ran ? s->run.wall.median : NAN;
	metric[BERTH_THROUGHPUT] = ran ? largest_load(s) : NAN;
	for (const berth_operator_time *x = s->operators; x && x - s->operators < s->n_operators; x++)
		RESULT_ADD(operators, OPERATOR);
	*out = RESULT_NEW(&c->mem, measure_document, MEASURE);
	return BERTH_OK;
}

static berth_status write_report(cli *c, const args *a, const state *s, const berth_result *r, berth_err *err)
{
	berth_page page;
	BERTH_TRY(cli_report_open(c, &page, "measure", s->g.name, s->s.name, "s", r, err));
	if (s->t.r.runs)
		BERTH_TRY(berth_page_put_plan(&page.w, &s->p, &s->t, &c->mem, &c->tmp, err));
	return cli_report_write(c, &page, a->report, err);
}

/* ---- when operators ran ---- */

static int by_length(const void *a, const void *b)
{
	const berth_operator_time *x = a, *y = b;
	double p = x->end_s - x->start_s, q = y->end_s - y->start_s;
	return p != q ? BERTH_COMPARE(q, p) : BERTH_COMPARE(x->start_s, y->start_s);
}

/* Those that took longest. */
static berth_status print_operators(cli *c, const state *s, berth_err *err)
{
	int32_t n = s->n_operators;
	enum { MOST = 20 };
	cli_table t;
	berth_operator_time *sorted;
	BERTH_TRY_NEW(&c->mem, n, err, sorted);
	BERTH_COPY(sorted, s->operators, n);
	qsort(sorted, (size_t)n, sizeof *sorted, by_length);
	cli_table_init(&t, &c->mem, "lllrrl");
	cli_table_head(&t, "operator|kernel|device|start|time|fused into");
	for (int32_t i = 0; i < n && i < MOST; i++) {
		cli_cell_text(&t, sorted[i].op >= 0 ? s->g.op_name[sorted[i].op] : "");
		cli_cell_text(&t, sorted[i].kernel);
		cli_cell_text(&t, s->s.dev_name[sorted[i].dev]);
		cli_cell_seconds(&t, sorted[i].start_s);
		cli_cell_seconds(&t, sorted[i].end_s - sorted[i].start_s);
		cli_cell_text(&t, sorted[i].in >= 0 ? s->g.op_name[sorted[i].in] : "");
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	if (n > MOST)
		cli_say("the %d longest of %d; --json tells all\n", MOST, (int)n);
	return BERTH_OK;
}

static void put_event(berth_json_out *w, const berth_graph *g, const berth_operator_time *x)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", x->op >= 0 ? g->op_name[x->op] : x->kernel);
	berth_json_put_string(w, "cat", x->kernel);
	berth_json_put_string(w, "ph", "X");
	berth_json_put_int(w, "pid", 1);
	berth_json_put_int(w, "tid", x->dev + 1);
	berth_json_put_number(w, "ts", x->start_s * 1e6);
	berth_json_put_number(w, "dur", (x->end_s - x->start_s) * 1e6);
	berth_json_close(w, '}');
}

/* Chrome's trace event format: a thread for each device, a complete event for each kernel. */
static berth_status write_trace(cli *c, const char *path, const state *s, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	berth_json_out_init(&w, &c->mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_open(&w, "traceEvents", '[');
	for (int32_t d = 0; d < s->s.n_devs; d++) {
		berth_json_open(&w, NULL, '{');
		berth_json_put_string(&w, "name", "thread_name");
		berth_json_put_string(&w, "ph", "M");
		berth_json_put_int(&w, "pid", 1);
		berth_json_put_int(&w, "tid", d + 1);
		berth_json_open(&w, "args", '{');
		berth_json_put_string(&w, "name", s->s.dev_name[d]);
		berth_json_close(&w, '}');
		berth_json_close(&w, '}');
	}
	for (int32_t i = 0; i < s->n_operators; i++)
		if (s->operators[i].in < 0) /* a fused operator's event is its host's */
			put_event(&w, &s->g, &s->operators[i]);
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return berth_file_write(path, text, len, err);
}

/* ---- text ---- */

static void print_text(const state *s)
{
	char a[32], b[32], d[32];
	cli_say("%s on %s, by %s\n", s->g.name, s->s.name, s->engine);
	cli_say("latency %s, interval of the median %s to %s (%d run%s, %d segment%s)\n",
	        berth_text_seconds(a, s->run.wall.median), berth_text_seconds(b, s->run.wall.low),
	        berth_text_seconds(d, s->run.wall.high), s->run.n_samples, s->run.n_samples == 1 ? "" : "s",
	        s->run.n_segments,
	        s->run.n_segments == 1 ? "" : "s");
	if (s->t.r.runs)
		cli_say("simulated %s\n", berth_text_seconds(a, (double)s->t.r.latency_ns * 1e-9));
	if (!isnan(s->single_s))
		cli_say("all on %s: latency %s, %.2f times as long\n", s->s.dev_name[s->single_dev],
		        berth_text_seconds(a, s->single_s), s->single_s / s->run.wall.median);
	if (s->strain > 1.1)
		cli_say("the machine was busy: %.2f seconds of the clock for each CPU second of the work\n",
		        s->strain);
	if (!isnan(s->run.max_difference))
		cli_say("outputs differ from the unsplit model's by at most %.2g of the largest\n",
		        s->run.max_difference);
	for (int32_t i = 0; i < s->s.n_devs; i++)
		cli_say("%s busy %s\n", s->s.dev_name[i], berth_text_seconds(a, s->busy_s[i]));
}

static berth_status print_all(cli *c, const args *a, const state *s, berth_err *err)
{
	print_text(s);
	return a->operators && s->n_operators
	               ? print_operators(c, s, err)
	               : BERTH_OK;
}

static berth_status run(cli *c, berth_err *err)
{
	args a = {.engine = CLI_ENGINE_DEFAULT, .time_s = 300};
	state s = {.strain = NAN, .single_dev = -1, .single_s = NAN};
	const berth_result *r;
	const cli_option options[] = {
		CLI_ENGINE_ON(&a.on),
		{"placement", 0, CLI_FILE_IN, &a.placement, "FILE", "which device runs which operator"},
		CLI_ENGINE(&a.engine),
		{"time", 0, CLI_SECONDS, &a.time_s, "S",
	         "seconds that the runs may take, beside making the model ready"},
		{"repeats", 0, CLI_COUNT, &a.repeats, "N",
	         "runs that count, after 3 that do not\t21, and up to 168 until the median is known to 3 %"},
		{"operators", 0, CLI_FLAG, &a.operators, NULL,
	         "tell when each operator started and ended in one run more: the longest, with --json all"},
		{"trace", 0, CLI_FILE_OUT, &a.trace, "FILE",
	         "write that run as a timeline for chrome://tracing or Perfetto"},
		CLI_REPORT(&a.report),
		CLI_CALIBRATE(c),
		CLI_READING(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, 1, err));
	if (c->help)
		return BERTH_OK;
	if (a.repeats > 100000)
		return berth_fail(err, BERTH_EINVAL, "measure: more than 100000 runs were asked for");
	a.engine.timeout_s = fmax(a.engine.timeout_s, a.time_s);
	BERTH_TRY(cli_plan_words_take(c, a.placement, c->args[0], err));
	BERTH_TRY(cli_instance_load(c, c->args[0], a.on, &s.g, &s.s, NULL, err));
	BERTH_TRY(cli_placement_read(c, a.placement, &s.g, &s.s, &s.placement, err));
	BERTH_TRY(berth_problem_new(&s.g, &s.s, &c->mem, &c->tmp, &s.p, err));
	BERTH_TRY(berth_bounds_new(&s.p, &c->tmp, &s.bounds, err));
	const berth_objective o = berth_objective_of_plan(s.placement.objective, &s.p);
	BERTH_TRY(berth_judge(&s.p, s.placement.op_dev, s.placement.order, &o, &c->mem, &s.t, &s.v, err));
	if (!s.v.broken.n)
		BERTH_TRY(measure(c, &a, &s, err));
	if ((a.operators || a.trace) && !s.v.broken.n && !s.n_operators)
		BERTH_TRY(cli_warn(c, err, "%s does not tell when operators run", s.engine));
	if (a.trace && s.n_operators)
		BERTH_TRY(write_trace(c, a.trace, &s, err));
	BERTH_TRY(fill(c, &s, &r, err));
	if (c->json)
		BERTH_TRY(cli_put_result(c, r, err));
	else if (s.v.broken.n && cli_in_words(c))
		report_print_violations(&s.v.broken);
	else if (cli_in_words(c))
		BERTH_TRY(print_all(c, &a, &s, err));
	if (a.report)
		BERTH_TRY(write_report(c, &a, &s, r, err));
	return s.v.broken.n ? report_broken(c, a.placement, &s.v.broken, err) : BERTH_OK;
}

static const cli_rule rules[] = {{"", "!on", "measure: --on SYSTEM is missing; " CLI_THIS_MACHINE},
                                 {"", "!placement",
                                  "measure: --placement FILE is missing: measure GRAPH --on SYSTEM "
                                  "--placement PLAN"}};

const cli_verb cmd_measure = {
	"measure",
	"measure GRAPH --on SYSTEM --placement FILE [--engine E] [--model FILE] [--report FILE.html]",
	"run a placement for real and tell what it costs",
	"The median of the runs with its interval (95 % from 6 runs on). Exit code 5 where the engine is "
	"missing or dies, 6 where it hangs, 4 for a model that "
	"it cannot run, 3 for a device that it lacks. docs/engines.md says what an engine is.\n"
	"Example: berth measure model.onnx --on host.json --placement plan.json --json\n",
	run,
	CLI_RULES_OF(rules)};
