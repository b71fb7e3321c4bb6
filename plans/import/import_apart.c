/* Reading in a sandbox: the answer is a JSON object, which this process reads and doubts. */
#include "importers.h"

#include "json.h"

#include <string.h>

typedef struct asked {
	const berth_import_source *x;
	const char *from;
} asked;

/* ---- in there ---- */

static void put_plan(berth_json_out *w, const berth_import_plan *p, int32_t n_ops)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "from", p->from);
	berth_json_put_int(w, "named", p->n_named);
	berth_json_put_int(w, "fused", p->n_fused);
	berth_json_put_int(w, "producer", p->n_producer);
	berth_json_put_int(w, "taker", p->n_taker);
	berth_json_put_int(w, "alone", p->n_alone);
	berth_json_put_int(w, "unknown", p->n_unknown);
	if (p->unknown)
		berth_json_put_string(w, "unknown_name", p->unknown);
	if (p->note)
		berth_json_put_string(w, "note", p->note);
	berth_json_open(w, "devices", '[');
	for (int32_t i = 0; i < p->n_devices; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "word", p->device[i].word);
		berth_json_put_int(w, "device", p->device[i].dev);
		berth_json_put_int(w, "ops", p->device[i].n_ops);
		berth_json_put_bool(w, "guessed", p->device[i].guessed);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_open(w, "placement", '[');
	for (int32_t op = 0; op < n_ops; op++)
		berth_json_put_int(w, NULL, p->op_dev[op]);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

static berth_status work(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const asked *a = ctx;
	berth_arena tmp = {0}; /* the process ends with all that it has */
	berth_import_plan plan;
	berth_json_out w;
	BERTH_TRY(berth_import_read(a->x, a->from, mem, &tmp, &plan, err));
	berth_json_out_init(&w, mem, false);
	put_plan(&w, &plan, a->x->g->n_ops);
	return berth_json_done(&w, data, size, err);
}

/* ---- out here ---- */

typedef struct taking {
	const berth_import_source *x;
	berth_arena *mem;
	berth_import_plan plan;
	int32_t at, n_words;
} taking;

static berth_status take_text(taking *t, const berth_json *all, const char *key, bool required,
                              const char **out, berth_err *err)
{
	const char *text = NULL;
	BERTH_TRY(berth_json_string(all, key, required, &text, err));
	if (text && !(text = berth_arena_strdup(t->mem, text)))
		return berth_nomem(err);
	*out = text;
	return BERTH_OK;
}

static berth_status take_device(void *ctx, const berth_json *at, berth_err *err)
{
	taking *t = ctx;
	berth_import_device *d = &t->plan.device[t->n_words++];
	BERTH_TRY(take_text(t, at, "word", true, &d->word, err));
	BERTH_TRY(berth_json_int(at, "device", true, 0, t->x->s->n_devs - 1, &d->dev, err));
	BERTH_TRY(berth_json_int(at, "ops", true, 0, t->x->g->n_ops, &d->n_ops, err));
	return berth_json_bool(at, "guessed", &d->guessed, err);
}

static berth_status take_op(void *ctx, const berth_json *at, berth_err *err)
{
	taking *t = ctx;
	double dev;
	BERTH_TRY(berth_json_value(at, 0, &dev, err));
	if (t->at == t->x->g->n_ops || dev >= t->x->s->n_devs)
		return berth_json_fail(at, err, "expected a device for each operator");
	t->plan.op_dev[t->at++] = (int32_t)dev;
	return BERTH_OK;
}

static berth_status take_counts(taking *t, const berth_json *all, berth_err *err)
{
	berth_import_plan *p = &t->plan;
	struct {
		const char *key;
		int32_t *to;
	} counts[] = {{"named", &p->n_named}, {"fused", &p->n_fused}, {"producer", &p->n_producer},
	              {"taker", &p->n_taker}, {"alone", &p->n_alone}, {"unknown", &p->n_unknown}};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		BERTH_TRY(berth_json_int(all, counts[i].key, true, 0, INT32_MAX, counts[i].to, err));
	return BERTH_OK;
}

static berth_status take_plan(taking *t, const berth_json *all, berth_err *err)
{
	berth_json devices, placement;
	BERTH_TRY(take_text(t, all, "from", true, &t->plan.from, err));
	BERTH_TRY(take_text(t, all, "unknown_name", false, &t->plan.unknown, err));
	BERTH_TRY(take_text(t, all, "note", false, &t->plan.note, err));
	BERTH_TRY(take_counts(t, all, err));
	BERTH_TRY(berth_json_array(all, "devices", true, &devices, err));
	BERTH_TRY(berth_json_array(all, "placement", true, &placement, err));
	t->plan.n_devices = berth_json_count(&devices);
	BERTH_TRY(BERTH_NEW(t->mem, t->plan.device, t->plan.n_devices, err));
	BERTH_TRY(BERTH_NEW(t->mem, t->plan.op_dev, t->x->g->n_ops, err));
	BERTH_TRY(berth_json_each(&devices, take_device, t, err));
	BERTH_TRY(berth_json_each(&placement, take_op, t, err));
	return t->at == t->x->g->n_ops ? BERTH_OK
	                               : berth_json_fail(all, err, "expected a device for each operator");
}

berth_status berth_import_read_apart(const berth_import_source *x, const char *from,
                                     const berth_sandbox *sandbox, berth_arena *mem, berth_arena *tmp,
                                     berth_import_plan *out, berth_err *err)
{
	asked a = {x, from};
	taking t = {.x = x, .mem = mem};
	const char *text;
	size_t size;
	cJSON *doc;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = berth_sandbox_run(sandbox, x->file, work, &a, tmp, &text, &size, err);
	if (st == BERTH_OK && (st = berth_json_parse_large(x->file, text, size, &doc, err)) == BERTH_OK) {
		const berth_json all = {.item = doc, .file = x->file};
		st = take_plan(&t, &all, err);
		cJSON_Delete(doc);
	}
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = t.plan;
	return st;
}
