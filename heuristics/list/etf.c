/* Earliest task first. Of the ready operators on a device those whose inputs come after its last operator
 * ends start with their inputs; all others start when it ends, so that their order never changes. Each device
 * has a heap of either. When a device is taken for longer, those of the first heap that come late are moved
 * to the second as they come to the top: their keys have only grown. A device that is awake holds others
 * back: what would come first there, but is not urgent yet, is moved to a third heap, by when it may start.
 * That heap is poured back when the device is awake no more. */
#include "etf.h"

#include "offer_schedule.h"
#include "seeds.h"
#include "sort.h"

typedef struct waiting {
	/* what it starts or ends at; of those that wait for the device 0 or the time it takes */
	int64_t key_ns, ready_ns;
	int32_t topo;
	int32_t away; /* 0 on the device of its favourite parent, else 1 */
} waiting;

typedef struct heap {
	waiting *at;
	size_t n, cap;
} heap;

typedef struct device {
	heap later, now, held;
	int32_t child;    /* the favourite of what it ran last, where that could come; -1: none */
	int64_t until_ns; /* keeping it for that one is of use until then */
} device;

typedef struct etf {
	const berth_problem *p;
	etf_key key;
	const int32_t *child;
	berth_partial *part;
	device *dev;        /* [n_devs] */
	int32_t *op_parent; /* [n_ops] that it is the favourite child of; -1: none */
	int32_t *op_waits;  /* [n_ops] producers not placed */
	int32_t *op_pairs;  /* [n_ops] of it in heaps */
	int32_t *op_forced; /* [n_ops] the device that has to take it; -1: it has a choice */
	int64_t *urgent_ns; /* [n_ops] when its inputs could be on every device that may run it */
	int64_t *ready_ns;  /* [n_devs] scratch */
	int64_t n_steps;
	berth_arena *tmp;
} etf;

/* The pair that comes first so far. */
typedef struct choice {
	int64_t key_ns, start_ns;
	int32_t topo, dev; /* dev -1: none */
	int32_t rank;      /* of equal keys: 0 at home, 2 where a device is awake for another, else 1 */
	heap *from;
} choice;

static bool before(const void *ctx, const void *a, const void *b)
{
	const waiting *x = a, *y = b;
	(void)ctx;
	if (x->key_ns != y->key_ns)
		return x->key_ns < y->key_ns;
	return x->away != y->away ? x->away < y->away : x->topo < y->topo;
}

static berth_status push_waiting(etf *x, heap *h, waiting new, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(x->tmp, h->at, h->n, &h->cap, err));
	berth_heap_push(h->at, h->n++, sizeof new, &new, before, NULL);
	x->n_steps++;
	return BERTH_OK;
}

static void pop_waiting(heap *h)
{
	berth_heap_pop(h->at, h->n--, sizeof *h->at, before, NULL);
}

static bool is_placed(const etf *x, int32_t op)
{
	return berth_partial_end_ns(x->part)[op] >= 0;
}

/* Nothing of those that were placed elsewhere stays on top. */
static void drop_placed(const etf *x, heap *h)
{
	while (h->n && is_placed(x, x->p->g->topo_op[h->at[0].topo]))
		pop_waiting(h);
}

/* What the key is beside the start. */
static int64_t extra_ns(const etf *x, int32_t topo, int32_t dev)
{
	return x->key == ETF_START ? 0 : berth_op_time(x->p, x->p->g->topo_op[topo], dev);
}

/* ---- favourites ---- */

/* The device, where op ended, is awake for op's favourite child, if that can come there. */
static void stay_awake(etf *x, int32_t op, int32_t dev)
{
	device *v = &x->dev[dev];
	int32_t child = x->child ? x->child[op] : -1,
		bound = child >= 0 ? berth_partial_dev(x->part, child) : -1;
	v->child = -1;
	if (child < 0 || !berth_op_legal(x->p, child, dev) ||
	    (bound >= 0 ? bound != dev : !berth_partial_fits(x->part, x->p->op_coloc[child], dev)))
		return;
	v->child = child;
	/* When keeping dev, where op ended, for its child is of no more use: op's output could be on another
	 * device by then. */
	const berth_graph *g = x->p->g;
	int64_t least = -1;
	for (int32_t d = 0; d < x->p->n_devs; d++) {
		int64_t transfer = 0;
		if (d == dev || !berth_op_legal(x->p, child, d))
			continue;
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t)
				if (g->edge_consumer[e] == child)
					transfer += berth_transfer_ns(x->p, t, dev, d);
		least = least < 0 || transfer < least ? transfer : least;
	}
	v->until_ns = least < 0 ? INT64_MAX : berth_partial_end_ns(x->part)[op] + least;
}

/* The operator that dev is awake for; -1: none. */
static int32_t awake_for(const etf *x, int32_t dev)
{
	int32_t child = x->dev[dev].child;
	if (child < 0 || is_placed(x, child))
		return -1;
	int32_t bound = berth_partial_dev(x->part, child);
	return bound < 0 || bound == dev ? child : -1;
}

