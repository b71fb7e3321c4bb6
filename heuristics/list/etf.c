/* Earliest task first; see etf.h. A heap holds pairs with keys as they were. Without favourites, keys only
 * grow while operators are placed. So it is right to look at the smallest again before it is taken.
 *
 * A pair that waits for an awake device has a key that can fall, once the device is awake no more. Such pairs
 * are listed by device and pushed anew then. Those left over in the heap do not count. */
#include "etf.h"

#include "etf_free.h"
#include "offer_schedule.h"

typedef struct pair {
	int64_t key_ns; /* >= 0 */
	int32_t topo, dev;
	/* of equal keys: 0 where its favourite parent is, 2 where a device is awake for another, else 1 */
	int8_t rank;
} pair;

typedef struct etf {
	const berth_problem *p;
	etf_key key;
	const int32_t *child;
	berth_partial *part;
	pair *heap;
	size_t n, cap;
	berth_arena *tmp;
	int32_t *waits;     /* [n_ops] producers not placed */
	int32_t *pairs;     /* [n_ops] of it in the heap */
	int64_t *pair_ns;   /* [n_ops][n_devs] key of the pair that counts, -1: none; others are left over */
	int64_t *ready_ns;  /* [n_devs] scratch */
	int32_t *dev_last;  /* [n_devs] operator placed last, -1: none */
	int32_t *dev_first; /* [n_devs] of those that wait for the device while it is awake; -1: none */
	int32_t *next;      /* [n_ops][n_devs] the next of them; -1: the last, -2: does not wait */
} etf;

static bool before(const pair *a, const pair *b)
{
	if (a->key_ns != b->key_ns)
		return a->key_ns < b->key_ns;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->topo != b->topo ? a->topo < b->topo : a->dev < b->dev;
}

static berth_status push(etf *x, pair new, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(x->tmp, x->heap, x->n, &x->cap, err));
	size_t i = x->n++;
	for (; i > 0 && before(&new, &x->heap[(i - 1) / 2]); i = (i - 1) / 2)
		x->heap[i] = x->heap[(i - 1) / 2];
	x->heap[i] = new;
	int32_t op = x->p->g->topo_op[new.topo];
	int64_t *counts = &x->pair_ns[(size_t)op * (size_t)x->p->n_devs + (size_t)new.dev];
	x->pairs[op] += *counts < 0;
	*counts = new.key_ns;
	return BERTH_OK;
}

static pair pop(etf *x)
{
	pair top = x->heap[0], last = x->heap[--x->n];
	size_t i = 0;
	for (size_t c; (c = 2 * i + 1) < x->n; i = c) {
		c += c + 1 < x->n && before(&x->heap[c + 1], &x->heap[c]);
		if (!before(&x->heap[c], &last))
			break;
		x->heap[i] = x->heap[c];
	}
	x->heap[i] = last;
	return top;
}

/* Does the pair count? Then it is taken out of the count. */
static bool take(etf *x, pair top)
{
	int32_t op = x->p->g->topo_op[top.topo];
	int64_t *counts = &x->pair_ns[(size_t)op * (size_t)x->p->n_devs + (size_t)top.dev];
	if (*counts != top.key_ns)
		return false;
	*counts = -1;
	x->pairs[op]--;
	return true;
}

static bool is_placed(const etf *x, int32_t op)
{
	return berth_partial_end_ns(x->part)[op] >= 0;
}

/* ---- favourites ---- */

/* The parent that op is the favourite child of; -1: none. */
static int32_t favourite_parent(const etf *x, int32_t op)
{
	const berth_graph *g = x->p->g;
	for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1] && x->child; i++)
		if (x->child[g->tensor_producer[g->in_tensor[i]]] == op)
			return g->tensor_producer[g->in_tensor[i]];
	return -1;
}

/* The operator other than op that dev is kept for, one that can come there; -1: none. */
static int32_t awake_for(const etf *x, int32_t dev, int32_t op)
{
	int32_t last = x->dev_last[dev], child = last >= 0 && x->child ? x->child[last] : -1;
	if (child < 0 || child == op || is_placed(x, child) || !berth_op_legal(x->p, child, dev))
		return -1;
	int32_t bound = berth_partial_dev(x->part, child);
	bool can_come = bound >= 0 ? bound == dev : berth_partial_fits(x->part, x->p->op_coloc[child], dev);
	return can_come ? child : -1;
}

