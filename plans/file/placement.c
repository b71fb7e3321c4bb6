/* berth-placement version 1: reading against a graph and a system, checking, writing in canonical form. */
#include "placement.h"

#include "engine_rules.h"
#include "file.h"
#include "graph_format.h"
#include "json.h"
#include "system_json.h"
#include "uses.h"

#define MAX_EXACT (INT64_C(1) << 53) /* whole numbers up to here are exact in JSON */

berth_status berth_placement_new(const berth_graph *g, const berth_system *s, berth_arena *mem,
                                 berth_arena *tmp, berth_placement *out, berth_err *err)
{
	berth_placement p = {.value = NAN,
	                     .lower_bound = NAN,
	                     .compress = s->pack_factor,
	                     .system_word = s->word,
	                     .n_system_words = s->n_words,
	                     .engine = s->engine ? s->engine->name : NULL};
	char hex[65];
	BERTH_TRY_NEW(mem, g->n_ops, err, p.op_dev);
	p.graph_name = berth_arena_strdup(mem, g->name);
	p.system_name = berth_arena_strdup(mem, s->name);
	BERTH_TRY(berth_graph_sha256(g, tmp, hex, err));
	p.graph_sha256 = berth_arena_strdup(mem, hex);
	BERTH_TRY(berth_system_sha256(s, tmp, hex, err));
	p.system_sha256 = berth_arena_strdup(mem, hex);
	if (!p.graph_name || !p.system_name || !p.graph_sha256 || !p.system_sha256)
		return berth_nomem(err);
	*out = p;
	return BERTH_OK;
}

/* ---- checking ---- */

/* The producer whose output op still needs, or -1. done[] marks the operators before it. */
static int32_t missing_input(const berth_graph *g, const bool *done, int32_t op)
{
	BERTH_EACH (i, g->op_in_off, op)
		if (!done[g->tensor_producer[g->in_tensor[i]]])
			return g->tensor_producer[g->in_tensor[i]];
	return -1;
}

/* order[n] is a topological permutation of the operators; *at = the index of the first offender, n where one
 * is left out. done[n_ops] is all false on entry. */
static berth_status check_order(const berth_graph *g, const int32_t *order, int32_t n, bool *done,
                                int32_t *at, berth_err *err)
{
	for (*at = 0; *at < n; ++*at) {
		int32_t op = order[*at];
		if (op < 0 || op >= g->n_ops)
			return berth_fail(err, BERTH_EFORMAT, "operator %d of %d", op, g->n_ops);
		if (done[op])
			return berth_fail(err, BERTH_EFORMAT, "operator '%.80s' stands twice in the order",
			                  g->op_name[op]);
		int32_t need = missing_input(g, done, op);
		if (need >= 0)
			return berth_fail(err, BERTH_EFORMAT,
			                  "operator '%.80s' stands before '%.80s', whose output it needs",
			                  g->op_name[op], g->op_name[need]);
		done[op] = true;
	}
	for (int32_t op = 0; op < g->n_ops; op++)
		if (!done[op])
			return berth_fail(err, BERTH_EFORMAT, "operator '%.80s' is not in the order",
			                  g->op_name[op]);
	return BERTH_OK;
}

berth_status berth_placement_check(const berth_placement *p, const berth_graph *g, const berth_system *s,
                                   berth_arena *tmp, berth_err *err)
{
	for (int32_t op = 0; op < g->n_ops; op++)
		if (p->op_dev[op] < 0 || p->op_dev[op] >= s->n_devs)
			return berth_fail(err, BERTH_EFORMAT, "operator '%.80s' is on device %d of %d",
			                  g->op_name[op], p->op_dev[op], s->n_devs);
	if (!p->order)
		return BERTH_OK;
	bool *done;
	int32_t at;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, g->n_ops, err, done);
	return check_order(g, p->order, g->n_ops, done, &at, err);
}

/* ---- reading ---- */

typedef struct reader {
	const berth_graph *g;
	const berth_system *s;
	berth_arena *mem, *tmp;
	berth_placement p;
	berth_strmap ops, devs;
} reader;

static berth_status map_names(berth_strmap *map, berth_arena *tmp, const char **name, int32_t n,
                              berth_err *err)
{
	berth_strmap_init(map, tmp);
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(berth_strmap_add(map, name[i], i, NULL, err));
	return BERTH_OK;
}

