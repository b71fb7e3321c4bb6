/* berth profile: times of operators and links by an engine, and the description of this machine. */
#include "engine_rules.h"
#include "fidelity.h"
#include "file.h"
#include "graph_format.h"
#include "graph_load.h"
#include "profile.h"
#include "profile_system.h"
#include "progress.h"
#include "results.h"
#include "say.h"
#include "scales.h"
#include "signals.h"
#include "system_json.h"
#include "tell.h"
#include "times.h"

typedef struct args {
	const char *on, *out, *system_out, *cache;
	bool system, software;
	cli_texts set;
	cli_engine engine;
	int64_t repeats, quick;
	double time_s;
} args;

typedef struct state {
	berth_graph g;
	berth_system s;
	berth_measured m;
	berth_profile p;
	berth_profile_cache *cache;
	const char *engine;
	berth_fidelity fit; /* to runs of placements, with -o and --system-out; no operators: not made */
	double *whole_s;   /* [n_devs] of all operators on the device, with --quick; NAN: not run */
} state;

/* ---- a graph ---- */

static berth_status profile(cli *c, const args *a, state *s, berth_err *err)
{
	berth_profile_cfg cfg = berth_profile_cfg_default();
	cli_progress progress;
	cfg.repeats = (int32_t)a->repeats;
	cfg.time_s = a->time_s;
	cfg.quick = (int32_t)a->quick;
	cfg.cache = s->cache;
	cfg.engine = s->engine;
	cfg.progress = cli_progress_count;
	cfg.progress_ctx = &progress;
	cli_progress_open(&progress, c, s->g.name);
	berth_status st = berth_profile_run(&s->m, &cfg, &c->mem, &c->tmp, &s->p, err);
	cli_progress_end(&progress);
	return st;
}

/* Everything on each device, as the level of what single operators tell. What does not run so is left out,
 * and told. */
static berth_status time_whole(cli *c, const args *a, state *s, berth_err *err)
{
	const int32_t n = (int32_t)a->repeats;
	const berth_steady_cfg runs = {.warmup = 2, .least = n, .most = n};
	int32_t *op_dev;
	berth_measurement run;
	berth_err why;
	BERTH_TRY_NEW(&c->mem, s->g.n_ops, err, op_dev);
	for (int32_t d = 0; d < s->s.n_devs; d++) {
		s->whole_s[d] = NAN;
		if (s->m.dev_engine[d] < 0)
			continue;
		for (int32_t op = 0; op < s->g.n_ops; op++)
			op_dev[op] = d;
		berth_status st =
			berth_steady_run(&s->m, &runs, op_dev, s->g.topo_op, &c->mem, &c->tmp, &run, &why);
		if (st == BERTH_ENOMEM || st == BERTH_EINTERRUPTED)
			return berth_fail(err, st, "%s", why.msg);
		if (st == BERTH_OK)
			s->whole_s[d] = run.wall.median;
		else
			BERTH_TRY(cli_warn(c, err, "the whole model is left out on %s: %s", s->s.dev_name[d],
			                   why.msg));
	}
	return BERTH_OK;
}

/* Run placements, so that the times hold for operators side by side, and what is cut has its price. */
static berth_status fit(cli *c, state *s, berth_err *err)
{
	enum { PLACEMENTS = 12 };
	berth_fidelity_cfg cfg = berth_fidelity_cfg_default();
	cli_progress progress;
	cfg.calibration = PLACEMENTS;
	cfg.test = 0;
	cfg.max_strain = 0;
	cfg.progress = cli_progress_count;
	cfg.progress_ctx = &progress;
	cli_progress_open(&progress, c, s->g.name);
	berth_status st = berth_fidelity_fit(&s->m, &s->p, &cfg, &c->mem, &c->tmp, &s->fit, err);
	cli_progress_end(&progress);
	if (st == BERTH_OK || st == BERTH_ENOMEM || st == BERTH_EINTERRUPTED)
		return st;
	s->fit = (berth_fidelity){0};
	return cli_warn(c, err, "times are those of operators alone, for placements could not be run: %s",
	                err->msg);
}

