/* What all methods share: running one, and sums over colocation groups. */
#include "method.h"
#include "partial.h"

#include <string.h>

/* A search that was stopped makes no further evaluation, so that the same run with the number that it
 * reached as its budget gives the same answer. */
berth_status berth_method_run(const berth_method *m, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *op_dev;
	berth_status st = m->run(s, tmp, err);
	berth_arena_reset(tmp, mark);
	if (st != BERTH_OK || berth_score_feasible(s->best) ||
	    (m->searches && berth_search_budget_left(s, 1) == 0))
		return st;
	st = BERTH_NEW(tmp, op_dev, s->p->n_ops, err);
	if (st == BERTH_OK) {
		memcpy(op_dev, s->best_dev, (size_t)s->p->n_ops * sizeof *op_dev);
		st = berth_repair(s, op_dev, tmp, err);
	}
	berth_arena_reset(tmp, mark);
	return st;
}

int64_t berth_coloc_time(const berth_problem *p, int32_t coloc, int32_t dev)
{
	int64_t sum = 0;
	for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1]; i++)
		sum += berth_op_time(p, p->coloc_op[i], dev);
	return sum;
}

const double berth_memory_share[BERTH_MEMORY_TRIES] = {0, 0.3, 0.6, 1};

berth_status berth_offer_schedule(berth_search *s, berth_schedule_fn schedule, void *ctx, berth_arena *tmp,
                                  berth_err *err)
{
	berth_partial *part;
	int32_t *op_dev, *order;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	bool fits = false;
	BERTH_TRY(berth_partial_new(s->p, tmp, &part, err));
	BERTH_TRY(BERTH_NEW(tmp, op_dev, s->p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, order, s->p->n_ops, err));
	for (int k = 0; k < BERTH_MEMORY_TRIES && !fits; k++) {
		berth_partial_reset(part);
		berth_partial_limit_memory(part, berth_memory_share[k]);
		BERTH_TRY(schedule(ctx, part, tmp, err));
		berth_partial_devs(part, op_dev);
		berth_partial_order(part, order);
		fits = berth_score_feasible(berth_search_offer_ordered(s, op_dev, order));
	}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

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

berth_status berth_start_from_portfolio(berth_search *s, berth_arena *tmp, berth_err *err)
{
	for (int32_t i = 0; i < berth_n_portfolio; i++)
		BERTH_TRY(berth_method_run(berth_portfolio_methods[i], s, tmp, err));
	return BERTH_OK;
}

bool berth_can_move(const berth_problem *p)
{
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t n_legal = 0;
		for (int32_t d = 0; d < p->n_devs; d++)
			n_legal += berth_coloc_legal(p, u, d);
		if (n_legal > 1)
			return true;
	}
	return false;
}

void berth_coloc_bytes(const berth_problem *p, int64_t *coloc_bytes)
{
	const berth_graph *g = p->g;
	memset(coloc_bytes, 0, (size_t)p->n_colocs * sizeof *coloc_bytes);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int64_t bytes = g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op];
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			bytes += g->tensor_bytes[t];
		for (int32_t i = g->op_param_off[op]; i < g->op_param_off[op + 1]; i++)
			bytes += g->param_bytes[g->op_param[i]];
		coloc_bytes[p->op_coloc[op]] += bytes;
	}
}
