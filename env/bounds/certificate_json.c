/* berth-certificate version 1: reading and writing. */
#include "certificate.h"
#include "certificate_check.h"
#include "json.h"
#include "text.h"

#include <math.h>
#include <string.h>

#define MOST_BOUND (INT64_C(1) << 53)

typedef struct reader {
	const berth_problem *p;
	berth_arena *mem, *tmp;
	berth_strmap ops;
	berth_certificate c;
} reader;

/* ---- whole numbers ---- */

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

/* Whole numbers of a list that has to be n long. */
typedef struct numbers {
	int64_t *out, min, max;
	size_t n;
} numbers;

static berth_status read_number(void *ctx, const berth_json *at, berth_err *err)
{
	numbers *x = ctx;
	return (size_t)at->index < x->n ? read_whole(at, x->min, x->max, &x->out[at->index], err) : BERTH_OK;
}

static berth_status check_count(const berth_json *list, size_t n, berth_err *err)
{
	if ((size_t)berth_json_count(list) == n)
		return BERTH_OK;
	return berth_json_fail(list, err, "expected %zu numbers, found %d", n, (int)berth_json_count(list));
}

static berth_status read_list(const berth_json *list, size_t n, int64_t min, int64_t max, int64_t *out,
                              berth_err *err)
{
	numbers x = {out, min, max, n};
	BERTH_TRY(check_count(list, n, err));
	return berth_json_each(list, read_number, &x, err);
}

static berth_status read_numbers(const reader *r, const berth_json *doc, const char *key, size_t n,
                                 int64_t min, int64_t max, int64_t **out, berth_err *err)
{
	berth_json list;
	BERTH_TRY(berth_json_array(doc, key, true, &list, err));
	BERTH_TRY(check_count(&list, n, err));
	BERTH_TRY_NEW(r->mem, n, err, *out);
	return read_list(&list, n, min, max, *out, err);
}

/* ---- names ---- */

typedef struct names {
	reader *r;
	int32_t *out;
} names;

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

static berth_status read_op(void *ctx, const berth_json *at, berth_err *err)
{
	const names *x = ctx;
	return find_op(x->r, at, &x->out[at->index], err);
}

static berth_status read_ops(reader *r, const berth_json *doc, const char *key, int32_t **out, int32_t *n,
                             berth_err *err)
{
	berth_json list;
	BERTH_TRY(berth_json_array(doc, key, true, &list, err));
	*n = berth_json_count(&list);
	BERTH_TRY_NEW(r->mem, *n, err, *out);
	names x = {r, *out};
	return berth_json_each(&list, read_op, &x, err);
}

/* Indices of the price vectors of a window. */
typedef struct window_prices {
	int32_t *out, n_prices;
} window_prices;

/* The device under key; 0 where it is left out, for a gate that is not there. */
static berth_status read_dev(const reader *r, const berth_json *at, const char *key, int32_t *out,
                             berth_err *err)
{
	const berth_system *s = r->p->s;
	berth_json member = berth_json_get(at, key);
	const char *name = NULL;
	char hint[128];
	BERTH_TRY(berth_json_string(at, key, false, &name, err));
	for (*out = 0; name && *out < s->n_devs; ++*out)
		if (strcmp(name, s->dev_name[*out]) == 0)
			return BERTH_OK;
	if (!name)
		return BERTH_OK;
	return berth_json_fail(&member, err, "the system has no device '%.80s'%s", name,
	                       berth_text_suggest(hint, sizeof hint, name, s->dev_name, s->n_devs));
}

/* ---- kinds ---- */

static berth_status read_prices(reader *r, const berth_json *doc, const char *key, int64_t **out,
                                berth_err *err)
{
	return read_numbers(r, doc, key, (size_t)berth_n_resources(r->p), 0, BERTH_CERTIFICATE_MOST_PRICE,
	                    out, err);
}

static berth_status read_path(reader *r, const berth_json *doc, berth_err *err)
{
	static const char *const known[] = {"format", "version", "graph",  "system", "objective", "bound_ns",
	                                    "proof",  "unit",    "prices", "path",   NULL};
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(read_member(doc, "unit", 1, BERTH_CERTIFICATE_MOST_PRICE, &r->c.unit, err));
	BERTH_TRY(read_prices(r, doc, "prices", &r->c.price, err));
	return read_ops(r, doc, "path", &r->c.path, &r->c.n_path, err);
}

static berth_status read_load(reader *r, const berth_json *doc, berth_err *err)
{
	static const char *const known[] = {"format",   "version", "graph",  "system",      "objective",
	                                    "bound_ns", "proof",   "prices", "byte_prices", NULL};
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(read_prices(r, doc, "prices", &r->c.price, err));
	return read_prices(r, doc, "byte_prices", &r->c.byte_price, err);
}