static berth_status run_profile(cli *c, const args *a, state *s, const atomic_int *cancel, berth_err *err)
{
	BERTH_TRY(cli_engine_open(c, &a->engine, c->args[0], &s->g, &s->s, cancel, &s->m, &s->engine, err));
	const berth_engine_hello *says = berth_engine_says(s->m.engine);
	if (!s->s.engine && says->fuses && strcmp(says->engine, "ort") == 0) /* a run is one of kernels */
		BERTH_TRY(berth_rules_find("ort", &s->s.engine, err));
	berth_status st = profile(c, a, s, err);
	if (st == BERTH_OK && a->quick && a->system_out)
		st = time_whole(c, a, s, err);
	else if (st == BERTH_OK && a->out && a->system_out && s->m.n_engine_devs > 1)
		st = fit(c, s, err);
	berth_measured_close(&s->m);
	return st;
}

/* Where the engine does not let go in time. */
static void say_nothing(void *unused, char *text, size_t size)
{
	(void)unused;
	snprintf(text, size, "interrupted; nothing is written");
}

/* Until it has ended, or a signal came; whatever that did to the engine. */
static berth_status profile_until(cli *c, const args *a, state *s, berth_err *err)
{
	const atomic_int *cancel = cli_catch_signals();
	cli_rescue_by(say_nothing, NULL, 0);
	berth_status st = run_profile(c, a, s, cancel, err);
	cli_rescue_by(NULL, NULL, 0);
	return atomic_load(cancel) ? berth_fail(err, BERTH_EINTERRUPTED, "interrupted; nothing is written")
	                           : st;
}

static berth_status write_graph(cli *c, const args *a, const state *s, berth_err *err)
{
	berth_graph g = s->fit.fitted_graph;
	const char *text;
	size_t len;
	if (!g.n_ops)
		BERTH_TRY(berth_graph_with_times(&s->g, &s->s, s->p.time_s, &c->mem, &g, err));
	BERTH_TRY(berth_graph_write_json(&g, true, &c->mem, &text, &len, err));
	return berth_file_write(a->out, text, len, err);
}

static berth_status write_system(cli *c, const char *path, const berth_system *s, berth_err *err)
{
	const char *text;
	size_t len;
	BERTH_TRY(berth_system_write_json(s, true, &c->mem, &text, &len, err));
	return berth_file_write(path, text, len, err);
}

/* ---- the document ---- */

#define SPREAD(K, IF) \
	K(NUMBER_OR_NULL, "median", "s", "", x->median) \
	K(NUMBER_OR_NULL, "low", "s", "interval of the median", x->low) \
	K(NUMBER_OR_NULL, "high", "s", "", x->high) \
	K(NUMBER_OR_NULL, "mad", "s", "median absolute deviation", x->mad)
static RESULT_KIND(spread_kind, "Spread", "", SPREAD);

#define LINK(K, IF) \
	K(TEXT, "from", "", "", s->s.dev_name[s->s.link_from[l]]) \
	K(TEXT, "to", "", "", s->s.dev_name[s->s.link_to[l]]) \
	K(NUMBER_OR_NULL, "latency_s", "s", "null: not timed", fit->n ? fit->latency_s : NAN) \
	K(NUMBER_OR_NULL, "bandwidth", "bytes/s", "", fit->n ? fit->bandwidth : NAN)
static RESULT_KIND(link_kind, "", "", LINK);

#define OP(K, IF) \
	K(TEXT, "op", "", "", s->g.op_name[op]) \
	K(TEXT, "device", "", "", s->s.dev_name[d]) \
	K(TEXT, "source", "", "`measured`, `cached`, `predicted` or `cannot` (then nothing below)", \
	  berth_source_name(x->source)) \
	IF(x->source != BERTH_CANNOT, INT, "samples", "", "", x->x.n) \
	IF(x->source != BERTH_CANNOT, OBJECT(spread_kind), "wall_s", "", \
	   "predicted: low to high is the error bar", spread_of(c, &x->x.wall)) \
	IF(x->source != BERTH_CANNOT, OBJECT(spread_kind), "cpu_s", "", "all null: not said", \
	   spread_of(c, &x->x.cpu))
