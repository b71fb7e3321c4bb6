/* Objectives: their text, their values, their limits, and that every method answers for them with a sound
 * bound. */
#include "bounds.h"
#include "check.h"
#include "eval.h"
#include "graph_format.h"
#include "instance.h"
#include "registry.h"
#include "small_problem.h"
#include "solve.h"
#include "support.h"
#include "system_json.h"
#include "timeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void reads_as(const char *text, const char *canonical)
{
	berth_objective o, again;
	berth_err err;
	assert_ok(berth_objective_parse(text, &o, &err), &err);
	assert_string_equal(berth_objective_name(&o), canonical);
	assert_ok(berth_objective_parse(canonical, &again, &err), &err);
	assert_memory_equal(&o, &again, sizeof o);
}

static void reads_and_writes_objectives(void **state)
{
	(void)state;
	reads_as("latency", "latency");
	reads_as("edp", "edp");
	reads_as("0.3*energy+0.7*latency", "0.7*latency+0.3*energy");
	reads_as("1*latency", "latency");
	reads_as("2e-1*latency + 1e+1*energy", "0.2*latency+10*energy");
	reads_as("latency+latency", "2*latency");
	reads_as("throughput:latency<=20ms", "throughput:latency<=0.02");
	reads_as("latency : energy <= 3 J , throughput >= 50", "latency:throughput>=50,energy<=3");
	reads_as("energy:power<=2kW", "energy:power<=2000");
	reads_as(" latency ", "latency");
	reads_as("latency:energy<=3 ", "latency:energy<=3");
}

/* A system without watts: what it has figures for stands, limits too. */
static void judges_plans_by_what_is_known(void **state)
{
	static const struct {
		const char *plan, *judged;
	} row[] = {{NULL, "latency"},
	           {"nonsense", "latency"},
	           {"throughput:memory<=5", "throughput:memory<=5"},
	           {"edp", "latency"},
	           {"2*energy+3*throughput:latency<=0.5,power<=7,throughput>=4",
	            "latency:latency<=0.5,throughput>=4"},
	           {"throughput:energy<=3", "throughput"}};
	small_problem w;
	(void)state;
	small_problem_make(&w,
	                   "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\"}]}",
	                   "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\","
	                   "\"peak_flops\":1e9}]}");
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		berth_objective o = berth_objective_of_plan(row[i].plan, &w.p), same;
		assert_string_equal(berth_objective_name(&o), row[i].judged);
		assert_int_equal(berth_objective_parse(row[i].judged, &same, NULL), BERTH_OK);
		assert_true(berth_objective_equal(&o, &same));
	}
	small_problem_free(&w);
}

static void refuses(const char *text, const char *part)
{
	berth_objective o;
	berth_err err;
	assert_int_equal(berth_objective_parse(text, &o, &err), BERTH_EINVAL);
	if (!strstr(err.msg, part))
		fail_msg("'%s': '%s' lacks '%s'", text, err.msg, part);
}

static void refuses_what_is_no_objective(void **state)
{
	(void)state;
	refuses("", "unknown objective ''");
	refuses("latncy", "did you mean 'latency'");
	refuses("0*latency", "weight above 0");
	refuses("-1*latency", "weight above 0");
	refuses("0.5latency", "weight above 0");
	refuses("inf*latency", "unknown objective");
	refuses("latency+", "unknown objective ''");
	refuses("latency:", "unknown objective ''");
	refuses("latency:energy", "energy<=FIGURE");
	refuses("latency:throughput<=3", "throughput>=FIGURE");
	refuses("latency:energy<=0", "above 0");
	refuses("latency:energy<=1,energy<=2", "two limits on energy");
	refuses("latency:energy<=1s", "'1s' is no limit on energy; units: J, mJ, kJ");
	refuses("latency energy", "was not expected");
	refuses("1e308*latency+1e308*latency", "no finite number");
	refuses("latency:latency<=1e-320ms", "too small or too large");
	refuses("latency:throughput>=1e-320", "too small or too large");
	refuses("latency:energy<=1e308kJ", "expected a number above 0");
}

