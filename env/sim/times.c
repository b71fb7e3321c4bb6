/* See times.h. */
#include "times.h"

#include <string.h>

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
	BERTH_TRY(BERTH_NEW(mem, r.op_time_off, g->n_ops + 1, err));
	BERTH_TRY(BERTH_NEW(mem, r.time_key, most, err));
	BERTH_TRY(BERTH_NEW(mem, r.time_s, most, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		for (int32_t i = g->op_time_off[op]; i < g->op_time_off[op + 1]; i++) {
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
		memcpy(order, p->g->topo_op, (size_t)p->n_ops * sizeof *order);
}
