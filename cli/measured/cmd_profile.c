/* berth profile: times of operators and links by an engine, and the description of this machine. */
#include "engine.h"
#include "file.h"
#include "graph_format.h"
#include "graph_load.h"
#include "print.h"
#include "profile.h"
#include "profile_system.h"
#include "progress.h"
#include "say.h"
#include "signals.h"
#include "system_json.h"
#include "text.h"
#include "times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct args {
	const char *on, *out, *system_out, *cache;
	bool system, software;
	cli_texts set;
	cli_engine engine;
	int64_t repeats, warmup;
	double time_s;
} args;

typedef struct state {
	berth_graph g;
	berth_system s;
	berth_measured m;
	berth_profile p;
	berth_profile_cache *cache;
	const char *engine;
} state;

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* ---- a graph ---- */

static berth_status profile(cli *c, const args *a, state *s, berth_err *err)
{
	berth_profile_cfg cfg = berth_profile_cfg_default();
	cli_progress progress;
	cfg.repeats = (int32_t)a->repeats;
	cfg.warmup = (int32_t)a->warmup;
	cfg.time_s = a->time_s;
	cfg.cache = s->cache;
	cfg.engine = s->engine;
	cfg.progress = cli_progress_count;
	cfg.progress_ctx = &progress;
	cli_progress_open(&progress, c, s->g.name);
	berth_status st = berth_profile_run(&s->m, &cfg, &c->mem, &c->tmp, &s->p, err);
	cli_progress_end(&progress);
	return st;
}

static berth_status run_profile(cli *c, const args *a, state *s, const atomic_int *cancel, berth_err *err)
{
	BERTH_TRY(cli_engine_open(c, &a->engine, c->args[0], &s->g, &s->s, cancel, &s->m, &s->engine, err));
	berth_status st = profile(c, a, s, err);
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
	berth_graph g;
	const char *text;
	size_t len;
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

static void put_spread(berth_json_out *w, const char *key, const berth_spread *x)
{
	berth_json_open(w, key, '{');
	berth_json_put_number(w, "median", x->median);
	berth_json_put_number(w, "low", x->low);
	berth_json_put_number(w, "high", x->high);
	berth_json_put_number(w, "mad", x->mad);
	berth_json_close(w, '}');
}

static void put_row(berth_json_out *w, const state *s, int32_t op, int32_t dev)
{
	const berth_profiled *x = &s->p.row[(size_t)op * (size_t)s->s.n_devs + (size_t)dev];
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "op", s->g.op_name[op]);
	berth_json_put_string(w, "device", s->s.dev_name[dev]);
	berth_json_put_string(w, "source", berth_source_name(x->source));
	if (x->source != BERTH_CANNOT) {
		berth_json_put_int(w, "samples", x->x.n);
		put_spread(w, "wall_s", &x->x.wall);
		put_spread(w, "cpu_s", &x->x.cpu);
	}
	berth_json_close(w, '}');
}

static berth_status print_json(cli *c, const state *s, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "engine", s->engine);
	berth_json_put_int(&w, "measured", s->p.n_measured);
	berth_json_put_int(&w, "cached", s->p.n_cached);
	berth_json_put_int(&w, "predicted", s->p.n_predicted);
	berth_json_put_number(&w, "run_overhead_s", s->p.overheads.run_s);
	berth_json_put_number(&w, "segment_overhead_s", s->p.overheads.segment_s);
	berth_json_open(&w, "links", '[');
	for (int32_t l = 0; l < s->s.n_links; l++) {
		berth_json_open(&w, NULL, '{');
		berth_json_put_string(&w, "from", s->s.dev_name[s->s.link_from[l]]);
		berth_json_put_string(&w, "to", s->s.dev_name[s->s.link_to[l]]);
		berth_json_put_number(&w, "latency_s", s->p.link[l].n ? s->p.link[l].latency_s : NAN);
		berth_json_put_number(&w, "bandwidth", s->p.link[l].n ? s->p.link[l].bandwidth : NAN);
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_open(&w, "ops", '[');
	berth_json_flat(&w, true);
	for (int32_t op = 0; op < s->g.n_ops; op++)
		for (int32_t d = 0; d < s->s.n_devs; d++)
			put_row(&w, s, op, d);
	berth_json_close(&w, ']');
	berth_json_flat(&w, false);
	return cli_end_json(c, &w, err);
}

