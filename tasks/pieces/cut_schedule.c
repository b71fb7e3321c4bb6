/* A program of pieces in time: where its operators stand, and the best of some orders on each device. */
#include "cut_making.h"

#include "coloc.h"
#include "sort.h"

/* ---- places ---- */

/* Time that tensors of op are on their way, where it stands on dev: from those who make them, and to each
 * other device of those who are placed and take them. to [n_devs] is scratch. */
static int64_t travel_ns(const berth_problem *p, const int32_t *op_dev, int32_t op, int32_t dev, bool *to)
{
	const berth_graph *g = p->g;
	int64_t sum = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t from = op_dev[g->tensor_producer[g->in_tensor[i]]];
		sum += from == dev ? 0 : berth_transfer_ns(p, g->in_tensor[i], from, dev);
	}
	BERTH_EACH (t, g->op_tensor_off, op) {
		BERTH_CLEAR(to, p->n_devs);
		BERTH_EACH (e, g->tensor_use_off, t)
			if (op_dev[g->edge_consumer[e]] >= 0)
				to[op_dev[g->edge_consumer[e]]] = true;
		for (int32_t d = 0; d < p->n_devs; d++)
			sum += to[d] && d != dev ? berth_transfer_ns(p, t, dev, d) : 0;
	}
	return sum;
}

/* Where op runs in the least time, or with to [n_devs], which is scratch, is done and sent in the least. */
static int32_t quickest_device(const berth_cut_program *x, int32_t op, bool *to)
{
	int32_t best = 0;
	int64_t least = INT64_MAX;
	for (int32_t d = 0; d < x->p.n_devs; d++) {
		if (!berth_op_legal(&x->p, op, d))
			continue;
		int64_t ns = berth_op_time(&x->p, op, d) + (to ? travel_ns(&x->p, x->op_dev, op, d, to) : 0);
		best = ns < least ? d : best;
		least = berth_min(ns, least);
	}
	return best;
}

static int32_t legal_device(const berth_cut_program *x, int32_t op, int32_t dev)
{
	return dev >= 0 && berth_op_legal(&x->p, op, dev) ? dev : quickest_device(x, op, NULL);
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
	BERTH_EACH_USE (e, g, op)
		if (is_fellow(x, g->edge_consumer[e], i, k))
			return x->op_dev[g->edge_consumer[e]];
	BERTH_EACH (n, g->op_in_off, op)
		if (is_fellow(x, g->tensor_producer[g->in_tensor[n]], i, k))
			return x->op_dev[g->tensor_producer[g->in_tensor[n]]];
	return -1;
}

static berth_status place_others(const cut_making *m, berth_err *err)
{
	berth_cut_program *x = m->x;
	bool *to;
	BERTH_TRY_NEW(m->tmp, x->p.n_devs, err, to);
	for (int32_t i = 0; i < x->g.n_ops; i++) {
		int32_t op = x->g.topo_op[i];
		if (x->op_dev[op] >= 0)
			continue;
		if (!cut_making_is_copy(m, op)) {
			x->op_dev[op] = legal_device(x, op, x->op_dev[m->copy[m->of[op]]]);
			continue;
		}
		int32_t d = with_fellow(x, op);
		x->op_dev[op] = d >= 0 ? legal_device(x, op, d) : quickest_device(x, op, to);
	}
	return BERTH_OK;
}

berth_status cut_place(cut_making *m, berth_err *err)
{
	berth_cut_program *x = m->x;
	BERTH_TRY_NEW(m->mem, x->g.n_ops, err, x->op_dev);
	/* Pieces and whole operators; -1: all others. */
	for (int32_t i = 0; i < x->g.n_ops; i++) {
		cut_origin from = m->origin[m->of[i]];
		x->op_dev[i] = -1;
		if (!cut_making_is_copy(m, i) || from.op < 0)
			continue;
		const berth_cut_way *way = m->op[from.op].way;
		int32_t dev = from.piece < 0 ? berth_cut_way_most(way) : way->dev[from.piece];
		x->op_dev[i] = legal_device(x, i, dev);
	}
	BERTH_TRY(place_others(m, err));
	for (int32_t k = 0; k < x->p.n_colocs; k++) {
		int32_t first = x->p.coloc_op[x->p.coloc_off[k]];
		berth_coloc_put(&x->p, k, legal_device(x, first, x->op_dev[first]), x->op_dev);
	}
	return BERTH_OK;
}

/* ---- orders ---- */

static int least_first(const void *ctx, int32_t a, int32_t b)
{
	const int64_t *key = ctx;
	return BERTH_COMPARE(key[a], key[b]);
}

