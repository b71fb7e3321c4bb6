/* What an answer is held against: the best single device, with the reasons where none is enough, and what the
 * same search comes to when single operators are free to stand anywhere. */
#include "yardsticks.h"

#include "constraints.h"
#include "simple.h"

/* ---- single devices ---- */

/* A kind of violation, or a limit on a metric. */
enum { N_KINDS = BERTH_VIOLATION_LIMIT, N_REASONS = N_KINDS + BERTH_N_METRICS };

static int reason_of(const berth_violation *v)
{
	return v->kind == BERTH_VIOLATION_LIMIT ? N_KINDS + v->metric : (int)v->kind;
}

static const char *reason_text(int reason, berth_arena *mem)
{
	switch (reason) {
	case BERTH_VIOLATION_CANNOT_RUN:
		return "what devices can run";
	case BERTH_VIOLATION_PIN:
		return "a pin";
	case BERTH_VIOLATION_FORBID:
		return "a forbidden device";
	case BERTH_VIOLATION_MEMORY:
		return "too little memory";
	case BERTH_VIOLATION_POOL:
		return "too little memory in a pool";
	case BERTH_VIOLATION_CUTS:
		return "the limit on cuts";
	default:
		return reason < N_KINDS ? berth_violation_name((berth_violation_kind)reason)
		                        : berth_arena_printf(mem, "the %s limit",
		                                             berth_metrics[reason - N_KINDS].name);
	}
}

/* The best one, and the devices that break each reason, out count [N_REASONS]. */
static berth_status judge_each_device(const berth_problem *p, const berth_objective *o, berth_arena *mem,
                                      berth_single *best, int32_t *count, berth_err *err)
{
	const int32_t *order = p->s->order == BERTH_ORDER_GIVEN ? p->g->topo_op : NULL;
	int32_t *op_dev;
	BERTH_TRY_NEW(mem, p->n_ops, err, op_dev);
	for (int32_t d = 0; d < p->n_devs; d++) {
		berth_timeline t;
		berth_verdict v;
		bool broken[N_REASONS] = {false};
		berth_single_placement(p, d, op_dev);
		BERTH_TRY(berth_judge(p, op_dev, order, o, mem, &t, &v, err));
		if (v.feasible && !(v.value >= best->value)) {
			best->value = v.value;
			best->dev = d;
		}
		for (int32_t i = 0; i < v.broken.n; i++)
			broken[reason_of(&v.broken.item[i])] = true;
		for (int r = 0; r < N_REASONS; r++)
			count[r] += broken[r];
	}
	return BERTH_OK;
}

static berth_status tell_why_none(const int32_t *count, int32_t n_devs, berth_arena *mem, const char **why,
                                  berth_err *err)
{
	const char *list = "";
	int32_t n = 0;
	int all = -1;
	for (int r = N_REASONS - 1; r >= 0; r--)
		all = count[r] == n_devs ? r : all;
	for (int r = 0; r < N_REASONS && list; r++)
		if (all < 0 ? count[r] > 0 : r == all) {
			const char *text = reason_text(r, mem);
			list = text ? berth_arena_printf(mem, "%s%s%s", list, n++ ? ", " : "", text) : NULL;
		}
	*why = !list     ? NULL
	       : all < 0 ? berth_arena_printf(mem, "no single device is enough: %s", list)
	                 : berth_arena_printf(mem, "%s excludes every single device", list);
	return berth_got(*why, err);
}

berth_status berth_single_best(const berth_problem *p, const berth_objective *o, berth_arena *mem,
                               berth_single *out, berth_err *err)
{
	int32_t count[N_REASONS] = {0};
	berth_single single = {.value = NAN, .dev = -1};
	if (berth_problem_feasible(p, NULL) == BERTH_OK)
		BERTH_TRY(judge_each_device(p, o, mem, &single, count, err));
	if (isnan(single.value))
		BERTH_TRY(tell_why_none(count, p->n_devs, mem, &single.why, err));
	*out = single;
	return BERTH_OK;
}

/* ---- finer operators ---- */

berth_status berth_finer_find(const berth_graph *whole, const berth_solution *r, const berth_search_cfg *cfg,
                              berth_arena *mem, berth_arena *tmp, berth_finer *out, berth_err *err)
{
	berth_solution finer;
	if (r->interrupted)
		return BERTH_OK;
	berth_problem *p;
	berth_bounds bounds;
	berth_search_cfg quiet = *cfg;
	quiet.progress = NULL;
	quiet.time_from = quiet.cpu_from = 0; /* the same budget once more */
	quiet.write_model = NULL;
	BERTH_TRY_NEW(mem, 1, err, p);
	BERTH_TRY(berth_problem_new(whole, r->p->s, mem, tmp, p, err));
	p->op_dev_time_ns = r->p->op_dev_time_ns; /* of all uses of a language model */
	p->op_dev_pool_ns = r->p->op_dev_pool_ns;
	p->op_dev_demand = r->p->op_dev_demand;
	BERTH_TRY(berth_bounds_new(p, tmp, &bounds, err));
	BERTH_TRY(berth_solve(p, &bounds, r->method, &quiet, mem, tmp, &finer, err));
	*out = (berth_finer){.known = !finer.interrupted,
	                     .value = finer.feasible ? finer.value : NAN,
	                     .cost = NAN,
	                     .evaluations = finer.evaluations,
	                     .wall_s = finer.wall_s,
	                     .cuts = r->p->max_cuts >= 0 && r->answered ? berth_cuts(r->p, r->op_dev) : -1};
	if (r->feasible && finer.feasible)
		out->cost = finer.value < r->value ? r->value / finer.value - 1 : 0;
	return BERTH_OK;
}
