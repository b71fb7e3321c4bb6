/* One placement simulated with everything kept, and what its devices hold over time. Reports, traces and
 * explanations read it; no search does. */
#include "timeline.h"

berth_status berth_timeline_new(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                                berth_arena *mem, berth_timeline *out, berth_err *err)
{
	berth_timeline t = {
		.op_dev = op_dev, .op_order = order, .order = order ? BERTH_ORDER_GIVEN : p->s->order};
	berth_sim *sim;
	BERTH_TRY(berth_sim_new(p, mem, &sim, err));
	BERTH_TRY_NEW(mem, berth_sim_max_hops(p), err, t.hops);
	BERTH_TRY_NEW(mem, p->n_devs, err, t.dev_sent_bytes, t.dev_ops, t.dev_busy_ns);
	berth_sim_want_peaks(sim, true);
	berth_sim_want_hops(sim, t.hops);
	berth_sim_run(sim, op_dev, order, &t.r);
	t.start_ns = berth_sim_last(sim).start_ns;
	t.end_ns = berth_sim_last(sim).end_ns;
	t.peak_bytes = berth_sim_last(sim).peak_bytes;
	t.channel_ns = berth_sim_last(sim).channel_ns;
	t.pool_ns = berth_sim_last(sim).pool_ns;
	t.pool_peak_bytes = berth_sim_last(sim).pool_peak_bytes;
	t.dev_time_ns = berth_sim_last(sim).dev_time_ns;
	for (int32_t d = 0; d < p->n_devs; d++)
		t.dev_busy_ns[d] = t.dev_time_ns[d] + berth_sim_last(sim).dev_slow_ns[d];
	t.n_hops = t.r.runs ? berth_sim_last(sim).n_hops : 0;
	for (int32_t op = 0; op < p->n_ops; op++)
		t.dev_ops[op_dev[op]]++;
	for (int32_t l = 0; l < p->s->n_links; l++)
		t.dev_sent_bytes[p->s->link_from[l]] += berth_sim_last(sim).link_bytes[l];
	*out = t;
	return BERTH_OK;
}

/* ---- memory over time ---- */

typedef struct listener {
	berth_memory_curve *curve; /* [n_devs] */
	berth_arena *mem;
	berth_err *err;
	berth_status st;
} listener;

static berth_status add_step(listener *l, berth_memory_curve *c, int64_t now_ns, int64_t bytes)
{
	BERTH_TRY(BERTH_GROW(l->mem, c->at_ns, c->n, &c->cap_at, l->err));
	BERTH_TRY(BERTH_GROW(l->mem, c->bytes, c->n, &c->cap_bytes, l->err));
	c->at_ns[c->n] = now_ns;
	c->bytes[c->n++] = bytes;
	return BERTH_OK;
}

static void holds(void *ctx, int64_t now_ns, int32_t dev, int64_t bytes)
{
	listener *l = ctx;
	if (l->st == BERTH_OK)
		l->st = add_step(l, &l->curve[dev], now_ns, bytes);
}

berth_status berth_memory_curves(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                                 berth_arena *mem, berth_arena *tmp, berth_memory_curve *out, berth_err *err)
{
	listener l = {out, mem, err, BERTH_OK};
	BERTH_SCRATCH(tmp);
	for (int32_t d = 0; d < p->n_devs; d++)
		out[d] = (berth_memory_curve){0};
	berth_sim *sim;
	berth_sim_result r;
	BERTH_TRY(berth_sim_new(p, tmp, &sim, l.err));
	berth_sim_want_memory(sim, holds, &l);
	berth_sim_run(sim, op_dev, order, &r);
	return l.st;
}

/* The part of the time that an instant lies in. */
static int32_t part_of(int64_t at_ns, int64_t end_ns, int32_t n_parts)
{
	int32_t i = end_ns > 0 ? (int32_t)((double)at_ns / (double)end_ns * n_parts) : 0;
	return i < n_parts ? i : n_parts - 1;
}

void berth_memory_curve_thin(berth_memory_curve *c, int64_t end_ns, int32_t n_parts)
{
	int32_t kept = 1, i = 1;
	if (c->n <= 2 * n_parts + 1)
		return;
	while (i < c->n) {
		int32_t part = part_of(c->at_ns[i], end_ns, n_parts), largest = i;
		for (; i < c->n && part_of(c->at_ns[i], end_ns, n_parts) == part; i++)
			if (c->bytes[i] > c->bytes[largest])
				largest = i;
		for (int k = 0; k < 1 + (largest != i - 1); k++, kept++) {
			int32_t from = k ? i - 1 : largest;
			c->at_ns[kept] = c->at_ns[from];
			c->bytes[kept] = c->bytes[from];
		}
	}
	c->n = kept;
}
