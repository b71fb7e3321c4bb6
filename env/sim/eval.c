/* Scores placements for one thread: by a full run, or from the middle of a base's run. Where the value is a
 * sum of times, a walk over that sum does. */
#include "eval.h"

#include "constraints.h"
#include "cost_model.h"

berth_status berth_sum_walk_new(const berth_problem *p, berth_arena *mem, berth_sum_walk *out, berth_err *err)
{
	*out = (berth_sum_walk){.p = p};
	BERTH_TRY_NEW(mem, p->n_ops, err, out->op_dev);
	return BERTH_NEW(mem, out->uses, (size_t)p->g->n_tensors * (size_t)p->n_devs, err);
}

void berth_sum_walk_set(berth_sum_walk *w, const int32_t *op_dev)
{
	const berth_problem *p = w->p;
	const berth_graph *g = p->g;
	BERTH_COPY(w->op_dev, op_dev, p->n_ops);
	BERTH_CLEAR(w->uses, (size_t)g->n_tensors * (size_t)p->n_devs);
	w->sum_ns = w->n_lost = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		w->sum_ns += berth_op_time(p, op, op_dev[op]);
		w->n_lost += berth_op_time(p, op, op_dev[op]) < 0;
	}
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t home = op_dev[g->tensor_producer[t]];
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = op_dev[g->edge_consumer[e]];
			w->sum_ns += w->uses[berth_cell(p, t, to)]++ ? 0 : berth_transfer_ns(p, t, home, to);
		}
	}
}

/* Move an operator. O(its inputs + its tensors * devs). */
static void walk_move(berth_sum_walk *w, int32_t op, int32_t dev)
{
	const berth_problem *p = w->p;
	const berth_graph *g = p->g;
	int32_t was = w->op_dev[op];
	if (was == dev)
		return;
	w->op_dev[op] = dev;
	w->sum_ns += berth_op_time(p, op, dev) - berth_op_time(p, op, was);
	w->n_lost += (berth_op_time(p, op, dev) < 0) - (berth_op_time(p, op, was) < 0);
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = w->op_dev[g->tensor_producer[t]];
		w->sum_ns -= --w->uses[berth_cell(p, t, was)] ? 0 : berth_transfer_ns(p, t, home, was);
		w->sum_ns += w->uses[berth_cell(p, t, dev)]++ ? 0 : berth_transfer_ns(p, t, home, dev);
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		BERTH_EACH (t, g->op_tensor_off, op)
			if (w->uses[berth_cell(p, t, d)])
				w->sum_ns +=
					berth_transfer_ns(p, t, dev, d) - berth_transfer_ns(p, t, was, d);
}

void berth_sum_walk_move_coloc(berth_sum_walk *w, int32_t coloc, int32_t dev)
{
	BERTH_EACH (i, w->p->coloc_off, coloc)
		walk_move(w, w->p->coloc_op[i], dev);
}

/* Move all that differ to where they are in op_dev [n_ops]. O(ops) and the moves. */
static void walk_follow(berth_sum_walk *w, const int32_t *op_dev)
{
	for (int32_t op = 0; op < w->p->n_ops; op++)
		walk_move(w, op, op_dev[op]);
}

/* Runs from a base that is not the caller's, before the caller's is made the base by a full run. */
enum { MOST_FAR = 4 };

berth_score berth_score_worst(void)
{
	return (berth_score){INFINITY, INFINITY};
}

berth_status berth_eval_new(const berth_problem *p, const berth_objective *objective, berth_arena *mem,
                            berth_eval *out, berth_err *err)
{
	BERTH_TRY(berth_objective_check(objective, p, err));
	*out = (berth_eval){.p = p, .objective = *objective};
	BERTH_TRY_NEW(mem, p->coupled ? berth_constraints_scratch(p) : 0, err, out->scratch);
	BERTH_TRY(berth_sim_new(p, mem, &out->sim, err));
	berth_sim_want_peaks(out->sim, berth_objective_needs_peaks(objective));
	return BERTH_OK;
}

static double excess_of(const berth_eval *e, const int32_t *op_dev, const berth_sim_result *r)
{
	double rules = e->p->coupled ? (double)berth_constraints_broken(e->p, op_dev, e->scratch) : 0;
	return r->excess + rules + berth_objective_excess(&e->objective, r);
}

double berth_eval_result(berth_eval *e, const int32_t *op_dev, const int32_t *order, berth_sim_result *r)
{
	berth_sim_run(e->sim, op_dev, order, r);
	if (!r->runs)
		return INFINITY;
	return excess_of(e, op_dev, r);
}

