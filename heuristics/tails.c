/* Keeps the longest tail behind each operator of a base: along data, devices and channels. After a change
 * only what can have changed is gone through again. */
#include "tails.h"

berth_status berth_tails_new(const berth_problem *p, berth_arena *mem, berth_tails *out, berth_err *err)
{
	size_t hops = berth_sim_max_hops(p);
	berth_tails t = {.p = p};
	BERTH_TRY_NEW(mem, (size_t)p->n_devs + 1, err, t.dev_off);
	BERTH_TRY_NEW(mem, p->n_ops, err, t.dev_op, t.dev_at);
	BERTH_TRY_NEW(mem, (size_t)p->g->n_tensors * (size_t)p->n_devs, err, t.last_hop);
	BERTH_TRY_NEW(mem, p->n_ops, err, t.ready_ns, t.tail_ns);
	BERTH_TRY_NEW(mem, hops, err, t.hop_tail_ns, t.hop_before, t.hop_first);
	BERTH_TRY_NEW(mem, p->s->n_channels, err, t.chan_last);
	*out = t;
	return BERTH_OK;
}

int32_t berth_tails_hop(const berth_tails *t, int32_t tensor, int32_t dev)
{
	int32_t h = t->last_hop[berth_cell(t->p, tensor, dev)];
	/* what an earlier base left there points behind the log, or to a hop of something else */
	return h < t->n_hops && t->base->hops[h].tensor == tensor && t->base->hops[h].dest == dev ? h : -1;
}

static void list_devices(berth_tails *t)
{
	const berth_problem *p = t->p;
	const berth_base_log *b = t->base;
	BERTH_CLEAR(t->dev_off, p->n_devs + 1);
	for (int32_t op = 0; op < p->n_ops; op++)
		t->dev_off[b->op_dev[op] + 1]++;
	for (int32_t d = 0; d < p->n_devs; d++)
		t->dev_off[d + 1] += t->dev_off[d];
	for (int32_t i = 0; i < b->n_ends; i++) {
		int32_t op = b->ends[i];
		if (op < 0)
			continue;
		t->dev_at[op] = t->dev_off[b->op_dev[op]]++;
		t->dev_op[t->dev_at[op]] = op;
	}
	for (int32_t d = p->n_devs; d > 0; d--)
		t->dev_off[d] = t->dev_off[d - 1];
	t->dev_off[0] = 0;
}

/* Which hop went before each on its way and on its channel. */
static void link_hops(berth_tails *t)
{
	const berth_problem *p = t->p;
	const berth_base_log *b = t->base;
	for (int32_t c = 0; c < p->s->n_channels; c++)
		t->chan_last[c] = -1;
	t->n_hops = 0;
	for (int32_t i = 0; i < b->n_ends; i++) {
		if (b->ends[i] >= 0)
			continue;
		int32_t h = ~b->ends[i], home = b->op_dev[p->g->tensor_producer[b->hops[h].tensor]];
		const berth_sim_hop *hop = &b->hops[h];
		int32_t *last = &t->last_hop[berth_cell(p, hop->tensor, hop->dest)],
			*chan = &t->chan_last[p->s->link_channel[hop->link]];
		t->hop_first[h] = p->s->link_from[hop->link] == home ? -1 : *last;
		t->hop_before[h] = p->s->contention ? *chan : -1;
		*last = *chan = h;
		t->n_hops = h + 1;
	}
}

static void raise_to(int64_t *tail, int64_t to)
{
	if (*tail < to)
		*tail = to;
}

static void pass_op(berth_tails *t, int32_t op)
{
	const berth_problem *p = t->p;
	const berth_graph *g = p->g;
	const berth_base_log *b = t->base;
	int32_t d = b->op_dev[op], before = t->dev_at[op] - p->s->dev_slots[d];
	int64_t tail = t->tail_ns[op] += b->end_ns[op] - b->start_ns[op];
	if (before >= t->dev_off[d])
		raise_to(&t->tail_ns[t->dev_op[before]], tail);
	t->ready_ns[op] = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t x = g->in_tensor[i], from = g->tensor_producer[x];
		int64_t at = b->end_ns[from], *behind = &t->tail_ns[from];
		if (b->op_dev[from] != d) {
			int32_t h = t->last_hop[berth_cell(p, x, d)];
			at = b->hops[h].end_ns;
			behind = &t->hop_tail_ns[h];
		}
		raise_to(behind, tail);
		raise_to(&t->ready_ns[op], at);
	}
}

void berth_tails_update(berth_tails *t, const berth_base_log *base)
{
	if (t->base == base && t->serial == base->serial)
		return;
	t->base = base;
	t->serial = base->serial;
	list_devices(t);
	link_hops(t);
	BERTH_CLEAR(t->tail_ns, t->p->n_ops);
	BERTH_CLEAR(t->hop_tail_ns, t->n_hops);
	for (int32_t i = base->n_ends - 1; i >= 0; i--)
		if (base->ends[i] >= 0)
			pass_op(t, base->ends[i]);
		else {
			int32_t h = ~base->ends[i];
			const berth_sim_hop *hop = &t->base->hops[h];
			int64_t tail = t->hop_tail_ns[h] += hop->end_ns - hop->start_ns;
			if (t->hop_before[h] >= 0)
				raise_to(&t->hop_tail_ns[t->hop_before[h]], tail);
			raise_to(t->hop_first[h] >= 0 ? &t->hop_tail_ns[t->hop_first[h]]
			                              : &t->tail_ns[t->p->g->tensor_producer[hop->tensor]],
			         tail);
		}
}
