/* Walks over placements whose value is a sum of times; see sum_walk.h. */
#include "sum_walk.h"

#include "array.h"

berth_status berth_sum_walk_new(const berth_problem *p, berth_arena *mem, berth_sum_walk *out, berth_err *err)
{
	*out = (berth_sum_walk){.p = p};
	BERTH_TRY_NEW(mem, p->n_ops, err, out->op_dev);
	return BERTH_NEW(mem, out->uses, (size_t)p->g->n_tensors * (size_t)p->n_devs, err);
}

void berth_sum_walk_set(berth_sum_walk *w, const int32_t *op_dev)
{
	const berth_problem *p = w->p;
	const berth_graph *g = p->g;
	BERTH_COPY(w->op_dev, op_dev, p->n_ops);
	BERTH_CLEAR(w->uses, (size_t)g->n_tensors * (size_t)p->n_devs);
	w->sum_ns = w->n_lost = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		w->sum_ns += berth_op_time(p, op, op_dev[op]);
		w->n_lost += berth_op_time(p, op, op_dev[op]) < 0;
	}
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t home = op_dev[g->tensor_producer[t]];
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = op_dev[g->edge_consumer[e]];
			w->sum_ns += w->uses[berth_cell(p, t, to)]++ ? 0 : berth_transfer_ns(p, t, home, to);
		}
	}
}

void berth_sum_walk_move(berth_sum_walk *w, int32_t op, int32_t dev)
{
	const berth_problem *p = w->p;
	const berth_graph *g = p->g;
	int32_t was = w->op_dev[op];
	if (was == dev)
		return;
	w->op_dev[op] = dev;
	w->sum_ns += berth_op_time(p, op, dev) - berth_op_time(p, op, was);
	w->n_lost += (berth_op_time(p, op, dev) < 0) - (berth_op_time(p, op, was) < 0);
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = w->op_dev[g->tensor_producer[t]];
		w->sum_ns -= --w->uses[berth_cell(p, t, was)] ? 0 : berth_transfer_ns(p, t, home, was);
		w->sum_ns += w->uses[berth_cell(p, t, dev)]++ ? 0 : berth_transfer_ns(p, t, home, dev);
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		BERTH_EACH (t, g->op_tensor_off, op)
			if (w->uses[berth_cell(p, t, d)])
				w->sum_ns +=
					berth_transfer_ns(p, t, dev, d) - berth_transfer_ns(p, t, was, d);
}

void berth_sum_walk_move_coloc(berth_sum_walk *w, int32_t coloc, int32_t dev)
{
	BERTH_EACH (i, w->p->coloc_off, coloc)
		berth_sum_walk_move(w, w->p->coloc_op[i], dev);
}

void berth_sum_walk_follow(berth_sum_walk *w, const int32_t *op_dev)
{
	for (int32_t op = 0; op < w->p->n_ops; op++)
		berth_sum_walk_move(w, op, op_dev[op]);
}