/* When keeping dev, which op ran on last, for its child is of no more use: op's output could be on another
 * device by then. */
static int64_t awake_until_ns(const etf *x, int32_t op, int32_t child, int32_t dev)
{
	const berth_graph *g = x->p->g;
	int64_t least = -1;
	for (int32_t d = 0; d < x->p->n_devs; d++) {
		int64_t transfer = 0;
		if (d == dev || !berth_op_legal(x->p, child, d))
			continue;
		for (int32_t i = g->op_in_off[child]; i < g->op_in_off[child + 1]; i++)
			if (g->tensor_producer[g->in_tensor[i]] == op)
				transfer += berth_transfer_ns(x->p, g->in_tensor[i], dev, d);
		least = least < 0 || transfer < least ? transfer : least;
	}
	return least < 0 ? INT64_MAX : berth_partial_end_ns(x->part)[op] + least;
}

/* When the inputs of op could be on every device that may run it; ready_ns is set. */
static int64_t urgent_ns(const etf *x, int32_t op)
{
	int64_t most = 0;
	for (int32_t d = 0; d < x->p->n_devs; d++)
		if (berth_op_legal(x->p, op, d) && x->ready_ns[d] > most)
			most = x->ready_ns[d];
	return most;
}

static int64_t key_of(const etf *x, int32_t op, int32_t dev, int64_t start_ns)
{
	return x->key == ETF_START ? start_ns : start_ns + berth_op_time(x->p, op, dev);
}

static pair pair_of(const etf *x, int32_t op, int32_t dev, int64_t key_ns)
{
	int32_t parent = favourite_parent(x, op);
	bool home = parent >= 0 && berth_partial_dev(x->part, parent) == dev;
	return (pair){key_ns, x->p->g->op_topo[op], dev, home ? 0 : awake_for(x, dev, op) >= 0 ? 2 : 1};
}

static void wait_for(etf *x, int32_t op, int32_t dev)
{
	int32_t *next = &x->next[(size_t)op * (size_t)x->p->n_devs + (size_t)dev];
	if (*next != -2)
		return;
	*next = x->dev_first[dev];
	x->dev_first[dev] = op;
}

/* What dev was awake for has changed: those that wait for it are looked at again. */
static berth_status wake_waiting(etf *x, int32_t dev, berth_err *err)
{
	for (int32_t op = x->dev_first[dev]; op >= 0;) {
		int32_t *next = &x->next[(size_t)op * (size_t)x->p->n_devs + (size_t)dev], after = *next;
		*next = -2;
		if (!is_placed(x, op))
			BERTH_TRY(push(x, pair_of(x, op, dev, 0), err));
		op = after;
	}
	x->dev_first[dev] = -1;
	return BERTH_OK;
}

/* ---- the list ---- */

/* Pairs of an operator that became ready. */
static berth_status push_op(etf *x, int32_t op, berth_err *err)
{
	const berth_problem *p = x->p;
	berth_partial_ready(x->part, op, x->ready_ns);
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_legal(p, op, d))
			BERTH_TRY(push(
				x,
				pair_of(x, op, d,
			                key_of(x, op, d,
			                       berth_partial_start(x->part, op, d, x->ready_ns[d], false))),
				err));
	return BERTH_OK;
}

static berth_status place(etf *x, int32_t op, int32_t dev, int64_t start, berth_err *err)
{
	const berth_graph *g = x->p->g;
	int32_t parent = favourite_parent(x, op),
		home = parent >= 0 ? berth_partial_dev(x->part, parent) : -1;
	berth_partial_place(x->part, op, dev, start);
	x->dev_last[dev] = op;
	BERTH_TRY(wake_waiting(x, dev, err));
	if (home >= 0 && x->dev_last[home] == parent)
		BERTH_TRY(wake_waiting(x, home, err));
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (--x->waits[g->edge_consumer[e]] == 0)
				BERTH_TRY(push_op(x, g->edge_consumer[e], err));
	return BERTH_OK;
}

