/* Devices of operators that a file does not tell of; see import_reading.h. */
#include "import_reading.h"

/* The one operator that takes all that op makes; -1: none, or several. */
static int32_t only_taker(const berth_graph *g, int32_t op)
{
	int32_t first = g->op_tensor_off[op];
	if (g->op_tensor_off[op + 1] != first + 1 ||
	    g->tensor_use_off[first + 1] != g->tensor_use_off[first] + 1)
		return -1;
	return g->edge_consumer[g->tensor_use_off[first]];
}

/* Into the operator behind: the fused one is known by what comes out of it. Last ones first, so that a chain
 * goes together. */
static void fuse_behind(const berth_importer *from, const berth_graph *g, berth_import_plan *plan)
{
	for (int32_t i = g->n_ops; i-- > 0;) {
		int32_t op = g->topo_op[i], taker = only_taker(g, op);
		if (plan->op_dev[op] >= 0 || taker < 0 || plan->op_dev[taker] < 0 ||
		    !from->fuses(g, op, taker))
			continue;
		plan->op_dev[op] = plan->op_dev[taker];
		plan->n_fused++;
	}
}

/* Beside what makes an input: the one it is fused into, where that is known, else the first. */
static void go_with_producer(const berth_importer *from, const berth_graph *g, berth_import_plan *plan)
{
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i], first = -1;
		bool fused = false;
		for (int32_t k = g->op_in_off[op]; plan->op_dev[op] < 0 && !fused && k < g->op_in_off[op + 1];
		     k++) {
			int32_t maker = g->tensor_producer[g->in_tensor[k]];
			if (plan->op_dev[maker] < 0)
				continue;
			fused = from->fuses && only_taker(g, maker) == op && from->fuses(g, maker, op);
			if (first < 0 || fused)
				first = maker;
		}
		if (first < 0)
			continue;
		plan->op_dev[op] = plan->op_dev[first];
		plan->n_fused += fused;
		plan->n_producer += !fused;
	}
}

static void go_with_taker(const berth_graph *g, berth_import_plan *plan)
{
	for (int32_t i = g->n_ops; i-- > 0;) {
		int32_t op = g->topo_op[i], from = g->tensor_use_off[g->op_tensor_off[op]],
			to = g->tensor_use_off[g->op_tensor_off[op + 1]];
		if (plan->op_dev[op] >= 0)
			continue;
		for (int32_t e = from; e < to && plan->op_dev[op] < 0; e++)
			plan->op_dev[op] = plan->op_dev[g->edge_consumer[e]];
		plan->n_taker += plan->op_dev[op] >= 0;
	}
}

static int32_t most_used(const berth_import_plan *plan)
{
	int32_t best = 0;
	for (int32_t i = 1; i < plan->n_devices; i++)
		if (plan->device[i].n_ops > plan->device[best].n_ops)
			best = i;
	return plan->n_devices ? plan->device[best].dev : 0;
}

void berth_import_fill(const berth_importer *from, const berth_graph *g, berth_import_plan *plan)
{
	if (from->fuses)
		fuse_behind(from, g, plan);
	go_with_producer(from, g, plan);
	go_with_taker(g, plan);
	for (int32_t op = 0; op < g->n_ops; op++)
		if (plan->op_dev[op] < 0) {
			plan->op_dev[op] = most_used(plan);
			plan->n_alone++;
		}
}
