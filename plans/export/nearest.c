/* See nearest.h. */
#include "nearest.h"

#include "nearest_fit.h"

berth_status berth_nearest_split(const int32_t *op_dev, const berth_granularity *blocks, int32_t n_ops,
                                 berth_arena *tmp, int32_t *first, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *dev; /* of the block's first operator, + 1 */
	BERTH_TRY(BERTH_NEW(tmp, dev, blocks->n_blocks, err));
	*first = -1;
	for (int32_t op = 0; op < n_ops; op++) {
		int32_t b = blocks->op_block[op];
		if (dev[b] && dev[b] != op_dev[op] + 1 && (*first < 0 || b < *first))
			*first = b;
		if (!dev[b])
			dev[b] = op_dev[op] + 1;
	}
	berth_arena_reset(tmp, mark);
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

static berth_status move(const berth_export_source *x, const berth_granularity *blocks, berth_arena *tmp,
                         int32_t *op_dev, int32_t *moved, berth_err *err)
{
	int32_t n = x->s->n_devs;
	int64_t *share;
	int32_t *dev;
	BERTH_TRY(BERTH_NEW(tmp, share, (size_t)blocks->n_blocks * (size_t)n, err));
	BERTH_TRY(BERTH_NEW(tmp, dev, blocks->n_blocks, err));
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

berth_status berth_nearest_blocks(const berth_export_source *x, const berth_granularity *blocks,
                                  berth_arena *tmp, int32_t *op_dev, int32_t *moved, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = move(x, blocks, tmp, op_dev, moved, err);
	berth_arena_reset(tmp, mark);
	return st;
}
