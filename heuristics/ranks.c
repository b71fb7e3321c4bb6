/* Ranks of operators; see ranks.h. */
#include "ranks.h"

void berth_downward_ranks(const berth_problem *p, int64_t *op_rank_ns)
{
	const berth_graph *g = p->g;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k];
		op_rank_ns[op] = 0;
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
			int32_t t = g->in_tensor[i], from = g->tensor_producer[t];
			int64_t rank =
				op_rank_ns[from] + p->op_mean_ns[from] + p->class_mean_ns[p->tensor_class[t]];
			if (rank > op_rank_ns[op])
				op_rank_ns[op] = rank;
		}
	}
}
