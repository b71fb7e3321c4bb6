/* Random changes of a program of pieces. A move takes operators that stand one behind the other, from one to
 * all of them: they are put together on a device, cut for several, cut as their neighbours are, get other
 * shares, devices that change places, another axis, or other joints. */
#include "cut_seeds.h"

#define LEAST_SHARE 0.02 /* of an operator: smaller pieces go */

berth_status berth_cut_moves_new(const berth_cutting *c, berth_arena *mem, berth_cut_moves *out,
                                 berth_err *err)
{
	*out = (berth_cut_moves){.c = c, .mem = mem};
	BERTH_TRY_NEW(mem, c->p->n_devs, err, out->dev);
	return BERTH_NEW(mem, out->ns, c->p->n_devs, err);
}

static const int32_t *window_ops(const berth_cut_moves *m)
{
	return m->c->p->g->topo_op + m->first;
}

static bool same_way(const berth_cut_way *a, const berth_cut_way *b)
{
	return a == b || (a->k == b->k && memcmp(a->dev, b->dev, (size_t)a->k * sizeof *a->dev) == 0 &&
	                  memcmp(a->share, b->share, (size_t)a->k * sizeof *a->share) == 0);
}

static bool set_ways(berth_cut_moves *m, const berth_cut_way *way, berth_cut_op *op)
{
	bool moved = false;
	for (int32_t i = 0; i < m->n; i++) {
		berth_cut_op *x = &op[window_ops(m)[i]];
		moved |= !same_way(x->way, way);
		x->way = way;
	}
	return moved;
}

/* In the place of `from`, wherever the window has it. */
static void replace_way(berth_cut_moves *m, const berth_cut_way *from, const berth_cut_way *to,
                        berth_cut_op *op)
{
	for (int32_t i = 0; i < m->n; i++)
		if (same_way(op[window_ops(m)[i]].way, from))
			op[window_ops(m)[i]].way = to;
}

/* ---- moves ---- */

typedef berth_status move(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved, berth_err *err);

static berth_status put_together(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                                 berth_err *err)
{
	const berth_cut_way *way;
	int32_t k = berth_cut_quickest(m->c, window_ops(m), m->n, m->dev, m->ns);
	if (!k)
		return BERTH_OK;
	int32_t at = (int32_t)berth_rng_below(rng, (uint32_t)k);
	BERTH_TRY(berth_cut_whole(m->dev[at], m->mem, &way, err));
	*moved = set_ways(m, way, op);
	return BERTH_OK;
}

/* For some of the devices, the quicker ones more often, by their speed there. */
static berth_status cut_window(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                               berth_err *err)
{
	const berth_cut_way *way;
	int32_t k = berth_cut_quickest(m->c, window_ops(m), m->n, m->dev, m->ns);
	if (k < 2)
		return BERTH_OK;
	int32_t n = 2 + (int32_t)berth_rng_below(rng, (uint32_t)(k - 1));
	for (int32_t i = 0; i < n; i++) /* n of the k, mostly the first */
		if (berth_rng_below(rng, 4) == 0) {
			int32_t j = i + (int32_t)berth_rng_below(rng, (uint32_t)(k - i)), d = m->dev[i];
			m->dev[i] = m->dev[j];
			m->dev[j] = d;
		}
	BERTH_TRY(berth_cut_by_speed(m->dev, n, m->ns, m->mem, &way, err));
	*moved = set_ways(m, way, op);
	return BERTH_OK;
}

/* As what stands before the window, or behind it: a chain grows. */
static berth_status as_neighbour(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                                 berth_err *err)
{
	const int32_t *topo = m->c->p->g->topo_op;
	int32_t at = berth_rng_below(rng, 2) ? m->first - 1 : m->first + m->n;
	(void)err;
	if (at < 0 || at >= m->c->p->n_ops)
		return BERTH_OK;
	*moved = set_ways(m, op[topo[at]].way, op);
	return BERTH_OK;
}