static RESULT_FLAT_KIND(op_kind, "", "", OP);

#define PROFILE(K, IF) \
	K(TEXT, "engine", "", "name, version and options", s->engine) \
	K(INT, "measured", "", "times", s->p.n_measured) \
	K(INT, "cached", "", "out of `--cache`", s->p.n_cached) \
	K(INT, "predicted", "", "that were not measured", s->p.n_predicted) \
	K(NUMBER_OR_NULL, "run_overhead_s", "s", "what a run takes beside operators; null: not said", \
	  s->p.overheads.run_s) \
	K(NUMBER_OR_NULL, "segment_overhead_s", "s", "and a piece", s->p.overheads.segment_s) \
	K(INT, "placements", "", "that were run, and that `-o` and `--system-out` were fitted to", \
	  s->fit.n_calibration) \
	K(LIST(link_kind), "links", "", "", links) \
	K(LIST(op_kind), "ops", "", "an operator on a device each", ops)
RESULT_KIND(profile_document, "Profile", "`profile GRAPH --json`.", PROFILE);

static const berth_result *spread_of(cli *c, const berth_spread *x)
{
	return RESULT_NEW(&c->mem, spread_kind, SPREAD);
}

static const berth_result *fill(cli *c, const state *s)
{
	berth_result_list *links = berth_result_list_new(&c->mem, &link_kind),
			  *ops = berth_result_list_new(&c->mem, &op_kind);
	for (int32_t l = 0; l < s->s.n_links; l++) {
		const berth_link_fit *fit = &s->p.link[l];
		RESULT_ADD(links, LINK);
	}
	for (int32_t op = 0; op < s->g.n_ops; op++)
		for (int32_t d = 0; d < s->s.n_devs; d++) {
			const berth_profiled *x = &BERTH_ROW(s->p.row, op, s->s.n_devs)[d];
			RESULT_ADD(ops, OP);
		}
	return RESULT_NEW(&c->mem, profile_document, PROFILE);
}

/* ---- text ---- */

static void print_device(const state *s, int32_t d)
{
	char a[32];
	double sum = 0;
	int32_t n = 0;
	for (int32_t op = 0; op < s->g.n_ops; op++) {
		double t = BERTH_ROW(s->p.time_s, op, s->s.n_devs)[d];
		n += !isnan(t);
		sum += isnan(t) ? 0 : t;
	}
	if (n == s->g.n_ops)
		cli_say("%s: all operators %s\n", s->s.dev_name[d], berth_text_seconds(a, sum));
	else if (n)
		cli_say("%s: %d of %d operators %s, the others cannot run there\n", s->s.dev_name[d], n,
		        s->g.n_ops, berth_text_seconds(a, sum));
	else if (s->m.dev_engine[d] >= 0)
		cli_say("%s: it can run no operator\n", s->s.dev_name[d]);
	else
		cli_say("%s: the engine has no device of this name; plans hold its predicted times against "
		        "measured ones\n",
		        s->s.dev_name[d]);
}

static void print_link(const state *s, int32_t l)
{
	const berth_link_fit *fit = &s->p.link[l];
	char a[32], b[32];
	const char *latency = berth_text_seconds(a, fit->latency_s),
		   *bandwidth = berth_text_bytes(b, fit->bandwidth);
	cli_say("%s to %s: %s", s->s.dev_name[s->s.link_from[l]], s->s.dev_name[s->s.link_to[l]], latency);
	if (fit->capped)
		cli_say(", the bandwidth is not measurable (it is taken as %s/s)\n", bandwidth);
	else
		cli_say(" and %s/s\n", bandwidth);
}

