/* Nodes and ideals of the dynamic program. */
#include "dp_ideals.h"

#include "sort.h"

/* Edges among colocation groups that order them: forward ones, and backward ones turned round where a
 * colocation group has no forward operator. */
typedef struct coloc_edges {
	int32_t *from, *to, n;
} coloc_edges;

static berth_status order_colocs(const berth_problem *p, coloc_edges *e, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = p->g;
	bool *forward;
	BERTH_TRY_NEW(mem, p->n_colocs, err, forward);
	BERTH_TRY_NEW(mem, g->n_edges, err, e->from, e->to);
	for (int32_t op = 0; op < p->n_ops; op++)
		forward[p->op_coloc[op]] |= !g->op_backward[op];
	e->n = 0;
	for (int32_t x = 0; x < g->n_tensors; x++)
		BERTH_EACH (i, g->tensor_use_off, x) {
			int32_t a = g->tensor_producer[x], b = g->edge_consumer[i], u = p->op_coloc[a],
				v = p->op_coloc[b];
			if (u == v || g->op_backward[a] != g->op_backward[b])
				continue;
			if (g->op_backward[a] && forward[u] && forward[v])
				continue;
			e->from[e->n] = g->op_backward[a] ? v : u;
			e->to[e->n++] = g->op_backward[a] ? u : v;
		}
	return BERTH_OK;
}

/* Strongly connected components (R. Tarjan, SIAM J. Comput. 1972) with a stack of its own: label[colocation
 * group] = component, in reverse topological order. */
typedef struct tarjan {
	const int32_t *off, *to;
	int32_t *index, *low, *stack, *call, *edge, *label;
	int32_t n_stack, n_index, n_labels;
} tarjan;

static void visit_coloc(tarjan *t, int32_t root)
{
	int32_t depth = 0;
	t->call[depth] = root;
	t->edge[root] = t->off[root];
	t->index[root] = t->low[root] = ++t->n_index;
	t->stack[t->n_stack++] = root;
	while (depth >= 0) {
		int32_t u = t->call[depth];
		if (t->edge[u] < t->off[u + 1]) {
			int32_t v = t->to[t->edge[u]++];
			if (t->index[v] == 0) {
				t->call[++depth] = v;
				t->edge[v] = t->off[v];
				t->index[v] = t->low[v] = ++t->n_index;
				t->stack[t->n_stack++] = v;
			} else if (t->label[v] < 0 && t->index[v] < t->low[u]) {
				t->low[u] = t->index[v];
			}
			continue;
		}
		if (t->low[u] == t->index[u]) {
			int32_t v;
			do
				t->label[v = t->stack[--t->n_stack]] = t->n_labels;
			while (v != u);
			t->n_labels++;
		}
		if (--depth >= 0 && t->low[u] < t->low[t->call[depth]])
			t->low[t->call[depth]] = t->low[u];
	}
}

berth_status dp_nodes_new(const berth_problem *p, berth_arena *mem, dp_nodes *out, berth_err *err)
{
	coloc_edges e;
	dp_nodes x;
	int32_t *label;
	BERTH_TRY(order_colocs(p, &e, mem, err));
	BERTH_TRY_NEW(mem, p->n_colocs, err, label);
	/* label out [n_colocs]; x.n = components. */
	int32_t n_colocs = p->n_colocs;
	int32_t *off, *to;
	tarjan t = {.label = label};
	BERTH_TRY(berth_csr_new(n_colocs, e.n, e.from, e.to, mem, &off, &to, err));
	t.off = off;
	t.to = to;
	BERTH_TRY_NEW(mem, n_colocs, err, t.index, t.low, t.stack, t.call, t.edge);
	for (int32_t u = 0; u < n_colocs; u++)
		label[u] = -1;
	for (int32_t u = 0; u < n_colocs; u++)
		if (t.index[u] == 0)
			visit_coloc(&t, u);
	x.n = t.n_labels;
	BERTH_TRY_NEW(mem, p->n_ops, err, x.op_node);
	for (int32_t op = 0; op < p->n_ops; op++)
		x.op_node[op] = x.n - 1 - label[p->op_coloc[op]];
	/* Edges among nodes in place of those among colocation groups, without loops. */
	int32_t n = 0;
	for (int32_t i = 0; i < e.n; i++) {
		int32_t u = x.n - 1 - label[e.from[i]], v = x.n - 1 - label[e.to[i]];
		if (u == v)
			continue;
		e.from[n] = u;
		e.to[n++] = v;
	}
	e.n = n;
	BERTH_TRY(berth_csr_new(x.n, p->n_ops, x.op_node, NULL, mem, &x.op_off, &x.op, err));
	BERTH_TRY(berth_csr_new(x.n, e.n, e.from, e.to, mem, &x.succ_off, &x.succ, err));
	BERTH_TRY(berth_csr_new(x.n, e.n, e.to, e.from, mem, &x.pred_off, &x.pred, err));
	*out = x;
	return BERTH_OK;
}

enum { MOST_IDEALS = 100000, MOST_NODES = 8192, WORD = 64 };

static bool has(const uint64_t *set, int32_t v)
{
	return set[v / WORD] >> (v % WORD) & 1;
}

