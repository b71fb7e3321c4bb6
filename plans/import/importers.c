/* The table of importers, and a file from its kind, which its content says, to a plan: here or in a sandbox,
 * whose answer this process reads and doubts. */
#include "importers.h"
#include "import_reading.h"

#define ENTRY(name) &berth_import_##name,

const berth_importer *const berth_importers[] = {BERTH_IMPORTERS(ENTRY)};

enum { N_IMPORTERS = sizeof berth_importers / sizeof *berth_importers };
const int32_t berth_n_importers = N_IMPORTERS;

/* ---- which one ---- */

static berth_status find_by_content(const berth_import_source *x, const berth_importer **out, berth_err *err)
{
	bool found;
	for (int i = 0; i < N_IMPORTERS; i++) {
		BERTH_TRY(berth_importers[i]->is(x->text, x->size, &found, err));
		if (found) {
			*out = berth_importers[i];
			return BERTH_OK;
		}
	}
	cJSON *doc = NULL;
	berth_status st = BERTH_OK;
	if (berth_import_first(x->text, x->size) == '{')
		st = berth_json_parse(x->file, x->text, x->size, &doc, err);
	found = st == BERTH_OK && cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(doc, "placement"));
	if (st == BERTH_OK)
		cJSON_Delete(doc);
	BERTH_TRY(st == BERTH_ENOMEM ? st : BERTH_OK);
	if (found)
		return berth_fail(err, BERTH_EFORMAT, "%s: this is a placement of berth already", x->file);
	return berth_fail(
		err, BERTH_EFORMAT,
		"%s: it is not seen what this is; expected a profile of ONNX Runtime, a log of "
		"llama.cpp (-v), a device_map of accelerate, affinities of OpenVINO, or a table with "
		"the columns operator and device",
		x->file);
}

bool berth_import_is_partial(const berth_import_plan *plan, const berth_graph *g)
{
	for (int i = 0; i < N_IMPORTERS; i++)
		if (strcmp(berth_importers[i]->name, plan->from) == 0)
			return !berth_importers[i]->fuses && plan->n_named < g->n_ops - plan->n_named;
	return false;
}

/* ---- the whole ---- */

static berth_status finish(const berth_import *m, const berth_importer *from, berth_import_plan *out,
                           berth_arena *scratch, berth_err *err)
{
	int32_t n = m->x->g->n_ops;
	*out = (berth_import_plan){.from = from->name,
	                           .n_unknown = m->n_unknown,
	                           .unknown = m->unknown,
	                           .n_devices = m->n_words,
	                           .note = m->note};
	if (n && !m->unknown && !berth_import_n_told(m))
		return berth_fail(err, BERTH_EFORMAT, "%s: it names no operator", m->x->file);
	BERTH_TRY_NEW(m->mem, n, err, out->op_dev);
	BERTH_TRY_NEW(m->mem, m->n_words, err, out->device);
	BERTH_TRY(berth_import_devices(m, out->device, err));
	for (int32_t op = 0; op < n; op++) {
		out->op_dev[op] = m->op_word[op] < 0 ? -1 : out->device[m->op_word[op]].dev;
		out->n_named += m->op_word[op] >= 0;
	}
	if (!out->n_named && n)
		return berth_import_refuse(m, "operator", m->unknown, err);
	BERTH_TRY(berth_import_check_model(m, out->n_named, err));
	return berth_import_fill(from, m->x->g, out, m->tmp, scratch, err);
}

static berth_status read_all(berth_import *m, const berth_importer *from, berth_import_plan *out,
                             berth_err *err)
{
	berth_arena scratch;
	const berth_graph *g = m->x->g;
	berth_strmap_init(&m->words, m->tmp);
	berth_strmap_init(&m->unknowns, m->tmp);
	BERTH_TRY(berth_graph_names(g, m->tmp, &m->ops, err));
	BERTH_TRY_NEW(m->tmp, g->n_ops, err, m->op_word);
	for (int32_t op = 0; op < g->n_ops; op++)
		m->op_word[op] = -1;
	berth_arena_init(&scratch, m->tmp->hook);
	berth_status st = from->read(m, &scratch, err);
	if (st == BERTH_OK)
		st = finish(m, from, out, &scratch, err);
	berth_arena_free(&scratch);
	return st;
}

