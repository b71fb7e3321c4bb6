/* Longest paths of a placement under a given order, and moves of operators within it; see op_sequence.h. */
#include "op_sequence.h"

#include "cost_model.h"

bool berth_sequence_exact(const berth_problem *p)
{
	const berth_system *s = p->s;
	bool exact = !s->contention && p->n_pools == 0 && s->cost_model->has_orders && !s->cost_model->run;
	for (int32_t d = 0; d < p->n_devs; d++)
		exact = exact && s->dev_slots[d] == 1;
	return exact;
}

berth_status berth_sequence_new(const berth_problem *p, berth_arena *mem, berth_sequence *out, berth_err *err)
{
	berth_sequence q = {.p = p};
	BERTH_TRY_NEW(mem, p->n_ops, err, q.op_dev, q.order, q.at, q.before, q.behind, q.mark, q.held);
	BERTH_TRY_NEW(mem, p->n_ops, err, q.ready_ns, q.start_ns, q.end_ns, q.tail_ns, q.data_tail_ns,
	              q.most_ns);
	BERTH_TRY_NEW(mem, p->n_devs, err, q.last);
	*out = q;
	return BERTH_OK;
}

void berth_sequence_set(berth_sequence *q, const int32_t *op_dev, const int32_t *order)
{
	int32_t n = q->p->n_ops;
	BERTH_COPY(q->op_dev, op_dev, n);
	BERTH_COPY(q->order, order, n);
	for (int32_t d = 0; d < q->p->n_devs; d++)
		q->last[d] = -1;
	for (int32_t i = 0; i < n; i++) {
		int32_t op = order[i], *last = &q->last[op_dev[op]];
		q->at[op] = i;
		q->before[op] = *last;
		q->behind[op] = -1;
		if (*last >= 0)
			q->behind[*last] = op;
		*last = op;
	}
}

/* ---- moves ---- */

static void link_up(berth_sequence *q, int32_t before, int32_t behind)
{
	if (before >= 0)
		q->behind[before] = behind;
	if (behind >= 0)
		q->before[behind] = before;
}

berth_sequence_move berth_sequence_place(const berth_sequence *q, int32_t op)
{
	return (berth_sequence_move){op, q->op_dev[op], q->before[op], q->behind[op]};
}

static bool takes_from_marked(const berth_sequence *q, int32_t op)
{
	const berth_graph *g = q->p->g;
	BERTH_EACH (i, g->op_in_off, op)
		if (q->mark[g->tensor_producer[g->in_tensor[i]]] == q->stamp)
			return true;
	return false;
}

static bool gives_to_marked(const berth_sequence *q, int32_t op)
{
	const berth_graph *g = q->p->g;
	BERTH_EACH_USE (e, g, op)
		if (q->mark[g->edge_consumer[e]] == q->stamp)
			return true;
	return false;
}

/* op goes behind place `to` of the sequence (step 1), or before it (-1), with all between that must stay on
 * its far side, by data or on a device that op is not on. False: what stands there is among it. */
static bool shift(berth_sequence *q, int32_t op, int32_t to, int32_t step)
{
	int32_t n = 0, from = q->at[op], put = from;
	const int32_t *near = step > 0 ? q->before : q->behind;
	q->mark[op] = ++q->stamp;
	q->held[n++] = op;
	for (int32_t i = from + step; i != to + step; i += step) {
		int32_t x = q->order[i], b = near[x];
		if ((b >= 0 && b != op && q->mark[b] == q->stamp) ||
		    (step > 0 ? takes_from_marked(q, x) : gives_to_marked(q, x))) {
			q->mark[x] = q->stamp;
			q->held[n++] = x;
		}
	}
	if (q->mark[q->order[to]] == q->stamp)
		return false;
	for (int32_t i = from + step; i != to + step; i += step) {
		int32_t x = q->order[i];
		if (q->mark[x] != q->stamp) {
			q->order[put] = x;
			q->at[x] = put;
			put += step;
		}
	}
	for (int32_t i = 0; i < n; i++, put += step) {
		q->order[put] = q->held[i];
		q->at[q->held[i]] = put;
	}
	return true;
}

bool berth_sequence_change(berth_sequence *q, const berth_sequence_move *m, int32_t *first, int32_t *last)
{
	int32_t op = m->op, at = q->at[op], to = at;
	if (m->before >= 0 && q->at[m->before] > at)
		to = q->at[m->before];
	else if (m->behind >= 0 && q->at[m->behind] < at)
		to = q->at[m->behind];
	if (to != at && !shift(q, op, to, to > at ? 1 : -1))
		return false;
	*first = at < to ? at : to;
	*last = at < to ? to : at;
	link_up(q, q->before[op], q->behind[op]);
	q->op_dev[op] = m->dev;
	link_up(q, m->before, op);
	link_up(q, op, m->behind);
	q->before[op] = m->before;
	q->behind[op] = m->behind;
	return true;
}

/* ---- times ---- */

void berth_sequence_heads(berth_sequence *q, int32_t first)
{
	const berth_problem *p = q->p;
	const berth_graph *g = p->g;
	int64_t most = first > 0 ? q->most_ns[first - 1] : 0;
	for (int32_t i = first; i < p->n_ops; i++) {
		int32_t op = q->order[i], d = q->op_dev[op], before = q->before[op];
		int64_t ready = 0;
		BERTH_EACH (k, g->op_in_off, op) {
			int32_t t = g->in_tensor[k], from = g->tensor_producer[t];
			int64_t at = q->end_ns[from];
			if (q->op_dev[from] != d)
				at += berth_transfer_ns(p, t, q->op_dev[from], d);
			ready = berth_max(ready, at);
		}
		q->ready_ns[op] = ready;
		q->start_ns[op] = before >= 0 ? berth_max(ready, q->end_ns[before]) : ready;
		q->end_ns[op] = q->start_ns[op] + berth_op_time(p, op, d);
		q->most_ns[i] = most = berth_max(most, q->end_ns[op]);
	}
	q->latency_ns = most;
}

void berth_sequence_tails(berth_sequence *q, int32_t last)
{
	const berth_problem *p = q->p;
	const berth_graph *g = p->g;
	for (int32_t i = last; i >= 0; i--) {
		int32_t op = q->order[i], d = q->op_dev[op], behind = q->behind[op];
		int64_t tail = 0;
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t) {
				int32_t to = g->edge_consumer[e];
				int64_t ns = q->tail_ns[to];
				if (q->op_dev[to] != d)
					ns += berth_transfer_ns(p, t, d, q->op_dev[to]);
				tail = berth_max(tail, ns);
			}
		q->data_tail_ns[op] = tail;
		q->tail_ns[op] =
			berth_op_time(p, op, d) + (behind >= 0 ? berth_max(tail, q->tail_ns[behind]) : tail);
	}
}
