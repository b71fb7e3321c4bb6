/* Loads of all devices, kept while operators move, under a cost model whose loads are plain sums (op_seconds
 * and s_per_byte of cost_model.h). Operators move in items: sets of colocation groups that the caller wants
 * to keep together. */
#pragma once

#include "problem.h"

typedef struct berth_max_load {
	const berth_problem *p;
	/* items */
	int32_t n_items;
	int32_t *op_item;              /* [n_ops] */
	int32_t *item_off, *item_op;   /* operators of an item */
	double *item_s;                /* [n_items][n_devs] computing; INFINITY: cannot be there */
	int64_t *item_bytes;           /* parameters and state, private ones */
	int32_t *near_off, *near_item; /* items with a tensor in common, each once, both ways */
	double *dev_s_per_byte;        /* [n_devs]; 0 for CPUs, which pay for no transfer */
	int64_t *dev_limit_bytes;      /* [n_devs] INT64_MAX: unlimited */
	/* the placement */
	int32_t *item_dev;  /* [n_items] */
	int32_t *uses;      /* [n_tensors][n_devs] consumers of a tensor there */
	double *load_s;     /* [n_devs] */
	int64_t *dev_bytes; /* [n_devs] */
} berth_max_load;

/* Items are colocation groups. Those joined by a tensor that costs every accelerator more than cut_s make one
 * item: whoever separates them pays as much, unless both stand on CPUs of their own. Pass INFINITY to join
 * none; with more than one CPU nothing is joined. Nothing is placed yet: call berth_max_load_place first.
 * Arrays live in mem; tmp is scratch. Fails: BERTH_ENOMEM, BERTH_ELIMIT (tensors times devices beyond 2^31).
 * O((ops + edges) * devs). */
berth_status berth_max_load_new(const berth_problem *p, double cut_s, berth_arena *mem, berth_arena *tmp,
                                berth_max_load *out, berth_err *err);

/* Place everything as op_dev [n_ops] says. Where the operators of an item differ, the first one's device
 * counts. O(ops + edges + tensors * devs). */
void berth_max_load_place(berth_max_load *m, const int32_t *op_dev);

/* Can the item run on dev, and is there memory for it? Shared parameters are not counted. */
static inline bool berth_max_load_fits(const berth_max_load *m, int32_t item, int32_t dev)
{
	return m->item_s[berth_cell(m->p, item, dev)] < 1e300 &&
	       m->dev_bytes[dev] + m->item_bytes[item] <= m->dev_limit_bytes[dev];
}

/* Move an item; the loads follow up to rounding. O(edges of the item). */
void berth_max_load_move(berth_max_load *m, int32_t item, int32_t dev);

/* Device of every operator, out [n_ops]. */
void berth_max_load_devs(const berth_max_load *m, int32_t *op_dev);

/* A lower bound, in seconds, of the largest load of every placement whose largest load is at most upper_s. 0
 * where nothing can be said. Take the items that no CPU takes within upper_s, by least time on an
 * accelerator, the longest first. For every j, consider the first j of them. Of m accelerators some k hold at
 * least k floor(j / m) + min(k, j mod m) of these, at the least the shortest ones (M. Haouari, M. Jemmali,
 * Computers & Operations Research 35, 2008). Transfers count nothing. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(items (log items + accelerators)). */
berth_status berth_max_load_bound(const berth_max_load *m, double upper_s, berth_arena *tmp, double *bound_s,
                                  berth_err *err);