/* One device has more or less of it. */
static berth_status shift_shares(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                                 berth_err *err)
{
	const berth_cut_way *from = op[window_ops(m)[0]].way;
	berth_cut_way *to;
	int32_t *dev;
	double *share, sum = 0;
	uint32_t k = (uint32_t)from->k;
	if (k < 2)
		return BERTH_OK;
	BERTH_TRY_NEW(m->mem, 1, err, to);
	BERTH_TRY_NEW(m->mem, k, err, dev, share);
	*to = (berth_cut_way){0, dev, share};
	uint32_t at = berth_rng_below(rng, k);
	double times = exp(0.4 * (2 * berth_rng_unit(rng) - 1));
	for (uint32_t i = 0; i < k; i++)
		sum += from->share[i] * (i == at ? times : 1);
	for (uint32_t i = 0; i < k; i++) {
		double x = from->share[i] * (i == at ? times : 1) / sum;
		if (x < LEAST_SHARE)
			continue;
		dev[to->k] = from->dev[i];
		share[to->k++] = x;
	}
	*moved = to->k > 0;
	if (*moved)
		replace_way(m, from, to, op);
	return BERTH_OK;
}

/* Two devices change places, everywhere in the window. */
static berth_status exchange_devices(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                             berth_err *err)
{
	const berth_cut_way *from = op[window_ops(m)[0]].way;
	uint32_t n = (uint32_t)m->c->p->n_devs;
	berth_cut_way *to;
	int32_t *dev, a = (int32_t)berth_rng_below(rng, n), b = (int32_t)berth_rng_below(rng, n);
	BERTH_TRY_NEW(m->mem, 1, err, to);
	BERTH_TRY_NEW(m->mem, from->k, err, dev);
	*to = (berth_cut_way){from->k, dev, from->share};
	for (int32_t i = 0; i < from->k; i++) {
		dev[i] = from->dev[i] == a ? b : from->dev[i] == b ? a : from->dev[i];
		*moved |= dev[i] != from->dev[i];
	}
	replace_way(m, from, to, op);
	return BERTH_OK;
}

/* Along one that the first of the window has, or all along the cheapest. */
static berth_status turn_axis(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                              berth_err *err)
{
	const pieces_axes *a = m->c->axes[window_ops(m)[0]];
	const char *axis = NULL;
	(void)err;
	if (a && berth_rng_below(rng, 3))
		axis = a->axis[berth_rng_below(rng, (uint32_t)a->n)];
	for (int32_t i = 0; i < m->n; i++) {
		const pieces_axes *b = m->c->axes[window_ops(m)[i]];
		berth_cut_op *x = &op[window_ops(m)[i]];
		bool has = !axis;
		for (int32_t k = 0; b && axis && k < b->n; k++)
			has |= strcmp(b->axis[k], axis) == 0;
		if (!b || !has || x->axis == axis || (axis && x->axis && strcmp(x->axis, axis) == 0))
			continue;
		x->axis = axis;
		*moved |= x->way->k > 1;
	}
	return BERTH_OK;
}

/* What pieces take and sum is joined by one node, or by each. */
static berth_status change_joints(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                                  berth_err *err)
{
	bool each = !op[window_ops(m)[0]].each;
	(void)rng;
	(void)err;
	for (int32_t i = 0; i < m->n; i++) {
		berth_cut_op *x = &op[window_ops(m)[i]];
		*moved |= x->way->k > 1 && x->each != each;
		x->each = each;
	}
	return BERTH_OK;
}

berth_status berth_cut_moves_draw(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                                  berth_err *err)
{
	static move *const moves[] = {put_together, cut_window,   cut_window,   as_neighbour,
	                              as_neighbour, shift_shares, shift_shares, exchange_devices,
	                              turn_axis,    change_joints};
	*moved = false;
	if (m->c->p->n_ops == 0)
		return BERTH_OK;
	/* Sizes are as likely from 1 to 2 as from 2 to 4. */
	int32_t n = m->c->p->n_ops, size = (int32_t)exp(berth_rng_unit(rng) * log((double)n + 1));
	size = size < 1 ? 1 : size > n ? n : size;
	m->n = size;
	m->first = (int32_t)berth_rng_below(rng, (uint32_t)(n - size + 1));
	uint32_t i = berth_rng_below(rng, sizeof moves / sizeof *moves);
	return moves[i](m, rng, op, moved, err);
}