static berth_status read_relaxation(reader *r, const berth_json *doc, berth_err *err)
{
	static const char *const known[] = {
		"format",     "version",  "graph",      "system",    "objective",   "bound_ns",
		"proof",      "upper_ns", "grain",      "prices",    "byte_prices", "channel_prices",
		"end_prices", "flows",    "out_shares", "in_shares", "way_prices",  NULL};
	const int64_t price = BERTH_CERTIFICATE_MOST_PRICE, share = BERTH_CERTIFICATE_MOST_SHARE;
	size_t devs = (size_t)r->p->n_devs, ops = (size_t)r->p->n_ops, edges = (size_t)r->p->g->n_edges;
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(read_member(doc, "upper_ns", 0, MOST_BOUND, &r->c.upper_ns, err));
	BERTH_TRY(read_member(doc, "grain", 1, price, &r->c.grain, err));
	BERTH_TRY(read_prices(r, doc, "prices", &r->c.price, err));
	BERTH_TRY(read_prices(r, doc, "byte_prices", &r->c.byte_price, err));
	BERTH_TRY(read_numbers(r, doc, "channel_prices", (size_t)r->p->s->n_channels, 0, price,
	                       &r->c.channel_price, err));
	BERTH_TRY(read_numbers(r, doc, "end_prices", ops, 0, price, &r->c.end_price, err));
	BERTH_TRY(read_numbers(r, doc, "flows", edges, 0, price, &r->c.flow, err));
	BERTH_TRY(read_numbers(r, doc, "out_shares", edges * devs, -share, share, &r->c.out_share, err));
	BERTH_TRY(read_numbers(r, doc, "in_shares", edges * devs, -share, share, &r->c.in_share, err));
	return read_numbers(r, doc, "way_prices", edges * devs * devs, 0, share, &r->c.way_price, err);
}

static berth_status read_code(void *ctx, const berth_json *at, berth_err *err)
{
	int64_t x = 0;
	BERTH_TRY(read_whole(at, 0, INT32_MAX, &x, err));
	((int32_t *)ctx)[at->index] = (int32_t)x;
	return BERTH_OK;
}

static berth_status read_tree(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	berth_case_tree *t = &r->c.tree[at->index];
	if (!cJSON_IsArray(at->item))
		return berth_json_fail(at, err, "expected a list of numbers");
	t->n = berth_json_count(at);
	BERTH_TRY_NEW(r->mem, t->n, err, t->code);
	return berth_json_each(at, read_code, t->code, err);
}

static berth_status read_price_vector(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	if (!cJSON_IsArray(at->item))
		return berth_json_fail(at, err, "expected a list of numbers");
	return read_list(at, (size_t)berth_n_resources(r->p), 0, BERTH_CERTIFICATE_MOST_PRICE,
	                 r->c.price_vector + (size_t)at->index * (size_t)berth_n_resources(r->p), err);
}

static berth_status read_price_vectors(reader *r, const berth_json *doc, const char *key, berth_err *err)
{
	berth_json list;
	BERTH_TRY(berth_json_array(doc, key, true, &list, err));
	r->c.n_prices = berth_json_count(&list);
	BERTH_TRY_NEW(r->mem, (size_t)r->c.n_prices * (size_t)berth_n_resources(r->p), err,
	              r->c.price_vector);
	return berth_json_each(&list, read_price_vector, r, err);
}