berth_status berth_import_read(const berth_import_source *x, berth_arena *mem, berth_arena *tmp,
                               berth_import_plan *out, berth_err *err)
{
	const berth_importer *reader = NULL;
	berth_import_plan plan;
	berth_import m = {.x = x, .mem = mem, .tmp = tmp};
	/* Names would end there, and be those of others. */
	const char *at = x->size ? memchr(x->text, '\0', x->size) : NULL;
	int32_t line = 1;
	for (const char *c = x->text; at && c < at; c++)
		line += *c == '\n';
	BERTH_TRY(at ? berth_fail(err, BERTH_EFORMAT, "%s:%d: a byte of value 0; expected text in UTF-8",
	                          x->file, line)
	             : BERTH_OK);
	BERTH_TRY(find_by_content(x, &reader, err));
	BERTH_SCRATCH(tmp);
	const berth_arena_mark kept = berth_arena_get_mark(mem);
	berth_status st = read_all(&m, reader, &plan, err);
	if (st == BERTH_OK)
		*out = plan;
	else
		berth_arena_reset(mem, kept);
	return st;
}

/* ---- the same in a sandbox: the answer is a JSON object, which this process reads and doubts ---- */

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
	berth_json_put_ints(w, "placement", p->op_dev, n_ops);
	berth_json_close(w, '}');
}

static berth_status read_apart(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const berth_import_source *x = ctx;
	berth_arena tmp = {0}; /* the process ends with all that it has */
	berth_import_plan plan;
	berth_json_out w;
	BERTH_TRY(berth_import_read(x, mem, &tmp, &plan, err));
	berth_json_out_init(&w, mem, false);
	put_plan(&w, &plan, x->g->n_ops);
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

static berth_status take_plan(taking *t, const berth_json *all, berth_err *err)
{
	berth_json devices, placement;
	BERTH_TRY(take_text(t, all, "from", true, &t->plan.from, err));
	BERTH_TRY(take_text(t, all, "unknown_name", false, &t->plan.unknown, err));
	BERTH_TRY(take_text(t, all, "note", false, &t->plan.note, err));
	berth_import_plan *p = &t->plan;
	struct {
		const char *key;
		int32_t *to;
	} counts[] = {{"named", &p->n_named}, {"fused", &p->n_fused}, {"producer", &p->n_producer},
	              {"taker", &p->n_taker}, {"alone", &p->n_alone}, {"unknown", &p->n_unknown}};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		BERTH_TRY(berth_json_int(all, counts[i].key, true, 0, INT32_MAX, counts[i].to, err));
	BERTH_TRY(berth_json_array(all, "devices", true, &devices, err));
	BERTH_TRY(berth_json_array(all, "placement", true, &placement, err));
	t->plan.n_devices = berth_json_count(&devices);
	BERTH_TRY_NEW(t->mem, t->plan.n_devices, err, t->plan.device);
	BERTH_TRY_NEW(t->mem, t->x->g->n_ops, err, t->plan.op_dev);
	BERTH_TRY(berth_json_each(&devices, take_device, t, err));
	BERTH_TRY(berth_json_each(&placement, take_op, t, err));
	return t->at == t->x->g->n_ops ? BERTH_OK
	                               : berth_json_fail(all, err, "expected a device for each operator");
}

berth_status berth_import_read_apart(const berth_import_source *x, const berth_sandbox *sandbox,
                                     berth_arena *mem, berth_arena *tmp, berth_import_plan *out,
                                     berth_err *err)
{
	berth_import_source asked = *x;
	taking t = {.x = x, .mem = mem};
	const char *text;
	size_t size;
	BERTH_JSON_DOC(all);
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_sandbox_run(sandbox, x->file, read_apart, &asked, tmp, &text, &size, err));
	BERTH_TRY(berth_json_open_doc(x->file, text, size, &all, err));
	BERTH_TRY(take_plan(&t, &all, err));
	*out = t.plan;
	return BERTH_OK;
}
