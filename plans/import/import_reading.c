/* What readers of engines' choices share: words for devices, operators told one by one, names of an ONNX
 * model beside those of its operators, and JSON objects of names and devices. */
#include "import_reading.h"
#include "load.h"
#include "onnx_model.h"

char berth_import_first(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return text[i];
	return '\0';
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
	BERTH_TRY(berth_got(copy, err));
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

int32_t berth_import_n_told(const berth_import *m)
{
	int32_t n = 0;
	for (int32_t op = 0; op < m->x->g->n_ops; op++)
		n += m->op_word[op] >= 0;
	return n;
}

berth_status berth_import_check_model(const berth_import *m, int32_t n_named, berth_err *err)
{
	enum { FITTING = 2 };
	if (m->n_unknown <= (int64_t)FITTING * n_named)
		return BERTH_OK;
	return berth_fail(
		err, BERTH_EFORMAT,
		"%s: of its nodes %d are operators of graph '%.60s', and %d or more are not (first: "
		"'%.80s'): expected the file of the model that was run",
		m->x->file, berth_import_n_told(m), m->x->g->name, m->n_unknown, m->unknown);
}

berth_status berth_import_pass(berth_import *m, const char *name, berth_err *err)
{
	if (berth_strmap_get(&m->unknowns, name) >= 0)
		return BERTH_OK;
	const char *copy = berth_arena_strdup(m->tmp, name);
	if (copy && !m->unknown)
		m->unknown = berth_arena_strdup(m->mem, name);
	if (!copy || !m->unknown)
		return berth_nomem(err);
	BERTH_TRY(berth_strmap_add(&m->unknowns, copy, m->n_unknown++, NULL, err));
	/* too many, whatever comes */
	return berth_import_check_model(m, m->x->g->n_ops, err);
}

berth_status berth_import_refuse(const berth_import *m, const char *what, const char *name, berth_err *err)
{
	const berth_graph *g = m->x->g;
	char hint[160];
	return berth_fail(err, BERTH_EFORMAT, "%s: '%.100s' is no %s of graph '%.60s'%s", m->x->file, name,
	                  what, g->name, berth_text_suggest(hint, sizeof hint, name, g->op_name, g->n_ops));
}

/* ---- names in an ONNX model ---- */

/* Names of the decoded model live in m->tmp, as the map does. */
static berth_status add_name(berth_import *m, const char *name, int32_t op, berth_err *err)
{
	return *name ? berth_strmap_add(&m->ops, name, op, NULL, err) : BERTH_OK;
}

/* OpenVINO's nodes of single outputs: NAME_OUTPUT. */
static berth_status add_joined(berth_import *m, const onnx_model *x, const onnx_node *n, int32_t op,
                               berth_err *err)
{
	for (int32_t o = 0; o < n->n_out; o++) {
		if (n->out[o] < 0)
			continue;
		const char *name = berth_arena_printf(m->tmp, "%s_%s", n->name, x->value[n->out[o]].name);
		BERTH_TRY(berth_got(name, err));
		BERTH_TRY(add_name(m, name, op, err));
	}
	return BERTH_OK;
}

static berth_status add_node(berth_import *m, const onnx_model *x, const onnx_node *n, int32_t op,
                             berth_err *err)
{
	BERTH_TRY(add_name(m, n->name, op, err));
	for (int32_t o = 0; o < n->n_out; o++)
		if (n->out[o] >= 0)
			BERTH_TRY(add_name(m, x->value[n->out[o]].name, op, err));
	return *n->name && n->n_out > 1 ? add_joined(m, x, n, op, err) : BERTH_OK;
}

berth_status berth_import_onnx_names(berth_import *m, berth_err *err)
{
	const berth_content *from = m->x->model;
	int32_t n_weights, op = 0;
	if (!from || strcmp(berth_content_format(from)->name, "ONNX") != 0)
		return BERTH_OK;
	onnx_model x = {.file = from->name,
	                .data = (const unsigned char *)from->data,
	                .size = from->size,
	                .tmp = m->tmp};
	BERTH_TRY(onnx_decode(&x, m->x->read, &n_weights, err));
	for (size_t i = 0; i < x.n_nodes; i++) {
		const onnx_node *n = &x.node[i];
		if (!n->folded && op >= m->x->g->n_ops)
			return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read",
			                  from->name);
		BERTH_TRY(add_node(m, &x, n, n->folded ? BERTH_IMPORT_NO_OP : op, err));
		op += !n->folded;
	}
	return BERTH_OK;
}

/* ---- objects of names and devices ---- */

static berth_status look_at(void *ctx, const berth_json *at, berth_err *err)
{
	import_map_kind *kind = ctx;
	const cJSON *x = at->item;
	if (cJSON_IsNumber(x) || (cJSON_IsString(x) && *x->valuestring >= 'a' && *x->valuestring <= 'z'))
		*kind = IMPORT_TORCH_MAP;
	else if (cJSON_IsString(x) && *kind == IMPORT_NO_MAP)
		*kind = IMPORT_OTHER_MAP;
	else if (!cJSON_IsString(x)) {
		*kind = IMPORT_NO_MAP;
		return berth_fail(err, BERTH_EFORMAT, "no map");
	}
	return BERTH_OK;
}

berth_status import_map_look(const char *text, size_t size, import_map_kind *kind, berth_err *err)
{
	*kind = IMPORT_NO_MAP;
	if (berth_import_first(text, size) != '{')
		return BERTH_OK;
	cJSON *doc = NULL;
	berth_status st = berth_json_check("", text, size, err);
	if (st == BERTH_OK)
		st = (doc = berth_json_peek(text, size)) ? BERTH_OK : berth_nomem(err);
	const berth_json all = {.item = doc, .file = ""};
	if (st == BERTH_OK)
		st = berth_json_each(&all, look_at, kind, err);
	if (st != BERTH_OK)
		*kind = IMPORT_NO_MAP;
	cJSON_Delete(doc);
	return st == BERTH_ENOMEM ? st : BERTH_OK;
}

typedef struct member_reading {
	berth_import *m;
	import_map_visit *visit;
	void *ctx;
} member_reading;

static berth_status read_member(void *ctx, const berth_json *at, berth_err *err)
{
	member_reading *r = ctx;
	char number[16];
	const char *word = number;
	int32_t w;
	if (cJSON_IsNumber(at->item)) {
		double x = at->item->valuedouble;
		if (!(x >= 0 && x < 1000) || x != (int)x)
			return berth_json_fail(at, err, "expected the number of a device, from 0 to 999");
		snprintf(number, sizeof number, "%d", (int)x);
	} else if (cJSON_IsString(at->item)) {
		word = at->item->valuestring;
	} else {
		return berth_json_fail(at, err, "expected the name or the number of a device");
	}
	BERTH_TRY(berth_import_word(r->m, word, &w, err));
	return r->visit(r->ctx, at->key, w, err);
}

berth_status import_map_each(berth_import *m, import_map_visit *visit, void *ctx, berth_err *err)
{
	member_reading r = {m, visit, ctx};
	BERTH_JSON_DOC(all);
	BERTH_TRY(berth_json_open_doc(m->x->file, m->x->text, m->x->size, &all, err));
	return cJSON_IsObject(all.item)
	               ? berth_json_each(&all, read_member, &r, err)
	               : berth_json_fail(&all, err, "expected an object of names and devices");
}
