/* Keeps, while a list is gone through, which operators are ready and what their consumers still wait for.
 * Each operator placed changes only its neighbours' entries. */
#include "around.h"

enum { MOST = 16 };

#define SLOWEST 5.0

static void fill_op(berth_around *x, int32_t op)
{
	const berth_problem *p = x->p;
	float *slower = BERTH_ROW(x->slower, op, p->n_devs);
	int64_t least = x->op_least_ns[op];
	x->op_fastest[op] = -1;
	for (int32_t v = 0; v < p->n_devs; v++) {
		bool legal = berth_op_legal(p, op, v);
		double times = legal ? (double)(berth_op_time(p, op, v) + 1) / (double)(least + 1) : 0;
		slower[v] = (float)(legal ? fmin(log(times), SLOWEST) : SLOWEST);
		if (legal && x->op_fastest[op] < 0 && berth_op_time(p, op, v) == least)
			x->op_fastest[op] = v;
	}
}

berth_status berth_around_new(const berth_problem *p, const int64_t *op_least_ns, berth_arena *mem,
                              berth_around *out, berth_err *err)
{
	size_t ops = (size_t)p->n_ops, devs = (size_t)p->n_devs;
	*out = (berth_around){.p = p, .op_least_ns = op_least_ns};
	BERTH_TRY_NEW(mem, ops, err, out->op_fastest);
	BERTH_TRY_NEW(mem, ops * devs, err, out->slower);
	BERTH_TRY_NEW(mem, ops, err, out->op_queued);
	BERTH_TRY_NEW(mem, devs, err, out->queue_ns, out->mate_share, out->heirs_slower);
	for (int32_t op = 0; op < p->n_ops; op++)
		fill_op(out, op);
	return BERTH_OK;
}

/* ---- the queue ---- */

static void join(berth_around *x, int32_t op)
{
	if (x->op_queued[op])
		return; /* it takes several inputs from the operator that was taken last */
	x->op_queued[op] = 1;
	x->queue_ns[x->op_fastest[op]] += x->op_least_ns[op];
	x->queue_all_ns += x->op_least_ns[op];
}

void berth_around_start(berth_around *x, const berth_ready *r)
{
	memset(x->op_queued, 0, (size_t)x->p->n_ops);
	BERTH_CLEAR(x->queue_ns, x->p->n_devs);
	x->queue_all_ns = 0;
	for (int32_t k = 0; k < r->n; k++)
		join(x, x->p->g->topo_op[r->heap[k]]);
}

void berth_around_take(berth_around *x, const berth_ready *r, int32_t op)
{
	const berth_graph *g = x->p->g;
	x->op_queued[op] = 0;
	x->queue_ns[x->op_fastest[op]] -= x->op_least_ns[op];
	x->queue_all_ns -= x->op_least_ns[op];
	BERTH_EACH_USE (i, g, op)
		if (r->op_waits[g->edge_consumer[i]] == 0)
			join(x, g->edge_consumer[i]);
}

/* ---- consumers ---- */

/* Bytes that `to` gets from others than op and that are made already, by device; returns their sum. */
static double add_mates(berth_around *x, const berth_partial *part, int32_t op, int32_t to)
{
	const berth_graph *g = x->p->g;
	int32_t first = g->op_in_off[to], end = g->op_in_off[to + 1];
	double sum = 0;
	end = end < first + MOST ? end : first + MOST;
	for (int32_t i = first; i < end; i++) {
		int32_t from = g->tensor_producer[g->in_tensor[i]];
		int32_t home = from == op ? -1 : berth_partial_dev(part, from);
		if (home < 0)
			continue;
		x->mate_share[home] += (double)g->tensor_bytes[g->in_tensor[i]];
		sum += (double)g->tensor_bytes[g->in_tensor[i]];
	}
	return sum;
}

void berth_around_look(berth_around *x, const berth_partial *part, int32_t op)
{
	const berth_graph *g = x->p->g;
	size_t devs = (size_t)x->p->n_devs;
	double sum = 0;
	x->fan = 0;
	BERTH_CLEAR(x->mate_share, devs);
	BERTH_CLEAR(x->heirs_slower, devs);
	BERTH_EACH (t, g->op_tensor_off, op)
		for (int32_t i = g->tensor_use_off[t]; i < g->tensor_use_off[t + 1] && x->fan < MOST; i++) {
			int32_t to = g->edge_consumer[i];
			for (size_t v = 0; v < devs; v++)
				x->heirs_slower[v] += (double)x->slower[(size_t)to * devs + v];
			sum += add_mates(x, part, op, to);
			x->fan++;
		}
	for (size_t v = 0; v < devs; v++) {
		x->mate_share[v] /= sum > 0 ? sum : 1;
		x->heirs_slower[v] /= x->fan ? x->fan : 1;
	}
}
