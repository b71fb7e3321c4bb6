#include "group_cfg.h"

berth_status berth_group_cfg(const berth_problem *p, int32_t target, berth_arena *mem, berth_coarsen_cfg *out,
                             berth_err *err)
{
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target);
	double *cost;
	BERTH_TRY_NEW(mem, p->n_ops, err, cost);
	for (int32_t op = 0; op < p->n_ops; op++)
		cost[op] = (double)p->op_mean_ns[op];
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_dev_most_bytes(p, d) >= 0 && berth_dev_most_bytes(p, d) / 2 < cfg.max_bytes)
			cfg.max_bytes = berth_dev_most_bytes(p, d) / 2;
	cfg.op_cost = cost;
	*out = cfg;
	return BERTH_OK;
}
