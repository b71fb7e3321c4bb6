/* See step_times.h. */
#include "step_times.h"

#include "times.h"

#include <math.h>

/* What all times on dev are multiplied by. op_dev [n_ops] is scratch. */
static berth_status factor_of(const berth_problem *p, berth_sim *sim, int32_t dev, double step_s,
                              int32_t *op_dev, double *out, berth_err *err)
{
	berth_sim_result r;
	*out = 1;
	if (isnan(step_s))
		return BERTH_OK;
	for (int32_t op = 0; op < p->n_ops; op++)
		op_dev[op] = dev;
	berth_sim_run(sim, op_dev, p->s->order == BERTH_ORDER_GIVEN ? p->g->topo_op : NULL, &r);
	if (!r.runs || r.latency_ns == 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "a step of graph '%.80s' was measured on device '%.80s', where it %s",
		                  p->g->name, p->s->dev_name[dev], r.runs ? "takes no time" : "cannot run");
	*out = step_s / ((double)r.latency_ns * 1e-9);
	return BERTH_OK;
}

static berth_status scale(const berth_problem *p, const double *dev_step_s, berth_arena *mem,
                          berth_arena *tmp, berth_graph *out, berth_err *err)
{
	berth_sim *sim;
	int32_t *op_dev;
	double *time_s, *factor;
	size_t n = (size_t)p->n_devs;
	BERTH_TRY(berth_sim_new(p, tmp, &sim, err));
	BERTH_TRY(BERTH_NEW(tmp, op_dev, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, factor, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(tmp, time_s, (size_t)p->n_ops * n, err));
	for (int32_t d = 0; d < p->n_devs; d++)
		BERTH_TRY(factor_of(p, sim, d, dev_step_s[d], op_dev, &factor[d], err));
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t ns = berth_op_time(p, op, d);
			time_s[(size_t)op * n + (size_t)d] = ns < 0 ? NAN : (double)ns * 1e-9 * factor[d];
		}
	return berth_graph_with_times(p->g, p->s, time_s, mem, out, err);
}

berth_status berth_graph_step_times(const berth_problem *p, const double *dev_step_s, berth_arena *mem,
                                    berth_arena *tmp, berth_graph *out, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = scale(p, dev_step_s, mem, tmp, out, err);
	berth_arena_reset(tmp, mark);
	return st;
}
