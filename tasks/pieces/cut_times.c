/* See cut_times.h. */
#include "cut_times.h"

#include <math.h>

/* Of the work of operator `whole`, what `piece` of the cut model has. */
static double share_of(const berth_graph *from, int32_t whole, const berth_graph *g, int32_t piece)
{
	if (from->op_flops[whole] > 0)
		return g->op_flops[piece] / from->op_flops[whole];
	if (from->op_write_bytes[whole] > 0)
		return (double)g->op_write_bytes[piece] / (double)from->op_write_bytes[whole];
	return 1;
}

static double piece_seconds(double whole_s, double overhead_s, double share)
{
	double fixed = fmin(overhead_s, whole_s);
	return fixed + share * (whole_s - fixed);
}

/* The times of operator `at`, from row n on; returns the row behind them. */
static int32_t put_times(cut_making *m, int32_t at, int32_t n)
{
	const berth_system *s = m->c->p->s;
	const berth_graph *from = m->c->p->g;
	berth_graph *g = &m->cut;
	cut_origin o = m->origin[at];
	double seconds;
	for (int32_t d = 0; o.op >= 0 && d < s->n_devs; d++) {
		if (!berth_op_measured(from, s, o.op, d, &seconds))
			continue;
		g->time_key[n] = (uint16_t)d;
		g->time_s[n++] = o.piece < 0 || isnan(seconds)
		                         ? seconds
		                         : piece_seconds(seconds, s->dev_op_overhead_s[d],
		                                         share_of(from, o.op, &m->cut, at));
	}
	return n;
}

berth_status cut_times(cut_making *m, berth_err *err)
{
	const berth_system *s = m->c->p->s;
	berth_graph *g = &m->cut;
	size_t most = (size_t)g->n_ops * (size_t)s->n_devs;
	if (m->c->p->g->n_times == 0)
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(m->mem, g->op_time_off, g->n_ops + 1, err));
	BERTH_TRY(BERTH_NEW(m->mem, g->time_key, most, err));
	BERTH_TRY(BERTH_NEW(m->mem, g->time_s, most, err));
	g->time_name = s->dev_name;
	g->n_time_names = s->n_devs;
	for (int32_t op = 0; op < g->n_ops; op++)
		g->op_time_off[op + 1] = put_times(m, op, g->op_time_off[op]);
	g->n_times = g->op_time_off[g->n_ops];
	return BERTH_OK;
}
