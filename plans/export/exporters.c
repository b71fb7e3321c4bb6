/* The table of exporters and what they share: pieces, settings and notes of what is made, what targets call
 * devices, and what a plan is worth beside what the engine does by itself. */
#include "check.h"
#include "engine_errors.h"
#include "engine_rules.h"
#include "exporters.h"
#include "min_cut.h"
#include "op_times.h"

#include <stdarg.h>

#define ENTRY(name) &berth_export_##name,

const berth_exporter *const berth_exporters[] = {BERTH_EXPORTERS(ENTRY)};

enum { N_EXPORTERS = sizeof berth_exporters / sizeof *berth_exporters };
const int32_t berth_n_exporters = N_EXPORTERS;

berth_status berth_exporter_find(const char *name, const berth_exporter **out, berth_err *err)
{
	static const char *const renamed[][2] = {{"ort-rules", "ort:rules"}, {"onnx", "ort:onnx"}};
	const char *known[N_EXPORTERS];
	int32_t at;
	for (int i = 0; i < N_EXPORTERS; i++)
		known[i] = berth_exporters[i]->name;
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (strcmp(name, renamed[i][0]) == 0)
			return berth_fail(err, BERTH_EINVAL, "export '%s' is called '%s' now", name,
			                  renamed[i][1]);
	BERTH_TRY(berth_text_find(known, N_EXPORTERS, name, "export", NULL, &at, err));
	*out = berth_exporters[at];
	return BERTH_OK;
}

bool berth_exporter_takes(const berth_exporter *e, const char *format)
{
	const char *at = e->model ? strstr(e->model, format) : format;
	const size_t n = strlen(format);
	return !e->model || (at && n && (at == e->model || at[-1] == ' ') && (!at[n] || at[n] == ' '));
}

/* ---- engines ---- */

const berth_engine_rules *berth_exporter_engine(const berth_exporter *e)
{
	char name[32];
	const berth_engine_rules *engine = NULL;
	snprintf(name, sizeof name, "%.*s", (int)strcspn(e->name, ":"), e->name);
	return berth_rules_find(name, &engine, NULL) == BERTH_OK ? engine : NULL;
}

const berth_exporter *berth_exporter_for(const berth_engine_rules *engine)
{
	for (int i = 0; i < N_EXPORTERS; i++)
		if (strcmp(berth_exporters[i]->name, engine->name) == 0)
			return berth_exporters[i];
	return NULL;
}

berth_status berth_engine_usual(const berth_engine_rules *e, const berth_export_source *x, berth_arena *tmp,
                                int32_t *op_dev, const char **why, berth_err *err)
{
	bool known;
	BERTH_SCRATCH(tmp);
	berth_status st = berth_export_usual(berth_exporter_for(e), x, tmp, op_dev, &known, err);
	*why = st == BERTH_OK && known ? NULL : e->unknown;
	return st;
}

/* ---- what they make ---- */

berth_status berth_export_put(berth_export_out *out, const void *data, size_t size, berth_err *err)
{
	return BERTH_PUSH(out->mem, out->piece, out->n_pieces, &out->cap_pieces, err,
	                  (berth_file_piece){data, size});
}

berth_status berth_export_put_text(berth_export_out *out, berth_strbuf *text, berth_err *err)
{
	const char *done;
	size_t len;
	BERTH_TRY(berth_strbuf_done(text, &done, &len, err));
	return berth_export_put(out, done, len, err);
}

berth_status berth_export_put_json(berth_export_out *out, berth_json_out *w, berth_err *err)
{
	const char *done;
	size_t len;
	BERTH_TRY(berth_json_done(w, &done, &len, err));
	return berth_export_put(out, done, len, err);
}

berth_status berth_export_set(berth_export_out *out, const char *key, const char *value, berth_err *err)
{
	return BERTH_PUSH(out->mem, out->setting, out->n_settings, &out->cap_settings, err,
	                  (berth_export_setting){key, value});
}

static berth_status add_text(berth_arena *mem, const char ***list, int32_t *n, size_t *cap, berth_err *err,
                             const char *fmt, va_list args)
{
	char text[1024];
	berth_visible_vprint(text, sizeof text, fmt, args);
	BERTH_TRY(BERTH_GROW(mem, *list, *n, cap, err));
	(*list)[*n] = berth_arena_strdup(mem, text);
	return (*list)[(*n)++] ? BERTH_OK : berth_nomem(err);
}

