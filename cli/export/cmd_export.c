/* berth export: a plan in the words of the program that is to run it. */
#include "cmd_export.h"

#include "engine_find.h"
#include "engine_rules.h"
#include "export_devices.h"
#include "results.h"
#include "sandboxed.h"
#include "tell.h"

#include <unistd.h>

typedef struct args {
	const char *model, *graph, *on, *to, *out;
	cli_texts device;
	export_blocks blocks;
	bool force;
} args;

typedef struct state {
	const berth_exporter *e;
	export_plan plan;
	const char **theirs; /* [n_devs]; NULL: --device was not given */
	berth_export_gain gain;
	berth_export_out made;
} state;

/* ---- making ---- */

/* A plan that the simulator would not let run is no plan to hand on. */
static berth_status check_plan(cli *c, const args *a, const state *s, berth_err *err)
{
	const berth_violations *broken = &s->plan.v.broken;
	const char *which = a->blocks.moved >= 0 ? "the nearest plan" : "the plan";
	if (!s->plan.priced || s->plan.v.feasible)
		return BERTH_OK;
	const char *why = broken->item[0].message, *more = broken->n > 1 ? " (and more)" : "";
	if (a->force)
		return cli_warn(c, err, "%s: %s is infeasible: %s%s", c->args[0], which, why, more);
	return berth_fail(err, BERTH_EINFEASIBLE, "%s: %s is infeasible: %s%s (--force writes it)",
	                  c->args[0], which, why, more);
}

/* Nor is one that the target cannot run. */
static berth_status check_unfit(cli *c, const args *a, const state *s, berth_err *err)
{
	if (!s->made.unfit)
		return BERTH_OK;
	if (a->force)
		return cli_warn(c, err, "%s", s->made.unfit);
	return berth_fail(err, BERTH_EINFEASIBLE, "%s: %s (--force writes it)", c->args[0], s->made.unfit);
}

static berth_status check_model(const args *a, const state *s, berth_err *err)
{
	const export_plan *x = &s->plan;
	if (!s->e->model)
		return BERTH_OK;
	const char *format = x->mapped ? berth_content_format(&x->model)->name : "no file";
	if (x->mapped && berth_exporter_takes(s->e, format))
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "export to %s takes a model of the format %s, but %s is %s%s",
	                  s->e->name, s->e->model, a->model, x->mapped ? "of the format " : "", format);
}

static berth_status make(cli *c, args *a, state *s, berth_err *err)
{
	export_plan *x = &s->plan;
	BERTH_TRY(export_plan_open(c, c->args[0], a->model, a->graph, a->on, s->e, x, err));
	if (s->e->needs == BERTH_EXPORT_TIMELINE && !x->priced)
		return berth_fail(err, BERTH_EINVAL, "export to %s needs the machine, for times: --on SYSTEM",
		                  s->e->name);
	BERTH_TRY(check_model(a, s, err));
	BERTH_TRY(export_devices_read(c, &a->device, &x->s, &s->theirs, err));
	BERTH_TRY(export_blocks_apply(c, &a->blocks, s->e, x, err));
	berth_export_source source = {.g = &x->g,
	                              .s = &x->s,
	                              .op_dev = x->placement.op_dev,
	                              .p = x->priced ? &x->p : NULL,
	                              .t = x->priced && x->t.r.runs ? &x->t : NULL,
	                              .model = x->mapped ? &x->model : NULL,
	                              .theirs = s->theirs,
	                              .read = x->mapped ? &x->words : NULL,
	                              .sandbox = cli_sandbox(c),
	                              .uses = x->placement.use ? &x->uses : NULL,
	                              .module = x->module,
	                              .module_place = berth_module_place_of};
	BERTH_TRY(export_blocks_express(c, &a->blocks, s->e, &source, x, err));
	BERTH_TRY(check_plan(c, a, s, err));
	BERTH_TRY(berth_export_gain_of(s->e, &source, &x->objective, x->priced ? x->v.value : NAN, &c->mem,
	                               &c->tmp, &s->gain, err));
	s->made = (berth_export_out){.mem = &c->mem};
	berth_status st = berth_export_make(s->e, &source, &c->tmp, &s->made, err);
	BERTH_TRY(export_blocks_hint(c, &a->blocks, s->e, &source, x, st, err));
	for (int32_t i = 0; i < s->made.n_warnings; i++)
		BERTH_TRY(cli_warn(c, err, "%s", s->made.warning[i]));
	BERTH_TRY(check_unfit(c, a, s, err));
	return cli_strict(c, err);
}

