/* Placement by PBQP: what its sums stand for, what its pins, prices and memory do, and how near its answers
 * come to the optimum. */
#include "instance.h"
#include "method.h"
#include "pbqp_place.h"
#include "registry.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const berth_method *find(const char *name)
{
	for (int32_t i = 0; i < berth_n_heuristics; i++)
		if (strcmp(berth_heuristics[i]->name, name) == 0)
			return berth_heuristics[i];
	fail_msg("no method '%s'", name);
	return NULL;
}

/* Score of a method, without repair; op_dev may be NULL. */
static berth_score run(small_problem *c, const char *name, berth_metric objective, int32_t *op_dev)
{
	berth_search s;
	berth_err err;
	berth_search_cfg cfg = {.objective = berth_objective_of(objective), .seed = 1};
	assert_ok(berth_search_new(&c->p, &cfg, &c->mem, &s, &err), &err);
	assert_ok(find(name)->run(&s, &c->tmp, &err), &err);
	if (op_dev)
		memcpy(op_dev, s.best_dev, (size_t)c->p.n_ops * sizeof *op_dev);
	return s.best;
}

/* The least value over all feasible placements under the system's rule; NAN: none. */
static double brute_force(small_problem *c, berth_metric objective)
{
	berth_eval eval;
	berth_err err;
	berth_objective wanted = berth_objective_of(objective);
	int32_t op_dev[8] = {0};
	double best = NAN;
	assert_ok(berth_eval_new(&c->p, &wanted, &c->mem, &eval, &err), &err);
	for (;;) {
		bool legal = true;
		int32_t op = 0;
		for (int32_t o = 0; o < c->p.n_ops; o++)
			legal = legal && berth_op_legal(&c->p, o, op_dev[o]) &&
			        op_dev[o] == op_dev[c->p.coloc_op[c->p.coloc_off[c->p.op_coloc[o]]]];
		berth_score score = legal ? berth_eval_run(&eval, op_dev, NULL) : berth_score_worst();
		if (legal && berth_score_feasible(score) && !(score.value >= best))
			best = score.value;
		while (op < c->g.n_ops && ++op_dev[op] == c->s.n_devs)
			op_dev[op++] = 0;
		if (op == c->g.n_ops)
			return best;
	}
}

/* ---- the sum ---- */

#define SYSTEM(devices, links)                                                                               \
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":[" devices                    \
	"],\"links\":[" links "]}"

/* A random tree of n operators: each output has one consumer, so that the PBQP counts each transfer once.
 * Random times on three devices. */
static void random_tree(berth_rng *rng, int32_t n, char *text, size_t size)
{
	size_t at = (size_t)snprintf(text, size,
	                             "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"t\",\"ops\":[");
	for (int32_t i = 0; i < n; i++)
		at += (size_t)snprintf(
			text + at, size - at,
			"%s{\"name\":\"o%d\",\"time_s\":{\"d0\":%de-6,\"d1\":%de-6,\"d2\":%de-6}}",
			i ? "," : "", (int)i, 1 + (int)berth_rng_below(rng, 1000),
			1 + (int)berth_rng_below(rng, 1000), 1 + (int)berth_rng_below(rng, 1000));
	at += (size_t)snprintf(text + at, size - at, "],\"edges\":[");
	for (int32_t i = 0; i + 1 < n; i++)
		at += (size_t)snprintf(text + at, size - at,
		                       "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":%d}", i ? "," : "",
		                       (int)i,
		                       (int)(i + 1 + (int32_t)berth_rng_below(rng, (uint32_t)(n - 1 - i))),
		                       1000 * (int)berth_rng_below(rng, 100));
	snprintf(text + at, size - at, "]}");
}

/* Devices that idle for nothing: energy is a sum over operators and hops, and the plain answer has the least
 * there is. */
static void test_energy_is_exact_on_trees(void **state)
{
	(void)state;
	static const char system[] =
		SYSTEM("{\"name\":\"d0\",\"idle_w\":0,\"busy_w\":10},{\"name\":\"d1\",\"idle_w\":0,\"busy_"
	               "w\":7},{\"name\":\"d2\",\"idle_w\":0,\"busy_w\":13}",
	               "{\"from\":\"d0\",\"to\":\"d1\",\"bandwidth\":1e9,\"both_ways\":true,\"joules_per_"
	               "byte\":2e-8},"
	               "{\"from\":\"d1\",\"to\":\"d2\",\"bandwidth\":1e9,\"both_ways\":true,\"joules_per_"
	               "byte\":1e-8}");
	int differ = 0;
	for (uint64_t seed = 0; seed < 100; seed++) {
		char graph[4096];
		small_problem c;
		berth_rng rng = berth_rng_seed(seed, 1);
		random_tree(&rng, 2 + (int32_t)berth_rng_below(&rng, 6), graph, sizeof graph);
		small_problem_make(&c, graph, system);
		double best = brute_force(&c, BERTH_ENERGY);
		assert_near(run(&c, "pbqp", BERTH_ENERGY, NULL).value, best, 1e-9 * best);
		differ += run(&c, "single", BERTH_ENERGY, NULL).value > best * 1.001;
		small_problem_free(&c);
	}
	assert_true(differ > 50);
}

