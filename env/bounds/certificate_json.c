/* The file format berth-certificate, version 1. One table of the members that each kind of proof has reads
 * and writes them. Elements of lists have a function each way. */
#include "certificate.h"
#include "json.h"

#define MOST_BOUND (INT64_C(1) << 53)

typedef struct reader {
	const berth_problem *p;
	berth_arena *mem, *tmp;
	berth_strmap ops;
	berth_certificate c;
} reader;

/* ---- the members of a proof ---- */

typedef enum field_shape { WHOLE, NUMBERS, OPS, VECTORS, TREES, CLAIMS, WINDOWS } field_shape;

/* How many numbers a list has to have. */
typedef enum field_count { ANY, RESOURCES, CHANNELS, EACH_OP, EDGES, EDGE_DEVS, EDGE_PAIRS } field_count;

enum {
	PATH = 1 << BERTH_CERTIFICATE_PATH,
	LOAD = 1 << BERTH_CERTIFICATE_LOAD,
	RELAXATION = 1 << BERTH_CERTIFICATE_RELAXATION,
	BLOCKS = 1 << BERTH_CERTIFICATE_BLOCKS,
	BY_WINDOWS = 1 << BERTH_CERTIFICATE_WINDOWS
};

typedef struct field {
	const char *key;
	unsigned kinds;
	field_shape shape;
	field_count count;
	size_t at, n_at; /* in a certificate: the number, or the list; its length, if it is ANY */
	int64_t min, max;
} field;

#define AT(member) offsetof(berth_certificate, member)
#define PRICE BERTH_CERTIFICATE_MOST_PRICE
#define SHARE BERTH_CERTIFICATE_MOST_SHARE

static const field fields[] = {
	{"upper_ns", RELAXATION, WHOLE, ANY, AT(upper_ns), 0, 0, MOST_BOUND},
	{"grain", RELAXATION, WHOLE, ANY, AT(grain), 0, 1, PRICE},
	{"unit", PATH, WHOLE, ANY, AT(unit), 0, 1, PRICE},
	{"prices", PATH | LOAD | RELAXATION, NUMBERS, RESOURCES, AT(price), 0, 0, PRICE},
	{"byte_prices", LOAD | RELAXATION, NUMBERS, RESOURCES, AT(byte_price), 0, 0, PRICE},
	{"path", PATH, OPS, ANY, AT(path), AT(n_path), 0, 0},
	{"channel_prices", RELAXATION, NUMBERS, CHANNELS, AT(channel_price), 0, 0, PRICE},
	{"end_prices", RELAXATION, NUMBERS, EACH_OP, AT(end_price), 0, 0, PRICE},
	{"flows", RELAXATION, NUMBERS, EDGES, AT(flow), 0, 0, PRICE},
	{"out_shares", RELAXATION, NUMBERS, EDGE_DEVS, AT(out_share), 0, -SHARE, SHARE},
	{"in_shares", RELAXATION, NUMBERS, EDGE_DEVS, AT(in_share), 0, -SHARE, SHARE},
	{"way_prices", RELAXATION, NUMBERS, EDGE_PAIRS, AT(way_price), 0, 0, SHARE},
	{"gates", BLOCKS, OPS, ANY, AT(gate), AT(n_gates), 0, 0},
	{"claims", BLOCKS, CLAIMS, ANY, AT(claim), AT(n_claims), 0, 0},
	{"trees", BLOCKS, TREES, ANY, AT(tree), AT(n_trees), 0, 0},
	{"tree_prices", BLOCKS, VECTORS, ANY, AT(price_vector), AT(n_prices), 0, 0},
	{"windows", BY_WINDOWS, WINDOWS, ANY, AT(window), AT(n_windows), 0, 0},
	{"window_prices", BY_WINDOWS, VECTORS, ANY, AT(price_vector), AT(n_prices), 0, 0},
};

enum { N_FIELDS = sizeof fields / sizeof *fields, N_HEAD = 7 };

static const char *const head_key[N_HEAD] = {"format",    "version",  "graph", "system",
                                             "objective", "bound_ns", "proof"};

static bool has_field(const berth_certificate *c, const field *f)
{
	return f->kinds >> c->kind & 1;
}