/* Told instead of written: the difference may be none. */
static berth_status check_gain(const cli *c, const args *a, const state *s, berth_err *err)
{
	char gain[32], error[32];
	const berth_engine_rules *made_for = berth_exporter_engine(s->e);
	const char *plan_for = s->plan.placement.engine;
	bool made_for_it = plan_for && made_for && strcmp(plan_for, made_for->name) == 0;
	if (!s->gain.keep || a->force || !a->out || made_for_it)
		return BERTH_OK;
	return berth_fail(
		err, BERTH_ELIMIT,
		"%s: keep the default of the engine: the predicted gain is %s, and predictions are off by "
		"%s (docs/export.md); --force writes the plan all the same",
		c->args[0], cli_percent(gain, s->gain.gain), cli_percent(error, s->gain.error));
}

/* ---- output ---- */

static int64_t bytes_made(const state *s)
{
	int64_t sum = 0;
	for (size_t i = 0; i < s->made.n_pieces; i++)
		sum += (int64_t)s->made.piece[i].size;
	return sum;
}

#define NEAREST(K, IF) \
	K(INT, "moved", "", "operators that `--nearest` gave another device", a->blocks.moved) \
	K(NUMBER_OR_NULL, "before", "of the objective", "the plan, simulated; null: no system", \
	  a->blocks.before) \
	K(NUMBER_OR_NULL, "after", "of the objective", "the nearest one", \
	  s->plan.priced ? s->plan.v.value : NAN)
static RESULT_KIND(nearest_kind, "", "", NEAREST);

#define GAIN(K, IF) \
	K(TEXT, "objective", "", "of the plan; of one for both uses `token`", \
	  s->plan.uses.read > 0 ? BERTH_USES_OBJECTIVE : berth_objective_name(&s->plan.objective)) \
	K(NUMBER, "plan", "of the objective", "predicted", x->plan) \
	K(NUMBER, "usual", "of the objective", "what the engine does by itself, predicted", x->usual) \
	K(BOOL, "serial", "", \
	  "both as run one operator after the other, not overlapped, since the engine runs so", x->serial) \
	K(TEXT_OR_NULL, "usual_device", "", "where that has everything; null: on several", \
	  x->device < 0 ? NULL : s->plan.s.dev_name[x->device]) \
	K(BOOL, "usual_fits", "", "it breaks no rule of the system", x->usual_fits) \
	K(NUMBER, "gain", "", "1 - plan / usual", x->gain) \
	IF(!x->same, NUMBER, "error", "", "how far predictions are off; missing: the plan is the default", \
	   x->error) \
	IF(!x->same, NUMBER, "error_median", "", "of the measurements behind it", x->error_median) \
	IF(!x->same, INT, "error_rows", "", "how many they are ([export.md](export.md))", x->error_rows) \
	K(BOOL, "keep_default", "", "the gain is smaller than that: written with `--force` alone", x->keep)
static RESULT_KIND(gain_kind, "", "", GAIN);

#define MEMORY(K, IF) \
	K(TEXT, "device", "", "of the system, the first CPU for all of them; `CPU`: the system has none", \
	  m->device) \
	K(INT, "weights_bytes", "bytes", "that the target holds there", m->weights) \
	K(INT, "cache_bytes", "bytes", "", m->cache) \
	K(INT_OR_NULL, "buffers_bytes", "bytes", "to compute in, estimated; null: that cannot be told", \
	  m->buffers)
static RESULT_KIND(memory_kind, "", "", MEMORY);

#define RATE(K, IF) \
	K(TEXT, "use", "", "`answering`, `reading`", m->use) \
	K(NUMBER, "plan", "tokens/s", "predicted", m->plan) \
	K(NUMBER_OR_NULL, "usual", "tokens/s", "of what the engine does by itself; null: not known", m->usual)
static RESULT_KIND(rate_kind, "", "", RATE);

#define EXPORT(K, IF) \
	K(TEXT, "target", "", "of `--to`", s->e->name) \
	K(TEXT, "graph", "", "", s->plan.g.name) \
	K(TEXT, "system", "", "that the plan was priced on; else the name that it tells", s->plan.s.name) \
	K(TEXT_OR_NULL, "output", "", "the file; null: none was asked for", a->out) \
	K(INT, "bytes", "bytes", "its length", bytes_made(s)) \
	IF(a->blocks.moved >= 0, OBJECT(nearest_kind), "nearest", "", \
	   "missing: the plan is written as it is", nearest) \
	IF(x->known, OBJECT(gain_kind), "gain", "", \
	   "missing: the target has no default that is known, or there is no system", gain) \
	IF(s->made.n_rates, LIST(rate_kind), "rates", "", \
	   "missing: no plan of a language model for llama.cpp, or there is no system", rates) \
	K(MAP("text"), "settings", "", "what else the target is to be told, by its name of the option", \
	  settings) \
	IF(s->made.n_memory, LIST(memory_kind), "memory", "", \
	   "missing: the target does not tell it (all but llama.cpp and vllm)", memory) \
	IF(s->made.usual, TEXT, "default_command", "", \
	   "what the engine does by itself: a command line (llama.cpp, vllm), a `device_map` (accelerate); " \
	   "missing: not known, or a device has no name", \
	   s->made.usual) \
	K(TEXTS, "notes", "", "sentences", s->made.note, s->made.n_notes)