/* How well the medians are known: intervals against the medians. */
static berth_status print_noise(cli *c, const state *s, berth_err *err)
{
	double *width;
	int32_t n = 0, at = 0, n_devs = s->s.n_devs;
	char a[32], b[32];
	berth_spread all;
	BERTH_TRY_NEW(&c->tmp, s->g.n_ops * n_devs, err, width);
	for (int32_t i = 0; i < s->g.n_ops * n_devs; i++) {
		const berth_profiled *x = &s->p.row[i];
		if (x->source != BERTH_MEASURED || !(x->x.wall.median > 0))
			continue;
		width[n] = berth_spread_width(&x->x.wall);
		at = n && width[n] <= berth_spread_width(&s->p.row[at].x.wall) ? at : i;
		n++;
	}
	if (!n)
		return BERTH_OK;
	BERTH_TRY(berth_spread_of(width, n, &c->tmp, &all, err));
	cli_say("noise: intervals of the medians are %s wide, in the middle of all, and %s at most ('%s' on "
	        "%s)\n",
	        cli_percent(a, all.median), cli_percent(b, berth_spread_width(&s->p.row[at].x.wall)),
	        s->g.op_name[at / n_devs], s->s.dev_name[at % n_devs]);
	return BERTH_OK;
}

static berth_status print_text(cli *c, const state *s, berth_err *err)
{
	char off[32];
	cli_say("%s on %s, by %s\n", s->g.name, s->s.name, s->engine);
	cli_say("times: %d measured, %d from the cache, %d predicted\n", s->p.n_measured, s->p.n_cached,
	        s->p.n_predicted);
	BERTH_TRY(print_noise(c, s, err));
	if (s->fit.n_calibration)
		cli_say("fitted to %d placements that were run, with what a cut costs (pieces of them were "
		        "off by %s)\n",
		        s->fit.n_calibration, cli_percent(off, s->fit.segment_error_before));
	for (int32_t d = 0; d < s->s.n_devs; d++)
		print_device(s, d);
	for (int32_t d = 0; d < s->m.n_engine_devs; d++)
		if (s->m.engine_sys[d] < 0)
			cli_say("%s: %s has no device of this name, the engine has\n", s->m.engine_dev[d],
			        s->s.name);
	for (int32_t l = 0; l < s->s.n_links; l++)
		if (s->p.link[l].n)
			print_link(s, l);
	return BERTH_OK;
}

/* The scales of fitted by what was timed on each device. */
static berth_status calibrate(cli *c, const state *s, berth_system *fitted, berth_err *err)
{
	berth_timing *timing;
	BERTH_TRY_NEW(&c->mem, s->g.n_ops + 1, err, timing);
	for (int32_t d = 0; d < s->s.n_devs; d++) {
		int32_t n = 0;
		for (int32_t op = 0; op < s->g.n_ops; op++) {
			const berth_profiled *x = &BERTH_ROW(s->p.row, op, s->s.n_devs)[d];
			if ((x->source == BERTH_MEASURED || x->source == BERTH_CACHED) &&
			    x->x.wall.median > 0)
				timing[n++] = (berth_timing){&s->g, op, x->x.wall.median};
		}
		bool whole = s->whole_s[d] > 0;
		if (whole)
			timing[n++] = (berth_timing){&s->g, -1, s->whole_s[d]};
		const char *by = berth_arena_printf(
			&c->mem, whole ? "%s and operators of it" : "operators of %s", s->g.name);
		BERTH_TRY(berth_got(by, err));
		if (n)
			BERTH_TRY(cli_calibrate_device(c, fitted, d, timing, n, by, err));
	}
	return BERTH_OK;
}

