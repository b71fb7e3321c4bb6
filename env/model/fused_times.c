/* What an engine fuses is an operator of the fused graph; its time there is shared among its operators. */
#include "fused_times.h"

#include "coarsen.h"
#include "engine_rules.h"
#include "op_times.h"

berth_status berth_fused_find(const berth_graph *g, berth_arena *mem, berth_arena *tmp, berth_fused *out,
                              berth_err *err)
{
	berth_granularity kernels;
	out->g = g;
	BERTH_TRY_NEW(mem, g->n_ops, err, out->op_new);
	BERTH_TRY(berth_granularity_find(g, BERTH_GRAIN_KERNEL, mem, tmp, &kernels, err));
	return berth_graph_fuse_kernels(g, &kernels, out->op_new, mem, tmp, &out->fused, err);
}

bool berth_fused_there(const berth_system *s, int32_t dev)
{
	return s->engine && s->engine->fuses && s->dev_class[dev] == BERTH_CLASS_GPU;
}

/* Seconds of op on dev by the model of times, without the device's scale; NAN: not so. */
static double modelled_s(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev,
                         berth_type_on_dev type)
{
	type.scale = 1;
	berth_op_prediction x = berth_op_predict(g, s, op, dev, &type);
	return x.from == BERTH_TIME_MODEL ? x.seconds : NAN;
}

static berth_type_on_dev type_of(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev)
{
	return berth_type_look_up(s, dev, g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]);
}

berth_status berth_fused_seconds(const berth_fused *x, const berth_system *s, int32_t dev, double *kernel_s,
                                 berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	double *apart; /* of the operators of each */
	int32_t *n;
	BERTH_TRY_NEW(tmp, x->fused.n_ops, err, apart, n);
	for (int32_t op = 0; op < x->g->n_ops; op++) {
		apart[x->op_new[op]] += modelled_s(x->g, s, op, dev, type_of(x->g, s, op, dev));
		n[x->op_new[op]]++;
	}
	for (int32_t k = 0; k < x->fused.n_ops; k++) {
		berth_type_on_dev type = type_of(&x->fused, s, k, dev);
		type.joined = n[k] > 1;
		double one = modelled_s(&x->fused, s, k, dev, type);
		kernel_s[k] = one < apart[k] && n[k] > 1 ? one * type.scale : NAN;
	}
	return BERTH_OK;
}

/* The times of kernels on dev, each shared among its operators as they take by themselves. */
static berth_status share_times(berth_problem *p, const berth_fused *x, int32_t dev, berth_arena *tmp,
                                berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int64_t *sum; /* of the operators of each kernel */
	double *kernel_s;
	BERTH_TRY_NEW(tmp, x->fused.n_ops, err, sum, kernel_s);
	BERTH_TRY(berth_fused_seconds(x, p->s, dev, kernel_s, tmp, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		sum[x->op_new[op]] += berth_op_time(p, op, dev);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t k = x->op_new[op];
		if (!isnan(kernel_s[k]) && sum[k] > 0)
			p->op_dev_time_ns[berth_cell(p, op, dev)] = llround(
				1e9 * kernel_s[k] / (double)sum[k] * (double)berth_op_time(p, op, dev));
	}
	return BERTH_OK;
}

berth_status berth_fused_times(berth_problem *p, berth_err *err)
{
	BERTH_ARENA(own);
	BERTH_ARENA(tmp);
	berth_fused x;
	int32_t first = 0;
	while (first < p->n_devs && !berth_fused_there(p->s, first))
		first++;
	if (first == p->n_devs)
		return BERTH_OK;
	BERTH_TRY(berth_fused_find(p->g, &own, &tmp, &x, err));
	for (int32_t d = first; d < p->n_devs; d++)
		if (berth_fused_there(p->s, d))
			BERTH_TRY(share_times(p, &x, d, &tmp, err));
	return BERTH_OK;
}