RESULT_KIND(export_document, "Export",
            "`export --json`. Without `-o` it tells what would be written ([files](#exported-files)).",
            EXPORT);

static const berth_result *fill(cli *c, const args *a, const state *s)
{
	const berth_export_gain *x = &s->gain;
	const berth_result *nearest = RESULT_NEW(&c->mem, nearest_kind, NEAREST),
			   *gain = RESULT_NEW(&c->mem, gain_kind, GAIN);
	berth_result_map *settings = berth_result_map_new(&c->mem);
	berth_result_list *memory = berth_result_list_new(&c->mem, &memory_kind),
			  *rates = berth_result_list_new(&c->mem, &rate_kind);
	for (int32_t i = 0; i < s->made.n_rates; i++) {
		const berth_export_rate *m = &s->made.rate[i];
		RESULT_ADD(rates, RATE);
	}
	for (int32_t i = 0; i < s->made.n_settings; i++)
		berth_result_map_add(settings, s->made.setting[i].key,
		                     berth_result_text(s->made.setting[i].value));
	for (int32_t i = 0; i < s->made.n_memory; i++) {
		const berth_export_memory *m = &s->made.memory[i];
		RESULT_ADD(memory, MEMORY);
	}
	return RESULT_NEW(&c->mem, export_document, EXPORT);
}

static void print_nearest(const args *a, const state *s, const berth_result *r, cli_sayer say)
{
	const export_blocks *b = &a->blocks;
	if (b->moved < 0)
		return;
	say("nearest plan%s%s: %d of %d operators moved", b->granularity ? " by " : "",
	    b->granularity ? b->granularity : "", b->moved, s->plan.g.n_ops);
	if (s->plan.priced) {
		say("; %s ", berth_objective_name(&s->plan.objective));
		cli_tell_by(say, r, &s->plan.objective, "{nearest.after}, was {nearest.before}");
	}
	say("\n");
}

static void print_memory(const state *s, cli_sayer say)
{
	char weights[32], cache[32], buffers[32], all[32];
	for (int32_t i = 0; i < s->made.n_memory; i++) {
		const berth_export_memory *m = &s->made.memory[i];
		bool told = m->buffers >= 0;
		say("memory of %s: %s: weights %s, cache %s, buffers %s%s\n", m->device,
		    berth_text_bytes(all, (double)(m->weights + m->cache + (told ? m->buffers : 0))),
		    berth_text_bytes(weights, (double)m->weights), berth_text_bytes(cache, (double)m->cache),
		    told ? "about " : "not known",
		    told ? berth_text_bytes(buffers, (double)m->buffers) : "");
	}
}

/* "answering 31 tokens/s, by default 29; reading 369 tokens/s, by default 300". */
static void print_rates(const state *s, cli_sayer say)
{
	char rate[32];
	for (int32_t i = 0; i < s->made.n_rates; i++) {
		const berth_export_rate *m = &s->made.rate[i];
		say("%s%s %s tokens/s", i ? "; " : "", m->use, berth_text_count(rate, m->plan));
		if (!isnan(m->usual))
			say(", by default %s", berth_text_count(rate, m->usual));
	}
	say(s->made.n_rates ? "\n" : "");
}

/* Is it what the file says, too? */
static bool is_file(const state *s, const char *value)
{
	const berth_file_piece *first = s->made.piece;
	return s->made.n_pieces && strlen(value) == first->size &&
	       memcmp(first->data, value, first->size) == 0;
}

/* Beside the file: on standard error where that is on standard output. */
static void print_text(const args *a, const state *s, const berth_result *r, bool printed)
{
	cli_sayer say = printed ? cli_say_error : cli_say;
	cli_tell_by(say, r, NULL, "{graph} on {system}, for {target}: ");
	cli_tell_by(say, r, NULL, printed ? "standard output, {bytes}\n" : "{output}, {bytes}\n");
	print_nearest(a, s, r, say);
	if (s->gain.known)
		cli_tell_by(say, berth_result_get(r, "gain", NULL).is.object, &s->plan.objective,
		            "predicted {objective} {plan}{serial?, one operator after the other}; by default "
		            "{usual}[ (all on {usual_device}{usual_fits!, where it does not fit})]; gain "
		            "{gain:%}[, predictions are off by {error:%}]\n");
	print_rates(s, say);
	for (int32_t i = 0; i < s->made.n_settings; i++)
		say("%s: %s\n", s->made.setting[i].key,
		    printed && is_file(s, s->made.setting[i].value) ? "on standard output"
		                                                    : s->made.setting[i].value);
	print_memory(s, say);
	cli_tell_by(say, r, NULL, "[by default: {default_command}\n]");
	for (int32_t i = 0; i < s->made.n_notes; i++)
		say("note: %s\n", s->made.note[i]);
}