static berth_status read_claim(void *ctx, const berth_json *at, berth_err *err)
{
	static const char *const known[] = {"block", "from", "to", "bound_ns", "tree", "tree_prices", NULL};
	reader *r = ctx;
	berth_block_claim *k = &r->c.claim[at->index];
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

static berth_status read_blocks(reader *r, const berth_json *doc, berth_err *err)
{
	static const char *const known[] = {"format",    "version",  "graph",       "system",
	                                    "objective", "bound_ns", "proof",       "gates",
	                                    "claims",    "trees",    "tree_prices", NULL};
	berth_certificate *c = &r->c;
	berth_json trees, claims;
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(read_ops(r, doc, "gates", &c->gate, &c->n_gates, err));
	BERTH_TRY(read_price_vectors(r, doc, "tree_prices", err));
	BERTH_TRY(berth_json_array(doc, "trees", true, &trees, err));
	BERTH_TRY(berth_json_array(doc, "claims", true, &claims, err));
	c->n_trees = berth_json_count(&trees);
	c->n_claims = berth_json_count(&claims);
	BERTH_TRY_NEW(r->mem, c->n_trees, err, c->tree);
	BERTH_TRY_NEW(r->mem, c->n_claims, err, c->claim);
	BERTH_TRY(berth_json_each(&trees, read_tree, r, err));
	return berth_json_each(&claims, read_claim, r, err);
}

/* The operator under key; -1 where it is left out. */
static berth_status read_end(const reader *r, const berth_json *doc, const char *key, int32_t *out,
                             berth_err *err)
{
	berth_json at = berth_json_get(doc, key);
	*out = -1;
	return at.item ? find_op(r, &at, out, err) : BERTH_OK;
}

/* An index of a price vector; -1: none. */
static berth_status read_choice(void *ctx, const berth_json *at, berth_err *err)
{
	const window_prices *x = ctx;
	int64_t k = 0;
	BERTH_TRY(read_whole(at, -1, x->n_prices - 1, &k, err));
	x->out[at->index] = (int32_t)k;
	return BERTH_OK;
}

static berth_status read_window(void *ctx, const berth_json *at, berth_err *err)
{
	static const char *const known[] = {"first", "last", "to", "bound_ns", "prices", NULL};
	reader *r = ctx;
	berth_window_claim *k = &r->c.window[at->index];
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
	window_prices x = {k->prices, r->c.n_prices};
	return berth_json_each(&list, read_choice, &x, err);
}

static berth_status read_windows(reader *r, const berth_json *doc, berth_err *err)
{
	static const char *const known[] = {"format",   "version", "graph",   "system",        "objective",
	                                    "bound_ns", "proof",   "windows", "window_prices", NULL};
	berth_json windows;
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(read_price_vectors(r, doc, "window_prices", err));
	BERTH_TRY(berth_json_array(doc, "windows", true, &windows, err));
	r->c.n_windows = berth_json_count(&windows);
	BERTH_TRY_NEW(r->mem, r->c.n_windows, err, r->c.window);
	return berth_json_each(&windows, read_window, r, err);
}

/* ---- the document ---- */

static berth_status read_word(const berth_json *doc, const char *key, berth_arena *mem, const char **out,
                              berth_err *err)
{
	const char *word = NULL;
	BERTH_TRY(berth_json_string(doc, key, true, &word, err));
	return (*out = berth_arena_strdup(mem, word)) ? BERTH_OK : berth_nomem(err);
}

static berth_status read_head(reader *r, const berth_json *doc, berth_err *err)
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
	return BERTH_OK;
}

static berth_status read_document(reader *r, const berth_json *doc, berth_err *err)
{
	BERTH_TRY(read_head(r, doc, err));
	BERTH_TRY(berth_graph_names(r->p->g, r->tmp, &r->ops, err));
	switch (r->c.kind) {
	case BERTH_CERTIFICATE_PATH:
		return read_path(r, doc, err);
	case BERTH_CERTIFICATE_LOAD:
		return read_load(r, doc, err);
	case BERTH_CERTIFICATE_RELAXATION:
		return read_relaxation(r, doc, err);
	case BERTH_CERTIFICATE_BLOCKS:
		return read_blocks(r, doc, err);
	default:
		return read_windows(r, doc, err);
	}
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
	cJSON *tree;
	BERTH_TRY(berth_json_parse_large(file, text, size, &tree, err));
	BERTH_SCRATCH(tmp);
	berth_json doc = {.item = tree, .file = file};
	berth_status st = tell_source(&r, read_document(&r, &doc, err), err);
	cJSON_Delete(tree);
	if (st == BERTH_OK)
		*out = r.c;
	return st;
}

/* ---- writing ---- */

/* NULL: zeros. */
static void put_numbers(berth_json_out *w, const char *key, const int64_t *x, size_t n)
{
	berth_json_open(w, key, '[');
	berth_json_flat(w, true);
	for (size_t k = 0; k < n; k++)
		berth_json_put_int(w, NULL, x ? x[k] : 0);
	berth_json_close(w, ']');
	berth_json_flat(w, false);
}

static void put_ops(berth_json_out *w, const char *key, const berth_graph *g, const int32_t *op, int32_t n)
{
	berth_json_open(w, key, '[');
	berth_json_flat(w, true);
	for (int32_t k = 0; k < n; k++)
		berth_json_put_string(w, NULL, g->op_name[op[k]]);
	berth_json_close(w, ']');
	berth_json_flat(w, false);
}

