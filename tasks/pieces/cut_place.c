/* Placing a program of pieces; see cut_place.h. */
#include "cut_place.h"

#include "coloc.h"
#include "piece_names.h"

#include <string.h>

static int32_t quickest(const berth_problem *p, int32_t op)
{
	int32_t best = -1;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_legal(p, op, d) &&
		    (best < 0 || berth_op_time(p, op, d) < berth_op_time(p, op, best)))
			best = d;
	return best < 0 ? 0 : best;
}

static int32_t legal(const berth_problem *p, int32_t op, int32_t dev)
{
	return dev >= 0 && berth_op_legal(p, op, dev) ? dev : quickest(p, op);
}

/* Pieces and whole operators; -1: all others. */
static void place_named(const cut_making *m)
{
	berth_cut_program *x = m->x;
	for (int32_t i = 0; i < x->g.n_ops; i++) {
		cut_origin from = m->origin[m->of[i]];
		x->op_dev[i] = -1;
		if (!cut_making_is_copy(m, i) || from.op < 0)
			continue;
		const berth_cut_way *way = m->op[from.op].way;
		x->op_dev[i] = legal(&x->p, i,
		                     from.piece < 0 ? berth_cut_way_most(way) : way->dev[from.piece]);
	}
}

/* Time that tensors of op are on their way, where it stands on dev: from those who make them, and to each
 * other device of those who are placed and take them. to [n_devs] is scratch. */
static int64_t travel_ns(const berth_problem *p, const int32_t *op_dev, int32_t op, int32_t dev, bool *to)
{
	const berth_graph *g = p->g;
	int64_t sum = 0;
	for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
		int32_t from = op_dev[g->tensor_producer[g->in_tensor[i]]];
		sum += from == dev ? 0 : berth_transfer_ns(p, g->in_tensor[i], from, dev);
	}
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++) {
		memset(to, 0, (size_t)p->n_devs * sizeof *to);
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (op_dev[g->edge_consumer[e]] >= 0)
				to[op_dev[g->edge_consumer[e]]] = true;
		for (int32_t d = 0; d < p->n_devs; d++)
			sum += to[d] && d != dev ? berth_transfer_ns(p, t, dev, d) : 0;
	}
	return sum;
}

/* Is it placed, and the i-th of k, too? */
static bool is_fellow(const berth_cut_program *x, int32_t op, int32_t i, int32_t k)
{
	int32_t of;
	return x->op_dev[op] >= 0 && berth_piece_share(x->g.op_name[op], &of) == i && of == k;
}

/* The device of a neighbour of the same number; -1: it has none. */
static int32_t with_fellow(const berth_cut_program *x, int32_t op)
{
	const berth_graph *g = &x->g;
	int32_t k, i = berth_piece_share(g->op_name[op], &k);
	if (!i)
		return -1;
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (is_fellow(x, g->edge_consumer[e], i, k))
				return x->op_dev[g->edge_consumer[e]];
	for (int32_t n = g->op_in_off[op]; n < g->op_in_off[op + 1]; n++)
		if (is_fellow(x, g->tensor_producer[g->in_tensor[n]], i, k))
			return x->op_dev[g->tensor_producer[g->in_tensor[n]]];
	return -1;
}

/* Where it is done and sent in the least time. to [n_devs] is scratch. */
static int32_t nearest(const berth_cut_program *x, int32_t op, bool *to)
{
	int32_t best = 0;
	int64_t least = INT64_MAX;
	for (int32_t d = 0; d < x->p.n_devs; d++) {
		if (!berth_op_legal(&x->p, op, d))
			continue;
		int64_t ns = berth_op_time(&x->p, op, d) + travel_ns(&x->p, x->op_dev, op, d, to);
		best = ns < least ? d : best;
		least = ns < least ? ns : least;
	}
	return best;
}

static berth_status place_others(const cut_making *m, berth_err *err)
{
	berth_cut_program *x = m->x;
	bool *to;
	BERTH_TRY(BERTH_NEW(m->tmp, to, x->p.n_devs, err));
	for (int32_t i = 0; i < x->g.n_ops; i++) {
		int32_t op = x->g.topo_op[i];
		if (x->op_dev[op] >= 0)
			continue;
		if (!cut_making_is_copy(m, op)) {
			x->op_dev[op] = legal(&x->p, op, x->op_dev[m->copy[m->of[op]]]);
			continue;
		}
		int32_t d = with_fellow(x, op);
		x->op_dev[op] = d >= 0 ? legal(&x->p, op, d) : nearest(x, op, to);
	}
	return BERTH_OK;
}

static void place_groups(berth_cut_program *x)
{
	for (int32_t k = 0; k < x->p.n_colocs; k++) {
		int32_t first = x->p.coloc_op[x->p.coloc_off[k]];
		berth_coloc_put(&x->p, k, legal(&x->p, first, x->op_dev[first]), x->op_dev);
	}
}

berth_status cut_place(cut_making *m, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(m->mem, m->x->op_dev, m->x->g.n_ops, err));
	place_named(m);
	BERTH_TRY(place_others(m, err));
	place_groups(m->x);
	return BERTH_OK;
}
