/* Placement community by community. A community is an instance of the exact search (exact_search.h) between
 * what comes before and what comes after. Before: releases. They tell when inputs of other communities can be
 * on each device, and when the device is done with the communities before. After: what follows at least. At
 * first it is the critical earliest finish over devices that are still open, in later rounds the schedule as
 * it is. Devices that are equal so far are tried once (exact_search.h). Transfers between communities do not
 * wait for channels. */
#include "split.h"

#include "exact_search.h"

typedef struct split {
	const berth_problem *p;
	const split_cfg *cfg;
	split_communities c;
	int32_t *slot_off;     /* [n_devs+1] into slot_end */
	int64_t *slot_end;     /* when a slot of a device is done with the operators placed so far */
	int64_t *trial_end;    /* the same, scratch of a leaf */
	int64_t *held; /* [n_devs] bytes of parameters, state and outputs of the operators placed so far */
	int64_t *tail;         /* [n_ops][n_devs] critical earliest finish after the operator's end */
	int32_t *op_dev;       /* [n_ops] -1: not placed */
	int32_t *sequence;     /* [n_ops] the communities' orders one after the other */
	int64_t *start, *end, *after; /* [n_ops] of the schedule; after: from the end to the end of all */
	/* [n_devs] from the end of the present community to the end of all, by what the device runs then */
	int64_t *dev_after;
	/* the present community */
	const int32_t *ops;
	int32_t n;
	int32_t *local;        /* [n_ops] -1: not in it */
	int64_t release[BERTH_EXACT_SEARCH_OPS][BERTH_EXACT_SEARCH_DEVS],
		beyond[BERTH_EXACT_SEARCH_OPS][BERTH_EXACT_SEARCH_DEVS];
	int32_t best_dev[BERTH_EXACT_SEARCH_OPS], best_order[BERTH_EXACT_SEARCH_OPS];
	int64_t best;
} split;

/* ---- tables ---- */

static int64_t least_way(const split *x, int32_t t, int32_t from, int32_t to_op)
{
	const berth_problem *p = x->p;
	int64_t least = BERTH_EXACT_SEARCH_NEVER;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_legal(p, to_op, d)) {
			int64_t way = berth_transfer_ns(p, t, from, d) + berth_op_time(p, to_op, d) +
			              x->tail[berth_cell(p, to_op, d)];
			least = way < least ? way : least;
		}
	return least;
}

static void fill_tails(split *x)
{
	const berth_graph *g = x->p->g;
	for (int32_t k = g->n_ops - 1; k >= 0; k--) {
		int32_t op = g->topo_op[k];
		for (int32_t d = 0; d < x->p->n_devs; d++) {
			int64_t tail = 0;
			BERTH_EACH (t, g->op_tensor_off, op)
				BERTH_EACH (e, g->tensor_use_off, t)
					tail = berth_max(tail, least_way(x, t, d, g->edge_consumer[e]));
			x->tail[berth_cell(x->p, op, d)] = tail;
		}
	}
}

/* ---- the schedule ---- */

/* The slot of d that is free first. */
static int64_t *first_slot(const split *x, int64_t *slot_end, int32_t d)
{
	int64_t *first = &slot_end[x->slot_off[d]];
	for (int32_t i = x->slot_off[d] + 1; i < x->slot_off[d + 1]; i++)
		first = slot_end[i] < *first ? &slot_end[i] : first;
	return first;
}

/* When the inputs of op from operators that are placed (within: of the present community too) can be on d. */
static int64_t arrival(const split *x, int32_t op, int32_t d)
{
	const berth_graph *g = x->p->g;
	int64_t at = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], from = g->tensor_producer[t];
		if (x->op_dev[from] >= 0 && x->local[from] < 0)
			at = berth_max(at, x->end[from] + berth_transfer_ns(x->p, t, x->op_dev[from], d));
	}
	return at;
}

static void run_op(split *x, int32_t op)
{
	const berth_graph *g = x->p->g;
	int32_t d = x->op_dev[op];
	int64_t ready = 0, *slot = first_slot(x, x->slot_end, d);
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], from = g->tensor_producer[t];
		if (x->op_dev[from] >= 0)
			ready = berth_max(ready,
			                  x->end[from] + berth_transfer_ns(x->p, t, x->op_dev[from], d));
	}
	x->start[op] = berth_max(ready, *slot);
	*slot = x->end[op] = x->start[op] + berth_op_time(x->p, op, d);
	x->held[d] += berth_kept_bytes(x->p, op);
}

/* The schedule of the communities before community k. */
static void run_until(split *x, int32_t k)
{
	BERTH_CLEAR(x->slot_end, x->slot_off[x->p->n_devs]);
	BERTH_CLEAR(x->held, x->p->n_devs);
	for (int32_t i = 0; i < x->c.off[k]; i++)
		run_op(x, x->sequence[i]);
}

