/* Machines short of memory; see tighten.h. */
#include "tighten.h"

#include <math.h>

/* Uses of each tensor that are still to come. */
static berth_status count_uses(const berth_graph *g, berth_arena *tmp, int32_t **left, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(tmp, *left, g->n_tensors, err));
	for (int32_t i = 0; i < g->op_in_off[g->n_ops]; i++)
		(*left)[g->in_tensor[i]]++;
	return BERTH_OK;
}

static int64_t most_live(const berth_graph *g, int32_t *left)
{
	int64_t live = 0, most = 0;
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i];
		live += g->op_output_bytes[op];
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			live += g->tensor_bytes[t];
		int64_t now = live + g->op_workspace_bytes[op];
		most = now > most ? now : most;
		for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1]; k++)
			if (--left[g->in_tensor[k]] == 0)
				live -= g->tensor_bytes[g->in_tensor[k]];
	}
	return most;
}

berth_status berth_graph_need(const berth_graph *g, berth_arena *tmp, int64_t *bytes, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *left;
	BERTH_TRY(count_uses(g, tmp, &left, err));
	*bytes = most_live(g, left) + berth_graph_param_bytes(g);
	for (int32_t op = 0; op < g->n_ops; op++)
		*bytes += g->op_state_bytes[op];
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

/* A limited pool gets what was drawn for its members, bytes [n_devs], and each member the part of it that it
 * had before; one without a limit of its own has none. */
static void tighten_pool(berth_system *s, int32_t pool, const double *bytes)
{
	double sum = 0, old = (double)s->pool_bytes[pool];
	for (int32_t d = 0; d < s->n_devs; d++)
		sum += s->dev_pool[d] == pool ? bytes[d] : 0;
	s->pool_bytes[pool] = (int64_t)fmin(sum, 0x1p53);
	for (int32_t d = 0; d < s->n_devs; d++)
		if (s->dev_pool[d] == pool && s->dev_memory_bytes[d] >= 0)
			s->dev_memory_bytes[d] =
				old > 0 ? (int64_t)((double)s->pool_bytes[pool] *
		                                    ((double)s->dev_memory_bytes[d] / old))
					: 0;
}

static bool is_in_limited_pool(const berth_system *s, int32_t d)
{
	return s->n_pools && s->dev_pool[d] >= 0 && s->pool_bytes[s->dev_pool[d]] >= 0;
}

berth_status berth_system_tighten(const berth_graph *g, berth_rng *rng, berth_system *s, berth_arena *tmp,
                                  berth_err *err)
{
	int64_t need;
	double share[BERTH_MAX_DEVS], sum = 0;
	bool limited = true;
	BERTH_TRY(berth_graph_need(g, tmp, &need, err));
	for (int32_t d = 0; d < s->n_devs; d++)
		limited &= s->dev_memory_bytes[d] > 0;
	double total = (double)need * 1.1 * pow(3 / 1.1, berth_rng_unit(rng));
	for (int32_t d = 0; d < s->n_devs; d++)
		sum += share[d] =
			(limited ? (double)s->dev_memory_bytes[d] : 1) * exp(0.3 * berth_rng_normal(rng));
	for (int32_t d = 0; d < s->n_devs; d++)
		share[d] = fmin(ceil(total * share[d] / sum), 0x1p53);
	for (int32_t d = 0; d < s->n_devs; d++)
		if (!is_in_limited_pool(s, d))
			s->dev_memory_bytes[d] = (int64_t)share[d];
	for (int32_t i = 0; i < s->n_pools; i++)
		if (s->pool_bytes[i] >= 0)
			tighten_pool(s, i, share);
	return BERTH_OK;
}