static void knows_names_units_and_what_it_is(void **state)
{
	berth_objective zero = {.text = ""}, energy = berth_objective_of(BERTH_ENERGY), sum, limited;
	(void)state;
	assert_ok(berth_objective_parse("0.7*latency+0.3*energy", &sum, NULL), &(berth_err){0});
	assert_ok(berth_objective_parse("throughput:latency<=1", &limited, NULL), &(berth_err){0});
	assert_string_equal(berth_objective_name(&zero), "latency");
	assert_string_equal(berth_objective_unit(&zero), "s");
	assert_string_equal(berth_objective_unit(&energy), "J");
	assert_string_equal(berth_objective_unit(&sum), "");
	assert_string_equal(berth_objective_unit(&limited), "s/sample");
	assert_true(berth_objective_is(&zero, BERTH_LATENCY) && !berth_objective_is(&zero, BERTH_ENERGY));
	assert_true(berth_objective_is(&limited, BERTH_THROUGHPUT) &&
	            !berth_objective_is(&sum, BERTH_LATENCY));
	assert_true(berth_objective_equal(&zero, &(berth_objective){.text = "latency"}));
	assert_true(berth_objective_has_limits(&limited) && !berth_objective_has_limits(&sum));
}

/* Twice the time and three times the energy tell both exponents of a row. */
static void rows_of_the_metrics_are_whole(void **state)
{
	(void)state;
	berth_sim_result once = {
		.runs = true, .latency_ns = 8000, .load_s = 3e-6, .energy_j = 0.25, .peak_bytes = 1000};
	berth_sim_result more = once;
	more.latency_ns *= 2;
	more.load_s *= 2;
	more.energy_j *= 3;
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		const berth_metric_row *row = &berth_metrics[m];
		berth_metric found = BERTH_N_METRICS;
		double ratio = row->value(&more) / row->value(&once);
		assert_ok(berth_metric_parse(row->name, &found, NULL), &(berth_err){0});
		assert_int_equal(found, m);
		assert_true(row->label && row->unit && row->joint <= BERTH_N_JOINT);
		assert_near(ratio, pow(2, row->of_time) * pow(3, row->of_energy), 1e-12);
		assert_true(row->needs_watts == (row->of_energy != 0));
		assert_true(isnan(row->bound(&(berth_bound_parts){1, 1, NAN, NAN, NAN, 1})) ==
		            row->needs_watts);
	}
}

static void sums_and_limits_follow_the_metrics(void **state)
{
	berth_sim_result r = {
		.runs = true, .fits = true, .latency_ns = 20000000, .load_s = 0.01, .energy_j = 3};
	berth_objective o;
	(void)state;
	assert_ok(berth_objective_parse("0.5*latency+2*energy:edp<=0.03,throughput>=50", &o, NULL),
	          &(berth_err){0});
	assert_near(berth_objective_value(&o, &r), 0.5 * 0.02 + 2 * 3, 1e-15);
	assert_near(berth_objective_excess(&o, &r), 0.06 / 0.03 - 1, 1e-12);
	r.load_s = 0.04;
	assert_near(berth_objective_excess(&o, &r), 1 + 1, 1e-12);
	r.energy_j = 1;
	r.load_s = 0.02;
	assert_true(berth_objective_excess(&o, &r) == 0);
}

/* ---- methods and bounds on random instances ---- */

static const char *const texts[] = {"0.7*latency+0.3*energy", "latency+1e-3*edp+power",
                                    "throughput:latency<=1", "2*throughput+energy", "latency:energy<=50"};

