/* Memory over time; see memory_curve.h. */
#include "memory_curve.h"

typedef struct listener {
	berth_memory_curve *curve; /* [n_devs] */
	berth_arena *mem;
	berth_err *err;
	berth_status st;
} listener;

static berth_status add(listener *l, berth_memory_curve *c, int64_t now_ns, int64_t bytes)
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
		l->st = add(l, &l->curve[dev], now_ns, bytes);
}

static berth_status simulate(const berth_problem *p, const int32_t *op_dev, const int32_t *order, listener *l,
                             berth_arena *tmp)
{
	berth_sim *sim;
	berth_sim_result r;
	BERTH_TRY(berth_sim_new(p, tmp, &sim, l->err));
	berth_sim_want_memory(sim, holds, l);
	berth_sim_run(sim, op_dev, order, &r);
	return l->st;
}

berth_status berth_memory_curves(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                                 berth_arena *mem, berth_arena *tmp, berth_memory_curve *out, berth_err *err)
{
	listener l = {out, mem, err, BERTH_OK};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	for (int32_t d = 0; d < p->n_devs; d++)
		out[d] = (berth_memory_curve){0};
	berth_status st = simulate(p, op_dev, order, &l, tmp);
	berth_arena_reset(tmp, mark);
	return st;
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