/* ---- on a terminal ---- */

/* What a terminal would obey is made visible. A line may be in parts: an end of line is printed where there
 * is one. */
static void show_piece(const char *text, size_t size)
{
	for (const char *at = text, *end = text + size; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop : end) - at), most = 1 << 20;
		n = n < most ? n : most;
		bool whole = stop && at + n == stop;
		size_t shown = whole && n && at[n - 1] == '\r' ? n - 1 : n;
		cli_say("%.*s", (int)shown, at);
		if (whole)
			cli_say("\n");
		at += n + whole;
	}
}

static berth_status tell(cli *c, const args *a, const state *s, berth_err *err)
{
	BERTH_TRY(check_gain(c, a, s, err));
	bool printed = a->out && strcmp(a->out, "-") == 0;
	if (printed && !s->e->binary && isatty(STDOUT_FILENO))
		for (size_t i = 0; i < s->made.n_pieces; i++)
			show_piece(s->made.piece[i].data, s->made.piece[i].size);
	else if (a->out)
		BERTH_TRY(berth_file_write_pieces(a->out, s->made.piece, s->made.n_pieces, err));
	const berth_result *r = fill(c, a, s);
	BERTH_TRY(cli_result(c, r, err));
	if (!c->json && !c->quiet)
		print_text(a, s, r, printed);
	return BERTH_OK;
}

static berth_status run_export(cli *c, berth_err *err)
{
	args a = {0};
	state s = {0};
	const cli_option options[] = {
		{"model", 0, CLI_FILE_IN, &a.model, "GRAPH", "the model that the plan was made for"},
		{"graph", 0, CLI_FILE_IN, &a.graph, "TIMED",
	         "its graph with measured times, where the plan was made for that (profile -o)"},
		{"on", 0, CLI_FILE_IN, &a.on, "SYSTEM",
	         "the machine, for times\tthe built-in system that the plan names"},
		{"to", 0, CLI_TEXT, &a.to, "TARGET",
	         "what is to run or show it, see below"},
		{"device", 0, CLI_MANY, &a.device, "NAME=THEIRS",
	         "what the target calls a device of the plan, or all devices of a kind"},
		{"granularity", 0, CLI_FILE_IN, &a.blocks.granularity, "G",
	         "refuse a plan that does not have these whole: block, layer, kernel, or a file of blocks"},
		{"nearest", 0, CLI_FLAG, &a.blocks.nearest, NULL,
	         "write the nearest plan that has them whole (llama.cpp, vllm: that can be told), with its "
	         "price"},
		{"force", 0, CLI_FLAG, &a.force, NULL, "write a plan that is infeasible, or not worth it"},
		CLI_CALIBRATE(c),
		CLI_READING(c),
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT", "the file\tstandard output, of text"},
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, 1, err));
	if (c->help) {
		cli_say("\ntargets:\n");
		for (int32_t i = 0; i < berth_n_exporters; i++)
			cli_say("  %-11s %s\n", berth_exporters[i]->name, berth_exporters[i]->about);
		return BERTH_OK;
	}
	BERTH_TRY(berth_exporter_find(a.to, &s.e, err));
	if (s.e->own_names && a.device.n)
		return berth_fail(err, BERTH_EINVAL,
		                  "export to %s calls devices as the plan does: leave out --device",
		                  s.e->name);
	if (!a.out && !c->json && !s.e->binary)
		a.out = "-";
	berth_status st = make(c, &a, &s, err);
	if (st == BERTH_OK && !a.out && !c->json) /* what does not go to the target is told before */
		st = berth_fail(err, BERTH_EINVAL, "export: -o OUT is missing: a file for %s is no text",
		                s.e->name);
	if (st == BERTH_OK)
		st = tell(c, &a, &s, err);
	export_plan_close(&s.plan);
	return st;
}

static const cli_rule rules[] = {{"", "!model", "export: --model GRAPH is missing"},
                                 {"", "!to",
                                  "export: --to TARGET is missing; 'berth export --help' lists them"}};

const cli_verb cmd_export = {
	"export", "export PLAN --model GRAPH --to TARGET [--on SYSTEM] [--device NAME=THEIRS] [-o OUT]",
	"write a plan in the words of the program that is to run it",
	"The file is written whole or not at all, and only where the target can express the plan.\n"
	"With --json and without -o nothing is written: it tells what would be.\n"
	"Example: berth place model.onnx --on system:laptop -o plan.json && berth export plan.json --model "
	"model.onnx --to ort --device gpu0=CUDAExecutionProvider -o labelled.onnx\n",
	run_export,
	CLI_RULES_OF(rules)};
