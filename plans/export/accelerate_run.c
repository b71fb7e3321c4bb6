/* How accelerate runs a plan: where operators compute, what that takes, and what devices hold meanwhile. */
#include "accelerate_plan.h"

#include "array.h"
#include "nearest.h"
#include "problem_tables.h"

#include <math.h>
#include <string.h>

bool accelerate_is_stored(const accelerate_plan *m, int32_t d)
{
	return strcmp(m->word[d], "cpu") == 0 || strcmp(m->word[d], "disk") == 0;
}

int32_t accelerate_main(const accelerate_plan *m)
{
	int32_t cpu = -1;
	for (int32_t k = 0; k < ACCELERATE_PARTS(m->m.n_layers); k++) {
		if (!accelerate_is_stored(m, m->part_dev[k]))
			return m->part_dev[k];
		if (cpu < 0 && strcmp(m->word[m->part_dev[k]], "cpu") == 0)
			cpu = m->part_dev[k];
	}
	return cpu;
}

/* Seconds that bytes take from one device to another, by the route of the largest tensor. */
static double copied_s(const berth_problem *p, int64_t bytes, int32_t from, int32_t to)
{
	const int32_t largest = p->n_classes - 1;
	double sum = 0;
	if (!bytes || from == to || largest < 0)
		return 0;
	const size_t n = (size_t)p->n_devs, pair = ((size_t)largest * n + (size_t)from) * n + (size_t)to;
	const int32_t route = p->class_pair_route[pair];
	for (int32_t i = p->route_off[route]; i < p->route_off[route + 1]; i++)
		sum += p->s->link_latency_s[p->route_link[i]] +
		       (double)bytes / p->s->link_bandwidth[p->route_link[i]];
	return sum;
}

/* run_dev [n_ops]: where operators compute. *runs false: one cannot. */
static berth_status find_run(const accelerate_plan *m, berth_arena *tmp, int32_t **run_dev, bool *runs)
{
	const int32_t n_ops = m->x->g->n_ops, main = accelerate_main(m);
	BERTH_TRY_NEW(tmp, n_ops, m->err, *run_dev);
	*runs = main >= 0;
	for (int32_t op = 0; op < n_ops && *runs; op++) {
		int32_t d = m->op_dev[op], at = accelerate_is_stored(m, d) ? main : d;
		(*run_dev)[op] = at;
		*runs = berth_op_time(m->x->p, op, at) >= 0;
	}
	return BERTH_OK;
}

/* Is the operator's weight copied to where it computes? Two devices of one word are one. */
static bool is_copied(const accelerate_plan *m, const int32_t *run_dev, int32_t op)
{
	return strcmp(m->word[m->op_dev[op]], m->word[run_dev[op]]) != 0;
}

berth_status accelerate_price(const accelerate_plan *m, berth_arena *tmp, double *seconds)
{
	BERTH_SCRATCH(tmp);
	const berth_graph *g = m->x->g;
	int32_t *run_dev;
	double copies = 0;
	bool runs;
	BERTH_TRY(find_run(m, tmp, &run_dev, &runs));
	*seconds = NAN;
	if (!runs)
		return BERTH_OK;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (is_copied(m, run_dev, op))
			copies += copied_s(m->x->p, berth_export_weights(g, op), m->op_dev[op], run_dev[op]);
	*seconds = copies + berth_export_serial(m->x->p, run_dev);
	return BERTH_OK;
}

/* held [n_devs]: weights of a placement without states. */
static berth_status weigh(const accelerate_plan *m, const int32_t *op_dev, berth_arena *tmp, int64_t *held)
{
	const berth_graph *g = m->x->g;
	BERTH_TRY(berth_held_bytes(g, op_dev, m->x->s->n_devs, tmp, held, m->err));
	for (int32_t op = 0; op < g->n_ops; op++)
		held[op_dev[op]] -= g->op_state_bytes[op];
	return BERTH_OK;
}

berth_status accelerate_needs(const accelerate_plan *m, berth_arena *tmp, int64_t *needs, int64_t *weights)
{
	BERTH_SCRATCH(tmp);
	const berth_graph *g = m->x->g;
	const int32_t n_devs = m->x->s->n_devs;
	berth_timeline t = {0};
	int64_t *at_run, *copied;
	int32_t *run_dev;
	bool runs;
	BERTH_CLEAR(needs, n_devs);
	BERTH_CLEAR(weights, n_devs);
	BERTH_TRY(find_run(m, tmp, &run_dev, &runs));
	if (runs)
		BERTH_TRY(berth_timeline_new(m->x->p, run_dev, NULL, tmp, &t, m->err));
	if (!t.r.runs)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, n_devs, m->err, at_run, copied);
	BERTH_TRY(weigh(m, m->op_dev, tmp, weights));
	BERTH_TRY(weigh(m, run_dev, tmp, at_run));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int64_t bytes = is_copied(m, run_dev, op) ? berth_export_weights(g, op) : 0;
		if (bytes > copied[run_dev[op]])
			copied[run_dev[op]] = bytes;
	}
	for (int32_t d = 0; d < n_devs; d++)
		needs[d] = weights[d] + copied[d] + t.peak_bytes[d] - at_run[d];
	return BERTH_OK;
}
