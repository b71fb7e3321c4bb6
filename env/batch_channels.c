/* The part of the batched evaluator's plan for channels in program order; see batch_plan.h. */
#include "batch_plan.h"

/* Hops of every (class, to, from). */
static berth_status new_hops(batch_plan *q, const berth_problem *p, berth_arena *mem, berth_err *err)
{
	const berth_system *s = p->s;
	size_t n_pairs = (size_t)p->n_classes << 2 * q->dev_shift, devs = (size_t)p->n_devs, n = 0;
	BERTH_TRY(BERTH_NEW(mem, q->pair_hop_off, n_pairs + 1, err));
	for (int pass = 0; pass < 2; pass++) {
		n = 0;
		for (size_t i = 0; i < n_pairs; i++) {
			size_t c = i >> 2 * q->dev_shift, to = i >> q->dev_shift & ((1u << q->dev_shift) - 1), from = i & ((1u << q->dev_shift) - 1);
			q->pair_hop_off[i] = (int32_t)n;
			if (to >= devs || from >= devs || to == from)
				continue;
			int32_t r = p->class_pair_route[(c * devs + from) * devs + to];
			for (int32_t h = p->route_off[r]; h < p->route_off[r + 1]; h++, n++)
				if (pass)
					q->hop[n] = (batch_hop){s->link_channel[p->route_link[h]], p->class_link_ns[c * (size_t)s->n_links + (size_t)p->route_link[h]]};
		}
		q->pair_hop_off[n_pairs] = (int32_t)n;
		if (n > INT32_MAX)
			return berth_fail(err, BERTH_ELIMIT, "batched evaluation: too many hops; use the reference simulator");
		if (pass == 0)
			BERTH_TRY(BERTH_NEW(mem, q->hop, n, err));
	}
	return BERTH_OK;
}

static berth_status new_uses(batch_plan *q, const berth_problem *p, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *op_slot, t = 0, u = 0;
	batch_slots slots = {0};
	BERTH_TRY(BERTH_NEW(mem, op_slot, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, slots.unused, g->n_ops, err));
	for (int32_t op = 0; op < g->n_ops; op++)
		op_slot[op] = -1;
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = q->step[i].op;
		q->step_ready[i] = op_slot[op];
		if (op_slot[op] >= 0)
			batch_slot_give(&slots, op_slot[op]);
		for (int32_t x = g->op_tensor_off[op]; x < g->op_tensor_off[op + 1]; x++) {
			for (int32_t e = g->tensor_use_off[x]; e < g->tensor_use_off[x + 1]; e++) {
				int32_t to = g->edge_consumer[e];
				bool first = op_slot[to] < 0;
				if (first)
					op_slot[to] = batch_slot_take(&slots);
				q->use[u++] = (batch_use){to, op_slot[to], first};
			}
			q->push[t++] = (batch_push){p->tensor_class[x], u};
		}
		q->step_push_end[i] = t;
	}
	q->n_ready_slots = slots.n;
	return BERTH_OK;
}

berth_status batch_plan_channels(batch_plan *q, const berth_problem *p, berth_arena *mem, berth_err *err)
{
	q->n_channels = p->s->n_channels;
	BERTH_TRY(BERTH_NEW(mem, q->step_push_end, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, q->step_ready, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, q->push, p->g->n_tensors, err));
	BERTH_TRY(BERTH_NEW(mem, q->use, p->g->n_edges, err));
	BERTH_TRY(new_hops(q, p, mem, err));
	berth_arena_mark mark = berth_arena_get_mark(mem);
	BERTH_TRY(new_uses(q, p, mem, err));
	berth_arena_reset(mem, mark);
	return BERTH_OK;
}