/* Of a list that is not of any length. */
static size_t fixed_count(const berth_problem *p, field_count count)
{
	size_t devs = (size_t)p->n_devs, edges = (size_t)p->g->n_edges;
	const size_t n[] = {
		[RESOURCES] = (size_t)berth_n_resources(p),
		[CHANNELS] = (size_t)p->s->n_channels,
		[EACH_OP] = (size_t)p->n_ops,
		[EDGES] = edges,
		[EDGE_DEVS] = edges * devs,
		[EDGE_PAIRS] = edges * devs * devs,
	};
	return n[count];
}

static size_t list_length(const berth_certificate *c, const berth_problem *p, const field *f)
{
	int32_t n;
	if (f->count != ANY)
		return fixed_count(p, f->count);
	memcpy(&n, (const char *)c + f->n_at, sizeof n);
	return (size_t)n;
}

static int64_t number_of(const berth_certificate *c, const field *f)
{
	int64_t x;
	memcpy(&x, (const char *)c + f->at, sizeof x);
	return x;
}

static char *list_of(const berth_certificate *c, const field *f)
{
	char *list;
	memcpy(&list, (const char *)c + f->at, sizeof list);
	return list;
}

static size_t element_size(const berth_problem *p, field_shape shape)
{
	const size_t size[] = {
		[NUMBERS] = sizeof(int64_t),
		[OPS] = sizeof(int32_t),
		[VECTORS] = (size_t)berth_n_resources(p) * sizeof(int64_t),
		[TREES] = sizeof(berth_case_tree),
		[CLAIMS] = sizeof(berth_block_claim),
		[WINDOWS] = sizeof(berth_window_claim),
	};
	return size[shape];
}

/* ---- reading: whole numbers ---- */

static berth_status read_whole(const berth_json *at, int64_t min, int64_t max, int64_t *out, berth_err *err)
{
	double x;
	BERTH_TRY(berth_json_value(at, (double)min, &x, err));
	if (x != floor(x) || x > (double)max)
		return berth_json_fail(at, err, "%.17g is not a whole number up to %lld", x, (long long)max);
	*out = (int64_t)x;
	return BERTH_OK;
}

static berth_status read_member(const berth_json *doc, const char *key, int64_t min, int64_t max,
                                int64_t *out, berth_err *err)
{
	berth_json at = berth_json_get(doc, key);
	return at.item ? read_whole(&at, min, max, out, err)
	               : berth_json_fail(doc, err, "\"%s\" is missing", key);
}

static berth_status check_count(const berth_json *list, size_t n, berth_err *err)
{
	if ((size_t)berth_json_count(list) == n)
		return BERTH_OK;
	return berth_json_fail(list, err, "expected %zu numbers, found %d", n, (int)berth_json_count(list));
}

/* A list of numbers within a list: they go to wide or to narrow. */
typedef struct numbers {
	int64_t *wide, min, max;
	int32_t *narrow;
} numbers;

static berth_status read_number(void *ctx, const berth_json *at, berth_err *err)
{
	const numbers *x = ctx;
	int64_t k = 0;
	BERTH_TRY(read_whole(at, x->min, x->max, &k, err));
	if (x->wide)
		x->wide[at->index] = k;
	else
		x->narrow[at->index] = (int32_t)k;
	return BERTH_OK;
}

static berth_status check_is_list(const berth_json *at, berth_err *err)
{
	return cJSON_IsArray(at->item) ? BERTH_OK : berth_json_fail(at, err, "expected a list of numbers");
}

/* ---- reading: elements of lists ---- */

static berth_status find_op(const reader *r, const berth_json *at, int32_t *out, berth_err *err)
{
	char hint[128];
	const berth_graph *g = r->p->g;
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected the name of an operator");
	const char *name = at->item->valuestring;
	*out = berth_strmap_get(&r->ops, name);
	if (*out >= 0)
		return BERTH_OK;
	return berth_json_fail(at, err, "the graph has no operator '%.80s'%s", name,
	                       berth_text_suggest(hint, sizeof hint, name, g->op_name, g->n_ops));
}

/* The operator under key; -1 where it is left out. */
static berth_status read_end(const reader *r, const berth_json *doc, const char *key, int32_t *out,
                             berth_err *err)
{
	berth_json at = berth_json_get(doc, key);
	*out = -1;
	return at.item ? find_op(r, &at, out, err) : BERTH_OK;
}

