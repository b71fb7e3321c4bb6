/* The table of importers and what they share; see importers.h. */
#include "importers.h"

#include "import_reading.h"
#include "json.h"

#include <string.h>

#define ENTRY(name) &berth_import_##name,

static const berth_importer *const importers[] = {BERTH_IMPORTERS(ENTRY)};

enum { N_IMPORTERS = sizeof importers / sizeof *importers };

/* ---- which one ---- */

char berth_import_first(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return text[i];
	return '\0';
}

static berth_status find_named(const char *name, const berth_importer **out, berth_err *err)
{
	const char *known[N_IMPORTERS];
	int32_t at;
	for (int i = 0; i < N_IMPORTERS; i++)
		known[i] = importers[i]->name;
	BERTH_TRY(berth_text_find(known, N_IMPORTERS, name, "kind of file", NULL, &at, err));
	*out = importers[at];
	return BERTH_OK;
}

static berth_status is_placement(const berth_import_source *x, bool *found, berth_err *err)
{
	cJSON *doc = NULL;
	berth_status st = BERTH_OK;
	if (berth_import_first(x->text, x->size) == '{')
		st = berth_json_parse(x->file, x->text, x->size, &doc, err);
	*found = st == BERTH_OK && cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(doc, "placement"));
	if (st == BERTH_OK)
		cJSON_Delete(doc);
	return st == BERTH_ENOMEM ? st : BERTH_OK;
}

static berth_status find_by_content(const berth_import_source *x, const berth_importer **out, berth_err *err)
{
	bool found;
	for (int i = 0; i < N_IMPORTERS; i++) {
		BERTH_TRY(importers[i]->is(x->text, x->size, &found, err));
		if (found) {
			*out = importers[i];
			return BERTH_OK;
		}
	}
	BERTH_TRY(is_placement(x, &found, err));
	if (found)
		return berth_fail(err, BERTH_EFORMAT, "%s: this is a placement of berth already", x->file);
	return berth_fail(
		err, BERTH_EFORMAT,
		"%s: it is not seen what this is; expected a profile of ONNX Runtime, a log of "
		"llama.cpp (-v), a device_map of accelerate, affinities of OpenVINO, or a table with "
		"the columns operator and device (--from KIND says which)",
		x->file);
}

bool berth_import_is_partial(const berth_import_plan *plan, const berth_graph *g)
{
	for (int i = 0; i < N_IMPORTERS; i++)
		if (strcmp(importers[i]->name, plan->from) == 0)
			return !importers[i]->fuses && plan->n_named < g->n_ops - plan->n_named;
	return false;
}

/* Names would end there, and be those of others. */
static berth_status check_text(const berth_import_source *x, berth_err *err)
{
	const char *at = x->size ? memchr(x->text, '\0', x->size) : NULL;
	int32_t line = 1;
	for (const char *c = x->text; at && c < at; c++)
		line += *c == '\n';
	return at ? berth_fail(err, BERTH_EFORMAT, "%s:%d: a byte of value 0; expected text in UTF-8",
	                       x->file, line)
	          : BERTH_OK;
}

/* ---- what readers tell ---- */

berth_status berth_import_word(berth_import *m, const char *word, int32_t *at, berth_err *err)
{
	*at = berth_strmap_get(&m->words, word);
	if (*at >= 0)
		return BERTH_OK;
	if (!*word)
		return berth_fail(err, BERTH_EFORMAT, "%s: a device without a name", m->x->file);
	if (m->n_words == BERTH_IMPORT_MOST_WORDS)
		return berth_fail(err, BERTH_EFORMAT, "%s: more than %d devices", m->x->file,
		                  BERTH_IMPORT_MOST_WORDS);
	const char *copy = berth_arena_strdup(m->mem, word);
	if (!copy)
		return berth_nomem(err);
	BERTH_TRY(BERTH_GROW(m->tmp, m->word, m->n_words, &m->cap_word, err));
	BERTH_TRY(BERTH_GROW(m->tmp, m->word_ops, m->n_words, &m->cap_ops, err));
	m->word[m->n_words] = copy;
	m->word_ops[m->n_words] = 0;
	return berth_strmap_add(&m->words, copy, m->n_words++, at, err);
}

berth_status berth_import_tell(berth_import *m, int32_t op, int32_t word, berth_err *err)
{
	int32_t before = m->op_word[op];
	if (before >= 0 && before != word)
		return berth_fail(err, BERTH_EFORMAT, "%s: operator '%.100s' is on '%.60s' and on '%.60s'",
		                  m->x->file, m->x->g->op_name[op], m->word[before], m->word[word]);
	m->word_ops[word] += before < 0;
	m->op_word[op] = word;
	return BERTH_OK;
}

/* An engine's own nodes are at most so many times those that it has from the graph: with all of its fusions
 * ONNX Runtime was seen to have 1.1 times as many, of a Transformer. */
enum { FITTING = 2 };

