/* The plan of whole blocks nearest to another plan, for targets that plan by layers; blocks move on where it
 * would fill devices beyond their memory. */
#include "check.h"
#include "nearest.h"

/* ---- plans that fit ---- */

berth_status berth_held_bytes(const berth_graph *g, const int32_t *op_dev, int32_t n_devs, berth_arena *tmp,
                              int64_t *held, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *last; /* [n_devs] 1 + the parameter that was counted there last */
	BERTH_TRY_NEW(tmp, n_devs, err, last);
	memset(held, 0, (size_t)n_devs * sizeof *held);
	for (int32_t op = 0; op < g->n_ops; op++)
		held[op_dev[op]] += g->op_param_bytes[op] + g->op_state_bytes[op];
	for (int32_t k = 0; k < g->n_params; k++)
		BERTH_EACH (u, g->param_op_off, k) {
			int32_t d = op_dev[g->param_op[u]];
			held[d] += last[d] == k + 1 ? 0 : g->param_bytes[k];
			last[d] = k + 1;
		}
	return BERTH_OK;
}

typedef struct fitting {
	const berth_problem *p;
	int32_t n_blocks;
	int64_t *held;  /* [n_blocks] weights and states */
	int64_t *bytes; /* [n_blocks] these and results */
	int32_t *at;    /* [n_blocks] its device */
	int32_t *ops;   /* [n_blocks][n_devs] that the plan has there; -1: the device cannot run the block */
	bool *moved;    /* [n_blocks] */
	/* what is full: a device, or the pool of several; -1 */
	int32_t dev, pool;
	int64_t excess; /* bytes; 0: all fits */
	int64_t *room;  /* [n_devs] bytes */
} fitting;

static int64_t results_of(const berth_graph *g, int32_t op)
{
	int64_t sum = g->op_output_bytes[op];
	BERTH_EACH (t, g->op_tensor_off, op)
		sum += g->tensor_bytes[t];
	return sum;
}

static berth_status weigh(fitting *f, const int32_t *plan, const berth_granularity *blocks,
                          const int32_t *op_dev, berth_arena *tmp, berth_err *err)
{
	int32_t n = f->p->n_devs;
	BERTH_TRY_NEW(tmp, f->n_blocks, err, f->held, f->bytes, f->at, f->moved);
	BERTH_TRY_NEW(tmp, n, err, f->room);
	BERTH_TRY_NEW(tmp, (size_t)f->n_blocks * (size_t)n, err, f->ops);
	for (int32_t op = 0; op < f->p->n_ops; op++) {
		int32_t b = blocks->op_block[op], *ops = f->ops + (ptrdiff_t)b * n;
		int64_t held = berth_graph_op_weights(f->p->g, op) + f->p->g->op_state_bytes[op];
		f->held[b] += held;
		f->bytes[b] += held + results_of(f->p->g, op);
		f->at[b] = op_dev[op];
		ops[plan[op]] += ops[plan[op]] >= 0;
		for (int32_t d = 0; d < n; d++)
			if (!berth_op_legal(f->p, op, d))
				ops[d] = -1;
	}
	return BERTH_OK;
}

/* Simulate, and find what is full and where there is room. */
static berth_status look(fitting *f, const int32_t *op_dev, berth_arena *tmp, berth_err *err)
{
	berth_timeline t;
	berth_verdict v;
	const berth_problem *p = f->p;
	BERTH_TRY(berth_judge(p, op_dev, NULL, NULL, tmp, &t, &v, err));
	f->excess = 0;
	for (int32_t i = v.broken.n - 1; i >= 0; i--) {
		const berth_violation *x = &v.broken.item[i];
		if (x->kind != BERTH_VIOLATION_MEMORY && x->kind != BERTH_VIOLATION_POOL)
			continue;
		f->dev = x->dev;
		f->pool = x->pool;
		f->excess = x->needed - x->limit;
	}
	for (int32_t d = 0; f->excess && d < p->n_devs; d++) {
		int32_t pool = berth_dev_pool(p, d);
		int64_t has = pool < 0 ? -1 : p->s->pool_bytes[pool], limit = p->dev_limit_bytes[d];
		bool stays = f->dev >= 0 && pool == berth_dev_pool(p, f->dev); /* it is there already */
		int64_t in_pool = has < 0 || stays ? INT64_MAX : has - t.pool_peak_bytes[pool];
		int64_t alone = limit < 0 ? INT64_MAX : limit - t.peak_bytes[d];
		f->room[d] = alone < in_pool ? alone : in_pool;
	}
	return BERTH_OK;
}

static bool is_full(const fitting *f, int32_t d)
{
	return f->dev >= 0 ? d == f->dev : berth_dev_pool(f->p, d) == f->pool;
}

/* Is it a better move for so many operators and bytes than another one? */
static bool is_better(const fitting *f, int64_t ops, int64_t bytes, int64_t other_ops, int64_t other_bytes)
{
	bool enough = bytes >= f->excess, other_enough = other_bytes >= f->excess;
	if (enough != other_enough)
		return enough;
	return enough ? ops < other_ops
	              : (double)ops * (double)other_bytes < (double)other_ops * (double)bytes;
}