static void print_device(const state *s, int32_t d)
{
	char a[32];
	double sum = 0;
	int32_t n = 0;
	for (int32_t op = 0; op < s->g.n_ops; op++) {
		double t = s->p.time_s[(size_t)op * (size_t)s->s.n_devs + (size_t)d];
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
		cli_say("%s: the engine has no device of this name\n", s->s.dev_name[d]);
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
	BERTH_TRY(BERTH_NEW(&c->tmp, width, s->g.n_ops * n_devs, err));
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
	cli_say("%s on %s, by %s\n", s->g.name, s->s.name, s->engine);
	cli_say("times: %d measured, %d from the cache, %d predicted\n", s->p.n_measured, s->p.n_cached,
	        s->p.n_predicted);
	BERTH_TRY(print_noise(c, s, err));
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

static berth_status profile_graph(cli *c, const args *a, berth_err *err)
{
	state s = {0};
	berth_system fitted;
	if (!a->on)
		return berth_fail(err, BERTH_EINVAL, "profile: --on SYSTEM is missing");
	BERTH_TRY(cli_instance_load(c, c->args[0], a->on, &s.g, &s.s, NULL, err));
	if (a->cache)
		BERTH_TRY(berth_profile_cache_open(a->cache, &c->mem, &s.cache, err));
	berth_status st = profile_until(c, a, &s, err);
	berth_profile_cache_close(s.cache);
	BERTH_TRY(st);
	if (a->out)
		BERTH_TRY(write_graph(c, a, &s, err));
	if (a->system_out) {
		BERTH_TRY(berth_profile_system(&s.p, &s.s, s.g.n_ops, &c->mem, &fitted, err));
		BERTH_TRY(write_system(c, a->system_out, &fitted, err));
	}
	if (c->json)
		return print_json(c, &s, err);
	if (!c->quiet && !is_stdout(a->out) && !is_stdout(a->system_out))
		return print_text(c, &s, err);
	return BERTH_OK;
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
{
	args a = {.engine = CLI_ENGINE_DEFAULT, .repeats = 9, .warmup = 2};
	const cli_option options[] = {
		{"on", 0, CLI_FILE_IN, &a.on, "SYSTEM",
	         "the machine; its devices have the names of the engine's"},
		{"system", 0, CLI_FLAG, &a.system, NULL, "describe this machine instead of a graph"},
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT",
	         "the graph with its times; or the system\tsystem:host, with --system"},
		{"set", 0, CLI_MANY, &a.set, "NAME.KEY=VALUE",
	         "with --system: a figure that is missing, or a better one (gpu0.peak_flops=10TFLOP/s)"},
		{"software-devices", 0, CLI_FLAG, &a.software, NULL,
	         "with --system: devices too that are the CPU once more (pocl, llvmpipe)"},
		{"system-out", 0, CLI_FILE_OUT, &a.system_out, "OUT",
	         "SYSTEM with the links as they were timed, and the overhead of an operator"},
		CLI_ENGINE(&a.engine),
		{"cache", 0, CLI_FILE_BOTH, &a.cache, "FILE",
	         "keep times in this SQLite file, and take those that it has"},
		{"repeats", 0, CLI_COUNT, &a.repeats, "N", "samples of each time"},
		{"warmup", 0, CLI_BUDGET_N, &a.warmup, "N", "runs before them"},
		{"time", 0, CLI_SECONDS, &a.time_s, "S", "predict what is not profiled by then"},
		CLI_INPUT(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_profile, options, argc, argv, 0, 1, err));
	if (c->help)
		return BERTH_OK;
	if (a.system != !c->n_args)
		return berth_fail(err, BERTH_EINVAL,
		                  "profile: GRAPH or --system is expected, one of them; usage: berth %s",
		                  cmd_profile.usage);
	if (a.repeats > 100000 || a.warmup > 100000)
		return berth_fail(err, BERTH_EINVAL, "profile: more than 100000 runs were asked for");
	if (!a.system && (a.set.n || a.software))
		return berth_fail(err, BERTH_EINVAL, "profile: --%s goes with --system",
		                  a.set.n ? "set" : "software-devices");
	if (a.software && a.engine.name)
		return berth_fail(err, BERTH_EINVAL,
		                  "profile: with --engine the devices are the engine's: leave "
		                  "--software-devices out");
	const profile_system_args of_system = {a.out, a.engine, (int32_t)a.repeats, a.software, a.set};
	return a.system ? profile_system(c, &of_system, err) : profile_graph(c, &a, err);
}

const cli_verb cmd_profile = {
	"profile", "profile GRAPH --on SYSTEM -o GRAPH_WITH_TIMES | profile --system [-o HOST.json]",
	"time operators and links by an engine; describe this machine",
	"Medians with their intervals; operators that were not measured are predicted, and marked so, with "
	"error bars (--json has all).\n"
	"Example: berth profile --system --engine ort; berth profile model.onnx --on system:host -o "
	"timed.json\n",
	run};