static int32_t n_told(const berth_import *m)
{
	int32_t n = 0;
	for (int32_t op = 0; op < m->x->g->n_ops; op++)
		n += m->op_word[op] >= 0;
	return n;
}

static berth_status other_model(const berth_import *m, int32_t n_named, berth_err *err)
{
	return berth_fail(
		err, BERTH_EFORMAT,
		"%s: of its nodes %d are operators of graph '%.60s', and %d or more are not (first: "
		"'%.80s'): expected the file of the model that was run",
		m->x->file, n_named, m->x->g->name, m->n_unknown, m->unknown);
}

berth_status berth_import_pass(berth_import *m, const char *name, berth_err *err)
{
	int32_t found;
	if (berth_strmap_get(&m->unknowns, name) >= 0)
		return BERTH_OK;
	const char *copy = berth_arena_strdup(m->tmp, name);
	if (copy && !m->unknown)
		m->unknown = berth_arena_strdup(m->mem, name);
	if (!copy || !m->unknown)
		return berth_nomem(err);
	BERTH_TRY(berth_strmap_add(&m->unknowns, copy, m->n_unknown++, &found, err));
	/* too many, whatever comes */
	return m->n_unknown > (int64_t)FITTING * m->x->g->n_ops ? other_model(m, n_told(m), err) : BERTH_OK;
}

berth_status berth_import_refuse(const berth_import *m, const char *what, const char *name, berth_err *err)
{
	const berth_graph *g = m->x->g;
	char hint[160];
	return berth_fail(err, BERTH_EFORMAT, "%s: '%.100s' is no %s of graph '%.60s'%s", m->x->file, name,
	                  what, g->name, berth_text_suggest(hint, sizeof hint, name, g->op_name, g->n_ops));
}

/* ---- the whole ---- */

static berth_status start(berth_import *m, berth_err *err)
{
	const berth_graph *g = m->x->g;
	int32_t found;
	berth_strmap_init(&m->ops, m->tmp);
	berth_strmap_init(&m->words, m->tmp);
	berth_strmap_init(&m->unknowns, m->tmp);
	BERTH_TRY(berth_strmap_reserve(&m->ops, (size_t)g->n_ops, err));
	BERTH_TRY(BERTH_NEW(m->tmp, m->op_word, g->n_ops, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		BERTH_TRY(berth_strmap_add(&m->ops, g->op_name[op], op, &found, err));
		m->op_word[op] = -1;
	}
	return BERTH_OK;
}

static berth_status finish(const berth_import *m, const berth_importer *from, berth_import_plan *out,
                           berth_err *err)
{
	int32_t n = m->x->g->n_ops;
	*out = (berth_import_plan){.from = from->name,
	                           .n_unknown = m->n_unknown,
	                           .unknown = m->unknown,
	                           .n_devices = m->n_words,
	                           .note = m->note};
	if (n && !m->unknown && !n_told(m))
		return berth_fail(err, BERTH_EFORMAT, "%s: it names no operator", m->x->file);
	BERTH_TRY(BERTH_NEW(m->mem, out->op_dev, n, err));
	BERTH_TRY(BERTH_NEW(m->mem, out->device, m->n_words, err));
	BERTH_TRY(berth_import_devices(m, out->device, err));
	for (int32_t op = 0; op < n; op++) {
		out->op_dev[op] = m->op_word[op] < 0 ? -1 : out->device[m->op_word[op]].dev;
		out->n_named += m->op_word[op] >= 0;
	}
	if (!out->n_named && n)
		return berth_import_refuse(m, "operator", m->unknown, err);
	if (out->n_unknown > (int64_t)FITTING * out->n_named)
		return other_model(m, out->n_named, err);
	berth_import_fill(from, m->x->g, out);
	return BERTH_OK;
}

static berth_status read_all(berth_import *m, const berth_importer *from, berth_import_plan *out,
                             berth_err *err)
{
	berth_arena scratch;
	BERTH_TRY(start(m, err));
	berth_arena_init(&scratch, m->tmp->hook);
	berth_status st = from->read(m, &scratch, err);
	berth_arena_free(&scratch);
	BERTH_TRY(st);
	return finish(m, from, out, err);
}

berth_status berth_import_read(const berth_import_source *x, const char *from, berth_arena *mem,
                               berth_arena *tmp, berth_import_plan *out, berth_err *err)
{
	const berth_importer *reader = NULL;
	berth_import_plan plan;
	berth_import m = {.x = x, .mem = mem, .tmp = tmp};
	BERTH_TRY(from ? find_named(from, &reader, err) : BERTH_OK);
	BERTH_TRY(check_text(x, err));
	BERTH_TRY(from ? BERTH_OK : find_by_content(x, &reader, err));
	berth_arena_mark scratch = berth_arena_get_mark(tmp), kept = berth_arena_get_mark(mem);
	berth_status st = read_all(&m, reader, &plan, err);
	berth_arena_reset(tmp, scratch);
	if (st == BERTH_OK)
		*out = plan;
	else
		berth_arena_reset(mem, kept);
	return st;
}
