/* What list schedules share: the ready operators as a heap, and guides, whole placements that a schedule
 * revises. */
#include "ready.h"

#include "sort.h"

static bool goes_before(const void *ctx, const void *a, const void *b)
{
	const berth_ready *r = ctx;
	int32_t i = *(const int32_t *)a, k = *(const int32_t *)b;
	int64_t x = r->op_key[r->g->topo_op[i]], y = r->op_key[r->g->topo_op[k]];
	return x != y ? x > y : i < k;
}

static void push_ready(berth_ready *r, int32_t op)
{
	berth_heap_push(r->heap, (size_t)r->n++, sizeof *r->heap, &r->g->op_topo[op], goes_before, r);
}

berth_status berth_ready_new(const berth_graph *g, berth_arena *mem, berth_ready *out, berth_err *err)
{
	*out = (berth_ready){.g = g};
	BERTH_TRY_NEW(mem, g->n_ops, err, out->heap);
	return BERTH_NEW(mem, out->op_waits, g->n_ops, err);
}

void berth_ready_start(berth_ready *r, const int64_t *op_key)
{
	const berth_graph *g = r->g;
	r->op_key = op_key;
	r->n = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		if ((r->op_waits[op] = g->op_in_off[op + 1] - g->op_in_off[op]) == 0)
			push_ready(r, op);
}

int32_t berth_ready_next(berth_ready *r)
{
	const berth_graph *g = r->g;
	if (r->n == 0)
		return -1;
	int32_t op = g->topo_op[r->heap[0]];
	berth_heap_pop(r->heap, (size_t)r->n--, sizeof *r->heap, goes_before, r);
	BERTH_EACH_USE (e, g, op)
		if (--r->op_waits[g->edge_consumer[e]] == 0)
			push_ready(r, g->edge_consumer[e]);
	return op;
}

/* ---- guides ---- */

berth_status berth_guide_room(size_t n_ops, size_t n_cells, berth_arena *mem, berth_guide *out,
                              berth_err *err)
{
	*out = (berth_guide){0};
	BERTH_TRY_NEW(mem, n_ops, err, out->op_dev, out->rank_ns);
	return BERTH_NEW(mem, out->rest_ns, n_cells, err);
}

berth_status berth_guide_new(const berth_problem *p, berth_arena *mem, berth_guide *out, berth_err *err)
{
	size_t ops = (size_t)p->n_ops;
	BERTH_TRY(berth_guide_room(ops, ops * (size_t)p->n_devs, mem, out, err));
	out->p = p;
	return BERTH_OK;
}

/* What follows op's end on dev, by the guide's devices and ranks of its consumers. */
static int64_t rest_of(const berth_guide *w, int32_t op, int32_t dev)
{
	const berth_graph *g = w->p->g;
	int64_t rest = 0;
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (i, g->tensor_use_off, t) {
			int32_t to = g->edge_consumer[i];
			int64_t ns = berth_transfer_ns(w->p, t, dev, w->op_dev[to]) + w->rank_ns[to];
			rest = ns > rest ? ns : rest;
		}
	return rest;
}

void berth_guide_set(berth_guide *w, const int32_t *op_dev)
{
	const berth_problem *p = w->p;
	if (p->n_ops)
		BERTH_COPY(w->op_dev, op_dev, p->n_ops);
	for (int32_t i = p->n_ops - 1; i >= 0; i--) {
		int32_t op = p->g->topo_op[i], own = op_dev[op];
		int64_t *rest = w->rest_ns + (size_t)op * (size_t)p->n_devs;
		for (int32_t dev = 0; dev < p->n_devs; dev++)
			rest[dev] = rest_of(w, op, dev);
		w->rank_ns[op] = berth_op_time(p, op, own) + rest[own];
	}
	w->is_set = true;
}
