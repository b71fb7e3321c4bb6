/* Multilevel refinement; see refine.h. */
#include "refine.h"

#include "sort.h"

/* Operators by node: node_of[op] in [0, n). */
static berth_status blocks_of(const int32_t *node_of, int32_t n_ops, int32_t n, berth_arena *mem,
                              berth_blocks *out, berth_err *err)
{
	int32_t *off, *op;
	BERTH_TRY(berth_csr_new(n, n_ops, node_of, NULL, mem, &off, &op, err));
	*out = (berth_blocks){n, off, op};
	return BERTH_OK;
}

berth_status berth_levels_new(const berth_problem *p, const berth_coarsening *c, berth_arena *mem,
                              berth_levels *out, berth_err *err)
{
	int32_t *node;
	berth_levels l = {0};
	BERTH_TRY(BERTH_NEW(mem, node, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, l.level, c->n_levels, err));
	/* From the colocation groups on, coarser and coarser; kept in reverse. */
	for (int32_t op = 0; op < p->n_ops; op++)
		node[op] = c->op_coloc[op];
	int32_t last = INT32_MAX;
	for (int32_t k = 0; k < c->n_levels; k++) {
		if (k == 0 || k == c->n_levels - 1 || c->level_n[k] <= last / 4 * 3) {
			BERTH_TRY(blocks_of(node, p->n_ops, c->level_n[k], mem, &l.level[l.n++], err));
			last = c->level_n[k];
		}
		for (int32_t op = 0; k + 1 < c->n_levels && op < p->n_ops; op++)
			node[op] = c->level_map[k][node[op]];
	}
	for (int32_t i = 0; i < l.n / 2; i++) {
		berth_blocks x = l.level[i];
		l.level[i] = l.level[l.n - 1 - i];
		l.level[l.n - 1 - i] = x;
	}
	*out = l;
	return BERTH_OK;
}

berth_status berth_refine(berth_search *s, const berth_levels *levels, int32_t *op_dev, berth_score *score,
                          int64_t evaluations, berth_rng *rng, berth_arena *tmp, berth_err *err)
{
	int64_t end = s->evaluations + evaluations;
	for (int32_t i = 0; i < levels->n; i++) {
		int64_t share = (end - s->evaluations) / (levels->n - i);
		BERTH_TRY(berth_improve_blocks(s, &levels->level[i], op_dev, score, share, rng, tmp, err));
	}
	return BERTH_OK;
}