/* The device under key; 0 where it is left out, for a gate that is not there. */
static berth_status read_dev(const reader *r, const berth_json *at, const char *key, int32_t *out,
                             berth_err *err)
{
	const berth_system *s = r->p->s;
	berth_json member = berth_json_get(at, key);
	const char *name = NULL;
	char hint[128];
	BERTH_TRY(berth_json_string(at, key, false, &name, err));
	*out = name ? berth_system_find_dev(s, name) : 0;
	if (*out >= 0)
		return BERTH_OK;
	return berth_json_fail(&member, err, "the system has no device '%.80s'%s", name,
	                       berth_text_suggest(hint, sizeof hint, name, s->dev_name, s->n_devs));
}

static berth_status read_vector(const reader *r, const berth_json *at, int64_t *out, berth_err *err)
{
	numbers x = {.wide = out, .max = PRICE};
	BERTH_TRY(check_is_list(at, err));
	BERTH_TRY(check_count(at, (size_t)berth_n_resources(r->p), err));
	return berth_json_each(at, read_number, &x, err);
}

static berth_status read_tree(const reader *r, const berth_json *at, berth_case_tree *out, berth_err *err)
{
	BERTH_TRY(check_is_list(at, err));
	out->n = berth_json_count(at);
	BERTH_TRY_NEW(r->mem, out->n, err, out->code);
	numbers x = {.narrow = out->code, .max = INT32_MAX};
	return berth_json_each(at, read_number, &x, err);
}

static berth_status read_claim(const reader *r, const berth_json *at, berth_block_claim *k, berth_err *err)
{
	static const char *const known[] = {"block", "from", "to", "bound_ns", "tree", "tree_prices", NULL};
	BERTH_TRY(berth_json_keys(at, known, err));
	k->tree = k->prices = -1;
	BERTH_TRY(berth_json_int(at, "block", true, 0, r->c.n_gates, &k->block, err));
	BERTH_TRY(read_dev(r, at, "from", &k->from, err));
	BERTH_TRY(read_dev(r, at, "to", &k->to, err));
	BERTH_TRY(read_member(at, "bound_ns", 0, MOST_BOUND, &k->bound_ns, err));
	BERTH_TRY(berth_json_int(at, "tree", false, 0, r->c.n_trees - 1, &k->tree, err));
	BERTH_TRY(berth_json_int(at, "tree_prices", false, 0, r->c.n_prices - 1, &k->prices, err));
	if ((k->tree < 0) == (k->prices < 0))
		return berth_json_fail(at, err, "expected either 'tree' or 'tree_prices'");
	return BERTH_OK;
}

static berth_status read_window(const reader *r, const berth_json *at, berth_window_claim *k, berth_err *err)
{
	static const char *const known[] = {"first", "last", "to", "bound_ns", "prices", NULL};
	berth_json list, to = berth_json_get(at, "to");
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_end(r, at, "first", &k->first, err));
	BERTH_TRY(read_end(r, at, "last", &k->last, err));
	if ((k->last < 0) == (to.item != NULL))
		return berth_json_fail(at, err, "expected 'last' and 'to', or neither");
	BERTH_TRY(read_dev(r, at, "to", &k->to, err));
	BERTH_TRY(read_member(at, "bound_ns", 0, MOST_BOUND, &k->bound_ns, err));
	BERTH_TRY(berth_json_array(at, "prices", true, &list, err));
	BERTH_TRY(check_count(&list, k->first < 0 ? 1 : (size_t)r->p->n_devs, err));
	BERTH_TRY_NEW(r->mem, k->first < 0 ? 1 : r->p->n_devs, err, k->prices);
	numbers x = {.narrow = k->prices, .min = -1, .max = r->c.n_prices - 1};
	return berth_json_each(&list, read_number, &x, err);
}

/* ---- reading: the document ---- */

typedef struct list_reader {
	reader *r;
	const field *f;
} list_reader;

static berth_status read_element(void *ctx, const berth_json *at, berth_err *err)
{
	const list_reader *x = ctx;
	const field *f = x->f;
	void *out = list_of(&x->r->c, f) + (size_t)at->index * element_size(x->r->p, f->shape);
	switch (f->shape) {
	case OPS:
		return find_op(x->r, at, out, err);
	case VECTORS:
		return read_vector(x->r, at, out, err);
	case TREES:
		return read_tree(x->r, at, out, err);
	case CLAIMS:
		return read_claim(x->r, at, out, err);
	case WINDOWS:
		return read_window(x->r, at, out, err);
	default:
		return read_whole(at, f->min, f->max, out, err);
	}
}

