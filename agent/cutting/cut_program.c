/* A program of pieces, from what becomes of each operator to its score. */
#include "cut_program.h"

#include "load.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static berth_status map_ops(const berth_graph *g, berth_arena *mem, berth_strmap *map, berth_err *err)
{
	int32_t found;
	berth_strmap_init(map, mem);
	BERTH_TRY(berth_strmap_reserve(map, (size_t)g->n_ops, err));
	for (int32_t op = 0; op < g->n_ops; op++)
		BERTH_TRY(berth_strmap_add(map, g->op_name[op], op, &found, err));
	return BERTH_OK;
}

berth_status berth_cutting_open(berth_cutting *c, berth_arena *mem, berth_err *err)
{
	berth_strmap ops;
	pieces_axes *list;
	int32_t n;
	BERTH_TRY(map_ops(c->p->g, mem, &ops, err));
	BERTH_TRY(pieces_list(c->source, c->outside, mem, &list, &n, err));
	BERTH_TRY(BERTH_NEW(mem, c->axes, c->p->n_ops, err));
	for (int32_t i = 0; i < n; i++) {
		int32_t op = berth_strmap_get(&ops, list[i].op);
		if (op >= 0)
			c->axes[op] = &list[i];
	}
	return BERTH_OK;
}

int32_t berth_cut_way_most(const berth_cut_way *w)
{
	int32_t most = 0;
	for (int32_t i = 1; i < w->k; i++)
		if (w->share[i] > w->share[most])
			most = i;
	return w->dev[most];
}

/* ---- cutting ---- */

static berth_status cut(const berth_cutting *c, const berth_cut_op *op, berth_arena *mem, pieces_model *out,
                        berth_err *err)
{
	const berth_graph *g = c->p->g;
	pieces_ask *ask;
	pieces_options opt = {.outside = c->outside};
	BERTH_TRY(BERTH_NEW(mem, ask, g->n_ops, err));
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t at = g->topo_op[i];
		if (c->axes[at] && op[at].way->k > 1)
			ask[opt.n_asks++] = (pieces_ask){c->axes[at]->op, op[at].axis, op[at].way->k,
			                                 op[at].way->share, op[at].each};
	}
	opt.ask = ask;
	return pieces_cut_source(c->source, &opt, mem, out, err);
}

static berth_status read(const berth_cutting *c, berth_arena *mem, berth_arena *tmp, berth_cut_program *out,
                         berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	size_t size;
	const char *data = berth_file_join(out->made.piece, out->made.n_pieces, tmp, &size);
	berth_status st =
		data ? berth_graph_parse(c->name, data, size, c->after, mem, tmp, &out->g, NULL, err)
		     : berth_nomem(err);
	if (st == BERTH_OK)
		st = berth_problem_new(&out->g, c->p->s, mem, tmp, &out->p, err);
	berth_arena_reset(tmp, mark);
	return st;
}

/* ---- placing ---- */

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

/* Pieces and whole operators, by their names; -1: what stands between them. */
static berth_status place_named(const berth_cutting *c, const berth_cut_op *op, berth_arena *tmp,
                                berth_cut_program *x, berth_err *err)
{
	const pieces_model *m = &x->made;
	const berth_graph *g = c->p->g;
	berth_strmap after, before;
	BERTH_TRY(map_ops(&x->g, tmp, &after, err));
	BERTH_TRY(map_ops(g, tmp, &before, err));
	for (int32_t i = 0; i < x->g.n_ops; i++) {
		int32_t whole = berth_strmap_get(&before, x->g.op_name[i]);
		x->op_dev[i] = whole < 0 ? -1 : legal(&x->p, i, berth_cut_way_most(op[whole].way));
	}
	for (int32_t i = 0; i < m->n_made; i++) {
		int32_t whole = berth_strmap_get(&before, m->made[i].op);
		for (int32_t k = 0; whole >= 0 && k < m->made[i].k; k++) {
			int32_t piece = berth_strmap_get(&after, m->made[i].name[k]);
			if (piece >= 0)
				x->op_dev[piece] = legal(&x->p, piece, op[whole].way->dev[k]);
		}
	}
	return BERTH_OK;
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

/* What stands between pieces: where it is done and sent in the least time. */
static berth_status place_between(berth_arena *tmp, berth_cut_program *x, berth_err *err)
{
	const berth_graph *g = &x->g;
	bool *to;
	BERTH_TRY(BERTH_NEW(tmp, to, x->p.n_devs, err));
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i], best = -1;
		int64_t least = INT64_MAX;
		for (int32_t d = 0; x->op_dev[op] < 0 && d < x->p.n_devs; d++) {
			if (!berth_op_legal(&x->p, op, d))
				continue;
			int64_t ns = berth_op_time(&x->p, op, d) + travel_ns(&x->p, x->op_dev, op, d, to);
			best = ns < least ? d : best;
			least = ns < least ? ns : least;
		}
		if (x->op_dev[op] < 0)
			x->op_dev[op] = best < 0 ? 0 : best;
	}
	return BERTH_OK;
}