berth_status berth_export_note(berth_export_out *out, berth_err *err, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	berth_status st = add_text(out->mem, &out->note, &out->n_notes, &out->cap_notes, err, fmt, args);
	va_end(args);
	return st;
}

berth_status berth_export_warn(berth_export_out *out, berth_err *err, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	berth_status st =
		add_text(out->mem, &out->warning, &out->n_warnings, &out->cap_warnings, err, fmt, args);
	va_end(args);
	return st;
}

/* To zsh "=word" is a path. */
void berth_export_put_word(berth_strbuf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:,=+-@%";
	berth_strbuf_add(b, " ", b->len ? 1 : 0);
	if (*word && *word != '=' && !word[strspn(word, plain)]) {
		berth_strbuf_printf(b, "%s", word);
		return;
	}
	berth_strbuf_add(b, "'", 1);
	for (; *word; word++)
		if (*word == '\'')
			berth_strbuf_printf(b, "'\\''");
		else
			berth_strbuf_add(b, word, 1);
	berth_strbuf_add(b, "'", 1);
}

void berth_export_put_option(berth_strbuf *b, const char *option, const char *value)
{
	berth_export_put_word(b, option);
	berth_export_put_word(b, value);
}

void berth_export_put_number(berth_strbuf *b, const char *option, int64_t x)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)x);
	berth_export_put_option(b, option, text);
}

/* ---- using them ---- */

static berth_status check_source(const berth_exporter *e, const berth_export_source *x, berth_err *err)
{
	static const char *const what[] = {"a graph", "a placement", "a placement that runs, on a system"};
	bool placed = x->g && x->s && x->op_dev, runs = x->p && x->t && x->t->r.runs;
	bool has = e->needs == BERTH_EXPORT_GRAPH       ? x->g != NULL
	           : e->needs == BERTH_EXPORT_PLACEMENT ? placed
	                                                : runs;
	if (!has)
		return berth_fail(err, BERTH_EINVAL, "export to %s needs %s", e->name, what[e->needs]);
	if (e->model && !x->model)
		return berth_fail(err, BERTH_EINVAL,
		                  "export to %s needs a model of the format %s, from a file", e->name,
		                  e->model);
	return BERTH_OK;
}

berth_status berth_export_make(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                               berth_export_out *out, berth_err *err)
{
	BERTH_TRY(check_source(e, x, err));
	BERTH_SCRATCH(tmp);
	return x->sandbox && x->model ? export_write_apart(e, x, out, err) : e->write(x, tmp, out, err);
}

berth_status berth_export(const char *name, const berth_export_source *x, const char *path, berth_arena *mem,
                          berth_arena *tmp, berth_err *err)
{
	const berth_exporter *e;
	berth_export_out out = {.mem = mem};
	BERTH_TRY(berth_exporter_find(name, &e, err));
	BERTH_SCRATCH(mem);
	BERTH_TRY(berth_export_make(e, x, tmp, &out, err));
	return berth_file_write_pieces(path, out.piece, out.n_pieces, err);
}

/* ---- what targets call devices ---- */

static bool told(const berth_export_source *x, int32_t d)
{
	return x->theirs && x->theirs[d];
}

bool berth_export_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

const char *berth_export_called(const berth_export_source *x, int32_t dev)
{
	return told(x, dev) ? x->theirs[dev] : x->s->dev_name[dev];
}

static berth_status find_one(const berth_export_source *x, const berth_export_word *usual, const char *what,
                             int32_t d, const char **theirs, berth_export_out *out, berth_err *err)
{
	const char *name = x->s->dev_name[d];
	*theirs = told(x, d) ? x->theirs[d] : NULL;
	if (*theirs)
		return BERTH_OK;
	for (; usual->begins && !*theirs; usual++)
		if (berth_system_is(x->s, d, usual->begins))
			*theirs = usual->theirs;
	if (!*theirs)
		return berth_fail(err, BERTH_EINVAL,
		                  "no %s is known for device '%.80s': add --device %.80s=NAME, the one that "
		                  "runs there (or place without it: --forbid '*=%.80s')",
		                  what, name, name, name);
	return berth_export_note(out, err, "device %s is taken for %s (--device %s=NAME says otherwise)",
	                         name, *theirs, name);
}

