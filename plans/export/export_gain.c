/* See export_gain.h. */
#include "export_gain.h"

#include "check.h"

#include <math.h>

static int32_t single_device(const int32_t *op_dev, int32_t n_ops)
{
	for (int32_t op = 1; op < n_ops; op++)
		if (op_dev[op] != op_dev[0])
			return -1;
	return n_ops ? op_dev[0] : -1;
}

double berth_export_serial(const berth_problem *p, const int32_t *op_dev)
{
	const berth_graph *g = p->g;
	int32_t last[BERTH_MAX_DEVS] = {0}; /* 1 + the tensor that came to the device last */
	double sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t dev = op_dev[op];
		sum += (double)berth_op_time(p, op, dev);
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			for (int32_t u = g->tensor_use_off[t]; u < g->tensor_use_off[t + 1]; u++) {
				int32_t to = op_dev[g->edge_consumer[u]];
				if (to == dev || last[to] == t + 1)
					continue;
				last[to] = t + 1;
				sum += (double)berth_transfer_ns(p, t, dev, to);
			}
	}
	return sum / 1e9;
}

static berth_status seconds(const berth_exporter *e, const berth_export_source *x, const int32_t *op_dev,
                            berth_arena *tmp, double *out, berth_err *err)
{
	if (e->seconds)
		return e->seconds(x, op_dev, tmp, out, err);
	*out = berth_export_serial(x->p, op_dev);
	return BERTH_OK;
}

static berth_status find(const berth_exporter *e, const berth_export_source *x, const berth_objective *o,
                         double plan, berth_arena *mem, berth_arena *tmp, berth_export_gain *out,
                         berth_err *err)
{
	berth_timeline t;
	berth_verdict v;
	int32_t *op_dev;
	bool known;
	BERTH_TRY(BERTH_NEW(mem, op_dev, x->g->n_ops, err));
	BERTH_TRY(e->usual(x, tmp, op_dev, &known, err));
	if (!known)
		return BERTH_OK;
	BERTH_TRY(berth_judge(x->p, op_dev, NULL, o, mem, &t, &v, err));
	out->known = !isnan(v.value) && !isnan(plan);
	out->usual_fits = v.feasible;
	out->serial = out->known && e->serial && berth_objective_is(o, BERTH_LATENCY);
	out->plan = plan;
	out->usual = v.value;
	if (out->serial) {
		BERTH_TRY(seconds(e, x, x->op_dev, tmp, &out->plan, err));
		BERTH_TRY(seconds(e, x, op_dev, tmp, &out->usual, err));
		out->known = !isnan(out->plan) && !isnan(out->usual);
	}
	out->gain = out->usual > 0 ? 1 - out->plan / out->usual : 0;
	out->error = e->error ? fmax(e->error(x, x->op_dev), e->error(x, op_dev)) : BERTH_EXPORT_ERROR;
	out->keep = out->known && v.feasible && out->gain < out->error;
	out->device = single_device(op_dev, x->g->n_ops);
	return BERTH_OK;
}

berth_status berth_export_gain_of(const berth_exporter *e, const berth_export_source *x,
                                  const berth_objective *o, double plan, berth_arena *mem, berth_arena *tmp,
                                  berth_export_gain *out, berth_err *err)
{
	*out = (berth_export_gain){.plan = NAN, .usual = NAN, .gain = NAN, .device = -1};
	if (!x->p || !e->usual || x->s->order == BERTH_ORDER_GIVEN)
		return BERTH_OK;
	berth_arena_mark mark = berth_arena_get_mark(mem);
	berth_status st = find(e, x, o, plan, mem, tmp, out, err);
	berth_arena_reset(mem, mark);
	return st;
}
