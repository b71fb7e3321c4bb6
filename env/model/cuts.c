/* Cuts; see cuts.h. */
#include "cuts.h"

#include "sort.h"

/* Operators by block, in topological order within each. */
static berth_status by_block(const berth_problem *p, int32_t **order, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *key, *off;
	BERTH_TRY(BERTH_NEW(tmp, key, p->n_ops, err));
	for (int32_t k = 0; k < p->n_ops; k++)
		key[k] = g->op_block[g->topo_op[k]];
	return berth_csr_new(g->n_blocks, p->n_ops, key, g->topo_op, tmp, &off, order, err);
}

berth_status berth_cuts_operators(const berth_problem *p, int32_t *order, int32_t *op_chain, berth_arena *tmp,
                                  berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *list, at = -1;
	BERTH_TRY(by_block(p, &list, tmp, err));
	for (int32_t k = 0; k < p->n_ops; k++) {
		at += k == 0 || p->op_coloc[list[k]] != p->op_coloc[list[k - 1]];
		order[k] = list[k];
		op_chain[list[k]] = at;
	}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

berth_status berth_cuts_compile(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	int32_t *list;
	p->max_cuts = -1;
	p->n_chain = 0;
	if (!p->g->op_block)
		return BERTH_OK;
	p->max_cuts = p->g->max_cuts;
	BERTH_TRY(BERTH_NEW(mem, p->chain_coloc, p->n_ops, err));
	BERTH_TRY(by_block(p, &list, tmp, err));
	for (int32_t k = 0; k < p->n_ops; k++)
		if (k == 0 || p->op_coloc[list[k]] != p->op_coloc[list[k - 1]])
			p->chain_coloc[p->n_chain++] = p->op_coloc[list[k]];
	return BERTH_OK;
}

static int32_t first_op(const berth_problem *p, int32_t at)
{
	return p->coloc_op[p->coloc_off[p->chain_coloc[at]]];
}

int64_t berth_cuts(const berth_problem *p, const int32_t *op_dev)
{
	int64_t cuts = 0;
	for (int32_t k = 1; k < p->n_chain; k++)
		cuts += op_dev[first_op(p, k)] != op_dev[first_op(p, k - 1)];
	return cuts;
}

int64_t berth_cuts_above(const berth_problem *p, const int32_t *op_dev)
{
	int64_t above = p->max_cuts >= 0 ? berth_cuts(p, op_dev) - p->max_cuts : 0;
	return above > 0 ? above : 0;
}

/* Legal devices shrink along a stage until none is left; there a cut must be. That is the fewest, as a stage
 * that goes as far as it can never hinders those behind it. */
int64_t berth_cuts_least(const berth_problem *p)
{
	int64_t cuts = 0;
	int32_t from = 0;
	if (p->max_cuts < 0)
		return -1;
	for (int32_t k = 0; k < p->n_chain; k++) {
		bool any = false;
		for (int32_t d = 0; d < p->n_devs && !any; d++) {
			any = true;
			for (int32_t i = from; i <= k && any; i++)
				any = berth_op_legal(p, first_op(p, i), d);
		}
		if (any || from == k)
			continue;
		cuts++;
		from = k;
	}
	return cuts;
}
