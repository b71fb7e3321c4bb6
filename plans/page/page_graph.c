/* The graph of a placed problem for a page: operators, or groups of them where there are too many; and what
 * the page leaves out. */
#include "granularity.h"
#include "page_graph.h"
#include "sort.h"

#include <stdarg.h>

/* ---- what a page leaves out ---- */

void page_left_add(page_left *left, berth_arena *mem, const char *fmt, ...)
{
	char sentence[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof sentence, fmt, ap);
	va_end(ap);
	assert((size_t)left->n < sizeof left->text / sizeof *left->text);
	left->text[left->n] = berth_arena_strdup(mem, sentence);
	left->failed |= !left->text[left->n++];
}

char *page_count(char buf[32], int64_t count)
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%lld", (long long)count), at = 0;
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0 && digits[i - 1] != '-')
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

berth_status page_left_put(berth_json_out *w, const page_left *left, berth_err *err)
{
	if (left->failed)
		return berth_nomem(err);
	berth_json_put_strings(w, "left_out", left->text, left->n);
	return BERTH_OK;
}

/* ---- groups of operators by the first words of their names ---- */

enum { MOST_WORDS = 12, N_RUNS = 400 };

/* How many bytes of a name its first words take, without the last word of all, which is the operator's own.
 * 0: it has no such words. */
static size_t head_of(const char *name, int32_t words)
{
	size_t head = 0;
	for (size_t i = 1; name[i] && words > 0; i++)
		if ((name[i] == '/' || name[i] == '.') && name[i + 1]) {
			head = i;
			words--;
		}
	return head;
}

/* Group all operators by that many words. False: more than BERTH_PAGE_GROUPS groups, or one alone. */
static berth_status by_words(const berth_graph *g, int32_t words, berth_arena *tmp, int32_t *op_group,
                             const char **label, int32_t *n_groups, bool *ok, berth_err *err)
{
	berth_strmap map;
	berth_strmap_init(&map, tmp);
	*n_groups = 0;
	for (int32_t k = 0; k < g->n_ops && *n_groups <= BERTH_PAGE_GROUPS; k++) {
		int32_t op = g->topo_op[k];
		char *head = berth_arena_strndup(tmp, g->op_name[op], head_of(g->op_name[op], words));
		BERTH_TRY(berth_got(head, err));
		BERTH_TRY(berth_strmap_add(&map, head, *n_groups, &op_group[op], err));
		if (op_group[op] == *n_groups && *n_groups < BERTH_PAGE_GROUPS)
			label[*n_groups] = head;
		*n_groups += op_group[op] == *n_groups;
	}
	*ok = *n_groups > 1 && *n_groups <= BERTH_PAGE_GROUPS;
	return BERTH_OK;
}

/* Layers that repeat, where there are some and not too many; else runs. */
static berth_status by_layers(const berth_graph *g, berth_arena *mem, berth_arena *tmp, int32_t *op_group,
                              const char **label, int32_t *n_groups, int32_t *words, berth_err *err)
{
	berth_granularity x;
	berth_status st = berth_granularity_find(g, BERTH_GRAIN_LAYER, mem, tmp, &x, NULL);
	if (st == BERTH_ENOMEM)
		return berth_nomem(err);
	if (st != BERTH_OK || x.n_blocks < 2 || x.n_blocks > BERTH_PAGE_GROUPS) {
		int32_t each = (g->n_ops + N_RUNS - 1) / N_RUNS;
		*n_groups = (g->n_ops + each - 1) / each;
		for (int32_t k = 0; k < g->n_ops; k++)
			op_group[g->topo_op[k]] = k / each;
		for (int32_t i = 0; i < *n_groups; i++) {
			int32_t last = (i + 1) * each < g->n_ops ? (i + 1) * each : g->n_ops;
			BERTH_TRY(berth_got(label[i] = berth_arena_printf(mem, "%d-%d", i * each + 1, last),
			                    err));
		}
		return BERTH_OK;
	}
	for (int32_t op = 0; op < g->n_ops; op++)
		op_group[op] = x.op_block[op];
	for (int32_t i = 0; i < x.n_blocks; i++)
		label[i] = x.block_name[i];
	*n_groups = x.n_blocks;
	*words = -1;
	return BERTH_OK;
}

