/* berth export: a plan in the words of the program that is to run it. */
#include "engine_find.h"
#include "export_blocks.h"
#include "export_devices.h"
#include "export_plan.h"
#include "exporters.h"
#include "load.h"
#include "print.h"
#include "say.h"
#include "text.h"

#include <math.h>
#include <string.h>
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

static berth_status check_model(const cli *c, const args *a, const state *s, berth_err *err)
{
	const export_plan *x = &s->plan;
	if (!s->e->model)
		return BERTH_OK;
	if (c->sandbox)
		return berth_fail(err, BERTH_EINVAL,
		                  "export to %s reads the model once more, for what its graph does not say "
		                  "(%s), and not in a sandbox: leave out --sandbox, or export to csv",
		                  s->e->name, s->e->binary ? "its bytes are copied" : "names of its parts");
	const char *format = x->mapped ? berth_content_format(&x->model)->name : "no file";
	if (x->mapped && strcmp(format, s->e->model) == 0)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "export to %s takes a model of the format %s, but %s is %s%s",
	                  s->e->name, s->e->model, a->model, x->mapped ? "of the format " : "", format);
}

static berth_status make(cli *c, args *a, state *s, berth_err *err)
{
	export_plan *x = &s->plan;
	BERTH_TRY(export_plan_open(c, c->args[0], a->model, a->graph, a->on, x, err));
	if (s->e->needs == BERTH_EXPORT_TIMELINE && !x->priced)
		return berth_fail(err, BERTH_EINVAL, "export to %s needs the machine, for times: --on SYSTEM",
		                  s->e->name);
	BERTH_TRY(check_model(c, a, s, err));
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

/* ---- the gain over what the engine does by itself ---- */

static void put_gain(berth_json_out *w, const state *s)
{
	const berth_export_gain *x = &s->gain;
	if (!x->known)
		return;
	berth_json_open(w, "gain", '{');
	berth_json_put_string(w, "objective", berth_objective_name(&s->plan.objective));
	berth_json_put_number(w, "plan", x->plan);
	berth_json_put_number(w, "usual", x->usual);
	berth_json_put_bool(w, "serial", x->serial);
	berth_json_put_string(w, "usual_device", x->device < 0 ? NULL : s->plan.s.dev_name[x->device]);
	berth_json_put_bool(w, "usual_fits", x->usual_fits);
	berth_json_put_number(w, "gain", x->gain);
	berth_json_put_number(w, "error", x->error);
	berth_json_put_bool(w, "keep_default", x->keep);
	berth_json_close(w, '}');
}

static void print_gain(const state *s, cli_sayer say)
{
	const berth_export_gain *x = &s->gain;
	char a[32], b[32], c[32], d[32];
	if (!x->known)
		return;
	say("predicted %s %s%s; by default %s", berth_objective_name(&s->plan.objective),
	        cli_value(a, &s->plan.objective, x->plan), x->serial ? ", one operator after the other" : "",
	        cli_value(b, &s->plan.objective, x->usual));
	if (x->device >= 0)
		say(" (all on %s%s)", s->plan.s.dev_name[x->device],
		        x->usual_fits ? "" : ", where it does not fit");
	say("; gain %s, predictions are off by %s\n", cli_percent(c, x->gain),
	        cli_percent(d, x->error));
}

/* Told instead of written: the difference may be none. */
static berth_status check_gain(const cli *c, const args *a, const state *s, berth_err *err)
{
	char gain[32], error[32];
	if (!s->gain.keep || a->force || !a->out)
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

static void put_memory(berth_json_out *w, const state *s)
{
	if (!s->made.n_memory)
		return;
	berth_json_open(w, "memory", '[');
	for (int32_t i = 0; i < s->made.n_memory; i++) {
		const berth_export_memory *m = &s->made.memory[i];
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "device", m->device);
		berth_json_put_int(w, "weights_bytes", m->weights);
		berth_json_put_int(w, "cache_bytes", m->cache);
		if (m->buffers < 0)
			berth_json_put_null(w, "buffers_bytes");
		else
			berth_json_put_int(w, "buffers_bytes", m->buffers);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
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

static berth_status print_json(const cli *c, const args *a, const state *s, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, s->made.mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "target", s->e->name);
	berth_json_put_string(&w, "graph", s->plan.g.name);
	berth_json_put_string(&w, "system", s->plan.s.name);
	berth_json_put_string(&w, "output", a->out);
	berth_json_put_int(&w, "bytes", bytes_made(s));
	export_blocks_put(&w, &a->blocks, &s->plan);
	put_gain(&w, s);
	berth_json_open(&w, "settings", '{');
	for (int32_t i = 0; i < s->made.n_settings; i++)
		berth_json_put_string(&w, s->made.setting[i].key, s->made.setting[i].value);
	berth_json_close(&w, '}');
	put_memory(&w, s);
	if (s->made.usual)
		berth_json_put_string(&w, "default_command", s->made.usual);
	berth_json_open(&w, "notes", '[');
	for (int32_t i = 0; i < s->made.n_notes; i++)
		berth_json_put_string(&w, NULL, s->made.note[i]);
	berth_json_close(&w, ']');
	return cli_end_json(c, &w, err);
}

/* Is it what the file says, too? */
static bool is_file(const state *s, const char *value)
{
	const berth_file_piece *first = s->made.piece;
	return s->made.n_pieces && strlen(value) == first->size &&
	       memcmp(first->data, value, first->size) == 0;
}

/* Beside the file: on standard error where that is on standard output. */
static void print_text(const args *a, const state *s, bool printed)
{
	cli_sayer say = printed ? cli_say_error : cli_say;
	char size[32];
	say("%s on %s, for %s: %s, %s\n", s->plan.g.name, s->plan.s.name, s->e->name,
	    printed ? "standard output" : a->out, berth_text_bytes(size, (double)bytes_made(s)));
	export_blocks_print(&a->blocks, &s->plan, say);
	print_gain(s, say);
	for (int32_t i = 0; i < s->made.n_settings; i++)
		say("%s: %s\n", s->made.setting[i].key,
		    printed && is_file(s, s->made.setting[i].value) ? "on standard output"
		                                                    : s->made.setting[i].value);
	print_memory(s, say);
	if (s->made.usual)
		say("by default: %s\n", s->made.usual);
	for (int32_t i = 0; i < s->made.n_notes; i++)
		say("note: %s\n", s->made.note[i]);
}

static berth_status check_args(cli *c, args *a, const berth_exporter *e, berth_err *err)
{
	if (e->own_names && a->device.n)
		return berth_fail(err, BERTH_EINVAL,
		                  "export to %s calls devices as the plan does: leave out --device", e->name);
	if (!a->out && !c->json && !e->binary)
		a->out = "-";
	if (!a->out && !c->json)
		return berth_fail(err, BERTH_EINVAL, "export: -o OUT is missing: a file for %s is no text",
		                  e->name);
	return BERTH_OK;
}

/* ---- on a terminal ---- */

/* What a terminal would obey is made visible. A line may be in parts: an end of line is printed where there
 * is
 * one. */
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
	if (c->json)
		return print_json(c, a, s, err);
	if (!c->quiet)
		print_text(a, s, printed);
	return BERTH_OK;
}

static berth_status check_needed(const args *a, berth_err *err)
{
	if (!a->model)
		return berth_fail(err, BERTH_EINVAL, "export: --model GRAPH is missing");
	if (!a->to)
		return berth_fail(err, BERTH_EINVAL, "export: --to TARGET is missing");
	return BERTH_OK;
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
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
	         "refuse a plan that does not have these whole: block, layer, or a file of blocks"},
		{"nearest", 0, CLI_FLAG, &a.blocks.nearest, NULL,
	         "write the nearest plan that has them whole (llama.cpp: that it can be told), with its "
	         "price"},
		{"force", 0, CLI_FLAG, &a.force, NULL, "write a plan that is infeasible, or not worth it"},
		CLI_INPUT(c),
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT", "the file\tstandard output, of text"},
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_export, options, argc, argv, 1, 1, err));
	if (c->help) {
		cli_say("\ntargets:\n");
		for (int32_t i = 0; i < berth_n_exporters; i++)
			cli_say("  %-11s %s\n", berth_exporters[i]->name, berth_exporters[i]->about);
		return BERTH_OK;
	}
	BERTH_TRY(check_needed(&a, err));
	BERTH_TRY(berth_exporter_find(a.to, &s.e, err));
	BERTH_TRY(check_args(c, &a, s.e, err));
	berth_status st = make(c, &a, &s, err);
	if (st == BERTH_OK)
		st = tell(c, &a, &s, err);
	export_plan_close(&s.plan);
	return st;
}

const cli_verb cmd_export = {
	"export", "export PLAN --model GRAPH --to TARGET [--on SYSTEM] [--device NAME=THEIRS] [-o OUT]",
	"write a plan in the words of the program that is to run it",
	"The file is written whole or not at all, and only where the target can express the plan.\n"
	"With --json and without -o nothing is written: it tells what would be.\n"
	"Example: berth export plan.json --model model.onnx --to ort --device gpu0=CUDAExecutionProvider -o "
	"labelled.onnx\n",
	run};