/* *order [n_ops]: operators by key [n_ops], equals in the order of the graph. */
static berth_status sort_ops(const berth_graph *g, const int64_t *key, berth_arena *tmp, int32_t *order,
                             berth_err *err)
{
	int32_t *scratch;
	BERTH_TRY_NEW(tmp, g->n_ops, err, scratch);
	BERTH_COPY(order, g->topo_op, g->n_ops);
	berth_sort(order, (size_t)g->n_ops, scratch, least_first, key);
	return BERTH_OK;
}

/* Keys [n_ops] by the longest way to the end: upward ranks of this placement. */
static berth_status find_keys(const berth_cut_program *x, berth_arena *tmp, uint32_t **key, berth_err *err)
{
	const berth_graph *g = &x->g;
	int64_t *ns; /* to the end from the operator's start on, negative */
	int32_t *order;
	BERTH_TRY_NEW(tmp, g->n_ops, err, ns, order, *key);
	for (int32_t i = g->n_ops; i-- > 0;) {
		int32_t op = g->topo_op[i], dev = x->op_dev[op];
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t) {
				int32_t to = g->edge_consumer[e], at = x->op_dev[to];
				int64_t way = at == dev ? 0 : berth_transfer_ns(&x->p, t, dev, at);
				ns[op] = berth_min(ns[op], ns[to] - way);
			}
		ns[op] -= berth_op_time(&x->p, op, dev);
	}
	BERTH_TRY(sort_ops(g, ns, tmp, order, err));
	for (int32_t i = 0; i < g->n_ops; i++)
		(*key)[order[i]] = (uint32_t)i;
	return BERTH_OK;
}

/* ---- pipelines ---- */

/* Tasks are a micro-batch on a stage, forward or backward; a device is a stage. */
typedef struct pipeline {
	const cut_making *m;
	int32_t micro, stages;
	int32_t *micro_of; /* [cut.n_ops] micro-batch */
	int32_t *stage;    /* [n_devs] in the order of the graph; -1: it has no micro-batch */
	int32_t *turn;     /* [2][stages][micro] when a task is done, forward and backward */
} pipeline;

/* The micro-batch of a piece: how many the same device has before it. -1: it is none. */
static int32_t micro_of(const cut_making *m, cut_origin from)
{
	int32_t n = 0;
	if (from.piece < 0)
		return -1;
	const berth_cut_way *w = m->op[from.op].way;
	if (berth_cut_way_devices(w) == w->k)
		return -1;
	for (int32_t i = 0; i < from.piece; i++)
		n += w->dev[i] == w->dev[from.piece];
	return n;
}

/* Pieces have their own micro-batch; all others the last of what they take. */
static berth_status find_micro(pipeline *p, berth_arena *tmp, berth_err *err)
{
	const cut_making *m = p->m;
	const berth_graph *g = &m->cut;
	BERTH_TRY_NEW(tmp, g->n_ops, err, p->micro_of);
	BERTH_TRY_NEW(tmp, m->x->p.n_devs, err, p->stage);
	memset(p->stage, -1, (size_t)m->x->p.n_devs * sizeof *p->stage);
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i], own = micro_of(m, m->origin[op]), *now = &p->micro_of[op];
		*now = own > 0 ? own : 0;
		for (int32_t k = g->op_in_off[op]; own < 0 && k < g->op_in_off[op + 1]; k++) {
			int32_t before = p->micro_of[g->tensor_producer[g->in_tensor[k]]];
			*now = before > *now ? before : *now;
		}
		p->micro = own >= p->micro ? own + 1 : p->micro;
		int32_t dev = m->copy[op] < 0 ? -1 : m->x->op_dev[m->copy[op]];
		if (own >= 0 && dev >= 0 && p->stage[dev] < 0)
			p->stage[dev] = p->stages++;
	}
	return BERTH_OK;
}

static int32_t *turn_of(const pipeline *p, int32_t stage, int32_t micro, bool backward)
{
	return &p->turn[((int32_t)backward * p->stages + stage) * p->micro + micro];
}

/* The n-th task of a stage that runs `ahead` micro-batches forward before it goes backward. */
static void task_of(const pipeline *p, int32_t ahead, int32_t n, int32_t *micro, bool *backward)
{
	int32_t late = n - ahead, pairs = p->micro - ahead;
	*backward = late >= 0 && (late >= 2 * pairs || late % 2 == 0);
	*micro = late < 0 ? n : late >= 2 * pairs ? late - pairs : *backward ? late / 2 : ahead + late / 2;
}

/* Has what the task waits for been done? */
static bool can_start(const pipeline *p, int32_t stage, int32_t micro, bool backward)
{
	if (!backward)
		return stage == 0 || *turn_of(p, stage - 1, micro, false) >= 0;
	return stage == p->stages - 1 || *turn_of(p, stage + 1, micro, true) >= 0;
}

/* When tasks are done: in rounds, in each of which every stage does its next task if it can. early: backward
 * as soon as can be (1F1B). */