static bool holds_all(const uint64_t *set, const int32_t *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (!has(set, list[i]))
			return false;
	return true;
}

static bool holds_none(const uint64_t *set, const int32_t *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (has(set, list[i]))
			return false;
	return true;
}

typedef struct table {
	int32_t *slot; /* [cap] ideal + 1; 0: free */
	size_t cap;
} table;

static uint64_t hash_of(const uint64_t *set, int32_t words)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
	for (int32_t i = 0; i < words; i++) {
		h = (h ^ set[i]) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static uint64_t *ideal(const dp_ideals *d, int32_t i)
{
	return BERTH_ROW(d->bits, i, d->words);
}

/* The ideal equal to set, or where to put it. */
static int32_t *find(const dp_ideals *d, const table *t, const uint64_t *set)
{
	size_t at = hash_of(set, d->words) & (t->cap - 1);
	while (t->slot[at] && memcmp(ideal(d, t->slot[at] - 1), set, (size_t)d->words * sizeof *set) != 0)
		at = (at + 1) & (t->cap - 1);
	return &t->slot[at];
}

/* All ideals by breadth, so smaller ones come first. False: there are more than MOST_IDEALS. */
static bool list_ideals(dp_ideals *d, const dp_nodes *x, const table *t, uint64_t *set)
{
	d->n = 1;
	BERTH_CLEAR(d->bits, d->words);
	*find(d, t, d->bits) = 1;
	for (int32_t i = 0; i < d->n; i++)
		for (int32_t v = 0; v < x->n; v++) {
			if (has(ideal(d, i), v) || !holds_all(ideal(d, i), x->pred + x->pred_off[v],
			                                      x->pred_off[v + 1] - x->pred_off[v]))
				continue;
			BERTH_COPY(set, ideal(d, i), d->words);
			set[v / WORD] |= UINT64_C(1) << (v % WORD);
			int32_t *slot = find(d, t, set);
			if (*slot)
				continue;
			if (d->n == MOST_IDEALS)
				return false;
			BERTH_COPY(ideal(d, d->n), set, d->words);
			*slot = ++d->n;
		}
	return true;
}

/* Is v one of the last nodes of the set: none of its consumers is in it? */
static bool is_last(const dp_nodes *x, const uint64_t *set, int32_t v)
{
	return has(set, v) && holds_none(set, x->succ + x->succ_off[v], x->succ_off[v + 1] - x->succ_off[v]);
}

static berth_status link_ideals(dp_ideals *d, const dp_nodes *x, const table *t, uint64_t *set,
                                berth_arena *mem, berth_err *err)
{
	int32_t n = 0;
	BERTH_TRY_NEW(mem, (size_t)d->n + 1, err, d->down_off);
	for (int32_t i = 0; i < d->n; i++) {
		for (int32_t v = 0; v < x->n; v++)
			n += is_last(x, ideal(d, i), v);
		d->down_off[i + 1] = n;
	}
	BERTH_TRY_NEW(mem, n, err, d->down_node, d->down_to);
	n = 0;
	for (int32_t i = 0; i < d->n; i++)
		for (int32_t v = 0; v < x->n; v++)
			if (is_last(x, ideal(d, i), v)) {
				BERTH_COPY(set, ideal(d, i), d->words);
				set[v / WORD] &= ~(UINT64_C(1) << (v % WORD));
				d->down_node[n] = v;
				d->down_to[n++] = *find(d, t, set) - 1;
			}
	return BERTH_OK;
}

berth_status dp_ideals_all(const dp_nodes *x, berth_arena *mem, dp_ideals *out, bool *all, berth_err *err)
{
	uint64_t *set;
	table t = {.cap = 4};
	dp_ideals d = {.words = (x->n + WORD - 1) / WORD};
	*all = false;
	if (x->n > MOST_NODES)
		return BERTH_OK;
	while (t.cap < 2 * (size_t)MOST_IDEALS + 2)
		t.cap *= 2;
	BERTH_TRY_NEW(mem, t.cap, err, t.slot);
	BERTH_TRY_NEW(mem, (size_t)MOST_IDEALS * (size_t)d.words + 1, err, d.bits);
	BERTH_TRY_NEW(mem, d.words, err, set);
	if (!list_ideals(&d, x, &t, set))
		return BERTH_OK;
	BERTH_TRY(link_ideals(&d, x, &t, set, mem, err));
	*all = true;
	*out = d;
	return BERTH_OK;
}

berth_status dp_ideals_prefixes(const dp_nodes *x, berth_arena *mem, dp_ideals *out, berth_err *err)
{
	dp_ideals d = {.n = x->n + 1};
	BERTH_TRY_NEW(mem, (size_t)d.n + 1, err, d.down_off);
	BERTH_TRY_NEW(mem, x->n, err, d.down_node, d.down_to);
	for (int32_t i = 0; i < x->n; i++) {
		d.down_off[i + 2] = i + 1;
		d.down_node[i] = i;
		d.down_to[i] = i;
	}
	*out = d;
	return BERTH_OK;
}

bool dp_ideals_has(const dp_ideals *d, int32_t i, int32_t v)
{
	return d->bits ? has(ideal(d, i), v) : v < i;
}
