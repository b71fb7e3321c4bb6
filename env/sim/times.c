/* Measured times put into a graph: of operators, or of whole steps on a device. And the order of a
 * simulation's starts, for engines. */
#include "times.h"

/* A name of one of the devices, or of their kinds. */
static bool names_device(const berth_system *s, const char *key)
{
	for (int32_t d = 0; d < s->n_devs; d++)
		if (strcmp(s->dev_name[d], key) == 0 || strcmp(s->dev_kind[d], key) == 0)
			return true;
	return false;
}

berth_status berth_graph_with_times(const berth_graph *g, const berth_system *s, const double *time_s,
                                    berth_arena *mem, berth_graph *out, berth_err *err)
{
	berth_graph r = *g;
	int32_t n = 0;
	size_t most = (size_t)g->n_times + (size_t)g->n_ops * (size_t)s->n_devs;
	BERTH_TRY(berth_graph_join_time_names(g, s->dev_name, (size_t)s->n_devs, mem, &r, err));
	BERTH_TRY_NEW(mem, g->n_ops + 1, err, r.op_time_off);
	BERTH_TRY_NEW(mem, most, err, r.time_key, r.time_s);
	for (int32_t op = 0; op < g->n_ops; op++) {
		BERTH_EACH (i, g->op_time_off, op) {
			if (names_device(s, berth_graph_time_name(g, i)))
				continue;
			r.time_key[n] = g->time_key[i];
			r.time_s[n++] = g->time_s[i];
		}
		for (int32_t d = 0; d < s->n_devs; d++) {
			r.time_key[n] = (uint16_t)(g->n_time_names + d);
			r.time_s[n++] = time_s[(size_t)op * (size_t)s->n_devs + (size_t)d];
		}
		r.op_time_off[op + 1] = n;
	}
	r.n_times = n;
	*out = r;
	return BERTH_OK;
}

void berth_start_order(const berth_problem *p, berth_sim *sim, const int32_t *op_dev, int32_t *order)
{
	berth_sim_result r;
	berth_sim_run(sim, op_dev, NULL, &r);
	if (r.runs)
		berth_sim_start_order(sim, order);
	else if (p->n_ops > 0)
		BERTH_COPY(order, p->g->topo_op, p->n_ops);
}

/* ---- measured steps ---- */

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

berth_status berth_graph_step_times(const berth_problem *p, const double *dev_step_s, berth_arena *mem,
                                    berth_arena *tmp, berth_graph *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_sim *sim;
	int32_t *op_dev;
	double *time_s, *factor;
	size_t n = (size_t)p->n_devs;
	BERTH_TRY(berth_sim_new(p, tmp, &sim, err));
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev);
	BERTH_TRY_NEW(tmp, p->n_devs, err, factor);
	BERTH_TRY_NEW(tmp, (size_t)p->n_ops * n, err, time_s);
	for (int32_t d = 0; d < p->n_devs; d++)
		BERTH_TRY(factor_of(p, sim, d, dev_step_s[d], op_dev, &factor[d], err));
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t ns = berth_op_time(p, op, d);
			time_s[(size_t)op * n + (size_t)d] = ns < 0 ? NAN : (double)ns * 1e-9 * factor[d];
		}
	return berth_graph_with_times(p->g, p->s, time_s, mem, out, err);
}