static void methods_answer_for_every_objective(void **state)
{
	int32_t answers = 0, kept = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_problem p;
		berth_bounds bounds;
		berth_err err;
		instance in;
		instance_make(seed, 7, 3, &in);
		assert_ok(berth_graph_parse_json("g", in.graph, strlen(in.graph), &mem, &tmp, &g, &err),
		          &err);
		assert_ok(berth_system_parse_json("s", in.system, strlen(in.system), &mem, &tmp, &s, &err),
		          &err);
		instance_free(&in);
		assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
		assert_ok(berth_bounds_new(&p, &tmp, &bounds, &err), &err);
		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
			berth_search_cfg cfg = berth_search_cfg_default();
			cfg.evaluations = 60;
			assert_ok(berth_objective_parse(texts[k], &cfg.objective, &err), &err);
			if (berth_objective_check(&cfg.objective, &p, NULL) != BERTH_OK)
				continue;
			for (int32_t m = 0; m < berth_n_heuristics; m++) {
				berth_solution r;
				berth_timeline t;
				berth_verdict v;
				berth_status st = berth_solve(&p, &bounds, berth_heuristics[m], &cfg, &mem,
				                              &tmp, &r, &err);
				if (st == BERTH_EINVAL || st == BERTH_ELIMIT || st == BERTH_EUNSUPPORTED)
					continue;
				assert_ok(st, &err);
				if (!r.answered)
					continue;
				answers++;
				assert_ok(berth_judge(&p, r.op_dev, r.op_order, &cfg.objective, &mem, &t, &v,
				                      &err),
				          &err);
				assert_int_equal(v.feasible, v.broken.n == 0);
				if (r.feasible != v.feasible)
					fail_msg("seed %d, %s, %s: feasible %d, %d violations", (int)seed,
					         texts[k], berth_heuristics[m]->name, r.feasible, v.broken.n);
				if (!r.feasible)
					continue;
				kept++;
				assert_true(r.value == v.value);
				assert_true(v.value == berth_objective_value(&cfg.objective, &t.r));
				if (!(r.lower_bound <= r.value * (1 + 1e-12)))
					fail_msg("seed %d, %s, %s: bound %.17g above %.17g", (int)seed,
					         texts[k], berth_heuristics[m]->name, r.lower_bound, r.value);
			}
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	print_message("%d answers, %d of them feasible\n", answers, kept);
	assert_true(kept > 300 && kept < answers);
}

/* ---- bounds against all placements ---- */

enum { MOST_OPS = 6, MOST_PLACEMENTS = 729 };

/* Metrics of every feasible placement under the system's rule. */
static int32_t all_placements(const berth_problem *p, berth_arena *mem, double (*metric)[BERTH_N_METRICS])
{
	int32_t op_dev[MOST_OPS] = {0}, n = 0, op;
	berth_eval eval;
	berth_err err;
	assert_ok(berth_eval_new(p, &(berth_objective){.text = ""}, mem, &eval, &err), &err);
	berth_sim_want_peaks(eval.sim, true);
	do {
		bool legal = true;
		for (int32_t o = 0; o < p->n_ops; o++)
			legal = legal && berth_op_legal(p, o, op_dev[o]) &&
			        op_dev[o] == op_dev[p->coloc_op[p->coloc_off[p->op_coloc[o]]]];
		berth_sim_result r;
		if (legal && !(berth_eval_result(&eval, op_dev, NULL, &r) > 0)) {
			for (int m = 0; m < BERTH_N_METRICS; m++)
				metric[n][m] = berth_metrics[m].value(&r);
			n++;
		}
		for (op = 0; op < p->n_ops && ++op_dev[op] == p->n_devs; op++)
			op_dev[op] = 0;
	} while (op < p->n_ops);
	return n;
}

