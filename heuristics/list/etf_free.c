/* See etf_free.h. Of the ready operators on a device those whose inputs come after its last operator ends
 * start with their inputs; all others start when it ends, so that their order never changes. Each device
 * has a heap of either. When a device is taken for longer, those of the first heap that come late are moved
 * to the second as they come to the top: their keys have only grown. */
#include "etf_free.h"

typedef struct waiting {
	int64_t key_ns; /* of those that start with their inputs: start or end; else 0 or the time it takes */
	int32_t topo;
} waiting;

typedef struct heap {
	waiting *at;
	size_t n, cap;
} heap;

typedef struct etf_free {
	const berth_problem *p;
	etf_key key;
	berth_partial *part;
	heap *later, *now; /* [n_devs] */
	int32_t *waits;    /* [n_ops] producers not placed */
	int64_t *ready_ns; /* [n_devs] scratch */
	int64_t n_steps;
	berth_arena *tmp;
} etf_free;

/* The pair that comes first so far. */
typedef struct choice {
	int64_t key_ns, start_ns;
	int32_t topo, dev; /* dev -1: none */
} choice;

static bool before(const waiting *a, const waiting *b)
{
	return a->key_ns != b->key_ns ? a->key_ns < b->key_ns : a->topo < b->topo;
}

static berth_status push(etf_free *x, heap *h, waiting new, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(x->tmp, h->at, h->n, &h->cap, err));
	size_t i = h->n++;
	for (; i > 0 && before(&new, &h->at[(i - 1) / 2]); i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = new;
	x->n_steps++;
	return BERTH_OK;
}

static waiting pop(heap *h)
{
	waiting top = h->at[0], last = h->at[--h->n];
	size_t i = 0;
	for (size_t c; (c = 2 * i + 1) < h->n; i = c) {
		c += c + 1 < h->n && before(&h->at[c + 1], &h->at[c]);
		if (!before(&h->at[c], &last))
			break;
		h->at[i] = h->at[c];
	}
	h->at[i] = last;
	return top;
}

/* Nothing of those that were placed elsewhere stays on top. */
static void drop_placed(const etf_free *x, heap *h)
{
	while (h->n && berth_partial_end_ns(x->part)[x->p->g->topo_op[h->at[0].topo]] >= 0)
		pop(h);
}

/* What the key is beside the start. */
static int64_t extra_ns(const etf_free *x, int32_t topo, int32_t dev)
{
	return x->key == ETF_START ? 0 : berth_op_time(x->p, x->p->g->topo_op[topo], dev);
}

/* When the device can take the next one, whichever that is. */
static int64_t free_ns(const etf_free *x, int32_t dev)
{
	return berth_partial_start(x->part, 0, dev, 0, false);
}

/* Both heaps of the device have on top what comes first of each. */
static berth_status settle(etf_free *x, int32_t dev, int64_t free, berth_err *err)
{
	heap *later = &x->later[dev];
	for (drop_placed(x, later); later->n; drop_placed(x, later)) {
		int64_t extra = extra_ns(x, later->at[0].topo, dev);
		if (later->at[0].key_ns - extra > free)
			break;
		BERTH_TRY(push(x, &x->now[dev], (waiting){extra, later->at[0].topo}, err));
		pop(later);
	}
	drop_placed(x, &x->now[dev]);
	return BERTH_OK;
}

static void choose(choice *best, int64_t key, int64_t start, int32_t topo, int32_t dev)
{
	if (best->dev >= 0 && (key > best->key_ns || (key == best->key_ns && topo >= best->topo)))
		return;
	*best = (choice){key, start, topo, dev};
}

/* The best of all pairs; of equal ones the lower topological index, then the lower device. */
static berth_status next(etf_free *x, choice *best, berth_err *err)
{
	best->dev = -1;
	for (int32_t d = 0; d < x->p->n_devs; d++) {
		const heap *later = &x->later[d], *now = &x->now[d];
		if (!later->n && !now->n)
			continue;
		int64_t free = free_ns(x, d);
		BERTH_TRY(settle(x, d, free, err));
		if (now->n)
			choose(best, free + now->at[0].key_ns, free, now->at[0].topo, d);
		if (later->n)
			choose(best, later->at[0].key_ns,
			       later->at[0].key_ns - extra_ns(x, later->at[0].topo, d), later->at[0].topo, d);
	}
	return BERTH_OK;
}

static berth_status push_op(etf_free *x, int32_t op, berth_err *err)
{
	int32_t topo = x->p->g->op_topo[op];
	berth_partial_ready(x->part, op, x->ready_ns);
	for (int32_t d = 0; d < x->p->n_devs; d++)
		if (berth_op_legal(x->p, op, d))
			BERTH_TRY(push(x, &x->later[d],
			               (waiting){x->ready_ns[d] + extra_ns(x, topo, d), topo}, err));
	return BERTH_OK;
}

static berth_status place(etf_free *x, const choice *c, berth_err *err)
{
	const berth_graph *g = x->p->g;
	int32_t op = g->topo_op[c->topo];
	berth_partial_place(x->part, op, c->dev, c->start_ns);
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (--x->waits[g->edge_consumer[e]] == 0)
				BERTH_TRY(push_op(x, g->edge_consumer[e], err));
	return BERTH_OK;
}

static berth_status run(etf_free *x, berth_err *err)
{
	const berth_graph *g = x->p->g;
	choice best = {.dev = 0};
	BERTH_TRY(BERTH_NEW(x->tmp, x->later, x->p->n_devs, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->now, x->p->n_devs, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->waits, x->p->n_ops, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->ready_ns, x->p->n_devs, err));
	for (int32_t op = 0; op < x->p->n_ops; op++)
		if ((x->waits[op] = g->op_in_off[op + 1] - g->op_in_off[op]) == 0)
			BERTH_TRY(push_op(x, op, err));
	while (best.dev >= 0) {
		BERTH_TRY(next(x, &best, err));
		if (best.dev >= 0)
			BERTH_TRY(place(x, &best, err));
	}
	return BERTH_OK;
}

bool etf_is_free(const berth_problem *p, const berth_partial *part)
{
	return berth_partial_asks_nothing(part) && p->n_colocs == p->n_ops;
}

berth_status etf_free_schedule(const berth_problem *p, etf_key key, berth_partial *part, int64_t *n_steps,
                               berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	etf_free x = {.p = p, .key = key, .part = part, .tmp = tmp};
	berth_status st = run(&x, err);
	berth_arena_reset(tmp, mark);
	if (n_steps)
		*n_steps = x.n_steps;
	return st;
}
