/* What an engine fuses is an operator of the fused graph; its time there is shared among its operators. */
#include "fused_times.h"

#include "coarsen.h"
#include "op_times.h"

static bool is_gpu(const berth_system *s, int32_t d)
{
	return s->dev_class[d] == BERTH_CLASS_GPU;
}

/* Seconds of op on dev by the model of times alone, where nothing was measured; NAN: not so. */
static double modelled_s(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev)
{
	const berth_type_on_dev type =
		berth_type_look_up(s, dev, g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]);
	berth_op_prediction x = berth_op_predict(g, s, op, dev, &type);
	return x.from == BERTH_TIME_MODEL ? x.seconds : NAN;
}

/* The times of kernels on dev, each shared among its operators as they take by themselves. op_new [n_ops]:
 * the operator of fused that each is of. */
static berth_status share_times(berth_problem *p, const berth_graph *fused, const int32_t *op_new,
                                int32_t dev, berth_arena *tmp, berth_err *err)
{
	int64_t *sum; /* [fused->n_ops] of the operators of each */
	double *share;
	BERTH_TRY_NEW(tmp, fused->n_ops, err, sum, share);
	for (int32_t k = 0; k < fused->n_ops; k++)
		share[k] = 1e9 * modelled_s(fused, p->s, k, dev);
	for (int32_t op = 0; op < p->n_ops; op++) {
		sum[op_new[op]] += berth_op_time(p, op, dev);
		if (isnan(modelled_s(p->g, p->s, op, dev)))
			share[op_new[op]] = NAN;
	}
	for (int32_t k = 0; k < fused->n_ops; k++)
		share[k] /= (double)sum[k];
	for (int32_t op = 0; op < p->n_ops; op++)
		if (share[op_new[op]] < 1)
			p->op_dev_time_ns[berth_cell(p, op, dev)] =
				llround(share[op_new[op]] * (double)berth_op_time(p, op, dev));
	return BERTH_OK;
}

berth_status berth_fused_times(berth_problem *p, berth_err *err)
{
	BERTH_ARENA(own);
	BERTH_ARENA(tmp);
	berth_granularity kernels;
	berth_graph fused;
	int32_t *op_new, first = 0;
	while (first < p->n_devs && !is_gpu(p->s, first))
		first++;
	if (first == p->n_devs)
		return BERTH_OK;
	BERTH_TRY_NEW(&own, p->n_ops, err, op_new);
	BERTH_TRY(berth_granularity_find(p->g, BERTH_GRAIN_KERNEL, &own, &tmp, &kernels, err));
	BERTH_TRY(berth_graph_fuse_kernels(p->g, &kernels, op_new, &own, &tmp, &fused, err));
	for (int32_t d = first; d < p->n_devs; d++)
		if (is_gpu(p->s, d))
			BERTH_TRY(share_times(p, &fused, op_new, d, &own, err));
	return BERTH_OK;
}