/* The critical path of one chain: without transfers' waits, the plain problem's answer is the shortest
 * latency. */
static void test_chain_is_exact(void **state)
{
	(void)state;
	static const char system[] =
		SYSTEM("{\"name\":\"d0\"},{\"name\":\"d1\"},{\"name\":\"d2\"}",
	               "{\"from\":\"d0\",\"to\":\"d1\",\"bandwidth\":1e9,\"both_ways\":true},"
	               "{\"from\":\"d1\",\"to\":\"d2\",\"bandwidth\":1e9,\"both_ways\":true}");
	for (uint64_t seed = 0; seed < 50; seed++) {
		char graph[4096];
		size_t at = 0;
		small_problem c;
		berth_rng rng = berth_rng_seed(seed, 2);
		at += (size_t)snprintf(graph, sizeof graph,
		                       "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"t\",\"ops\":[");
		for (int i = 0; i < 7; i++)
			at += (size_t)snprintf(
				graph + at, sizeof graph - at,
				"%s{\"name\":\"o%d\",\"time_s\":{\"d0\":%de-6,\"d1\":%de-6,\"d2\":%de-6}}",
				i ? "," : "", i, (int)berth_rng_below(&rng, 1000),
				(int)berth_rng_below(&rng, 1000), (int)berth_rng_below(&rng, 1000));
		at += (size_t)snprintf(graph + at, sizeof graph - at, "],\"edges\":[");
		for (int i = 0; i < 6; i++)
			at += (size_t)snprintf(graph + at, sizeof graph - at,
			                       "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":%d}",
			                       i ? "," : "", i, i + 1, (int)berth_rng_below(&rng, 300000));
		snprintf(graph + at, sizeof graph - at, "]}");
		small_problem_make(&c, graph, system);
		assert_true(run(&c, "pbqp", BERTH_LATENCY, NULL).value == brute_force(&c, BERTH_LATENCY));
		assert_true(run(&c, "ceft-pbqp", BERTH_LATENCY, NULL).value ==
		            brute_force(&c, BERTH_LATENCY));
		small_problem_free(&c);
	}
}

/* ---- the model ---- */

static void test_pins_hold(void **state)
{
	(void)state;
	small_problem c;
	berth_err err;
	pbqp_place m;
	pbqp_pricer x;
	int32_t op_dev[80];
	static const pbqp_vector vector = {.5, .3, 1, .5};
	small_problem_build(&c, "zoo:random:ops=80:seed=5", "4gpu");
	assert_int_equal(c.p.n_ops, 80);
	assert_ok(pbqp_place_new(&c.p, &c.mem, &m, &err), &err);
	assert_ok(pbqp_pricer_new(&m, &c.mem, &x, &err), &err);
	x.ns_weight = 1;
	memset(op_dev, 0, sizeof op_dev);
	assert_ok(pbqp_pricer_unhindered(&x, op_dev, &c.tmp, &err), &err);
	for (int32_t u = 0; u < c.p.n_colocs; u += 3)
		x.coloc_pin[u] = u % 4;
	assert_ok(pbqp_pricer_place(&x, &vector, op_dev, &c.tmp, &err), &err);
	for (int32_t u = 0; u < c.p.n_colocs; u += 3)
		assert_int_equal(op_dev[c.p.coloc_op[c.p.coloc_off[u]]], u % 4);
	small_problem_free(&c);
}

/* Slack is never negative, some operator has none, and rivals are pairs that run at the same time. */
static void test_slack_and_rivals(void **state)
{
	(void)state;
	small_problem c;
	berth_err err;
	berth_eval eval;
	pbqp_place m;
	pbqp_pricer x;
	int32_t op_dev[80], critical = 0;
	static const pbqp_vector vector = {0, .3, 1, 1};
	small_problem_build(&c, "zoo:random:ops=80:seed=6", "4gpu");
	assert_ok(pbqp_place_new(&c.p, &c.mem, &m, &err), &err);
	assert_ok(pbqp_pricer_new(&m, &c.mem, &x, &err), &err);
	x.ns_weight = 1;
	for (int32_t op = 0; op < 80; op++)
		op_dev[op] = op % 4;
	assert_ok(berth_eval_new(&c.p, &(berth_objective){0}, &c.mem, &eval, &err), &err);
	berth_score score = berth_eval_run(&eval, op_dev, NULL);
	assert_ok(pbqp_pricer_schedule(&x, op_dev, berth_sim_last(eval.sim).start_ns,
	                               berth_sim_last(eval.sim).end_ns,
	                               &c.tmp, &err),
	          &err);
	assert_near((double)x.length_ns * 1e-9, score.value, 1e-12);
	for (int32_t op = 0; op < 80; op++) {
		int64_t slack = x.length_ns - x.end_ns[op] - x.tail_ns[op];
		assert_true(slack >= 0);
		critical += slack == 0;
	}
	assert_true(critical > 0);
	assert_ok(pbqp_pricer_place(&x, &vector, op_dev, &c.tmp, &err), &err);
	assert_true(x.n_rivals > 0);
	small_problem_free(&c);
}

