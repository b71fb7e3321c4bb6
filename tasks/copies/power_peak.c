/* See power_peak.h. */
#include "power_peak.h"

#include <math.h>
#include <stdlib.h>

typedef struct step {
	int64_t at_ns;
	double watts;
} step;

/* What ends at an instant ends before others start. */
static int by_time(const void *a, const void *b)
{
	const step *x = a, *y = b;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->watts < y->watts ? -1 : x->watts > y->watts;
}

static int32_t list_steps(const berth_problem *p, const berth_sim *sim, const int32_t *op_dev, step *out)
{
	const int64_t *start = berth_sim_start_ns(sim), *end = berth_sim_end_ns(sim);
	int32_t n = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t d = op_dev[op];
		double watts = (p->s->dev_busy_w[d] - p->s->dev_idle_w[d]) / p->s->dev_slots[d];
		if (end[op] == start[op])
			continue;
		out[n++] = (step){start[op], watts};
		out[n++] = (step){end[op], -watts};
	}
	qsort(out, (size_t)n, sizeof *out, by_time);
	return n;
}

berth_status berth_peak_watts(const berth_problem *p, const berth_sim *sim, const int32_t *op_dev,
                              berth_arena *tmp, double *out, berth_err *err)
{
	step *all;
	double now = 0, most = 0;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	*out = NAN;
	if (!p->has_energy)
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(tmp, all, 2 * p->n_ops, err));
	int32_t n = list_steps(p, sim, op_dev, all);
	for (int32_t i = 0; i < n; i++) {
		now += all[i].watts;
		most = fmax(most, now);
	}
	berth_arena_reset(tmp, mark);
	*out = most;
	return BERTH_OK;
}