/* Words first that leave many groups. */
berth_status page_group(const berth_graph *g, berth_arena *mem, berth_arena *tmp, int32_t *op_group,
                        const char ***label, int32_t *n_groups, int32_t *words, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	const char **name;
	BERTH_TRY_NEW(mem, BERTH_PAGE_GROUPS, err, name);
	*label = name;
	for (*words = MOST_WORDS; *words > 0; --*words) {
		bool ok = false;
		berth_arena_mark mark = berth_arena_get_mark(tmp);
		BERTH_TRY(by_words(g, *words, tmp, op_group, name, n_groups, &ok, err));
		for (int32_t i = 0; ok && i < *n_groups; i++)
			BERTH_TRY(berth_got(name[i] = berth_arena_strdup(mem, name[i]), err));
		berth_arena_reset(tmp, mark);
		if (ok)
			return BERTH_OK;
	}
	return by_layers(g, mem, tmp, op_group, name, n_groups, words, err);
}

/* ---- the graph ---- */

/* Edges between nodes, one for each pair. */
typedef struct edges {
	int32_t *from, *to; /* [n] */
	int64_t *bytes;
	int32_t n;
} edges;

typedef struct view {
	const berth_problem *p;
	const berth_timeline *t;
	const int32_t *op_node; /* [n_ops] */
	int32_t n_nodes;
	const char **label; /* [n_nodes]; NULL: nodes are the page's operators */
	berth_arena *tmp;
} view;

static int by_ends(const void *ctx, int32_t a, int32_t b)
{
	const edges *e = ctx;
	if (e->from[a] != e->from[b])
		return e->from[a] < e->from[b] ? -1 : 1;
	return BERTH_COMPARE(e->to[a], e->to[b]);
}

static int by_bytes(const void *ctx, int32_t a, int32_t b)
{
	const edges *e = ctx;
	if (e->bytes[a] != e->bytes[b])
		return e->bytes[a] > e->bytes[b] ? -1 : 1;
	return BERTH_COMPARE(a, b);
}

/* All uses of tensors between unlike nodes, as they stand. */
static berth_status collect(const view *v, edges *out, berth_err *err)
{
	const berth_graph *g = v->p->g;
	BERTH_TRY_NEW(v->tmp, g->n_edges, err, out->from, out->to, out->bytes);
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t from = v->op_node[g->tensor_producer[t]],
				to = v->op_node[g->edge_consumer[e]];
			if (from == to)
				continue;
			out->from[out->n] = from;
			out->to[out->n] = to;
			out->bytes[out->n++] = g->tensor_bytes[t];
		}
	return BERTH_OK;
}

/* One edge for each pair of nodes, with the sum of the bytes. */
static berth_status join(const view *v, const edges *all, edges *out, berth_err *err)
{
	int32_t *order, *scratch;
	BERTH_TRY_NEW(v->tmp, all->n, err, order, scratch, out->from, out->to, out->bytes);
	for (int32_t i = 0; i < all->n; i++)
		order[i] = i;
	berth_sort(order, (size_t)all->n, scratch, by_ends, all);
	for (int32_t i = 0; i < all->n; i++) {
		int32_t e = order[i];
		if (i == 0 || by_ends(all, order[i - 1], e) != 0) {
			out->from[out->n] = all->from[e];
			out->to[out->n++] = all->to[e];
		}
		out->bytes[out->n - 1] += all->bytes[e];
	}
	return BERTH_OK;
}