/* Twelve operators of 100 bytes; the fast device holds four. Without repair. */
static void test_memory_is_priced(void **state)
{
	(void)state;
	char graph[4096];
	size_t at = (size_t)snprintf(graph, sizeof graph,
	                             "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"t\",\"ops\":[");
	for (int i = 0; i < 12; i++)
		at += (size_t)snprintf(graph + at, sizeof graph - at,
		                       "%s{\"name\":\"o%d\",\"flops\":%de6,\"param_bytes\":100}",
		                       i ? "," : "", i, 1 + i % 3);
	at += (size_t)snprintf(graph + at, sizeof graph - at, "],\"edges\":[");
	for (int i = 0; i + 1 < 12; i++)
		at += (size_t)snprintf(graph + at, sizeof graph - at,
		                       "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":1}", i ? "," : "", i,
		                       i + 1);
	snprintf(graph + at, sizeof graph - at, "]}");
	small_problem c;
	small_problem_make(
		&c, graph,
		SYSTEM("{\"name\":\"d0\",\"peak_flops\":9e9,\"memory_bytes\":410},{\"name\":\"d1\","
	               "\"peak_flops\":1e9}",
	               "{\"from\":\"d0\",\"to\":\"d1\",\"bandwidth\":1e9,\"both_ways\":true}"));
	assert_true(berth_score_feasible(run(&c, "pbqp", BERTH_LATENCY, NULL)));
	small_problem_free(&c);
	small_problem_make(&c, graph,
	                   SYSTEM("{\"name\":\"d0\",\"peak_flops\":9e9,\"memory_bytes\":99},{\"name\":\"d1\","
	                          "\"peak_flops\":1e9}",
	                          "{\"from\":\"d0\",\"to\":\"d1\",\"bandwidth\":1e9,\"both_ways\":true}"));
	pbqp_place m;
	berth_err err;
	assert_ok(pbqp_place_new(&c.p, &c.mem, &m, &err), &err);
	assert_false(pbqp_place_has(&m, 0, 0)); /* one operator alone is too much */
	assert_true(pbqp_place_has(&m, 0, 1));
	small_problem_free(&c);
}

/* ---- quality ---- */

static void test_near_the_optimum(void **state)
{
	(void)state;
	static const berth_metric objectives[] = {BERTH_LATENCY, BERTH_THROUGHPUT};
	for (int k = 0; k < 2; k++) {
		int instances = 0, reached = 0;
		double sum = 0;
		for (uint64_t seed = 1; instances < 100; seed++) {
			instance in;
			small_problem c;
			instance_make(seed, 6, 3, &in);
			small_problem_make(&c, in.graph, in.system);
			instance_free(&in);
			double best = berth_problem_feasible(&c.p, NULL) == BERTH_OK
			                      ? brute_force(&c, objectives[k])
			                      : NAN;
			if (best > 0) {
				berth_score a = run(&c, "pbqp", objectives[k], NULL),
					    b = run(&c, "ceft-pbqp", objectives[k], NULL),
					    s = berth_score_less(b, a) ? b : a;
				instances++;
				reached += berth_score_feasible(s) && s.value <= best * (1 + 1e-9);
				sum += berth_score_feasible(s) ? log(s.value / best) : 0;
			}
			small_problem_free(&c);
		}
		print_message("%s: optimum reached %d of %d, mean ratio %.3f\n",
		              berth_metrics[objectives[k]].name, reached, instances, exp(sum / instances));
		assert_true(reached >= 90);
		assert_true(exp(sum / instances) < 1.03);
	}
}

/* On unequal servers a list scheduler spreads work over slow links; the sum of work and transfers does not.
 * Equal devices are used all the same. */
static void test_against_list_scheduling(void **state)
{
	(void)state;
	static const char *const specs[] = {"zoo:chain-mm", "zoo:llama-block", "zoo:random:ops=100:seed=11"};
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		small_problem c;
		small_problem_build(&c, specs[i], "hetero-cluster");
		double value = run(&c, "pbqp", BERTH_LATENCY, NULL).value;
		assert_true(value < 0.8 * run(&c, "heft", BERTH_LATENCY, NULL).value);
		assert_true(value < 0.8 * run(&c, "single", BERTH_LATENCY, NULL).value);
		small_problem_free(&c);
		small_problem_build(&c, specs[i], "4gpu");
		assert_true(run(&c, "pbqp", BERTH_LATENCY, NULL).value <
		            0.5 * run(&c, "single", BERTH_LATENCY, NULL).value);
		assert_true(run(&c, "pbqp", BERTH_THROUGHPUT, NULL).value <
		            0.5 * run(&c, "single", BERTH_THROUGHPUT, NULL).value);
		small_problem_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_energy_is_exact_on_trees), cmocka_unit_test(test_chain_is_exact),
		cmocka_unit_test(test_pins_hold),                cmocka_unit_test(test_slack_and_rivals),
		cmocka_unit_test(test_memory_is_priced),         cmocka_unit_test(test_near_the_optimum),
		cmocka_unit_test(test_against_list_scheduling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