/* What follows after community k, backwards: devices do what stands in the sequence. Memory of later
 * communities is held too. */
static void run_back(split *x, int32_t k)
{
	const berth_problem *p = x->p;
	const berth_graph *g = p->g;
	BERTH_CLEAR(x->dev_after, p->n_devs);
	for (int32_t i = p->n_ops - 1; i >= x->c.off[k + 1]; i--) {
		int32_t op = x->sequence[i], d = x->op_dev[op];
		int64_t after = p->s->dev_slots[d] == 1 ? x->dev_after[d] : 0;
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t) {
				int32_t to = g->edge_consumer[e];
				after = berth_max(after, berth_transfer_ns(p, t, d, x->op_dev[to]) +
				                               berth_op_time(p, to, x->op_dev[to]) +
				                               x->after[to]);
			}
		x->after[op] = after;
		if (p->s->dev_slots[d] == 1)
			x->dev_after[d] = berth_op_time(p, op, d) + after;
		x->held[d] += berth_kept_bytes(x->p, op);
	}
}

/* ---- a community ---- */

/* Least time after operator i (of the community) ends on d, by consumers outside. */
static int64_t follows(const split *x, int32_t i, int32_t d, bool again)
{
	const berth_problem *p = x->p;
	const berth_graph *g = p->g;
	int32_t op = x->ops[i];
	int64_t after = again && p->s->dev_slots[d] == 1 ? x->dev_after[d] : 0;
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = g->edge_consumer[e], dev = x->op_dev[to];
			if (x->local[to] >= 0)
				continue;
			if (!again || dev < 0)
				after = berth_max(after, least_way(x, t, d, to));
			else
				after = berth_max(after, berth_transfer_ns(p, t, d, dev) +
				                               berth_op_time(p, to, dev) + x->after[to]);
		}
	return after;
}

/* Length of the community's schedule and of what follows it. */
static int64_t length_of(split *x, const int32_t *dev, const int32_t *order)
{
	const berth_graph *g = x->p->g;
	int64_t end[BERTH_EXACT_SEARCH_OPS], length = 0;
	BERTH_COPY(x->trial_end, x->slot_end, x->slot_off[x->p->n_devs]);
	for (int32_t k = 0; k < x->n; k++) {
		int32_t i = order[k], op = x->ops[i], d = dev[i];
		int64_t at = x->release[i][d], *slot = first_slot(x, x->trial_end, d);
		BERTH_EACH (in, g->op_in_off, op) {
			int32_t t = g->in_tensor[in], from = x->local[g->tensor_producer[t]];
			if (from >= 0)
				at = berth_max(at, end[from] + berth_transfer_ns(x->p, t, dev[from], d));
		}
		*slot = end[i] = berth_max(at, *slot) + berth_op_time(x->p, op, d);
		length = berth_max(length, end[i] + x->beyond[i][d]);
	}
	return length;
}

static int64_t leaf(void *ctx, const int32_t *dev, const int32_t *order)
{
	split *x = ctx;
	int64_t length = length_of(x, dev, order);
	if (length < x->best) {
		x->best = length;
		BERTH_COPY(x->best_dev, dev, x->n);
		BERTH_COPY(x->best_order, order, x->n);
	}
	return length;
}

static int64_t way_through(const split *x, int32_t i, int32_t d)
{
	return x->release[i][d] + berth_op_time(x->p, x->ops[i], d) + x->beyond[i][d];
}

/* Where memory leaves the search nothing, each colocation group goes where its first operator's way through
 * is shortest. */
static void take_shortest(split *x)
{
	for (int32_t i = 0; i < x->n; i++) {
		int32_t coloc = x->p->op_coloc[x->ops[i]],
			first = x->local[x->p->coloc_op[x->p->coloc_off[coloc]]], best = -1;
		for (int32_t d = 0; d < x->p->n_devs; d++)
			if (berth_op_legal(x->p, x->ops[i], d) &&
			    (best < 0 || way_through(x, i, d) < way_through(x, i, best)))
				best = d;
		x->best_dev[i] = first >= 0 && first < i ? x->best_dev[first] : best;
		x->best_order[i] = i;
	}
}

static void surround(split *x, berth_exact_search *search, bool again)
{
	for (int32_t d = 0; d < x->p->n_devs; d++) {
		berth_exact_search_set_held(search, d, x->held[d]);
		for (int32_t i = 0; i < x->n; i++) {
			x->release[i][d] =
				berth_max(arrival(x, x->ops[i], d), *first_slot(x, x->slot_end, d));
			x->beyond[i][d] = follows(x, i, d, again);
			berth_exact_search_set_outside(search, i, d, x->release[i][d], x->beyond[i][d]);
		}
	}
}

