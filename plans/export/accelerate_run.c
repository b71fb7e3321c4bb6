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