static berth_status find_turns(pipeline *p, bool early, berth_arena *tmp, berth_err *err)
{
	int32_t tasks = 2 * p->stages * p->micro, n = 0, *at, *start;
	BERTH_TRY_NEW(tmp, tasks, err, p->turn);
	BERTH_TRY_NEW(tmp, p->stages, err, at, start);
	memset(p->turn, -1, (size_t)tasks * sizeof *p->turn);
	while (n < tasks) {
		for (int32_t s = 0; s < p->stages; s++) {
			int32_t ahead = early && p->stages - s < p->micro ? p->stages - s : p->micro, micro;
			bool backward;
			start[s] = -1;
			if (at[s] == 2 * p->micro)
				continue;
			task_of(p, ahead, at[s], &micro, &backward);
			if (can_start(p, s, micro, backward))
				start[s] = 2 * micro + backward;
		}
		for (int32_t s = 0; s < p->stages; s++)
			if (start[s] >= 0) {
				*turn_of(p, s, start[s] / 2, start[s] % 2) = n++;
				at[s]++;
			}
	}
	return BERTH_OK;
}

/* The turn in which an operator of the step has its task. */
static int32_t turn_of_op(const pipeline *p, int32_t op)
{
	const berth_cut_program *x = p->m->x;
	const berth_graph *g = &x->g;
	const char *type = g->op_type[op] < 0 ? "" : g->type_name[g->op_type[op]];
	int32_t stage = p->stage[x->op_dev[op]];
	if (stage < 0 || strcmp(type, "OptimizerUpdate") == 0 || strcmp(type, "AllReduce") == 0)
		return stage < 0 ? 0 : 2 * p->stages * p->micro; /* as soon as can be; behind all */
	return *turn_of(p, stage, p->micro_of[p->m->of[op]], g->op_backward[op]);
}

/* By turns, within them what others wait for first. None is before what it takes. */
static berth_status order_by_turns(const pipeline *p, berth_arena *tmp, int32_t *order, berth_err *err)
{
	const berth_graph *g = &p->m->x->g;
	int64_t *place; /* turn << 32 | depth */
	BERTH_TRY_NEW(tmp, g->n_ops, err, place);
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i];
		int64_t turn = turn_of_op(p, op), depth = 0;
		BERTH_EACH (k, g->op_in_off, op) {
			int64_t from = place[g->tensor_producer[g->in_tensor[k]]];
			turn = berth_max(turn, from >> 32);
			depth = berth_max(depth, (from & UINT32_MAX) + 1);
		}
		place[op] = turn << 32 | depth;
	}
	return sort_ops(g, place, tmp, order, err);
}

/* ---- the best ---- */

/* Is it better than all before it? Then it is kept. */
static bool is_best(berth_cut_program *x, berth_score score)
{
	if (x->evaluations++ && !berth_score_less(score, x->score))
		return false;
	x->score = score;
	return true;
}

/* order: NULL or x's to keep. */
static void try_order(berth_cut_program *x, berth_eval *eval, const int32_t *order)
{
	if (is_best(x, berth_eval_run(eval, x->op_dev, order)))
		x->order = order;
}

static berth_status try_keys(cut_making *m, berth_eval *eval, berth_err *err)
{
	berth_cut_program *x = m->x;
	uint32_t *key;
	int32_t *order;
	if (!isfinite(x->score.excess) || !berth_keys_work(&x->p))
		return BERTH_OK;
	BERTH_TRY(find_keys(x, m->tmp, &key, err));
	BERTH_TRY_NEW(m->mem, x->g.n_ops, err, order);
	if (!is_best(x, berth_eval_keyed(eval, (berth_keyed){x->op_dev, key})))
		return BERTH_OK;
	berth_sim_start_order(eval->sim, order);
	x->order = order;
	return BERTH_OK;
}

static berth_status try_pipelines(cut_making *m, berth_eval *eval, berth_err *err)
{
	pipeline p = {.m = m};
	if (!m->c->training)
		return BERTH_OK;
	BERTH_TRY(find_micro(&p, m->tmp, err));
	if (p.micro < 2 || p.stages < 2)
		return BERTH_OK;
	for (int early = 0; early < 2; early++) {
		int32_t *order;
		BERTH_TRY_NEW(m->mem, m->x->g.n_ops, err, order);
		BERTH_TRY(find_turns(&p, early, m->tmp, err));
		BERTH_TRY(order_by_turns(&p, m->tmp, order, err));
		try_order(m->x, eval, order);
	}
	return BERTH_OK;
}

berth_status cut_order(cut_making *m, berth_err *err)
{
	berth_eval eval;
	BERTH_TRY(berth_eval_new(&m->x->p, &m->c->objective, m->tmp, &eval, err));
	try_order(m->x, &eval, NULL);
	try_order(m->x, &eval, m->x->g.topo_op);
	BERTH_TRY(try_keys(m, &eval, err));
	return try_pipelines(m, &eval, err);
}