static berth_status check_apart(const berth_export_source *x, const char *const *theirs, int32_t d,
                                berth_export_out *out, berth_err *err)
{
	for (int32_t k = 0; k < d; k++) {
		if (!theirs[k] || strcmp(theirs[k], theirs[d]) != 0)
			continue;
		const char *a = x->s->dev_name[k], *b = x->s->dev_name[d];
		if (!told(x, d) || !told(x, k))
			return berth_fail(
				err, BERTH_EUNSUPPORTED,
				"devices '%.80s' and '%.80s' would both be %.80s there: name another one "
				"(--device %.80s=NAME), or this one for both",
				a, b, theirs[d], b);
		return berth_export_note(out, err, "devices %s and %s are one there: %s", a, b, theirs[d]);
	}
	return BERTH_OK;
}

berth_status berth_export_theirs(const berth_export_source *x, const berth_export_word *usual,
                                 const char *what, const char **theirs, berth_export_out *out, berth_err *err)
{
	bool used[BERTH_MAX_DEVS] = {false};
	for (int32_t op = 0; op < x->g->n_ops; op++)
		used[x->op_dev[op]] = true;
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		theirs[d] = NULL;
		if (!used[d])
			continue;
		BERTH_TRY(find_one(x, usual, what, d, &theirs[d], out, err));
		BERTH_TRY(check_apart(x, theirs, d, out, err));
	}
	return BERTH_OK;
}

/* ---- GPUs by numbers ---- */

static bool is_taken(const char *const *told, int32_t n_devs, const char *word)
{
	for (int32_t d = 0; d < n_devs; d++)
		if (told[d] && strcmp(told[d], word) == 0)
			return true;
	return false;
}

berth_status berth_export_number_gpus(const berth_export_source *x, const char *before, const char **told,
                                      berth_arena *mem, berth_err *err)
{
	const berth_system *s = x->s;
	for (int32_t d = 0; d < s->n_devs; d++)
		told[d] = x->theirs ? x->theirs[d] : NULL;
	for (int32_t d = 0, next = 0; d < s->n_devs; d++) {
		const char *word = "";
		if (told[d] || !(berth_system_is(s, d, "gpu") || berth_system_is(s, d, "cuda")))
			continue;
		do {
			word = berth_arena_printf(mem, "%s%d", before, (int)next++);
		} while (word && is_taken(told, s->n_devs, word));
		BERTH_TRY(berth_got(word, err));
		told[d] = word;
	}
	return BERTH_OK;
}

berth_status berth_export_theirs_numbered(const berth_export_source *x, const int32_t *op_dev,
                                          const char *before, const berth_export_word *usual,
                                          const char *what, const char **theirs, berth_export_out *out,
                                          berth_err *err)
{
	berth_export_source named = *x;
	const char *told[BERTH_MAX_DEVS];
	BERTH_TRY(berth_export_number_gpus(x, before, told, out->mem, err));
	named.theirs = told;
	named.op_dev = op_dev;
	return berth_export_theirs(&named, usual, what, theirs, out, err);
}

/* ---- what a plan is worth beside the default ---- */

int64_t berth_export_time_on(const berth_export_source *x, int32_t dev)
{
	int64_t sum = x->p ? 0 : -1;
	for (int32_t op = 0; op < x->g->n_ops && sum >= 0; op++) {
		int64_t ns = berth_op_time(x->p, op, dev);
		sum = ns < 0 ? -1 : sum + ns;
	}
	return sum;
}

berth_status berth_export_all_on(const berth_export_source *x, int32_t dev, int32_t *op_dev, bool *known)
{
	*known = dev >= 0;
	for (int32_t op = 0; op < x->g->n_ops && *known; op++)
		op_dev[op] = dev;
	return BERTH_OK;
}