/* The block to move; -1: none. */
static int32_t choose(const fitting *f, int32_t *to)
{
	int32_t n = f->p->n_devs, best = -1;
	int64_t best_ops = 0;
	for (int32_t b = 0; b < f->n_blocks; b++) {
		const int32_t *ops = f->ops + (ptrdiff_t)b * n;
		if (f->moved[b] || !is_full(f, f->at[b]) || !f->bytes[b])
			continue;
		for (int32_t d = 0; d < n; d++) {
			int64_t parted = (int64_t)ops[f->at[b]] - ops[d];
			if (is_full(f, d) || ops[d] < 0 || f->room[d] < f->held[b] ||
			    (best >= 0 && !is_better(f, parted, f->bytes[b], best_ops, f->bytes[best])))
				continue;
			best = b;
			best_ops = parted;
			*to = d;
		}
	}
	return best;
}

static berth_status fit(fitting *f, const berth_granularity *blocks, berth_arena *tmp, int32_t *op_dev,
                        berth_err *err)
{
	for (int32_t b = 0, to; b >= 0;) {
		BERTH_SCRATCH(tmp);
		BERTH_TRY(look(f, op_dev, tmp, err));
		if (!f->excess || (b = choose(f, &to)) < 0)
			break;
		f->at[b] = to;
		f->moved[b] = true;
		for (int32_t op = 0; op < f->p->n_ops; op++)
			if (blocks->op_block[op] == b)
				op_dev[op] = to;
	}
	return BERTH_OK;
}

berth_status berth_nearest_fit(const berth_problem *p, const int32_t *plan, const berth_granularity *blocks,
                               berth_arena *tmp, int32_t *op_dev, bool *fits, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	fitting f = {.p = p, .n_blocks = blocks->n_blocks};
	int32_t *kept;
	size_t n = (size_t)p->n_ops;
	BERTH_TRY_NEW(tmp, n, err, kept);
	memcpy(kept, op_dev, n * sizeof *kept);
	BERTH_TRY(weigh(&f, plan, blocks, op_dev, tmp, err));
	BERTH_TRY(fit(&f, blocks, tmp, op_dev, err));
	*fits = !f.excess;
	if (!*fits)
		memcpy(op_dev, kept, n * sizeof *kept);
	return BERTH_OK;
}

/* ---- plans of whole blocks ---- */

berth_status berth_nearest_split(const int32_t *op_dev, const berth_granularity *blocks, int32_t n_ops,
                                 berth_arena *tmp, int32_t *first, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *dev; /* of the block's first operator, + 1 */
	BERTH_TRY_NEW(tmp, blocks->n_blocks, err, dev);
	*first = -1;
	for (int32_t op = 0; op < n_ops; op++) {
		int32_t b = blocks->op_block[op];
		if (dev[b] && dev[b] != op_dev[op] + 1 && (*first < 0 || b < *first))
			*first = b;
		if (!dev[b])
			dev[b] = op_dev[op] + 1;
	}
	return BERTH_OK;
}

/* share [n_blocks][n_devs]: what stands where, -1: the device cannot run all of the block. */
static void add_op(const berth_export_source *x, int32_t op, int64_t *share)
{
	int32_t at = x->op_dev[op];
	int64_t part = x->p ? berth_op_time(x->p, op, at) : 1;
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		bool can = !x->p || berth_op_legal(x->p, op, d);
		if (!can)
			share[d] = -1;
		else if (d == at && share[d] >= 0)
			share[d] += part > 0 ? part : 0;
	}
}

static int32_t best_device(const int64_t *share, int32_t n_devs)
{
	int32_t best = -1;
	for (int32_t d = 0; d < n_devs; d++)
		if (share[d] >= 0 && (best < 0 || share[d] > share[best]))
			best = d;
	return best;
}

berth_status berth_nearest_blocks(const berth_export_source *x, const berth_granularity *blocks,
                                  berth_arena *tmp, int32_t *op_dev, int32_t *moved, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t n = x->s->n_devs;
	int64_t *share;
	int32_t *dev;
	BERTH_TRY_NEW(tmp, (size_t)blocks->n_blocks * (size_t)n, err, share);
	BERTH_TRY_NEW(tmp, blocks->n_blocks, err, dev);
	for (int32_t op = 0; op < x->g->n_ops; op++)
		add_op(x, op, share + (size_t)blocks->op_block[op] * (size_t)n);
	for (int32_t b = 0; b < blocks->n_blocks; b++)
		if ((dev[b] = best_device(share + (size_t)b * (size_t)n, n)) < 0)
			return berth_fail(err, BERTH_EUNSUPPORTED,
			                  "no device can run all of '%.100s' as a whole",
			                  blocks->block_name[b]);
	for (int32_t op = 0; op < x->g->n_ops; op++)
		op_dev[op] = dev[blocks->op_block[op]];
	bool fits;
	if (x->p)
		BERTH_TRY(berth_nearest_fit(x->p, x->op_dev, blocks, tmp, op_dev, &fits, err));
	*moved = 0;
	for (int32_t op = 0; op < x->g->n_ops; op++)
		*moved += op_dev[op] != x->op_dev[op];
	return BERTH_OK;
}