/* ---- the order ---- */

typedef struct way_to_end {
	int64_t ns; /* from the operator's start, at least */
	int32_t topo;
} way_to_end;

static int farthest_first(const void *a, const void *b)
{
	const way_to_end *x = a, *y = b;
	return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : (x->topo > y->topo) - (x->topo < y->topo);
}

/* Keys [n_ops] by the longest way to the end: upward ranks of this placement. */
static berth_status find_keys(const berth_cut_program *x, berth_arena *tmp, uint32_t **key, berth_err *err)
{
	const berth_graph *g = &x->g;
	way_to_end *way;
	int64_t *ns;
	BERTH_TRY(BERTH_NEW(tmp, way, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, ns, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, *key, g->n_ops, err));
	for (int32_t i = g->n_ops; i-- > 0;) {
		int32_t op = g->topo_op[i], dev = x->op_dev[op];
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
				int32_t to = g->edge_consumer[e];
				int64_t way_ns =
					ns[to] + (x->op_dev[to] == dev
				                          ? 0
				                          : berth_transfer_ns(&x->p, t, dev, x->op_dev[to]));
				ns[op] = way_ns > ns[op] ? way_ns : ns[op];
			}
		ns[op] += berth_op_time(&x->p, op, dev);
		way[i] = (way_to_end){ns[op], i};
	}
	qsort(way, (size_t)g->n_ops, sizeof *way, farthest_first);
	for (int32_t i = 0; i < g->n_ops; i++)
		(*key)[g->topo_op[way[i].topo]] = (uint32_t)i;
	return BERTH_OK;
}

static berth_status take_score(berth_cut_program *x, berth_arena *mem, berth_arena *tmp, berth_eval *eval,
                               berth_err *err)
{
	int32_t *order;
	uint32_t *key;
	BERTH_TRY(BERTH_NEW(mem, order, x->g.n_ops, err));
	BERTH_TRY(find_keys(x, tmp, &key, err));
	x->score = berth_eval_run(eval, x->op_dev, NULL);
	berth_score graph = berth_eval_run(eval, x->op_dev, x->g.topo_op);
	x->evaluations = 2;
	if (berth_score_less(graph, x->score)) {
		x->score = graph;
		x->order = x->g.topo_op;
	}
	if (!isfinite(x->score.excess) || !berth_keys_work(&x->p))
		return BERTH_OK;
	berth_score keyed = berth_eval_keyed(eval, (berth_keyed){x->op_dev, key});
	x->evaluations++;
	if (!berth_score_less(keyed, x->score))
		return BERTH_OK;
	berth_sim_start_order(eval->sim, order);
	x->score = keyed;
	x->order = order;
	return BERTH_OK;
}

static berth_status place(const berth_cutting *c, const berth_cut_op *op, berth_arena *mem, berth_arena *tmp,
                          berth_cut_program *x, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_eval eval;
	BERTH_TRY(BERTH_NEW(mem, x->op_dev, x->g.n_ops, err));
	berth_status st = place_named(c, op, tmp, x, err);
	if (st == BERTH_OK)
		st = place_between(tmp, x, err);
	if (st == BERTH_OK)
		st = berth_eval_new(&x->p, &c->objective, tmp, &eval, err);
	if (st == BERTH_OK)
		st = take_score(x, mem, tmp, &eval, err);
	berth_arena_reset(tmp, mark);
	return st;
}

berth_status berth_cut_program_make(const berth_cutting *c, const berth_cut_op *op, berth_arena *mem,
                                    berth_arena *tmp, berth_cut_program *out, berth_err *err)
{
	*out = (berth_cut_program){.order = NULL};
	BERTH_TRY(cut(c, op, mem, &out->made, err));
	BERTH_TRY(read(c, mem, tmp, out, err));
	return place(c, op, mem, tmp, out, err);
}