/* The operator called name, at a place of the file. */
static berth_status op_named(const berth_json *at, const reader *r, const char *name, int32_t *op,
                             berth_err *err)
{
	char hint[128];
	*op = berth_strmap_get(&r->ops, name);
	if (*op >= 0)
		return BERTH_OK;
	return berth_json_fail(at, err, "the graph has no operator '%.80s'%s", name,
	                       berth_text_suggest(hint, sizeof hint, name, r->g->op_name, r->g->n_ops));
}

static berth_status dev_named(const berth_json *at, const reader *r, const char *name, int32_t *dev,
                              berth_err *err)
{
	char hint[128];
	*dev = berth_strmap_get(&r->devs, name);
	if (*dev >= 0)
		return BERTH_OK;
	return berth_json_fail(at, err, "the system has no device '%.80s'%s", name,
	                       berth_text_suggest(hint, sizeof hint, name, r->s->dev_name, r->s->n_devs));
}

static berth_status read_device(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	int32_t op, dev;
	BERTH_TRY(op_named(at->up, r, at->key, &op, err));
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected the name of a device");
	BERTH_TRY(dev_named(at, r, at->item->valuestring, &dev, err));
	if (r->p.op_dev[op] >= 0)
		return berth_json_fail(at->up, err, "operator '%.80s' stands twice", at->key);
	r->p.op_dev[op] = dev;
	return BERTH_OK;
}

static berth_status read_devices(const berth_json *doc, reader *r, berth_err *err)
{
	berth_json map;
	BERTH_TRY(berth_json_object(doc, "placement", true, &map, err));
	BERTH_TRY_NEW(r->mem, r->g->n_ops, err, r->p.op_dev);
	for (int32_t op = 0; op < r->g->n_ops; op++)
		r->p.op_dev[op] = -1;
	BERTH_TRY(berth_json_each(&map, read_device, r, err));
	int32_t first = 0, n_more = 0;
	while (first < r->g->n_ops && r->p.op_dev[first] >= 0)
		first++;
	if (first == r->g->n_ops)
		return BERTH_OK;
	for (int32_t op = first + 1; op < r->g->n_ops; op++)
		n_more += r->p.op_dev[op] < 0;
	if (!n_more)
		return berth_json_fail(&map, err, "operator '%.80s' has no device", r->g->op_name[first]);
	return berth_json_fail(&map, err, "operator '%.80s' has no device, nor have %d more of the graph",
	                       r->g->op_name[first], n_more);
}

static berth_status read_place(void *ctx, const berth_json *item, berth_err *err)
{
	reader *r = ctx;
	int32_t op;
	if (!cJSON_IsString(item->item))
		return berth_json_fail(item, err, "expected the name of an operator");
	BERTH_TRY(op_named(item, r, item->item->valuestring, &op, err));
	if (item->index <= r->g->n_ops)
		r->p.order[item->index] = op;
	return BERTH_OK;
}

static berth_status read_order(const berth_json *doc, reader *r, berth_err *err)
{
	berth_json list = berth_json_get(doc, "order"), item;
	bool *done;
	int32_t at;
	if (!list.item || cJSON_IsNull(list.item))
		return BERTH_OK;
	BERTH_TRY(berth_json_array(doc, "order", true, &list, err));
	BERTH_TRY_NEW(r->mem, r->g->n_ops + 1, err, r->p.order); /* one more stands twice */
	BERTH_TRY_NEW(r->tmp, r->g->n_ops, err, done);
	BERTH_TRY(berth_json_each(&list, read_place, r, err));
	int32_t n = berth_json_count(&list), most = r->g->n_ops + 1;
	n = n < most ? n : most;
	berth_status st = check_order(r->g, r->p.order, n, done, &at, err);
	item = berth_json_at(&list, NULL, at);
	return berth_json_placed(at < n ? &item : &list, st, err);
}

/* A whole number from 0 to 2^53. */
static berth_status read_count(const berth_json *at, const char *key, int64_t *out, berth_err *err)
{
	double x = 0;
	berth_json v = berth_json_get(at, key);
	BERTH_TRY(berth_json_number(at, key, false, 0, &x, err));
	if (x != floor(x) || x > (double)MAX_EXACT)
		return berth_json_fail(&v, err, "%.17g is not a whole number up to 2^53", x);
	*out = (int64_t)x;
	return BERTH_OK;
}

/* A number, or null for NAN. */
static berth_status read_value(const berth_json *at, const char *key, double *out, berth_err *err)
{
	berth_json v = berth_json_get(at, key);
	return cJSON_IsNull(v.item) ? BERTH_OK : berth_json_number(at, key, false, -INFINITY, out, err);
}

