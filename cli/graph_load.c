/* Reads graphs, systems and placements that a command line names, and says once what had to be assumed.
 * What the options of all verbs say of them (--training, --times, --for, --compress, rules) is put on them
 * here. */
#include "graph_load.h"

#include "constraints.h"
#include "engine_rules.h"
#include "option_files.h"
#include "print.h"
#include "sandboxed.h"
#include "say.h"
#include "scales.h"
#include "system_change.h"
#include "system_warnings.h"

/* ---- --calibrate: its words, the models that they name, and what is told of the fit ---- */

/* A timing as it was said. */
typedef struct said {
	const char *model, *dev, *text; /* text: "MODEL=SECONDS" */
	berth_graph g;
	double seconds;
} said;

static berth_status split(cli *c, const char *text, said *x, berth_err *err)
{
	const char *end;
	char *model = berth_arena_strdup(&c->mem, text), *whole = berth_arena_strdup(&c->mem, text);
	BERTH_TRY(berth_got(model && whole ? model : NULL, err));
	char *at = strrchr(model, '@'), *equals = NULL;
	if (at) {
		whole[at - model] = *at = '\0';
		equals = strrchr(model, '=');
	}
	if (!equals || equals == model || !at[1])
		return berth_fail(
			err, BERTH_EINVAL,
			"--calibrate %.80s: expected MODEL=SECONDS@DEVICE, as in zoo:resnet50=6.1ms@gpu0",
			text);
	*equals = '\0';
	double seconds = berth_unit_number(BERTH_SECONDS, equals + 1, &end);
	if (!(seconds > 0) || !isfinite(seconds) || *end)
		return berth_fail(err, BERTH_EINVAL,
		                  "--calibrate %.80s: '%.40s' is no time above 0, as in 6.1ms", text,
		                  equals + 1);
	*x = (said){.model = model, .dev = at + 1, .text = whole, .seconds = seconds};
	return BERTH_OK;
}

/* Is x for device d: by name, else by kind? */
static bool is_for(const berth_system *s, const said *x, int32_t d)
{
	int32_t named = berth_system_find_dev(s, x->dev);
	return named >= 0 ? named == d : strcmp(s->dev_kind[d], x->dev) == 0;
}

static berth_status check_device(const berth_system *s, const said *x, berth_err *err)
{
	int32_t at;
	for (int32_t d = 0; d < s->n_devs; d++)
		if (is_for(s, x, d))
			return BERTH_OK;
	if (berth_text_find(s->dev_name, s->n_devs, x->dev, "device", NULL, &at, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EINVAL, "--calibrate %s@%s: ", x->text, x->dev);
	return BERTH_OK;
}

berth_status cli_calibrate_device(cli *c, berth_system *s, int32_t dev, const berth_timing *timing, int32_t n,
                                  const char *by, berth_err *err)
{
	berth_scales_told told;
	char off[32], now[32], then[160] = "";
	BERTH_TRY(berth_scales_fit(s, dev, timing, n, by, &c->mem, &c->tmp, &told, err));
	if (n > 1)
		snprintf(then, sizeof then, "; then they are off by %s", cli_percent(off, told.off));
	else if (told.off > 0.01) {
		double before_s = timing->seconds / told.factor;
		snprintf(then, sizeof then,
		         ": now %s, %.0f %% of the way there; the rest may be that model's own, not the "
		         "device's",
		         berth_text_seconds(now, told.now_s),
		         100 * (told.now_s - before_s) / (timing->seconds - before_s));
	}
	if (cli_in_words(c))
		cli_say("%s: times %.3g of those predicted, by %s%s\n", s->dev_name[dev], told.factor, by,
		        then);
	if (told.factor > BERTH_SCALES_ODD || told.factor < 1 / BERTH_SCALES_ODD)
		return cli_warn(
			c, err,
			"device '%s' takes %.3g times as long as predicted for %s: the wrong device, or "
			"the wrong batch?",
			s->dev_name[dev], told.factor, by);
	return BERTH_OK;
}

/* Does e run the model? NULL: no engine is named. format: of its file; NULL: a built-in model. */
static berth_status check_format(const berth_engine_rules *e, const char *spec, const char *format,
                                 berth_err *err)
{
	if (!e || berth_rules_run(e, berth_module_file_length(spec) ? "PyTorch" : format))
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "--for %s: %s runs files of the format %s, and %s is %s%s",
	                  e->name, e->title, e->format[0], spec,
	                  format ? "of the format " : "a built-in model", format ? format : "");
}