/* A number, or room for a list. */
static berth_status open_field(reader *r, const berth_json *doc, const field *f, berth_err *err)
{
	char *out = (char *)&r->c + f->at, *elements;
	berth_json list;
	if (f->shape == WHOLE)
		return read_member(doc, f->key, f->min, f->max, (int64_t *)(void *)out, err);
	BERTH_TRY(berth_json_array(doc, f->key, true, &list, err));
	int32_t n = berth_json_count(&list);
	if (f->count == ANY)
		memcpy((char *)&r->c + f->n_at, &n, sizeof n);
	else
		BERTH_TRY(check_count(&list, fixed_count(r->p, f->count), err));
	elements = berth_arena_alloc(r->mem, (size_t)n, element_size(r->p, f->shape));
	memcpy(out, &elements, sizeof elements);
	return elements ? BERTH_OK : berth_nomem(err);
}

static berth_status read_proof(reader *r, const berth_json *doc, berth_err *err)
{
	const char *known[N_HEAD + N_FIELDS + 1] = {0};
	size_t n = N_HEAD;
	memcpy(known, head_key, sizeof head_key);
	for (const field *f = fields; f < fields + N_FIELDS; f++)
		if (has_field(&r->c, f))
			known[n++] = f->key;
	BERTH_TRY(berth_json_keys(doc, known, err));
	for (const field *f = fields; f < fields + N_FIELDS; f++)
		if (has_field(&r->c, f))
			BERTH_TRY(open_field(r, doc, f, err));
	for (const field *f = fields; f < fields + N_FIELDS; f++) {
		list_reader x = {r, f};
		berth_json list = berth_json_get(doc, f->key);
		if (has_field(&r->c, f) && f->shape != WHOLE)
			BERTH_TRY(berth_json_each(&list, read_element, &x, err));
	}
	return BERTH_OK;
}

static berth_status read_word(const berth_json *doc, const char *key, berth_arena *mem, const char **out,
                              berth_err *err)
{
	const char *word = NULL;
	BERTH_TRY(berth_json_string(doc, key, true, &word, err));
	return (*out = berth_arena_strdup(mem, word)) ? BERTH_OK : berth_nomem(err);
}

static berth_status read_document(reader *r, const berth_json *doc, berth_err *err)
{
	static const char *const objective[] = {"latency", "throughput"};
	const char *kinds[BERTH_N_CERTIFICATES], *word;
	int32_t at;
	for (int k = 0; k < BERTH_N_CERTIFICATES; k++)
		kinds[k] = berth_certificate_name((berth_certificate_kind)k);
	BERTH_TRY(berth_json_format(doc, "berth-certificate", 1, err));
	BERTH_TRY(read_word(doc, "graph", r->mem, &r->c.graph_name, err));
	BERTH_TRY(read_word(doc, "system", r->mem, &r->c.system_name, err));
	BERTH_TRY(read_member(doc, "bound_ns", 0, MOST_BOUND, &r->c.bound_ns, err));
	BERTH_TRY(berth_json_string(doc, "objective", true, &word, err));
	BERTH_TRY(berth_json_find(doc, "objective", objective, 2, word, "objective", NULL, &at, err));
	r->c.load = at == 1;
	BERTH_TRY(berth_json_string(doc, "proof", true, &word, err));
	BERTH_TRY(berth_json_find(doc, "proof", kinds, BERTH_N_CERTIFICATES, word, "proof", NULL, &at, err));
	r->c.kind = (berth_certificate_kind)at;
	BERTH_TRY(berth_graph_names(r->p->g, r->tmp, &r->ops, err));
	return read_proof(r, doc, err);
}

/* Where it was made for something else, that is why it does not fit: in front of the message. */
static berth_status tell_source(const reader *r, berth_status st, berth_err *err)
{
	const berth_certificate *c = &r->c;
	bool other =
		c->graph_name && c->system_name &&
		(strcmp(c->graph_name, r->p->g->name) != 0 || strcmp(c->system_name, r->p->s->name) != 0);
	if (st != BERTH_EFORMAT || !other || !err)
		return st;
	berth_err why = *err;
	return berth_fail(err, st, "made for %.80s on %.80s; %s", c->graph_name, c->system_name, why.msg);
}