/* Where op must go: its colocation group's device, or the roomiest where it fits nowhere; -1: it has a
 * choice. */
static int32_t must_go(const etf *x, int32_t op)
{
	int32_t bound = berth_partial_dev(x->part, op), coloc = x->p->op_coloc[op];
	for (int32_t d = 0; d < x->p->n_devs && bound < 0; d++)
		if (berth_op_legal(x->p, op, d) && berth_partial_fits(x->part, coloc, d))
			return -1;
	return bound >= 0 ? bound : berth_partial_roomiest(x->part, coloc);
}

/* Look at the pair again: its device may have filled up or be awake for another, its start have moved. */
static berth_status look_again(etf *x, pair top, berth_err *err)
{
	int32_t op = x->p->g->topo_op[top.topo], must = must_go(x, op);
	if (must >= 0 ? must != top.dev : !berth_partial_fits(x->part, x->p->op_coloc[op], top.dev)) {
		if (x->pairs[op] > 0 || must < 0)
			return BERTH_OK; /* it has others */
		top.dev = must; /* that pair was given up when it had a choice */
		top.key_ns = -1;
	}
	berth_partial_ready(x->part, op, x->ready_ns);
	int64_t ready = x->ready_ns[top.dev];
	int32_t child = awake_for(x, top.dev, op);
	if (child >= 0) {
		int64_t urgent = urgent_ns(x, op),
			until = awake_until_ns(x, x->dev_last[top.dev], child, top.dev);
		urgent = urgent < until ? urgent : until;
		ready = urgent > ready ? urgent : ready;
		wait_for(x, op, top.dev);
	}
	int64_t start = berth_partial_start(x->part, op, top.dev, ready, false),
		key = key_of(x, op, top.dev, start);
	return key > top.key_ns ? push(x, pair_of(x, op, top.dev, key), err)
	                        : place(x, op, top.dev, start, err);
}

static berth_status new_etf(etf *x, berth_err *err)
{
	const berth_problem *p = x->p;
	size_t n_pairs = (size_t)p->n_ops * (size_t)p->n_devs;
	x->cap = n_pairs + 1;
	BERTH_TRY(BERTH_NEW(x->tmp, x->heap, x->cap, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->waits, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->pairs, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->ready_ns, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->dev_last, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->dev_first, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->pair_ns, n_pairs, err));
	BERTH_TRY(BERTH_NEW(x->tmp, x->next, n_pairs, err));
	for (int32_t d = 0; d < p->n_devs; d++)
		x->dev_last[d] = x->dev_first[d] = -1;
	for (size_t i = 0; i < n_pairs; i++) {
		x->pair_ns[i] = -1;
		x->next[i] = -2;
	}
	return BERTH_OK;
}

berth_status etf_schedule(const berth_problem *p, etf_key key, const int32_t *op_child, berth_partial *part,
                          berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	etf x = {.p = p, .key = key, .child = op_child, .part = part, .tmp = tmp};
	BERTH_TRY(new_etf(&x, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		if ((x.waits[op] = g->op_in_off[op + 1] - g->op_in_off[op]) == 0)
			BERTH_TRY(push_op(&x, op, err));
	while (x.n) {
		pair top = pop(&x);
		if (take(&x, top) && !is_placed(&x, g->topo_op[top.topo]))
			BERTH_TRY(look_again(&x, top, err));
	}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

typedef struct offer {
	const berth_problem *p;
	etf_key key;
	const int32_t *op_child;
} offer;

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const offer *o = ctx;
	if (!o->op_child && etf_is_free(o->p, part))
		return etf_free_schedule(o->p, o->key, part, NULL, tmp, err);
	return etf_schedule(o->p, o->key, o->op_child, part, tmp, err);
}

berth_status etf_offer(berth_search *s, const int32_t *op_child, berth_arena *tmp, berth_err *err)
{
	for (int k = 0; k < ETF_KEYS; k++) {
		offer o = {s->p, (etf_key)k, op_child};
		BERTH_TRY(berth_offer_schedule(s, schedule, &o, tmp, err));
	}
	return BERTH_OK;
}
