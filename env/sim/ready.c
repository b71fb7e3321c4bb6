/* Ready operators as a heap; see ready.h. */
#include "ready.h"

#include "sort.h"

static bool goes_before(const void *ctx, const void *a, const void *b)
{
	const berth_ready *r = ctx;
	int32_t i = *(const int32_t *)a, k = *(const int32_t *)b;
	int64_t x = r->op_key[r->g->topo_op[i]], y = r->op_key[r->g->topo_op[k]];
	return x != y ? x > y : i < k;
}

static void push(berth_ready *r, int32_t op)
{
	berth_heap_push(r->heap, (size_t)r->n++, sizeof *r->heap, &r->g->op_topo[op], goes_before, r);
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
	int32_t op = g->topo_op[r->heap[0]];
	berth_heap_pop(r->heap, (size_t)r->n--, sizeof *r->heap, goes_before, r);
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (--r->op_waits[g->edge_consumer[e]] == 0)
				push(r, g->edge_consumer[e]);
	return op;
}
