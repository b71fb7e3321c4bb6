/* Choosing operators for a quick profile, greedily by what their times are not known by. */
#include "quick.h"

#include "op_times.h"

enum { DECADES = 12 }; /* from a nanosecond on */

static int32_t decade_of(double seconds)
{
	double x = floor(log10(fmax(seconds, 1e-9)) + 9);
	return x < DECADES - 1 ? (int32_t)x : DECADES - 1;
}

berth_status berth_quick_choose(const berth_graph *g, const berth_system *s, int32_t dev, int32_t n,
                                const int32_t *same, bool *chosen, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	double *seconds, *unknown;
	int32_t *group;
	BERTH_TRY_NEW(tmp, g->n_ops, err, seconds, group);
	BERTH_TRY_NEW(tmp, (g->n_types + 1) * DECADES, err, unknown);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t type = g->op_type[op];
		berth_type_on_dev on = berth_type_look_up(s, dev, type < 0 ? NULL : g->type_name[type]);
		berth_op_prediction x = berth_op_predict(g, s, op, dev, &on);
		chosen[op] = false;
		seconds[op] = x.from == BERTH_TIME_NONE ? 0 : x.seconds;
		group[op] = (type + 1) * DECADES + decade_of(seconds[op]);
		unknown[group[op]] += seconds[op] * x.error;
	}
	for (; n > 0; n--) {
		int32_t best = -1;
		for (int32_t op = 0; op < g->n_ops; op++) {
			if (chosen[op] || same[op] != op || !(seconds[op] > 0))
				continue;
			double gain = best < 0 ? 1 : unknown[group[op]] - unknown[group[best]];
			if (gain > 0 || (gain == 0 && seconds[op] > seconds[best]))
				best = op;
		}
		if (best < 0)
			break;
		chosen[best] = true;
		unknown[group[best]] /= 2;
	}
	return BERTH_OK;
}