/* Not before then op may start on a device that is awake for another. */
static int64_t held_until_ns(const etf *x, int32_t op, const device *v)
{
	return x->urgent_ns[op] < v->until_ns ? x->urgent_ns[op] : v->until_ns;
}

/* What was held back goes back among the others. */
static berth_status pour_back(etf *x, int32_t dev, berth_err *err)
{
	heap *held = &x->dev[dev].held;
	for (size_t i = 0; i < held->n; i++) {
		waiting w = held->at[i];
		w.key_ns = w.ready_ns + extra_ns(x, w.topo, dev);
		BERTH_TRY(push_waiting(x, &x->dev[dev].later, w, err));
	}
	held->n = 0;
	return BERTH_OK;
}

/* ---- pairs ---- */

static berth_status push_pair(etf *x, int32_t op, int32_t dev, berth_err *err)
{
	int32_t topo = x->p->g->op_topo[op], parent = x->op_parent[op];
	bool home = parent >= 0 && berth_partial_dev(x->part, parent) == dev;
	x->op_pairs[op]++;
	return push_waiting(
		x, &x->dev[dev].later,
		(waiting){x->ready_ns[dev] + extra_ns(x, topo, dev), x->ready_ns[dev], topo, !home}, err);
}

/* Pairs of an operator that became ready. */
static berth_status push_op(etf *x, int32_t op, berth_err *err)
{
	int64_t urgent = 0;
	berth_partial_ready(x->part, op, x->ready_ns);
	for (int32_t d = 0; d < x->p->n_devs; d++)
		if (berth_op_legal(x->p, op, d)) {
			urgent = x->ready_ns[d] > urgent ? x->ready_ns[d] : urgent;
			BERTH_TRY(push_pair(x, op, d, err));
		}
	x->urgent_ns[op] = urgent;
	return BERTH_OK;
}

/* May op go to dev? */
static bool is_allowed(const etf *x, int32_t op, int32_t dev)
{
	int32_t bound = berth_partial_dev(x->part, op);
	if (bound >= 0 || x->op_forced[op] >= 0)
		return dev == (bound >= 0 ? bound : x->op_forced[op]);
	return berth_partial_fits(x->part, x->p->op_coloc[op], dev);
}

/* A pair of op is taken out, as its device refuses it. After the last one all devices are asked again; where
 * none takes it, the roomiest has to. */
static berth_status refuse(etf *x, int32_t op, berth_err *err)
{
	int32_t coloc = x->p->op_coloc[op], bound = berth_partial_dev(x->part, op);
	if (--x->op_pairs[op] > 0)
		return BERTH_OK;
	berth_partial_ready(x->part, op, x->ready_ns);
	for (int32_t d = 0; d < x->p->n_devs && bound < 0; d++)
		if (berth_op_legal(x->p, op, d) && berth_partial_fits(x->part, coloc, d))
			BERTH_TRY(push_pair(x, op, d, err));
	if (x->op_pairs[op] > 0)
		return BERTH_OK;
	x->op_forced[op] = bound >= 0 ? bound : berth_partial_roomiest(x->part, coloc);
	return push_pair(x, op, x->op_forced[op], err);
}

/* ---- the list ---- */

/* The device's heaps have on top what comes first of each, if nothing is held back. */
static berth_status settle(etf *x, int32_t dev, int64_t free, berth_err *err)
{
	device *v = &x->dev[dev];
	if (v->held.n && awake_for(x, dev) < 0)
		BERTH_TRY(pour_back(x, dev, err));
	for (drop_placed(x, &v->later); v->later.n; drop_placed(x, &v->later)) {
		waiting w = v->later.at[0];
		if (w.ready_ns > free)
			break;
		w.key_ns = extra_ns(x, w.topo, dev);
		BERTH_TRY(push_waiting(x, &v->now, w, err));
		pop_waiting(&v->later);
	}
	drop_placed(x, &v->now);
	drop_placed(x, &v->held);
	return BERTH_OK;
}

static bool comes_before(const choice *a, const choice *b)
{
	if (b->dev < 0 || a->key_ns != b->key_ns)
		return b->dev < 0 || a->key_ns < b->key_ns;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->topo != b->topo ? a->topo < b->topo : a->dev < b->dev;
}

static void consider(const etf *x, int32_t dev, heap *from, int64_t start, int32_t awake, choice *best)
{
	waiting w = from->at[0];
	bool other = awake >= 0 && x->p->g->topo_op[w.topo] != awake;
	choice c = {start + extra_ns(x, w.topo, dev), start, w.topo, dev, !w.away ? 0 : other ? 2 : 1, from};
	if (comes_before(&c, best))
		*best = c;
}