static void put_relaxation(berth_json_out *w, const berth_certificate *c, const berth_problem *p)
{
	size_t devs = (size_t)p->n_devs, all = devs + (size_t)p->n_pools, edges = (size_t)p->g->n_edges;
	berth_json_put_int(w, "upper_ns", c->upper_ns);
	berth_json_put_int(w, "grain", c->grain);
	put_numbers(w, "prices", c->price, all);
	put_numbers(w, "byte_prices", c->byte_price, all);
	put_numbers(w, "channel_prices", c->channel_price, (size_t)p->s->n_channels);
	put_numbers(w, "end_prices", c->end_price, (size_t)p->n_ops);
	put_numbers(w, "flows", c->flow, edges);
	put_numbers(w, "out_shares", c->out_share, edges * devs);
	put_numbers(w, "in_shares", c->in_share, edges * devs);
	put_numbers(w, "way_prices", c->way_price, edges * devs * devs);
}

static void put_claims(berth_json_out *w, const berth_certificate *c, const berth_problem *p)
{
	berth_json_open(w, "claims", '[');
	for (int32_t k = 0; k < c->n_claims; k++) {
		const berth_block_claim *x = &c->claim[k];
		berth_json_open(w, NULL, '{');
		berth_json_flat(w, true);
		berth_json_put_int(w, "block", x->block);
		if (x->block > 0)
			berth_json_put_string(w, "from", p->s->dev_name[x->from]);
		if (x->block < c->n_gates)
			berth_json_put_string(w, "to", p->s->dev_name[x->to]);
		berth_json_put_int(w, "bound_ns", x->bound_ns);
		berth_json_put_int(w, x->tree >= 0 ? "tree" : "tree_prices",
		                   x->tree >= 0 ? x->tree : x->prices);
		berth_json_close(w, '}');
		berth_json_flat(w, false);
	}
	berth_json_close(w, ']');
}

static void put_price_vectors(berth_json_out *w, const char *key, const berth_certificate *c,
                              const berth_problem *p)
{
	size_t all = (size_t)berth_n_resources(p);
	berth_json_open(w, key, '[');
	for (int32_t k = 0; k < c->n_prices; k++)
		put_numbers(w, NULL, c->price_vector + (size_t)k * all, all);
	berth_json_close(w, ']');
}

static void put_windows(berth_json_out *w, const berth_certificate *c, const berth_problem *p)
{
	berth_json_open(w, "windows", '[');
	for (int32_t k = 0; k < c->n_windows; k++) {
		const berth_window_claim *x = &c->window[k];
		berth_json_open(w, NULL, '{');
		berth_json_flat(w, true);
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
		berth_json_close(w, '}');
		berth_json_flat(w, false);
	}
	berth_json_close(w, ']');
	put_price_vectors(w, "window_prices", c, p);
}

static void put_blocks(berth_json_out *w, const berth_certificate *c, const berth_problem *p)
{
	put_ops(w, "gates", p->g, c->gate, c->n_gates);
	put_claims(w, c, p);
	berth_json_open(w, "trees", '[');
	for (int32_t t = 0; t < c->n_trees; t++) {
		berth_json_open(w, NULL, '[');
		berth_json_flat(w, true);
		for (int32_t k = 0; k < c->tree[t].n; k++)
			berth_json_put_int(w, NULL, c->tree[t].code[k]);
		berth_json_close(w, ']');
		berth_json_flat(w, false);
	}
	berth_json_close(w, ']');
	put_price_vectors(w, "tree_prices", c, p);
}

berth_status berth_certificate_write(const berth_certificate *c, const berth_problem *p, berth_arena *mem,
                                     const char **text, size_t *len, berth_err *err)
{
	berth_json_out w;
	size_t all = (size_t)berth_n_resources(p);
	berth_json_out_init(&w, mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-certificate");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "graph", c->graph_name);
	berth_json_put_string(&w, "system", c->system_name);
	berth_json_put_string(&w, "objective", c->load ? "throughput" : "latency");
	berth_json_put_int(&w, "bound_ns", c->bound_ns);
	berth_json_put_string(&w, "proof", berth_certificate_name(c->kind));
	if (c->kind == BERTH_CERTIFICATE_PATH) {
		berth_json_put_int(&w, "unit", c->unit);
		put_numbers(&w, "prices", c->price, all);
		put_ops(&w, "path", p->g, c->path, c->n_path);
	} else if (c->kind == BERTH_CERTIFICATE_LOAD) {
		put_numbers(&w, "prices", c->price, all);
		put_numbers(&w, "byte_prices", c->byte_price, all);
	} else if (c->kind == BERTH_CERTIFICATE_RELAXATION) {
		put_relaxation(&w, c, p);
	} else if (c->kind == BERTH_CERTIFICATE_BLOCKS) {
		put_blocks(&w, c, p);
	} else {
		put_windows(&w, c, p);
	}
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, len, err);
}