static berth_status profile_graph(cli *c, const args *a, berth_err *err)
{
	state s = {0};
	berth_system fitted;
	if (!a->on)
		return berth_fail(err, BERTH_EINVAL, "profile: --on SYSTEM is missing; " CLI_THIS_MACHINE);
	BERTH_TRY(cli_instance_load(c, c->args[0], a->on, &s.g, &s.s, NULL, err));
	/* a module runs by PyTorch: what that adds is predicted, and scales are of all */
	if (berth_module_file_length(a->engine.model ? a->engine.model : c->args[0]))
		BERTH_TRY(berth_rules_find("torch", &s.s.engine, err));
	if (a->cache)
		BERTH_TRY(berth_profile_cache_open(a->cache, &c->mem, &s.cache, err));
	BERTH_TRY_NEW(&c->mem, s.s.n_devs, err, s.whole_s);
	berth_status st = profile_until(c, a, &s, err);
	berth_profile_cache_close(s.cache);
	BERTH_TRY(st);
	if (a->out)
		BERTH_TRY(write_graph(c, a, &s, err));
	if (a->system_out) {
		BERTH_TRY(berth_profile_system(&s.p, &s.s, s.g.n_ops, &c->mem, &fitted, err));
		if (s.fit.fitted_graph.n_ops)
			fitted = s.fit.fitted_system;
		if (a->quick) {
			fitted.dev_op_overhead_s = s.s.dev_op_overhead_s;
			BERTH_TRY(calibrate(c, &s, &fitted, err));
		}
		BERTH_TRY(write_system(c, a->system_out, &fitted, err));
	}
	BERTH_TRY(cli_result(c, fill(c, &s), err));
	return cli_in_words(c) ? print_text(c, &s, err) : BERTH_OK;
}

static berth_status run(cli *c, berth_err *err)
{
	args a = {.engine = CLI_ENGINE_DEFAULT, .repeats = 9};
	const cli_option options[] = {
		CLI_ENGINE_ON(&a.on),
		{"system", 0, CLI_FLAG, &a.system, NULL, "describe this machine instead of a graph"},
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT",
	         "the graph with its times; or the system\tsystem:host, with --system"},
		{"set", 0, CLI_MANY, &a.set, "NAME.KEY=VALUE",
	         "with --system: a figure that is missing, or a better one (gpu0.peak_flops=10TFLOP/s)"},
		{"software-devices", 0, CLI_FLAG, &a.software, NULL,
	         "with --system: devices too that are the CPU once more (pocl, llvmpipe)"},
		{"system-out", 0, CLI_FILE_OUT, &a.system_out, "OUT",
	         "SYSTEM with the links as they were timed, and the overhead of an operator; with -o both "
	         "are fitted to runs of placements"},
		CLI_ENGINE(&a.engine),
		CLI_TIMEOUT(&a.engine),
		{"cache", 0, CLI_FILE_BOTH, &a.cache, "FILE",
	         "keep times in this SQLite file, and take those that it has"},
		{"quick", 0, CLI_COUNT, &a.quick, "N",
	         "time the N operators a device alone that tell most; --system-out has scales by them and "
	         "by the whole model\tall"},
		{"repeats", 0, CLI_COUNT, &a.repeats, "N", "samples of each time, after 2 that do not count"},
		{"time", 0, CLI_SECONDS, &a.time_s, "S", "predict what is not profiled by then"},
		CLI_READING(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 0, 1, err));
	if (c->help)
		return BERTH_OK;
	if (a.system != !c->n_args)
		return berth_fail(err, BERTH_EINVAL,
		                  "profile: GRAPH or --system is expected, one of them; usage: berth %s",
		                  cmd_profile.usage);
	if (a.quick > INT32_MAX)
		a.quick = 0; /* no graph has more */
	if (a.repeats > 100000)
		return berth_fail(err, BERTH_EINVAL, "profile: more than 100000 runs were asked for");
	const profile_system_args of_system = {a.out, a.engine, (int32_t)a.repeats, a.software, a.set};
	return a.system ? profile_system(c, &of_system, err) : profile_graph(c, &a, err);
}

static const cli_rule rules[] = {
	{"set|software-devices", "!system", "profile: --%s goes with --system"},
	{"software-devices", "engine",
         "profile: with --engine the devices are the engine's: leave --software-devices out"}};

const cli_verb cmd_profile = {
	"profile", "profile GRAPH --on SYSTEM -o GRAPH_WITH_TIMES | profile --system [-o HOST.json]",
	"time operators and links by an engine; describe this machine",
	"Medians with their intervals; operators that were not measured are predicted, and marked so, with "
	"error bars (--json has all).\n"
	"Example: berth profile --system --engine ort; berth profile model.onnx --on system:host -o "
	"timed.json\n",
	run,
	CLI_RULES_OF(rules)};
