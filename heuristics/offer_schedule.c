/* What list schedules share: how they are offered to a search, and the downward ranks of operators. */
#include "offer_schedule.h"

#include "seeds.h"

const double berth_memory_share[BERTH_MEMORY_TRIES] = {0, 0.3, 0.6, 1};

berth_status berth_offer_schedule(berth_search *s, berth_schedule_fn schedule, void *ctx, berth_arena *tmp,
                                  berth_err *err)
{
	berth_partial *part;
	int32_t *op_dev, *order;
	BERTH_SCRATCH(tmp);
	bool fits = false;
	BERTH_TRY(berth_partial_new(s->p, tmp, &part, err));
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, op_dev, order);
	for (int k = 0; k < BERTH_MEMORY_TRIES && !fits; k++) {
		if (!berth_search_afford(s, berth_seed_list_ns(s->p)) && k > 0)
			break;
		berth_partial_reset(part);
		berth_partial_limit_memory(part, berth_memory_share[k]);
		BERTH_TRY(schedule(ctx, part, tmp, err));
		berth_partial_devs(part, op_dev);
		berth_partial_order(part, order);
		fits = berth_score_feasible(berth_search_offer_ordered(s, op_dev, order));
	}
	return BERTH_OK;
}

void berth_downward_ranks(const berth_problem *p, int64_t *op_rank_ns)
{
	const berth_graph *g = p->g;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k];
		op_rank_ns[op] = 0;
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t t = g->in_tensor[i], from = g->tensor_producer[t];
			int64_t rank =
				op_rank_ns[from] + p->op_mean_ns[from] + p->class_mean_ns[p->tensor_class[t]];
			if (rank > op_rank_ns[op])
				op_rank_ns[op] = rank;
		}
	}
}