/* Random weights on one to three metrics, and up to two limits near what placements have. */
static berth_objective random_objective(berth_rng *rng, double (*metric)[BERTH_N_METRICS], int32_t n)
{
	berth_objective o;
	char text[BERTH_OBJECTIVE_TEXT] = "";
	size_t len = 0;
	for (int k = 0, terms = 1 + (int)berth_rng_below(rng, 3); k < terms; k++)
		len += (size_t)snprintf(
			text + len, sizeof text - len, "%s%.3g*%s", k ? "+" : "",
			exp(8 * berth_rng_unit(rng) - 4),
			berth_metrics[berth_rng_below(rng, BERTH_N_METRICS)].name);
	bool any = false;
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		double most =
			metric[berth_rng_below(rng, (uint32_t)n)][m] * (0.9 + 0.2 * berth_rng_unit(rng));
		if (berth_rng_below(rng, 4) || !(most > 0))
			continue;
		len += (size_t)snprintf(
			text + len, sizeof text - len, "%s%s%s%.17g", any ? "," : ":",
			berth_metrics[m].name,
			m == BERTH_THROUGHPUT ? ">=" : "<=", m == BERTH_THROUGHPUT ? 1 / most : most);
		any = true;
	}
	assert_ok(berth_objective_parse(text, &o, NULL), &(berth_err){0});
	return o;
}

static double least_value(const berth_objective *o, double (*metric)[BERTH_N_METRICS], int32_t n)
{
	double least = INFINITY;
	for (int32_t i = 0; i < n; i++) {
		bool kept = true;
		for (int m = 0; m < BERTH_N_METRICS; m++)
			kept &= !o->limits[m] || !(metric[i][m] > o->most[m]);
		if (kept)
			least = fmin(least, berth_objective_sum(o, metric[i]));
	}
	return least;
}

static void bounds_are_below_all_placements(void **state)
{
	static double metric[MOST_PLACEMENTS][BERTH_N_METRICS];
	int32_t checked = 0, better = 0, solved = 0, impossible = 0, empty = 0;
	(void)state;
	for (uint64_t seed = 1; checked < 3000; seed++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_problem p;
		berth_bounds bounds;
		berth_err err;
		instance in;
		int32_t n = 0;
		berth_rng rng = berth_rng_seed(seed, 9);
		instance_make(seed, MOST_OPS, 3, &in);
		assert_ok(berth_graph_parse_json("g", in.graph, strlen(in.graph), &mem, &tmp, &g, &err),
		          &err);
		assert_ok(berth_system_parse_json("s", in.system, strlen(in.system), &mem, &tmp, &s, &err),
		          &err);
		instance_free(&in);
		assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
		assert_ok(berth_bounds_new(&p, &tmp, &bounds, &err), &err);
		if (p.has_energy && berth_problem_feasible(&p, NULL) == BERTH_OK)
			n = all_placements(&p, &mem, metric);
		for (int k = 0; k < 10 && n > 0; k++) {
			berth_objective o = random_objective(&rng, metric, n);
			double bound, least = least_value(&o, metric, n);
			assert_ok(berth_bounds_objective(&p, &bounds, &o, &tmp, &bound, &err), &err);
			bool none = isnan(bound); /* limits proven to contradict each other */
			impossible += none;
			if (none ? isfinite(least) : !(bound <= least))
				fail_msg("seed %d, %s: bound %.17g above the optimum %.17g", (int)seed,
				         berth_objective_name(&o), bound, least);
			checked++;
			empty += !isfinite(least);
			better += bound > berth_objective_sum(&o, bounds.value) * (1 + 1e-6);
			solved += isfinite(least) && bound >= 0.99 * least;
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	print_message("%d bounds, %d above the sum of the bounds apart, %d within 1 %% of the optimum; %d of "
	              "%d without any placement found out\n",
	              checked, better, solved, impossible, empty);
	assert_true(better > checked / 100 && solved > checked / 3 && impossible * 2 > empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes_objectives),
		cmocka_unit_test(judges_plans_by_what_is_known),
		cmocka_unit_test(refuses_what_is_no_objective),
		cmocka_unit_test(knows_names_units_and_what_it_is),
		cmocka_unit_test(rows_of_the_metrics_are_whole),
		cmocka_unit_test(sums_and_limits_follow_the_metrics),
		cmocka_unit_test(methods_answer_for_every_objective),
		cmocka_unit_test(bounds_are_below_all_placements),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
