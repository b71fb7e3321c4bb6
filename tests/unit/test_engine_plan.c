/* Plans for engines: one price in search, simulator and export, against all placements of small graphs; what
 * the engine does by itself is the plan where nothing beats it by more than predictions are off. */
#include "check.h"
#include "engine_plan.h"
#include "engine_rules.h"
#include "instance.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPS = 6, MOST_DEVS = 3 };

static void open_world(small_problem *w, const char *engine, uint64_t seed)
{
	berth_err err;
	instance in;
	const berth_engine_rules *rules;
	memset(w, 0, sizeof *w);
	instance_make(seed, MOST_OPS, MOST_DEVS, &in);
	read_both(in.graph, in.system, &w->mem, &w->tmp, &w->g, &w->s);
	instance_free(&in);
	assert_ok(berth_rules_find(engine, &rules, &err), &err);
	w->s.order = BERTH_ORDER_PRIORITY;
	assert_ok(berth_system_for(rules, &w->s, &err), &err);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
}

static double value_of(small_problem *w, const int32_t *op_dev, const berth_objective *o, bool *feasible)
{
	berth_timeline t;
	berth_verdict v;
	berth_err err;
	assert_ok(berth_judge(&w->p, op_dev, NULL, o, &w->mem, &t, &v, &err), &err);
	*feasible = v.feasible;
	return v.value;
}

/* The least value of all feasible placements; INFINITY: there is none. */
static double least_value(small_problem *w, const berth_objective *o)
{
	int32_t all = 1, op_dev[INSTANCE_MAX_OPS];
	double least = INFINITY;
	for (int32_t op = 0; op < w->p.n_ops; op++)
		all *= w->p.n_devs;
	for (int32_t code = 0; code < all; code++) {
		bool legal = true, feasible;
		for (int32_t op = 0, rest = code; op < w->p.n_ops; op++, rest /= w->p.n_devs) {
			op_dev[op] = rest % w->p.n_devs;
			legal = legal && berth_op_legal(&w->p, op, op_dev[op]);
		}
		double value = legal ? value_of(w, op_dev, o, &feasible) : INFINITY;
		least = legal && feasible ? fmin(least, value) : least;
	}
	return least;
}

typedef struct counts {
	int placed, kept, gained;
} counts;

static void check(small_problem *w, counts *n)
{
	const berth_objective o = berth_objective_of(BERTH_LATENCY);
	const berth_export_source source = {.g = &w->g, .s = &w->s, .p = &w->p};
	const berth_method *method;
	berth_bounds bounds;
	berth_engine_plan plan;
	berth_solution r;
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_export_gain gain;
	berth_err err;
	bool feasible, usual_feasible = false;
	cfg.evaluations = 50;
	assert_ok(berth_bounds_new(&w->p, &w->tmp, &bounds, &err), &err);
	assert_ok(berth_method_find("berth", &method, &err), &err);
	assert_ok(berth_engine_plan_open(&source, &w->mem, &w->tmp, &plan, &err), &err);
	cfg.start_dev = berth_engine_plan_start(&plan);
	berth_status st = berth_solve(&w->p, &bounds, method, &cfg, &w->mem, &w->tmp, &r, &err);
	if (st == BERTH_ELIMIT || !r.feasible)
		return;
	assert_ok(st, &err);
	double searched = r.value;
	assert_ok(berth_engine_plan_take(&plan, &o, &r, &w->mem, &w->tmp, &err), &err);
	n->placed++;

	/* one price: of the answer, of the simulator, of the sum, of the export */
	assert_true(r.value == value_of(w, r.op_dev, &o, &feasible) && feasible);
	if (w->s.engine->cost->sums_times && !w->s.engine->times)
		assert_near(r.value, berth_export_serial(&w->p, r.op_dev), 1e-15);
	berth_export_source written = source;
	written.op_dev = r.op_dev;
	assert_ok(berth_export_gain_of(plan.e, &written, &o, r.value, &w->mem, &w->tmp, &gain, &err), &err);
	assert_true(!gain.known || gain.plan == r.value);

	/* never worse than the default, and never below what is possible */
	double least = least_value(w, &o);
	double usual = plan.usual ? value_of(w, plan.usual, &o, &usual_feasible) : INFINITY;
	if (usual_feasible)
		assert_true(r.value <= usual && plan.found <= usual);
	assert_true(plan.found <= searched && plan.found >= least * (1 - 1e-12));
	assert_true(isnan(r.lower_bound) || r.lower_bound <= least * (1 + 1e-12));
	assert_true(plan.kept == (gain.known && usual_feasible && plan.gain.keep));
	if (plan.kept)
		assert_true(r.value == usual && plan.found >= usual * (1 - plan.gain.error) * (1 - 1e-12));
	n->kept += plan.kept;
	n->gained += usual_feasible && !plan.kept;
}

static void test_one_price(void **state)
{
	static const char *const engines[] = {"ort", "openvino", "torch", "accelerate"};
	counts n = {0};
	(void)state;
	for (uint64_t seed = 0; seed < 5000; seed++) {
		small_problem w;
		open_world(&w, engines[seed % 4], seed);
		if (berth_problem_feasible(&w.p, NULL) == BERTH_OK)
			check(&w, &n);
		small_problem_free(&w);
	}
	assert_true(n.placed > 2500 && n.kept > 200 && n.gained > 50);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_price)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