/* An optional string, copied. */
static berth_status read_word(const berth_json *at, const char *key, berth_arena *mem, const char **out,
                              berth_err *err)
{
	const char *word = NULL;
	BERTH_TRY(berth_json_string(at, key, false, &word, err));
	if (word && !(*out = berth_arena_strdup(mem, word)))
		return berth_nomem(err);
	return BERTH_OK;
}

typedef struct word_list {
	const char **word;
	int32_t n;
	berth_arena *mem;
} word_list;

static berth_status take_word(void *ctx, const berth_json *at, berth_err *err)
{
	word_list *x = ctx;
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected a text");
	return berth_got(x->word[x->n++] = berth_arena_strdup(x->mem, at->item->valuestring), err);
}

/* What the placement was made for. */
static berth_status read_source(const berth_json *doc, const char *key, berth_arena *mem, const char **name,
                                const char **sha256, const char ***word, int32_t *n, berth_err *err)
{
	static const char *const known[] = {"name", "sha256", "words", NULL};
	berth_json at, list;
	word_list x = {.mem = mem};
	BERTH_TRY(berth_json_object(doc, key, false, &at, err));
	if (!at.item)
		return BERTH_OK;
	BERTH_TRY(berth_json_keys(&at, known, err));
	BERTH_TRY(read_word(&at, "name", mem, name, err));
	BERTH_TRY(read_word(&at, "sha256", mem, sha256, err));
	BERTH_TRY(berth_json_array(&at, "words", false, &list, err));
	if (!list.item)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, berth_json_count(&list), err, x.word);
	BERTH_TRY(berth_json_each(&list, take_word, &x, err));
	*word = x.word;
	*n = x.n;
	return BERTH_OK;
}

static berth_status read_engine(const berth_json *doc, berth_placement *p, berth_err *err)
{
	const berth_engine_rules *engine = NULL;
	const char *text = NULL;
	berth_json v = berth_json_get(doc, "for");
	BERTH_TRY(berth_json_string(doc, "for", false, &text, err));
	if (!text)
		return BERTH_OK;
	BERTH_TRY(berth_json_placed(&v, berth_rules_find(text, &engine, err), err));
	p->engine = engine ? engine->name : NULL;
	return BERTH_OK;
}

