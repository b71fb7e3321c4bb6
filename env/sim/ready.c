/* Ready operators as a heap; see ready.h. */
#include "ready.h"

static bool goes_before(const berth_ready *r, int32_t a, int32_t b)
{
	int64_t x = r->op_key[r->g->topo_op[a]], y = r->op_key[r->g->topo_op[b]];
	return x != y ? x > y : a < b;
}

static void push(berth_ready *r, int32_t op)
{
	int32_t i = r->n++, topo = r->g->op_topo[op];
	for (; i > 0 && goes_before(r, topo, r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = topo;
}

static int32_t pop(berth_ready *r)
{
	int32_t top = r->heap[0], last = r->heap[--r->n], i = 0;
	for (int32_t c; (c = 2 * i + 1) < r->n; i = c) {
		c += c + 1 < r->n && goes_before(r, r->heap[c + 1], r->heap[c]);
		if (!goes_before(r, r->heap[c], last))
			break;
		r->heap[i] = r->heap[c];
	}
	r->heap[i] = last;
	return r->g->topo_op[top];
}

berth_status berth_ready_new(const berth_graph *g, berth_arena *mem, berth_ready *out, berth_err *err)
{
	*out = (berth_ready){.g = g};
	BERTH_TRY(BERTH_NEW(mem, out->heap, g->n_ops, err));
	return BERTH_NEW(mem, out->op_waits, g->n_ops, err);
}

void berth_ready_start(berth_ready *r, const int64_t *op_key)
{
	const berth_graph *g = r->g;
	r->op_key = op_key;
	r->n = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		if ((r->op_waits[op] = g->op_in_off[op + 1] - g->op_in_off[op]) == 0)
			push(r, op);
}

int32_t berth_ready_next(berth_ready *r)
{
	const berth_graph *g = r->g;
	if (r->n == 0)
		return -1;
	int32_t op = pop(r);
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (--r->op_waits[g->edge_consumer[e]] == 0)
				push(r, g->edge_consumer[e]);
	return op;
}
