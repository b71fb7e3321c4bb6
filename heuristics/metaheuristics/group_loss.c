/* Makes each group a colocation group and anneals the graph so: what grouping costs. */
#include "group_loss.h"

#include "anneal.h"
#include "registry.h"

berth_status berth_group_whole(const berth_graph *g, const berth_coarsening *c, berth_arena *mem,
                               berth_graph *out, berth_err *err)
{
	berth_graph copy = *g;
	copy.n_coloc_names = c->n_groups;
	copy.op_coloc_name = c->op_group;
	BERTH_TRY_NEW(mem, c->n_groups, err, copy.coloc_name);
	for (int32_t i = 0; i < c->n_groups; i++)
		BERTH_TRY(berth_got(copy.coloc_name[i] = berth_arena_printf(mem, "group%d", i), err));
	*out = copy;
	return BERTH_OK;
}

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

berth_status berth_group_loss(void *judge, const berth_coarsening *c, double *loss, berth_err *err)
{
	const berth_group_judge *j = judge;
	BERTH_SCRATCH(j->tmp);
	BERTH_ARENA(scratch);
	berth_arena_init(&scratch, j->tmp->hook);
	berth_graph g;
	berth_problem p;
	berth_search s;
	berth_search_cfg cfg = {.seed = 1, .evaluations = j->evaluations};
	BERTH_TRY(berth_group_whole(j->p->g, c, j->tmp, &g, err));
	BERTH_TRY(berth_problem_new(&g, j->p->s, j->tmp, &scratch, &p, err));
	*loss = INFINITY;
	if (berth_problem_feasible(&p, NULL) != BERTH_OK)
		return BERTH_OK; /* a group whose operators share no device */
	BERTH_TRY(berth_search_new(&p, &cfg, j->tmp, &s, err));
	BERTH_TRY(berth_method_run(&berth_method_anneal, &s, &scratch, err));
	if (berth_score_feasible(s.best))
		*loss = s.best.value;
	return BERTH_OK;
}