static berth_status read_head(const berth_json *doc, reader *r, berth_err *err)
{
	static const char *const known[] = {"format", "version",     "graph",     "system", "method",
	                                    "seed",   "evaluations", "objective", "value",  "lower_bound",
	                                    "compress", "for",       "use",       "order",  "placement",
	                                    NULL};
	berth_placement *p = &r->p;
	int64_t seed = 0;
	if (cJSON_GetObjectItemCaseSensitive(doc->item, "format") ||
	    cJSON_GetObjectItemCaseSensitive(doc->item, "version"))
		BERTH_TRY(berth_json_format(doc, "berth-placement", 1, err));
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(read_source(doc, "graph", r->mem, &p->graph_name, &p->graph_sha256, &p->graph_word,
	                      &p->n_graph_words, err));
	BERTH_TRY(read_source(doc, "system", r->mem, &p->system_name, &p->system_sha256, &p->system_word,
	                      &p->n_system_words, err));
	BERTH_TRY(read_engine(doc, p, err));
	berth_uses uses;
	berth_json v = berth_json_get(doc, "use");
	BERTH_TRY(read_word(doc, "use", r->mem, &r->p.use, err));
	BERTH_TRY(berth_json_placed(&v, berth_uses_parse(r->p.use, &uses, err), err));
	BERTH_TRY(read_word(doc, "method", r->mem, &p->method, err));
	BERTH_TRY(read_count(doc, "seed", &seed, err));
	p->seed = (uint64_t)seed;
	BERTH_TRY(read_count(doc, "evaluations", &p->evaluations, err));
	BERTH_TRY(read_word(doc, "objective", r->mem, &p->objective, err));
	BERTH_TRY(read_value(doc, "value", &p->value, err));
	BERTH_TRY(read_value(doc, "lower_bound", &p->lower_bound, err));
	static const char *const words[] = {"2x", "4x", "8x"};
	const char *text = NULL;
	int32_t at;
	BERTH_TRY(read_word(doc, "compress", r->mem, &text, err));
	if (!text)
		return BERTH_OK;
	if (berth_text_find(words, 3, text, "compression", "; expected 2x, 4x or 8x", &at, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EFORMAT, "%s: ", doc->file);
	r->p.compress = 2 << at;
	return BERTH_OK;
}

static bool differs(const char *said, const char *hex)
{
	return said && strcmp(said, hex) != 0;
}

static const char *shown(const char *name)
{
	return name ? name : "(unnamed)";
}

static berth_status compare_sources(const char *file, const reader *r, const char **warning, berth_err *err)
{
	const berth_placement *p = &r->p;
	char graph_hex[65] = "", system_hex[65] = "";
	*warning = NULL;
	if (p->graph_sha256)
		BERTH_TRY(berth_graph_sha256(r->g, r->tmp, graph_hex, err));
	if (p->system_sha256)
		BERTH_TRY(berth_system_sha256(r->s, r->tmp, system_hex, err));
	bool graph = differs(p->graph_sha256, graph_hex),
	     other_system = differs(p->system_sha256, system_hex);
	const char *engine = r->s->engine ? r->s->engine->name : "none";
	if (!graph && !other_system && p->engine && strcmp(p->engine, engine) != 0) {
		*warning =
			berth_arena_printf(r->mem, "%s: made for %s (--for %s), and valued here for %s", file,
		                           p->engine, p->engine, engine);
		return berth_got(*warning, err);
	}
	if (!graph && !other_system && p->compress && p->compress != r->s->pack_factor) {
		*warning = berth_arena_printf(r->mem,
		                              "%s: made for tensors that go packed (--compress %dx), which "
		                              "they do not here",
		                              file, p->compress);
		return *warning ? BERTH_OK : berth_nomem(err);
	}
	if (!graph && !other_system)
		return BERTH_OK;
	char graph_part[300] = "", system_part[300] = "";
	if (graph)
		snprintf(graph_part, sizeof graph_part,
		         "graph '%.80s' with sha256 %.12s... (this one, '%.80s', has %.12s...)",
		         shown(p->graph_name), p->graph_sha256, r->g->name, graph_hex);
	if (other_system)
		snprintf(system_part, sizeof system_part,
		         "system '%.80s' with sha256 %.12s... (this one, '%.80s', has %.12s...)",
		         shown(p->system_name), p->system_sha256, r->s->name, system_hex);
	*warning = berth_arena_printf(r->mem, "%s: made for %s%s%s", file, graph_part,
	                              graph && other_system ? " and " : "", system_part);
	return *warning ? BERTH_OK : berth_nomem(err);
}

/* What it was made for is why something is not there: in front of the message. */
static berth_status tell_source(const char *file, const char *made_for, berth_err *err)
{
	char text[sizeof err->msg] = "";
	size_t n = strlen(file);
	if (err)
		snprintf(text, sizeof text, "%s", err->msg);
	bool named = strncmp(text, file, n) == 0 && strncmp(text + n, ": ", 2) == 0;
	return berth_fail(err, BERTH_EFORMAT, "%s; %s", made_for, text + (named ? n + 2 : 0));
}

static berth_status read_placement(const berth_json *doc, reader *r, const char **warning, berth_err *err)
{
	BERTH_TRY(map_names(&r->ops, r->tmp, r->g->op_name, r->g->n_ops, err));
	BERTH_TRY(map_names(&r->devs, r->tmp, r->s->dev_name, r->s->n_devs, err));
	BERTH_TRY(read_head(doc, r, err));
	BERTH_TRY(compare_sources(doc->file, r, warning, err));
	berth_status st = read_devices(doc, r, err);
	if (st == BERTH_OK)
		st = read_order(doc, r, err);
	return *warning && st == BERTH_EFORMAT ? tell_source(doc->file, *warning, err) : st;
}

berth_status berth_placement_parse_json(const char *file, const char *text, size_t size, const berth_graph *g,
                                        const berth_system *s, berth_arena *mem, berth_arena *tmp,
                                        berth_placement *out, const char **warning, berth_err *err)
{
	BERTH_JSON_DOC(at);
	const char *said;
	BERTH_TRY(berth_json_open_doc(file, text, size, &at, err));
	BERTH_SCRATCH(tmp);
	reader r = {.g = g, .s = s, .mem = mem, .tmp = tmp, .p = {.value = NAN, .lower_bound = NAN}};
	BERTH_TRY(read_placement(&at, &r, &said, err));
	*out = r.p;
	if (warning)
		*warning = said;
	return BERTH_OK;
}

berth_status berth_placement_read(const char *path, const berth_graph *g, const berth_system *s,
                                  berth_arena *mem, berth_arena *tmp, berth_placement *out,
                                  const char **warning, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(berth_file_take(BERTH_READS_PLAN, path, &data, &size, err));
	berth_status st = berth_placement_parse_json(path, data ? (const char *)data : "", size, g, s, mem,
	                                             tmp, out, warning, err);
	berth_file_unmap(data, size);
	return st;
}

/* ---- writing ---- */

static void write_word(berth_json_out *w, const char *key, const char *word)
{
	if (word)
		berth_json_put_string(w, key, word);
}

static void write_source(berth_json_out *w, const char *key, const char *name, const char *sha256,
                         const char *const *word, int32_t n_words)
{
	if (!name && !sha256)
		return;
	berth_json_open(w, key, '{');
	berth_json_flat(w, true);
	write_word(w, "name", name);
	write_word(w, "sha256", sha256);
	if (n_words)
		berth_json_put_strings(w, "words", word, n_words);
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

static void write_order(berth_json_out *w, const berth_placement *p, const berth_graph *g)
{
	if (!p->order)
		return;
	berth_json_open(w, "order", '[');
	berth_json_flat(w, true);
	for (int32_t i = 0; i < g->n_ops; i++)
		berth_json_put_string(w, NULL, g->op_name[p->order[i]]);
	berth_json_close(w, ']');
	berth_json_flat(w, false);
}

static berth_status check_counts(const berth_placement *p, berth_err *err)
{
	if (p->seed > (uint64_t)MAX_EXACT)
		return berth_fail(err, BERTH_EINVAL,
		                  "seed %llu is above 2^53, the largest that a placement file keeps",
		                  (unsigned long long)p->seed);
	if (p->evaluations < 0 || p->evaluations > MAX_EXACT)
		return berth_fail(err, BERTH_EINVAL, "%lld evaluations; expected 0 to 2^53",
		                  (long long)p->evaluations);
	return BERTH_OK;
}

static void write_document(berth_json_out *w, const berth_placement *p, const berth_graph *g,
                           const berth_system *s)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "format", "berth-placement");
	berth_json_put_int(w, "version", 1);
	write_source(w, "graph", p->graph_name, p->graph_sha256, p->graph_word, p->n_graph_words);
	write_source(w, "system", p->system_name, p->system_sha256, p->system_word, p->n_system_words);
	write_word(w, "method", p->method);
	berth_json_put_int(w, "seed", (int64_t)p->seed);
	berth_json_put_int(w, "evaluations", p->evaluations);
	write_word(w, "objective", p->objective);
	berth_json_put_number(w, "value", p->value);
	berth_json_put_number(w, "lower_bound", p->lower_bound);
	write_word(w, "for", p->engine);
	write_word(w, "use", p->use);
	if (p->compress)
		berth_json_put_string(w, "compress",
		                      p->compress == 2 ? "2x" : p->compress == 4 ? "4x" : "8x");
	write_order(w, p, g);
	berth_json_open(w, "placement", '{');
	for (int32_t op = 0; op < g->n_ops; op++)
		berth_json_put_string(w, g->op_name[op], s->dev_name[p->op_dev[op]]);
	berth_json_close(w, '}');
	berth_json_close(w, '}');
}