/* timed: the engine that was timed, where s is for none; NULL: none was. */
static berth_status calibrate(cli *c, berth_system *s, const berth_engine_rules *timed, berth_err *err)
{
	said *x;
	if (!c->calibrate.n)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, c->calibrate.n, err, x);
	for (int32_t i = 0; i < c->calibrate.n; i++) {
		BERTH_TRY(split(c, c->calibrate.text[i], &x[i], err));
		BERTH_TRY(check_device(s, &x[i], err));
		berth_read_options opt = cli_read_options(c);
		berth_read_report report;
		opt.n_dims = 0; /* they are those of the model that is placed */
		BERTH_TRY(berth_graph_load(x[i].model, &opt, &c->mem, &c->tmp, &x[i].g, &report, err));
		if (cli_given(c, "for"))
			BERTH_TRY(check_format(timed, x[i].model, report.format, err));
	}
	for (int32_t d = 0; d < s->n_devs; d++) {
		berth_timing *timing;
		berth_strbuf by = {.mem = &c->mem};
		const char *text;
		int32_t n = 0;
		BERTH_TRY_NEW(&c->mem, c->calibrate.n, err, timing);
		for (int32_t i = 0; i < c->calibrate.n; i++)
			if (is_for(s, &x[i], d)) {
				berth_strbuf_printf(&by, "%s%s%s%s", n ? ", " : "", x[i].text,
				                    timed ? " for " : "", timed ? timed->name : "");
				timing[n++] = (berth_timing){&x[i].g, -1, x[i].seconds};
			}
		BERTH_TRY(berth_strbuf_done(&by, &text, NULL, err));
		BERTH_TRY(n ? cli_calibrate_device(c, s, d, timing, n, text, err) : BERTH_OK);
	}
	return BERTH_OK;
}

/* By times as the engine has them, also where the system is not yet said to be for it. */
berth_status cli_calibrate(cli *c, berth_system *s, berth_err *err)
{
	const berth_engine_rules *now = s->engine;
	if (!now && c->engine)
		BERTH_TRY(berth_rules_find(c->engine, &s->engine, err));
	berth_status st = calibrate(c, s, now ? NULL : s->engine, err);
	s->engine = now;
	return st;
}

/* ---- loading ---- */

/* "8k" in a word KEY=8k is 8192. */
static berth_status note_size(cli *c, const char *word, size_t n, berth_err *err)
{
	const char *end, *text = berth_arena_strndup(&c->tmp, word, n), *is = text ? strchr(text, '=') : NULL;
	char number[32];
	BERTH_TRY(berth_got(text, err));
	double x = is ? berth_unit_number(BERTH_TOKENS, is + 1, &end) : NAN;
	bool name = strncmp(text, "name=", 5) == 0;
	return isnan(x) || *end || end[-1] <= '9' || name
	               ? BERTH_OK
	               : cli_note(c, err, "%s: %.*s is %s", text, (int)(is - text), text,
	                          berth_text_double(number, x));
}

berth_status cli_graph_told(cli *c, const char *spec, const berth_read_report *r, berth_err *err)
{
	BERTH_TRY(cli_check_external(c, spec, r, err));
	for (int32_t i = 0; i < c->dim.n; i++)
		BERTH_TRY(note_size(c, c->dim.text[i], strlen(c->dim.text[i]), err));
	for (const char *at = strchr(spec, ':'); at; at = strchr(at + 1, ':'))
		BERTH_TRY(note_size(c, at + 1, strcspn(at + 1, ":"), err));
	for (int32_t i = 0; i < r->n_warnings; i++)
		BERTH_TRY(cli_warn(c, err, "%s: %s", spec, r->warning[i]));
	for (int32_t i = 0; i < r->n_guessed; i++)
		BERTH_TRY(cli_warn(c, err, "%s: %s", spec, r->guessed[i]));
	for (int32_t i = 0; i < r->n_fitted; i++)
		BERTH_TRY(cli_note(c, err, "%s: %s", spec, r->fitted[i]));
	for (int32_t i = 0; i < r->n_loops; i++)
		BERTH_TRY(cli_warn(c, err, "%s: loop '%s' is taken to run once (--dim %s=N)", spec,
		                   r->loop_name[i], r->loop_name[i]));
	return BERTH_OK;
}

