/* Plans of whole blocks: such a plan is looked for where the given one is none, and priced. For targets that
 * can be told less than any plan, the nearest one that they can. */
#include "cmd_export.h"

#include "nearest.h"
#include "print.h"
#include "sandboxed.h"

static berth_status refuse(const export_blocks *b, const export_plan *x, const char *name,
                           const int32_t *op_block, int32_t block, berth_err *err)
{
	int32_t first = -1, other = -1;
	for (int32_t op = 0; op < x->g.n_ops && other < 0; op++) {
		if (op_block[op] != block)
			continue;
		if (first < 0)
			first = op;
		else if (x->placement.op_dev[op] != x->placement.op_dev[first])
			other = op;
	}
	return berth_fail(
		err, BERTH_EUNSUPPORTED,
		"%s '%.80s' is on several devices: '%.80s' on %.40s, '%.80s' on %.40s (--nearest makes "
		"it whole)",
		strcmp(b->granularity, "layer") == 0 ? "layer" : "block", name, x->g.op_name[first],
		x->s.dev_name[x->placement.op_dev[first]], x->g.op_name[other],
		x->s.dev_name[x->placement.op_dev[other]]);
}

/* The plan is op_dev from now on. */
static berth_status take(cli *c, export_blocks *b, int32_t *op_dev, export_plan *x, berth_err *err)
{
	x->placement.op_dev = op_dev;
	x->placement.order = NULL;
	if (!x->priced)
		return BERTH_OK;
	if (isnan(b->before))
		b->before = x->v.value;
	return berth_judge(&x->p, op_dev, NULL, &x->objective, &c->mem, &x->t, &x->v, err);
}

static berth_status make_whole(cli *c, export_blocks *b, const berth_granularity *blocks, export_plan *x,
                               berth_err *err)
{
	berth_export_source source = {
		.g = &x->g, .s = &x->s, .op_dev = x->placement.op_dev, .p = x->priced ? &x->p : NULL};
	int32_t *op_dev;
	BERTH_TRY_NEW(&c->mem, x->g.n_ops, err, op_dev);
	BERTH_TRY(berth_nearest_blocks(&source, blocks, &c->tmp, op_dev, &b->moved, err));
	return take(c, b, op_dev, x, err);
}

berth_status export_blocks_apply(cli *c, export_blocks *b, const berth_exporter *e, export_plan *x,
                                 berth_err *err)
{
	berth_granularity blocks;
	int32_t split;
	b->plan = x->placement.op_dev;
	b->moved = -1;
	b->before = NAN;
	if (!b->granularity)
		return b->nearest && !e->nearest
		               ? berth_fail(err, BERTH_EINVAL, "export: --nearest is for --granularity G")
		               : BERTH_OK;
	BERTH_TRY(berth_granularity_named(b->granularity, cli_sandbox(c), &x->g, &c->mem, &c->tmp, &blocks,
	                                  err));
	BERTH_TRY(berth_nearest_split(x->placement.op_dev, &blocks, x->g.n_ops, &c->tmp, &split, err));
	if (split < 0)
		return BERTH_OK;
	return b->nearest ? make_whole(c, b, &blocks, x, err)
	                  : refuse(b, x, blocks.block_name[split], blocks.op_block, split, err);
}

berth_status export_blocks_express(cli *c, export_blocks *b, const berth_exporter *e,
                                   berth_export_source *source, export_plan *x, berth_err *err)
{
	int32_t *op_dev;
	bool changed = false;
	if (!b->nearest || !e->nearest)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, x->g.n_ops, err, op_dev);
	BERTH_TRY(berth_export_nearest(e, source, &c->tmp, op_dev, err));
	for (int32_t op = 0; op < x->g.n_ops; op++)
		changed = changed || op_dev[op] != source->op_dev[op];
	if (!changed)
		return BERTH_OK;
	b->moved = 0;
	for (int32_t op = 0; op < x->g.n_ops; op++)
		b->moved += op_dev[op] != b->plan[op];
	BERTH_TRY(take(c, b, op_dev, x, err));
	source->op_dev = op_dev;
	source->t = x->priced && x->t.r.runs ? &x->t : NULL;
	return BERTH_OK;
}

/* The nearest plan of whole layers, tried: it can be told. x is a copy that is changed. */
static berth_status try_layers(cli *c, export_blocks *b, const berth_exporter *e, berth_export_source source,
                               export_plan *x, berth_err *err)
{
	berth_export_out made = {.mem = &c->mem};
	BERTH_TRY(export_blocks_apply(c, b, e, x, err));
	source.op_dev = x->placement.op_dev;
	source.t = x->priced && x->t.r.runs ? &x->t : NULL;
	BERTH_TRY(export_blocks_express(c, b, e, &source, x, err));
	return berth_export_make(e, &source, &c->tmp, &made, err);
}

berth_status export_blocks_hint(cli *c, const export_blocks *b, const berth_exporter *e,
                                const berth_export_source *source, const export_plan *x, berth_status st,
                                berth_err *err)
{
	export_blocks layers = {.granularity = "layer", .nearest = true};
	export_plan plan = *x;
	berth_err other = {0};
	char text[sizeof err->msg], before[32], after[32], price[96] = "";
	if (st != BERTH_EUNSUPPORTED || b->nearest || !e->nearest)
		return st;
	berth_status tried = try_layers(c, &layers, e, *source, &plan, &other);
	if (tried != BERTH_OK)
		return tried == BERTH_ENOMEM ? berth_nomem(err) : st;
	if (x->priced)
		snprintf(price, sizeof price, ": %s %s, this one's %s", berth_objective_name(&x->objective),
		         cli_value(after, &x->objective, plan.v.value),
		         cli_value(before, &x->objective, x->v.value));
	snprintf(text, sizeof text, "%s", err->msg);
	return berth_fail(err, st,
	                  "%.330s (--granularity layer --nearest writes the nearest plan that it can be "
	                  "told%s)",
	                  text, price);
}