berth_status berth_placement_write_json(const berth_placement *p, const berth_graph *g, const berth_system *s,
                                        bool pretty, berth_arena *mem, const char **text, size_t *len,
                                        berth_err *err)
{
	berth_json_out w;
	BERTH_TRY(check_counts(p, err));
	berth_json_out_init(&w, mem, pretty);
	write_document(&w, p, g, s);
	return berth_json_done(&w, text, len, err);
}

enum { PIECE = 1 << 16 }; /* bytes that are written at once */

typedef struct plan {
	const berth_placement *p;
	const berth_graph *g;
	const berth_system *s;
	berth_arena *tmp;
} plan;

static int write_piece(void *ctx, const char *data, size_t n)
{
	return berth_file_write_all(*(const int *)ctx, data, n);
}

static int tell_plan(void *ctx, int fd)
{
	const plan *x = ctx;
	berth_json_out w;
	berth_json_out_init(&w, x->tmp, true);
	berth_json_out_reserve(&w, PIECE);
	berth_json_out_to(&w, write_piece, &fd);
	write_document(&w, x->p, x->g, x->s);
	return berth_json_end(&w);
}

berth_status berth_placement_write(const berth_placement *p, const berth_graph *g, const berth_system *s,
                                   const char *path, bool wait, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	BERTH_TRY(check_counts(p, err));
	return berth_file_write_told(path, tell_plan, &(plan){p, g, s, tmp}, wait, err);
}