static berth_status put_edges(berth_json_out *w, const view *v, page_left *left, berth_arena *mem,
                              berth_err *err)
{
	edges all = {0}, e = {0};
	int32_t *order, *scratch;
	char a[32], b[32];
	BERTH_TRY(collect(v, &all, err));
	BERTH_TRY(join(v, &all, &e, err));
	BERTH_TRY_NEW(v->tmp, e.n, err, order, scratch);
	for (int32_t i = 0; i < e.n; i++)
		order[i] = i;
	int32_t n = e.n < BERTH_PAGE_EDGES ? e.n : BERTH_PAGE_EDGES;
	if (n < e.n) {
		berth_sort(order, (size_t)e.n, scratch, by_bytes, &e);
		page_left_add(left, mem, "Of %s edges the graph shows the %s of most bytes.",
		              page_count(a, e.n), page_count(b, n));
	}
	berth_json_open(w, "edges", '[');
	for (int32_t i = 0; i < n; i++) {
		berth_json_put_int(w, NULL, e.from[order[i]]);
		berth_json_put_int(w, NULL, e.to[order[i]]);
		berth_json_put_int(w, NULL, e.bytes[order[i]]);
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

/* "groups": [{name, on: [device, operators, nanoseconds, ...]}]. */
static berth_status put_groups(berth_json_out *w, const view *v, berth_err *err)
{
	int64_t *ops, *ns;
	size_t n_devs = (size_t)v->p->n_devs;
	BERTH_TRY_NEW(v->tmp, (size_t)v->n_nodes * n_devs, err, ops, ns);
	for (int32_t op = 0; op < v->p->n_ops; op++) {
		size_t at = (size_t)v->op_node[op] * n_devs + (size_t)v->t->op_dev[op];
		ops[at]++;
		ns[at] += v->t->end_ns[op] - v->t->start_ns[op];
	}
	berth_json_open(w, "groups", '[');
	for (int32_t i = 0; i < v->n_nodes; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", v->label[i]);
		berth_json_open(w, "on", '[');
		for (size_t d = 0; d < n_devs; d++)
			if (ops[(size_t)i * n_devs + d]) {
				berth_json_put_int(w, NULL, (int64_t)d);
				berth_json_put_int(w, NULL, ops[(size_t)i * n_devs + d]);
				berth_json_put_int(w, NULL, ns[(size_t)i * n_devs + d]);
			}
		berth_json_close(w, ']');
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

/* "layers": names, and "layer": that of each operator of the page; nothing where the graph has no layers. */
static berth_status put_layers(berth_json_out *w, const view *v, berth_arena *mem, berth_err *err)
{
	berth_granularity x;
	int32_t *row_op;
	berth_status st = berth_granularity_find(v->p->g, BERTH_GRAIN_LAYER, mem, v->tmp, &x, NULL);
	if (st != BERTH_OK)
		return st == BERTH_ENOMEM ? berth_nomem(err) : BERTH_OK;
	BERTH_TRY_NEW(v->tmp, v->p->n_ops, err, row_op);
	for (int32_t op = 0; op < v->p->n_ops; op++)
		row_op[v->op_node[op]] = op;
	berth_json_put_strings(w, "layers", x.block_name, x.n_blocks);
	berth_json_open(w, "layer", '[');
	for (int32_t i = 0; i < v->p->n_ops; i++)
		berth_json_put_int(w, NULL, x.op_block[row_op[i]]);
	berth_json_close(w, ']');
	return BERTH_OK;
}

berth_status page_put_graph(berth_json_out *w, const berth_problem *p, const berth_timeline *t,
                            const int32_t *op_row, bool grouped, page_left *left, berth_arena *mem,
                            berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	view v = {p, t, op_row, p->n_ops, NULL, tmp};
	int32_t words = 0;
	if (grouped) {
		int32_t *op_node;
		char a[32], b[32], how[64] = "by runs in topological order, as their names share no words";
		BERTH_TRY_NEW(mem, v.p->n_ops, err, op_node);
		BERTH_TRY(page_group(v.p->g, mem, v.tmp, op_node, &v.label, &v.n_nodes, &words, err));
		v.op_node = op_node;
		if (words < 0)
			snprintf(how, sizeof how, "the layers that repeat");
		else if (words)
			snprintf(how, sizeof how, "by the first %s of their names",
			         words == 1 ? "word" : "words");
		page_left_add(left, mem, "The graph shows the %s operators in %s groups, %s.",
		              page_count(a, v.p->n_ops), page_count(b, v.n_nodes), how);
	}
	berth_json_open(w, "graph", '{');
	if (grouped) {
		berth_json_put_bool(w, "runs", words == 0);
		BERTH_TRY(put_groups(w, &v, err));
	} else {
		BERTH_TRY(put_layers(w, &v, mem, err));
	}
	BERTH_TRY(put_edges(w, &v, left, mem, err));
	berth_json_close(w, '}');
	return BERTH_OK;
}