/* Two graphs of one command may have one name. */
static berth_status note_name(cli *c, const char *spec, const char *name, berth_err *err)
{
	cli_texts *known = &c->called;
	for (int32_t i = 0; i < known->n; i += 2) {
		if (strcmp(known->text[i], name) != 0)
			continue;
		return strcmp(known->text[i + 1], spec) == 0
		               ? BERTH_OK
		               : cli_note(c, err,
		                          "%s and %s are both called %s: a name of its own stands behind a "
		                          "file (%s:name=N)",
		                          known->text[i + 1], spec, name, spec);
	}
	for (int i = 0; i < 2; i++) {
		BERTH_TRY(BERTH_PUSH(&c->mem, known->text, known->n, &known->cap, err, i ? spec : name));
	}
	return BERTH_OK;
}

berth_status cli_system_warn(cli *c, const char *spec, const berth_system *s, const berth_graph *g,
                             const bool *dev, berth_err *err)
{
	const char **text;
	int32_t n;
	BERTH_TRY(berth_system_warnings(s, g, dev, &c->mem, &c->tmp, &text, &n, err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(cli_warn(c, err, "%s: %s", spec, text[i]));
	return cli_strict(c, err);
}

static berth_status warn_system(cli *c, const char *spec, const berth_system *s, const berth_graph *g,
                                berth_err *err)
{
	return c->warns_of_some ? cli_strict(c, err) : cli_system_warn(c, spec, s, g, NULL, err);
}

berth_status cli_graph_load(cli *c, const char *spec, berth_graph *g, berth_read_report *report,
                            berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	berth_read_report r;
	BERTH_TRY(berth_graph_load(spec, &opt, &c->mem, &c->tmp, g, &r, err));
	BERTH_TRY(cli_graph_told(c, spec, &r, err));
	if (report)
		*report = r;
	return cli_strict(c, err);
}

berth_status cli_model_check(cli *c, const char *spec, berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	berth_arena mem = {0}, tmp = {0};
	berth_read_report r;
	berth_graph g;
	if (!c->n_written || berth_module_file_length(spec)) /* a module is run once, by its engine */
		return BERTH_OK;
	berth_status st = berth_graph_load(spec, &opt, &mem, &tmp, &g, &r, NULL);
	if (st == BERTH_OK)
		st = cli_check_external(c, spec, &r, err);
	else
		st = st == BERTH_ENOMEM ? berth_nomem(err) : BERTH_OK;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

berth_status cli_training_module(cli *c, bool *training, const char **spec, berth_err *err)
{
	if (!*training || !berth_module_file_length(*spec))
		return BERTH_OK;
	*training = false;
	if (strstr(*spec, ":mode="))
		return BERTH_OK;
	*spec = berth_arena_printf(&c->mem, "%s:mode=training", *spec);
	return berth_got(*spec, err);
}

berth_status cli_training_make(cli *c, const char *spec, const berth_training_options *how, berth_graph *g,
                               berth_err *err)
{
	berth_training_options opt = *how;
	berth_training_report report;
	berth_graph step;
	opt.report = &report;
	if (berth_graph_training(g, &opt, &c->mem, &c->tmp, &step, err) != BERTH_OK)
		return berth_fail_in(err, err->code, "%s: ", spec);
	for (int32_t i = 0; i < report.n_unknown; i++)
		BERTH_TRY(cli_warn(c, err,
		                   "%s: no rule for type %s; its backward counts as twice its forward", spec,
		                   *report.unknown_type[i] ? report.unknown_type[i] : "(none)"));
	*g = step;
	return BERTH_OK;
}

/* --training: a whole step instead of the model. */
static berth_status make_training(cli *c, bool training, const char *spec, berth_graph *g, berth_err *err)
{
	const berth_training_options opt = berth_training_options_default();
	return training ? cli_training_make(c, spec, &opt, g, err) : BERTH_OK;
}

berth_status cli_compress_factor(const cli *c, int *factor, berth_err *err)
{
	static const char *const words[] = {"2x", "4x", "8x"};
	int32_t at;
	*factor = 0;
	if (!c->compress)
		return BERTH_OK;
	BERTH_TRY(berth_text_find(words, 3, c->compress, "compression", "; expected 2x, 4x or 8x", &at, err));
	*factor = 2 << at;
	return BERTH_OK;
}

/* --times: how times are predicted, whatever the system says. */
static berth_status set_times(cli *c, berth_system *s, berth_err *err)
{
	static const char *const words[] = {"model", "roofline"};
	int32_t at;
	if (!c->times)
		return BERTH_OK;
	BERTH_TRY(berth_text_find(words, 2, c->times, "way to predict times", "; expected model or roofline",
	                          &at, err));
	if (c->times_against && s->roofline != (at == 1))
		return berth_fail(err, BERTH_EINVAL, CLI_TOLD_OTHERWISE, c->times_against,
		                  s->roofline ? "--times roofline" : "--times model", "--times ", c->times);
	s->roofline = at == 1;
	return BERTH_OK;
}

/* --for: as the engine runs plans. format: of the graph's file; NULL: a built-in model. */
static berth_status set_engine(const cli *c, const char *spec, const char *format, const berth_graph *g,
                               berth_system *s, berth_err *err)
{
	const berth_engine_rules *e = NULL;
	bool step = false;
	if (!c->engine)
		return BERTH_OK;
	BERTH_TRY(berth_rules_find(c->engine, &e, err));
	BERTH_TRY(check_format(e, spec, format, err));
	for (int32_t op = 0; op < g->n_ops; op++)
		step |= g->op_backward[op];
	if (step && e && !e->trains)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s --for %s: %s runs no training steps, and %s is one: leave out "
		                  "--for, or give --for torch",
		                  c->verb->name, e->name, e->title, g->name);
	return berth_system_for(e, s, err);
}

berth_status cli_system_times(cli *c, berth_system *s, berth_err *err)
{
	BERTH_TRY(set_times(c, s, err));
	BERTH_TRY(cli_calibrate(c, s, err));
	s->n_words = (c->times != NULL) + c->calibrate.n;
	BERTH_TRY_NEW(&c->mem, s->n_words, err, s->word);
	for (int32_t i = 0; i < s->n_words; i++) {
		int32_t k = i - (c->times != NULL);
		s->word[i] = k < 0 ? berth_arena_printf(&c->mem, "times=%s", c->times)
		                   : berth_arena_printf(&c->mem, "calibrate=%s", c->calibrate.text[k]);
		BERTH_TRY(berth_got(s->word[i], err));
	}
	return BERTH_OK;
}

/* A cost model that runs placements by itself has transfers of its own. */
static berth_status pack_links(cli *c, berth_system *s, berth_err *err)
{
	int factor;
	BERTH_TRY(cli_compress_factor(c, &factor, err));
	if (factor && s->cost_model->run)
		return berth_fail(err, BERTH_EINVAL,
		                  "--compress: the cost model %s knows no packed transfers: leave it out%s",
		                  s->cost_model->name, s->engine ? ", or place with --for none" : "");
	return factor ? berth_system_pack(s, factor, &c->mem, err) : BERTH_OK;
}

berth_status cli_rules_add(cli *c, const berth_system *s, berth_graph *g, berth_err *err)
{
	berth_strbuf told = {.mem = &c->mem};
	const char *text;
	berth_rule_texts r = {c->pin.text, c->forbid.text, c->colocate.text,
	                      c->pin.n,    c->forbid.n,    c->colocate.n, &told};
	BERTH_TRY(berth_graph_add_rules(&r, s, &c->mem, &c->tmp, g, err));
	BERTH_TRY(berth_strbuf_done(&told, &text, NULL, err));
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		BERTH_TRY(cli_note(c, err, "%.*s", (int)strcspn(at, "\n"), at));
	return BERTH_OK;
}

berth_status cli_instance_load(cli *c, const char *graph, const char *system, berth_graph *g, berth_system *s,
                               berth_read_report *report, berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	berth_read_report r;
	bool training = c->training;
	BERTH_TRY(cli_training_module(c, &training, &graph, err));
	BERTH_TRY(berth_instance_load(graph, system, &opt, &c->mem, &c->tmp, g, s, &r, err));
	BERTH_TRY(cli_graph_told(c, graph, &r, err));
	BERTH_TRY(note_name(c, graph, g->name, err));
	if (report)
		*report = r;
	BERTH_TRY(make_training(c, training, graph, g, err));
	BERTH_TRY(set_engine(c, graph, r.format, g, s, err));
	BERTH_TRY(cli_system_times(c, s, err));
	BERTH_TRY(pack_links(c, s, err));
	BERTH_TRY(cli_rules_add(c, s, g, err));
	return warn_system(c, system ? system : graph, s, g, err);
}

static berth_status load_parts(cli *c, const char *system, berth_graph *g, berth_system *s,
                               berth_graph_parts *parts, berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	berth_read_report r;
	berth_graph *part;
	if (!system)
		return berth_fail(err, BERTH_EINVAL, "several models need --on SYSTEM");
	BERTH_TRY_NEW(&c->mem, c->n_args, err, part);
	for (int32_t i = 0; i < c->n_args; i++) {
		const char *spec = c->args[i];
		bool training = c->training;
		BERTH_TRY(cli_training_module(c, &training, &spec, err));
		BERTH_TRY(berth_graph_load(spec, &opt, &c->mem, &c->tmp, &part[i], &r, err));
		BERTH_TRY(cli_graph_told(c, spec, &r, err));
		BERTH_TRY(note_name(c, spec, part[i].name, err));
		BERTH_TRY(make_training(c, training, spec, &part[i], err));
	}
	BERTH_TRY(berth_graph_union(part, c->n_args, &c->mem, &c->tmp, g, parts, err));
	BERTH_TRY(berth_system_load(system, cli_sandbox(c), &c->mem, &c->tmp, s, err));
	if (c->engine && strcmp(c->engine, "none") != 0)
		return berth_fail(err, BERTH_EINVAL, "--for is for one model: an engine runs it alone");
	BERTH_TRY(cli_system_times(c, s, err));
	BERTH_TRY(pack_links(c, s, err));
	BERTH_TRY(cli_rules_add(c, s, g, err));
	return warn_system(c, system, s, g, err);
}

berth_status cli_models_load(cli *c, const char *system, berth_graph *g, berth_system *s,
                             berth_graph_parts *parts, berth_err *err)
{
	*parts = (berth_graph_parts){0};
	return c->n_args == 1 ? cli_instance_load(c, c->args[0], system, g, s, NULL, err)
	                      : load_parts(c, system, g, s, parts, err);
}

berth_status cli_system_load(cli *c, const char *spec, const berth_graph *g, berth_system *s, berth_err *err)
{
	BERTH_TRY(berth_system_load(spec, cli_sandbox(c), &c->mem, &c->tmp, s, err));
	BERTH_TRY(cli_system_times(c, s, err));
	return warn_system(c, spec, s, g, err);
}

berth_status cli_placement_read(cli *c, const char *path, const berth_graph *g, const berth_system *s,
                                berth_placement *out, berth_err *err)
{
	const char *warning;
	BERTH_JSON_TEXT(x);
	BERTH_TRY(cli_json_map(c, BERTH_READS_PLAN, path, &x, err));
	BERTH_TRY(berth_placement_parse_json(path, x.text, x.size, g, s, &c->mem, &c->tmp, out, &warning,
	                                     err));
	if (out->use)
		BERTH_TRY(cli_note(c, err, "%s: a plan for both uses (%s): this is %.80s alone", path,
		                   out->use, g->name));
	return warning ? cli_warn(c, err, "%s", warning) : BERTH_OK;
}