/* The best of all pairs, if nothing more is held back. */
static berth_status find_first(etf *x, choice *best, berth_err *err)
{
	best->dev = -1;
	for (int32_t d = 0; d < x->p->n_devs; d++) {
		device *v = &x->dev[d];
		if (!v->later.n && !v->now.n && !v->held.n)
			continue;
		/* When the device can take the next one, whichever that is. */
		int64_t free = berth_partial_start(x->part, 0, d, 0, false);
		BERTH_TRY(settle(x, d, free, err));
		int32_t awake = awake_for(x, d);
		if (v->now.n)
			consider(x, d, &v->now, free, awake, best);
		if (v->later.n)
			consider(x, d, &v->later, v->later.at[0].ready_ns, awake, best);
		if (v->held.n)
			consider(x, d, &v->held, v->held.at[0].key_ns - extra_ns(x, v->held.at[0].topo, d),
			         awake, best);
	}
	return BERTH_OK;
}

/* Is the pair held back by a device that is awake for another? Then it is moved. */
static berth_status hold_back(etf *x, const choice *c, bool *held, berth_err *err)
{
	device *v = &x->dev[c->dev];
	int32_t op = x->p->g->topo_op[c->topo], awake = awake_for(x, c->dev);
	*held = awake >= 0 && awake != op && c->from != &v->held && held_until_ns(x, op, v) > c->start_ns;
	if (!*held)
		return BERTH_OK;
	waiting w = c->from->at[0];
	w.key_ns = held_until_ns(x, op, v) + extra_ns(x, w.topo, c->dev);
	pop_waiting(c->from);
	return push_waiting(x, &v->held, w, err);
}

static berth_status place(etf *x, const choice *c, berth_err *err)
{
	const berth_graph *g = x->p->g;
	int32_t op = g->topo_op[c->topo];
	berth_partial_place(x->part, op, c->dev, c->start_ns);
	stay_awake(x, op, c->dev);
	BERTH_TRY(pour_back(x, c->dev, err));
	BERTH_EACH_USE (e, g, op)
		if (--x->op_waits[g->edge_consumer[e]] == 0)
			BERTH_TRY(push_op(x, g->edge_consumer[e], err));
	return BERTH_OK;
}

static berth_status etf_run(etf *x, berth_err *err)
{
	for (;;) {
		choice best;
		bool held;
		BERTH_TRY(find_first(x, &best, err));
		if (best.dev < 0)
			return BERTH_OK;
		int32_t op = x->p->g->topo_op[best.topo];
		BERTH_TRY(hold_back(x, &best, &held, err));
		if (held)
			continue;
		pop_waiting(best.from);
		BERTH_TRY(is_allowed(x, op, best.dev) ? place(x, &best, err) : refuse(x, op, err));
	}
}

static berth_status new_etf(etf *x, berth_err *err)
{
	const berth_problem *p = x->p;
	const berth_graph *g = p->g;
	BERTH_TRY_NEW(x->tmp, p->n_devs, err, x->dev);
	BERTH_TRY_NEW(x->tmp, p->n_ops, err, x->op_parent, x->op_waits, x->op_pairs, x->op_forced,
	              x->urgent_ns);
	BERTH_TRY_NEW(x->tmp, p->n_devs, err, x->ready_ns);
	for (int32_t d = 0; d < p->n_devs; d++)
		x->dev[d].child = -1;
	for (int32_t op = 0; op < p->n_ops; op++)
		x->op_parent[op] = x->op_forced[op] = -1;
	for (int32_t op = 0; op < p->n_ops && x->child; op++)
		if (x->child[op] >= 0)
			x->op_parent[x->child[op]] = op;
	for (int32_t op = 0; op < p->n_ops; op++)
		if ((x->op_waits[op] = g->op_in_off[op + 1] - g->op_in_off[op]) == 0)
			BERTH_TRY(push_op(x, op, err));
	return BERTH_OK;
}

berth_status etf_schedule(const berth_problem *p, etf_key key, const int32_t *op_child, berth_partial *part,
                          int64_t *n_steps, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	etf x = {.p = p, .key = key, .child = op_child, .part = part, .tmp = tmp};
	berth_status st = new_etf(&x, err);
	if (st == BERTH_OK)
		st = etf_run(&x, err);
	if (n_steps)
		*n_steps = x.n_steps;
	return st;
}

typedef struct offer {
	const berth_problem *p;
	etf_key key;
	const int32_t *op_child;
} offer;

static berth_status etf_offer_schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const offer *o = ctx;
	return etf_schedule(o->p, o->key, o->op_child, part, NULL, tmp, err);
}

berth_status etf_offer(berth_search *s, const int32_t *op_child, berth_arena *tmp, berth_err *err)
{
	for (int k = 0; k < ETF_KEYS; k++) {
		offer o = {s->p, (etf_key)k, op_child};
		if (k == 0 || berth_search_afford(s, berth_seed_list_ns(s->p)))
			BERTH_TRY(berth_offer_schedule(s, etf_offer_schedule, &o, tmp, err));
	}
	return BERTH_OK;
}