berth_score berth_eval_run(berth_eval *e, const int32_t *op_dev, const int32_t *order)
{
	berth_sim_result r;
	double excess = berth_eval_result(e, op_dev, order, &r);
	return r.runs ? (berth_score){excess, berth_objective_value(&e->objective, &r)} : berth_score_worst();
}

/* Is the value the sum of all times? */
static bool sums_up(const berth_eval *e)
{
	return e->p->s->cost_model->sums_times && !e->p->alone_ns &&
	       !berth_objective_has_limits(&e->objective) &&
	       (berth_objective_is(&e->objective, BERTH_LATENCY) ||
	        berth_objective_is(&e->objective, BERTH_THROUGHPUT));
}

/* By what differs from the placement before. */
static berth_score score_sum(berth_eval *e, berth_keyed x, int64_t limit_ns)
{
	walk_follow(e->walk, x.op_dev);
	int64_t ns = e->walk->sum_ns;
	berth_sim_result r = {.runs = true, .latency_ns = ns, .load_s = (double)ns * 1e-9};
	if (e->walk->n_lost > 0 || ns > limit_ns)
		return berth_score_worst();
	if (!e->p->memory_free)
		return berth_eval_keyed(e, x);
	return (berth_score){excess_of(e, x.op_dev, &r), berth_objective_value(&e->objective, &r)};
}

berth_status berth_eval_want_near(berth_eval *e, berth_arena *mem, berth_err *err)
{
	if (berth_objective_needs_peaks(&e->objective)) /* which skipping loses */
		return BERTH_OK;
	if (sums_up(e)) {
		int32_t *op_dev;
		if (e->walk || e->p->n_ops == 0)
			return BERTH_OK;
		BERTH_TRY_NEW(mem, e->p->n_ops, err, op_dev);
		BERTH_TRY_NEW(mem, 1, err, e->walk);
		berth_status st = berth_sum_walk_new(e->p, mem, e->walk, err);
		if (st == BERTH_OK)
			berth_sum_walk_set(e->walk, op_dev);
		else
			e->walk = NULL;
		return st;
	}
	return e->near ? BERTH_OK : berth_incremental_new(e->p, mem, &e->near, err);
}

/* Is there a base near enough to base? A search that moves on at each step goes on from an old one for a
 * while. */
static bool have_base(berth_eval *e, berth_keyed base)
{
	berth_sim_result r;
	berth_incremental_use_keys(e->near, base.op_key);
	if (berth_incremental_is_base(e->near, base.op_dev)) {
		e->n_far = 0;
		return true;
	}
	if (berth_incremental_has_base(e->near) && ++e->n_far < MOST_FAR)
		return true;
	e->n_far = 0;
	return berth_incremental_base(e->near, base.op_dev, &r);
}

berth_status berth_eval_want_log(berth_eval *e, berth_arena *mem, berth_err *err)
{
	BERTH_TRY(berth_eval_want_near(e, mem, err));
	return e->near ? berth_incremental_want_log(e->near, mem, err) : BERTH_OK;
}

const berth_base_log *berth_eval_base(berth_eval *e, berth_keyed x)
{
	berth_sim_result r;
	if (!e->near || e->p->n_ops == 0)
		return NULL;
	berth_incremental_use_keys(e->near, x.op_key);
	if (!berth_incremental_is_base(e->near, x.op_dev) && !berth_incremental_base(e->near, x.op_dev, &r))
		return NULL;
	e->n_far = 0;
	return berth_incremental_log(e->near);
}

berth_score berth_eval_keyed(berth_eval *e, berth_keyed x)
{
	berth_sim_use_keys(e->sim, x.op_key);
	berth_score score = berth_eval_run(e, x.op_dev, NULL);
	berth_sim_use_keys(e->sim, NULL);
	return score;
}

berth_score berth_eval_near(berth_eval *e, berth_keyed base, berth_keyed x, int64_t limit_ns)
{
	berth_sim_result r;
	if (e->walk)
		return score_sum(e, x, limit_ns);
	if (!e->near || e->p->n_ops == 0 || !have_base(e, base))
		return berth_eval_keyed(e, x);
	berth_incremental_use_keys(e->near, x.op_key);
	if (!berth_incremental_run(e->near, x.op_dev, limit_ns, &r) || !r.runs)
		return berth_score_worst();
	return (berth_score){excess_of(e, x.op_dev, &r), berth_objective_value(&e->objective, &r)};
}

int64_t berth_eval_latency_limit(const berth_eval *e, double value)
{
	berth_sim_result r = {.runs = true};
	if (!berth_objective_is(&e->objective, BERTH_LATENCY) || !(value < 1e9))
		return INT64_MAX;
	r.latency_ns = llround(value * 1e9) + 1;
	while (r.latency_ns > 0 && berth_objective_value(&e->objective, &r) > value)
		r.latency_ns--;
	return r.latency_ns;
}
