/* Nodes of the dynamic program; see dp_nodes.h. */
#include "dp_nodes.h"

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
	BERTH_TRY(BERTH_NEW(mem, forward, p->n_colocs, err));
	BERTH_TRY(BERTH_NEW(mem, e->from, g->n_edges, err));
	BERTH_TRY(BERTH_NEW(mem, e->to, g->n_edges, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		forward[p->op_coloc[op]] |= !g->op_backward[op];
	e->n = 0;
	for (int32_t x = 0; x < g->n_tensors; x++)
		for (int32_t i = g->tensor_use_off[x]; i < g->tensor_use_off[x + 1]; i++) {
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

/* label out [n_colocs]; *n = components. */
static berth_status fuse(int32_t n_colocs, const coloc_edges *e, berth_arena *mem, int32_t *label, int32_t *n,
                         berth_err *err)
{
	int32_t *off, *to;
	tarjan t = {.label = label};
	BERTH_TRY(berth_csr_new(n_colocs, e->n, e->from, e->to, mem, &off, &to, err));
	t.off = off;
	t.to = to;
	BERTH_TRY(BERTH_NEW(mem, t.index, n_colocs, err));
	BERTH_TRY(BERTH_NEW(mem, t.low, n_colocs, err));
	BERTH_TRY(BERTH_NEW(mem, t.stack, n_colocs, err));
	BERTH_TRY(BERTH_NEW(mem, t.call, n_colocs, err));
	BERTH_TRY(BERTH_NEW(mem, t.edge, n_colocs, err));
	for (int32_t u = 0; u < n_colocs; u++)
		label[u] = -1;
	for (int32_t u = 0; u < n_colocs; u++)
		if (t.index[u] == 0)
			visit_coloc(&t, u);
	*n = t.n_labels;
	return BERTH_OK;
}

/* Edges among nodes in place of those among colocation groups, without loops. */
static void edges_of_nodes(const dp_nodes *x, const int32_t *label, coloc_edges *e)
{
	int32_t n = 0;
	for (int32_t i = 0; i < e->n; i++) {
		int32_t u = x->n - 1 - label[e->from[i]], v = x->n - 1 - label[e->to[i]];
		if (u == v)
			continue;
		e->from[n] = u;
		e->to[n++] = v;
	}
	e->n = n;
}

berth_status dp_nodes_new(const berth_problem *p, berth_arena *mem, dp_nodes *out, berth_err *err)
{
	coloc_edges e;
	dp_nodes x;
	int32_t *label;
	BERTH_TRY(order_colocs(p, &e, mem, err));
	BERTH_TRY(BERTH_NEW(mem, label, p->n_colocs, err));
	BERTH_TRY(fuse(p->n_colocs, &e, mem, label, &x.n, err));
	BERTH_TRY(BERTH_NEW(mem, x.op_node, p->n_ops, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		x.op_node[op] = x.n - 1 - label[p->op_coloc[op]];
	edges_of_nodes(&x, label, &e);
	BERTH_TRY(berth_csr_new(x.n, p->n_ops, x.op_node, NULL, mem, &x.op_off, &x.op, err));
	BERTH_TRY(berth_csr_new(x.n, e.n, e.from, e.to, mem, &x.succ_off, &x.succ, err));
	BERTH_TRY(berth_csr_new(x.n, e.n, e.to, e.from, mem, &x.pred_off, &x.pred, err));
	*out = x;
	return BERTH_OK;
}
