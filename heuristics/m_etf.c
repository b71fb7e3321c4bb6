/* m-ETF of Baechi (Jeon et al. 2020, see m_topo.c): again and again the pair of a ready operator and a device that can start first, where the operator's
 * unit fits. No insertion. Starts only grow while operators are placed, so a heap of pairs with starts as they were is right when the smallest is looked at
 * again before it is taken. O(ops * devs * log(ops * devs)) and the rechecks. */
#include "method.h"
#include "partial.h"

typedef struct pair {
	int64_t start_ns;
	int32_t topo, dev;
} pair;

typedef struct etf {
	const berth_problem *p;
	berth_partial *part;
	pair *heap;
	int32_t n;
	int32_t *waits;    /* [n_ops] */
	int32_t *pairs;    /* [n_ops] of it in the heap */
	int64_t *ready_ns; /* [n_devs] scratch */
} etf;

static bool before(const pair *a, const pair *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->topo != b->topo ? a->topo < b->topo : a->dev < b->dev;
}

static void push(etf *x, pair new)
{
	int32_t i = x->n++;
	for (; i > 0 && before(&new, &x->heap[(i - 1) / 2]); i = (i - 1) / 2)
		x->heap[i] = x->heap[(i - 1) / 2];
	x->heap[i] = new;
}

static pair pop(etf *x)
{
	pair top = x->heap[0], last = x->heap[--x->n];
	int32_t i = 0;
	for (int32_t c; (c = 2 * i + 1) < x->n; i = c) {
		c += c + 1 < x->n && before(&x->heap[c + 1], &x->heap[c]);
		if (!before(&x->heap[c], &last))
			break;
		x->heap[i] = x->heap[c];
	}
	x->heap[i] = last;
	return top;
}

/* Pairs of an operator that became ready. */
static void push_op(etf *x, int32_t op)
{
	const berth_problem *p = x->p;
	berth_partial_ready(x->part, op, x->ready_ns);
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_legal(p, op, d)) {
			push(x, (pair){berth_partial_start(x->part, op, d, x->ready_ns[d], false), p->g->op_topo[op], d});
			x->pairs[op]++;
		}
}

static void place(etf *x, int32_t op, int32_t dev, int64_t start)
{
	const berth_graph *g = x->p->g;
	berth_partial_place(x->part, op, dev, start);
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (--x->waits[g->edge_consumer[e]] == 0)
				push_op(x, g->edge_consumer[e]);
}

/* Where op must go: its unit's device, or the roomiest where it fits nowhere; -1: it has a choice. */
static int32_t must_go(const etf *x, int32_t op)
{
	int32_t bound = berth_partial_dev(x->part, op), unit = x->p->op_unit[op];
	for (int32_t d = 0; d < x->p->n_devs && bound < 0; d++)
		if (berth_op_legal(x->p, op, d) && berth_partial_fits(x->part, unit, d))
			return -1;
	return bound >= 0 ? bound : berth_partial_roomiest(x->part, unit);
}

/* Look at the pair again: its device may have filled up, its start have moved. */
static void look_again(etf *x, pair top)
{
	int32_t op = x->p->g->topo_op[top.topo], must = must_go(x, op);
	x->pairs[op]--;
	if (must >= 0 ? must != top.dev : !berth_partial_fits(x->part, x->p->op_unit[op], top.dev)) {
		if (x->pairs[op] > 0 || must < 0)
			return; /* it has others */
		top.dev = must; /* that pair was given up when it had a choice */
		top.start_ns = -1;
	}
	berth_partial_ready(x->part, op, x->ready_ns);
	int64_t start = berth_partial_start(x->part, op, top.dev, x->ready_ns[top.dev], false);
	if (start > top.start_ns) {
		push(x, (pair){start, top.topo, top.dev});
		x->pairs[op]++;
	} else {
		place(x, op, top.dev, start);
	}
}

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	etf x = *(const etf *)ctx;
	const berth_problem *p = x.p;
	const berth_graph *g = p->g;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	x.part = part;
	BERTH_TRY(BERTH_NEW(tmp, x.heap, (size_t)p->n_ops * (size_t)p->n_devs + 1, err));
	BERTH_TRY(BERTH_NEW(tmp, x.waits, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, x.pairs, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, x.ready_ns, p->n_devs, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		if ((x.waits[op] = g->op_in_off[op + 1] - g->op_in_off[op]) == 0)
			push_op(&x, op);
	while (x.n) {
		pair top = pop(&x);
		if (berth_partial_end_ns(part)[g->topo_op[top.topo]] < 0)
			look_again(&x, top);
	}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	etf x = {.p = s->p};
	return berth_offer_schedule(s, schedule, &x, tmp, err);
}

const berth_method berth_method_m_etf = {"m-etf", "The operator and device that can start first, where memory allows it (Baechi, Jeon et al. 2020).", false, run};