berth_status berth_export_fits_on(const berth_export_source *x, int32_t dev, int32_t *op_dev,
                                  berth_arena *tmp, bool *fits, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_timeline t;
	berth_verdict v = {0};
	berth_export_all_on(x, dev, op_dev, fits);
	BERTH_TRY(berth_judge(x->p, op_dev, NULL, NULL, tmp, &t, &v, err));
	for (int32_t i = 0; i < v.broken.n && *fits; i++)
		*fits = v.broken.item[i].kind != BERTH_VIOLATION_MEMORY &&
		        v.broken.item[i].kind != BERTH_VIOLATION_POOL;
	return BERTH_OK;
}

static int32_t single_device(const int32_t *op_dev, int32_t n_ops)
{
	for (int32_t op = 1; op < n_ops; op++)
		if (op_dev[op] != op_dev[0])
			return -1;
	return n_ops ? op_dev[0] : -1;
}

double berth_export_serial(const berth_problem *p, const int32_t *op_dev)
{
	uint8_t seen[BERTH_MAX_DEVS] = {0};
	return (double)berth_sum_of_times(p, op_dev, seen) / 1e9;
}

/* Do the operators take less than 10 us in the mean, each where it is quickest? Neither clock nor profile
 * tells such well. */
static bool is_brief(const berth_problem *p)
{
	int64_t sum = 0, n = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t least = INT64_MAX;
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t ns = berth_op_time(p, op, d);
			least = ns >= 0 && ns < least ? ns : least;
		}
		sum += least < INT64_MAX ? least : 0;
		n += least > 0 && least < INT64_MAX;
	}
	return sum < 10000 * n;
}

/* The larger of what out says and of the placement's own. */
static berth_status find_error(const berth_exporter *e, const berth_export_source *x, const int32_t *op_dev,
                               berth_arena *tmp, berth_export_gain *out, berth_err *err)
{
	const char *devices = e->error_devices ? e->error_devices(x, op_dev) : NULL;
	berth_engine_error found;
	BERTH_TRY(berth_engine_error_of(e->name, x->g, x->s, op_dev, devices, is_brief(x->p), tmp,
	                               &found, err));
	if (found.mean < out->error)
		return BERTH_OK;
	out->error = found.mean;
	out->error_median = found.median;
	out->error_rows = found.n;
	return BERTH_OK;
}

berth_status berth_export_gain_of(const berth_exporter *e, const berth_export_source *x,
                                  const berth_objective *o, double plan, berth_arena *mem, berth_arena *tmp,
                                  berth_export_gain *out, berth_err *err)
{
	BERTH_SCRATCH(mem);
	*out = (berth_export_gain){.plan = NAN, .usual = NAN, .gain = NAN, .device = -1};
	if (!x->p || !e->usual || x->s->order == BERTH_ORDER_GIVEN)
		return BERTH_OK;
	berth_timeline t;
	berth_verdict v;
	int32_t *op_dev;
	bool known;
	BERTH_TRY_NEW(mem, x->g->n_ops, err, op_dev);
	BERTH_TRY(berth_export_usual(e, x, tmp, op_dev, &known, err));
	if (!known)
		return BERTH_OK;
	BERTH_TRY(berth_judge(x->p, op_dev, NULL, o, mem, &t, &v, err));
	out->known = !isnan(v.value) && !isnan(plan);
	out->usual_fits = v.feasible;
	out->serial = out->known && x->s->cost_model->sums_times;
	berth_export_uses both = {plan, v.value, berth_ratio_error(x->p, x->op_dev, op_dev)};
	if (out->known && x->uses && e->seconds && berth_objective_is(o, BERTH_LATENCY))
		BERTH_TRY(berth_export_seconds(e, x, op_dev, tmp, &both, err));
	out->plan = both.plan;
	out->usual = both.usual;
	out->known = !isnan(both.plan) && !isnan(both.usual);
	out->gain = out->usual > 0 ? 1 - out->plan / out->usual : 0;
	out->same = memcmp(op_dev, x->op_dev, (size_t)x->g->n_ops * sizeof *op_dev) == 0;
	BERTH_TRY(find_error(e, x, x->op_dev, tmp, out, err));
	BERTH_TRY(find_error(e, x, op_dev, tmp, out, err));
	out->error = fmax(out->error, both.error);
	out->keep = out->known && v.feasible && out->gain < out->error;
	out->device = single_device(op_dev, x->g->n_ops);
	return BERTH_OK;
}