berth_status berth_certificate_parse(const char *file, const char *text, size_t size, const berth_problem *p,
                                     berth_arena *mem, berth_arena *tmp, berth_certificate *out,
                                     berth_err *err)
{
	reader r = {.p = p, .mem = mem, .tmp = tmp};
	BERTH_JSON_DOC(doc);
	BERTH_TRY(berth_json_open_doc(file, text, size, &doc, err));
	BERTH_SCRATCH(tmp);
	BERTH_TRY(tell_source(&r, read_document(&r, &doc, err), err));
	*out = r.c;
	return BERTH_OK;
}

/* ---- writing ---- */

static void put_claim(berth_json_out *w, const berth_certificate *c, const berth_problem *p,
                      const berth_block_claim *x)
{
	berth_json_put_int(w, "block", x->block);
	if (x->block > 0)
		berth_json_put_string(w, "from", p->s->dev_name[x->from]);
	if (x->block < c->n_gates)
		berth_json_put_string(w, "to", p->s->dev_name[x->to]);
	berth_json_put_int(w, "bound_ns", x->bound_ns);
	berth_json_put_int(w, x->tree >= 0 ? "tree" : "tree_prices", x->tree >= 0 ? x->tree : x->prices);
}

static void put_window(berth_json_out *w, const berth_problem *p, const berth_window_claim *x)
{
	if (x->first >= 0)
		berth_json_put_string(w, "first", p->g->op_name[x->first]);
	if (x->last >= 0) {
		berth_json_put_string(w, "last", p->g->op_name[x->last]);
		berth_json_put_string(w, "to", p->s->dev_name[x->to]);
	}
	berth_json_put_int(w, "bound_ns", x->bound_ns);
	berth_json_open(w, "prices", '[');
	for (int32_t d = 0; d < (x->first < 0 ? 1 : p->n_devs); d++)
		berth_json_put_int(w, NULL, x->prices[d]);
	berth_json_close(w, ']');
}

/* An element that is a list or an object, on a line of its own. */
static void put_nested(berth_json_out *w, const berth_certificate *c, const berth_problem *p,
                       field_shape shape, const void *element)
{
	const berth_case_tree *tree = element;
	bool object = shape == CLAIMS || shape == WINDOWS;
	berth_json_open(w, NULL, object ? '{' : '[');
	berth_json_flat(w, true);
	if (shape == CLAIMS)
		put_claim(w, c, p, element);
	else if (shape == WINDOWS)
		put_window(w, p, element);
	for (int32_t k = 0; shape == TREES && k < tree->n; k++)
		berth_json_put_int(w, NULL, tree->code[k]);
	for (int32_t k = 0; shape == VECTORS && k < berth_n_resources(p); k++)
		berth_json_put_int(w, NULL, ((const int64_t *)element)[k]);
	berth_json_close(w, object ? '}' : ']');
	berth_json_flat(w, false);
}

berth_status berth_certificate_write(const berth_certificate *c, const berth_problem *p, berth_arena *mem,
                                     const char **text, size_t *len, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-certificate");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "graph", c->graph_name);
	berth_json_put_string(&w, "system", c->system_name);
	berth_json_put_string(&w, "objective", c->load ? "throughput" : "latency");
	berth_json_put_int(&w, "bound_ns", c->bound_ns);
	berth_json_put_string(&w, "proof", berth_certificate_name(c->kind));
	for (const field *f = fields; f < fields + N_FIELDS; f++)
		if (has_field(c, f) && f->shape == WHOLE)
			berth_json_put_int(&w, f->key, number_of(c, f));
		else if (has_field(c, f)) {
			/* A list that is not there has zeros. */
			const char *list = list_of(c, f);
			size_t n = list_length(c, p, f), size = element_size(p, f->shape);
			bool flat = f->shape == NUMBERS || f->shape == OPS;
			berth_json_open(&w, f->key, '[');
			berth_json_flat(&w, flat);
			for (size_t k = 0; k < n; k++) {
				const void *element = list ? list + k * size : NULL;
				if (f->shape == OPS)
					berth_json_put_string(&w, NULL,
					                      p->g->op_name[*(const int32_t *)element]);
				else if (flat)
					berth_json_put_int(&w, NULL, element ? *(const int64_t *)element : 0);
				else
					put_nested(&w, c, p, f->shape, element);
			}
			berth_json_close(&w, ']');
			berth_json_flat(&w, false);
		}
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, len, err);
}