/* Length of the community as it stands. */
static int64_t present_length(split *x, int32_t first)
{
	int32_t dev[BERTH_EXACT_SEARCH_OPS], order[BERTH_EXACT_SEARCH_OPS];
	for (int32_t i = 0; i < x->n; i++) {
		dev[i] = x->op_dev[x->ops[i]];
		order[i] = x->local[x->sequence[first + i]];
	}
	return length_of(x, dev, order);
}

static bool may_go_on(const split *x)
{
	return !x->cfg->go_on || x->cfg->go_on(x->cfg->ctx);
}

/* Solve community k; again: only what is better than as it stands is taken. *changed is set where something
 * is. */
static berth_status solve(split *x, int32_t k, bool again, bool *changed, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_exact_search *search;
	berth_exact_search_result r;
	int32_t first = x->c.off[k];
	x->ops = x->c.op + first;
	x->n = x->c.off[k + 1] - first;
	BERTH_TRY(berth_exact_search_new(x->p, x->n, x->ops, tmp, &search, err));
	for (int32_t i = 0; i < x->n; i++)
		x->local[x->ops[i]] = i;
	surround(x, search, again);
	x->best = again ? present_length(x, first) : BERTH_EXACT_SEARCH_NEVER;
	berth_exact_search_cfg cfg = {.upper_ns = x->best, .nodes = x->cfg->nodes, .leaf = leaf, .ctx = x};
	int64_t before = x->best;
	if (may_go_on(x))
		berth_exact_search_run(search, &cfg, &r);
	if (!again && x->best == before)
		take_shortest(x);
	if (!again || x->best < before) {
		*changed = true;
		for (int32_t i = 0; i < x->n; i++) {
			x->op_dev[x->ops[i]] = x->best_dev[i];
			x->sequence[first + i] = x->ops[x->best_order[i]];
		}
	}
	for (int32_t i = 0; i < x->n; i++)
		x->local[x->ops[i]] = -1;
	return BERTH_OK;
}

/* ---- all of them ---- */

static berth_status new_split(split *x, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->p;
	size_t n = (size_t)p->n_ops, devs = (size_t)p->n_devs;
	BERTH_TRY(split_communities_new(p, x->cfg->most_ops, tmp, tmp, &x->c, err));
	BERTH_TRY_NEW(tmp, devs + 1, err, x->slot_off);
	for (size_t d = 0; d < devs; d++)
		x->slot_off[d + 1] = x->slot_off[d] + p->s->dev_slots[d];
	BERTH_TRY_NEW(tmp, x->slot_off[devs], err, x->slot_end, x->trial_end);
	BERTH_TRY_NEW(tmp, devs, err, x->held, x->dev_after);
	BERTH_TRY_NEW(tmp, n * devs, err, x->tail);
	BERTH_TRY_NEW(tmp, n, err, x->sequence, x->start, x->end, x->after, x->local);
	for (size_t op = 0; op < n; op++)
		x->op_dev[op] = x->local[op] = -1;
	fill_tails(x);
	return BERTH_OK;
}

static berth_status improve(split *x, berth_arena *tmp, berth_err *err)
{
	bool changed = x->c.n > 1;
	for (int32_t round = 0; round < x->cfg->rounds && changed; round++) {
		changed = false;
		/* the last was solved with all others known */
		for (int32_t i = x->c.n - 1; i >= 0 && may_go_on(x); i--) {
			run_until(x, i);
			run_back(x, i);
			BERTH_TRY(solve(x, i, true, &changed, tmp, err));
		}
	}
	return BERTH_OK;
}

/* By start; equal ones as in the sequence. That is nearly sorted, so insertion will do. */
static void sort_by_start(const split *x, int32_t *order)
{
	for (int32_t k = 0; k < x->p->n_ops; k++) {
		int32_t at = k, op = x->sequence[k];
		for (; at > 0 && x->start[order[at - 1]] > x->start[op]; at--)
			order[at] = order[at - 1];
		order[at] = op;
	}
}

berth_status split_place(const berth_problem *p, const split_cfg *cfg, int32_t *op_dev, int32_t *order,
                         berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	bool changed;
	split *x;
	BERTH_TRY_NEW(tmp, 1, err, x);
	x->p = p;
	x->cfg = cfg;
	x->op_dev = op_dev;
	BERTH_TRY(new_split(x, tmp, err));
	run_until(x, 0);
	for (int32_t k = 0; k < x->c.n; k++) {
		BERTH_TRY(solve(x, k, false, &changed, tmp, err));
		BERTH_EACH (i, x->c.off, k)
			run_op(x, x->sequence[i]);
	}
	BERTH_TRY(improve(x, tmp, err));
	run_until(x, x->c.n);
	sort_by_start(x, order);
	return BERTH_OK;
}
