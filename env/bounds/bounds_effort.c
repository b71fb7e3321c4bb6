/* How much the strong bounds may cost; see bounds_effort.h. */
#include "bounds_effort.h"

#include <math.h>

/* LEAST_NS: of an effort. EVALUATION_NS: of an evaluation, for each operator and edge. */
#define LEAST_NS 2e8
#define EVALUATION_NS 50.0
#define SHARE 0.1 /* of the search */

berth_bound_effort berth_bound_effort_all(const berth_objective *o)
{
	berth_bound_effort e = {.nodes = BERTH_BOUND_NODES, .work_ns = BERTH_BOUND_ALL};
	e.latency = e.load = !o;
	for (int m = 0; o && m < BERTH_N_METRICS; m++) {
		if (!o->sums[m] && !o->limits[m] && !berth_objective_is(o, (berth_metric)m))
			continue;
		e.load |= m == BERTH_THROUGHPUT;
		e.latency |= m != BERTH_THROUGHPUT;
	}
	return e;
}

int64_t berth_bound_work_for(const berth_problem *p, int64_t evaluations, double time_s)
{
	double search_ns = (double)evaluations * EVALUATION_NS * ((double)p->n_ops + p->g->n_edges);
	if (time_s > 0)
		search_ns = fmin(search_ns, time_s * 1e9);
	double least_ns = time_s > 0 ? fmin(LEAST_NS, SHARE * time_s * 1e9) : LEAST_NS;
	return (int64_t)fmin(fmax(least_ns, SHARE * search_ns), (double)(BERTH_BOUND_ALL / 2));
}
