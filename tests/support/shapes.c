/* Shapes of operators against what they state of their work. */
#include "shapes.h"

#include "support.h"

int32_t shapes_missing(const berth_graph *g)
{
	int32_t n = 0;
	for (int32_t op = 0; op < g->n_ops; op++) {
		berth_dims d = berth_graph_op_spec(g, op).dims;
		double macs = g->op_macs[op], work = berth_dims_work(&d);
		bool product = d.kind == BERTH_DIMS_PRODUCT || d.kind == BERTH_DIMS_CONV;
		if (macs > 0 ? !product : d.kind == BERTH_DIMS_NONE)
			n += macs > 0 || g->op_read_bytes[op] + g->op_write_bytes[op] > 0;
		else if (product && !(work > 0.999999 * macs && work < 1.000001 * macs))
			fail_msg("%s: dims are %g multiply-accumulates, macs %g", g->op_name[op], work, macs);
	}
	return n;
}

void shapes_check(const berth_graph *g, const char *op, berth_precision dtype, berth_dims_kind kind,
                  const int64_t at[BERTH_MOST_DIMS])
{
	int32_t i = berth_graph_find(g, op);
	if (i < 0)
		fail_msg("no operator %s", op);
	berth_op_spec s = berth_graph_op_spec(g, i);
	if (s.dims.kind != kind || (s.dtype ? s.dtype : BERTH_F32) != dtype)
		fail_msg("%s: dims of kind %d in %s", op, (int)s.dims.kind, berth_precision_name(s.dtype));
	for (int k = 0; k < BERTH_MOST_DIMS; k++)
		if (s.dims.at[k] != at[k])
			fail_msg("%s: %s is %lld; expected %lld", op, berth_dims_key(kind, k),
			         (long long)s.dims.at[k], (long long)at[k]);
}
