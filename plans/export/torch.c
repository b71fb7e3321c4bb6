/* Exporter "torch": a plan of a PyTorch module as a Python file, which makes the module with its parts on
 * their devices and a forward that moves tensors between them. berth-engine-torch writes it, since only
 * PyTorch knows the module, and runs it beside the module before that (docs/export.md). */
#include "exporters.h"

/* ---- devices ---- */

/* cpu, mps, cuda, cuda:1 and the like. */
static bool is_device(const char *text)
{
	size_t kind = strspn(text, "abcdefghijklmnopqrstuvwxyz"), n = 0;
	if (text[kind] == ':')
		n = strspn(text + kind + 1, "0123456789");
	return kind > 0 && (!text[kind] || (n > 0 && n < 4 && !text[kind + 1 + n]));
}

/* ---- the file ---- */

static berth_status ask(const berth_export_source *x, const char *const *theirs, berth_arena *tmp,
                        const char **text, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, tmp, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "graph", x->g->name);
	berth_json_put_string(&w, "system", x->s->name);
	berth_json_open(&w, "devices", '{');
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (theirs[d])
			berth_json_put_string(&w, x->s->dev_name[d], theirs[d]);
	berth_json_close(&w, '}');
	berth_json_open(&w, "placement", '{');
	for (int32_t op = 0; op < x->g->n_ops; op++)
		berth_json_put_string(&w, x->g->op_name[op], x->s->dev_name[x->op_dev[op]]);
	berth_json_close(&w, '}');
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, NULL, err);
}

static berth_status put_note(void *ctx, const berth_json *at, berth_err *err)
{
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected a text");
	return berth_export_note(ctx, err, "%s", at->item->valuestring);
}

static berth_status read_answer(const berth_json *at, berth_export_out *out, berth_err *err)
{
	const char *file;
	berth_json notes;
	BERTH_TRY(berth_json_string(at, "file", true, &file, err));
	BERTH_TRY(berth_json_array(at, "notes", true, &notes, err));
	const char *kept = berth_arena_strdup(out->mem, file);
	BERTH_TRY(berth_got(kept, err));
	BERTH_TRY(berth_json_each(&notes, put_note, out, err));
	return berth_export_put(out, kept, strlen(kept), err);
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	const char *theirs[BERTH_MAX_DEVS], *asked, *text;
	size_t size;
	berth_json at = {.file = "berth-engine-torch"};
	cJSON *item = NULL;
	if (!x->module || !x->module_place)
		return berth_fail(err, BERTH_EINVAL,
		                  "export to torch takes a PyTorch module (FILE.py:FACTORY)");
	static const berth_export_word usual[] = {
		{"cpu", "cpu"}, {"xpu", "xpu:0"}, {"mps", "mps"}, {NULL, NULL}};
	BERTH_TRY(berth_export_theirs_numbered(x, x->op_dev, "cuda:", usual, "device of PyTorch", theirs, out,
	                                       err));
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (theirs[d] && !is_device(theirs[d]))
			return berth_fail(err, BERTH_EINVAL,
			                  "'%.80s' is no device of PyTorch, such as cpu or cuda:1",
			                  theirs[d]);
	BERTH_TRY(ask(x, theirs, tmp, &asked, err));
	BERTH_TRY(x->module_place(x->module, asked, tmp, &text, &size, err));
	BERTH_TRY(berth_json_parse(at.file, text, size, &item, err));
	at.item = item;
	berth_status st = read_answer(&at, out, err);
	cJSON_Delete(item);
	return st;
}

/* ---- the default: one device ---- */

/* The fastest device that holds all; where none does, the fastest. */
static berth_status usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                          berth_err *err)
{
	int64_t best = -1;
	int32_t at = -1;
	bool best_fits = false;
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		int64_t ns = berth_export_time_on(x, d);
		bool fit;
		if (ns < 0)
			continue;
		BERTH_TRY(berth_export_fits_on(x, d, op_dev, tmp, &fit, err));
		if (at >= 0 && (best_fits > fit || (best_fits == fit && best <= ns)))
			continue;
		at = d;
		best = ns;
		best_fits = fit;
	}
	return berth_export_all_on(x, at, op_dev, known);
}

const berth_exporter berth_export_torch = {
	.name = "torch",
	.about = "A Python file: a PyTorch module with its parts on their devices",
	.suffix = ".py",
	.needs = BERTH_EXPORT_PLACEMENT,
	.write = write,
	.usual = usual,
};
