/* Seeds under limits of time: counted work decides which ones run, not the clock. The time begins a million
 * seconds from now, so no clock ends anything here, or a million seconds ago. */
#include "methods.h"
#include "seeds.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <string.h>

#define FAR 1e6

static void setup(small_problem *f, const char *spec)
{
	berth_err err;
	memset(f, 0, sizeof *f);
	assert_ok(berth_zoo_build(spec, &f->mem, &f->tmp, &f->g, &err), &err);
	assert_ok(berth_system_builtin("hetero-cluster", &f->mem, &f->tmp, &f->s, &err), &err);
	assert_ok(berth_problem_new(&f->g, &f->s, &f->mem, &f->tmp, &f->p, &err), &err);
}

/* time_s 0: a budget of evaluations, of none. */
static berth_search start(small_problem *f, double time_s, double from)
{
	berth_search_cfg cfg = {.seed = 1, .time_s = time_s};
	berth_search s;
	berth_err err;
	cfg.time_from = berth_wall_seconds() + from;
	assert_ok(berth_search_new(&f->p, &cfg, &f->mem, &s, &err), &err);
	assert_ok(berth_start_from_portfolio(&s, &f->tmp, &err), &err);
	return s;
}

static void test_evaluations_run_all(void **state)
{
	(void)state;
	small_problem f;
	setup(&f, "zoo:random:ops=600");
	berth_search s = start(&f, 0, 0), timed = start(&f, 100, FAR);
	assert_int_equal(s.n_left_out, 0);
	assert_int_equal(timed.n_left_out, 0);
	assert_true(s.worked_ns > BERTH_SURE_NS);
	assert_int_equal(s.evaluations, timed.evaluations);
	assert_true(s.best.value == timed.best.value);
	small_problem_free(&f);
}

static void test_a_tenth(void **state)
{
	(void)state;
	small_problem f;
	setup(&f, "zoo:random:ops=600");
	berth_search all = start(&f, 0, 0), s = start(&f, 2, FAR), again = start(&f, 2, FAR);
	assert_true(s.n_left_out > 0);
	for (int32_t i = 0; i < s.n_left_out; i++)
		assert_non_null(strstr(s.left_out[i], "pbqp"));
	assert_true(s.worked_ns <= 0.1 * 2e9);
	assert_true(s.evaluations < all.evaluations);
	assert_int_equal(s.evaluations, again.evaluations);
	assert_true(s.best.value == again.best.value);
	small_problem_free(&f);
}

/* In a short time PBQP's seeds leave the rest to the search; all quick ones are run. */
static void test_a_short_time(void **state)
{
	static const double time_s[] = {0.19, 0.001};
	(void)state;
	small_problem f;
	setup(&f, "zoo:random:ops=300");
	berth_search all = start(&f, 0.2, FAR);
	assert_true(all.worked_ns > BERTH_SURE_NS / 4);
	for (int i = 0; i < 2; i++) {
		berth_search s = start(&f, time_s[i], FAR), again = start(&f, time_s[i], FAR);
		assert_true(s.worked_ns <= BERTH_SURE_NS / 4);
		assert_true(s.n_left_out > 0);
		for (int32_t k = 0; k < s.n_left_out; k++)
			assert_non_null(strstr(s.left_out[k], "pbqp"));
		assert_true(s.evaluations < all.evaluations);
		assert_int_equal(s.evaluations, again.evaluations);
		assert_true(s.best.value == again.best.value);
	}
	small_problem_free(&f);
}

/* Seeds of a short search leave half of few evaluations to it; a short time has one of the four. */
static void test_short_searches(void **state)
{
	static const char *const graphs[] = {"zoo:random:ops=300", "zoo:gpt2:batch=8:training=1"},
				 *const objectives[] = {"latency", "throughput"};
	static const double time_s[] = {0, 0.001, 0.09, 2};
	static const int64_t evaluations[] = {100, BERTH_UNLIMITED, 10, 100};
	(void)state;
	for (int i = 0; i < 16; i++) {
		small_problem f;
		berth_search_cfg cfg = {.seed = 1, .time_s = time_s[i / 4]};
		berth_search s, again;
		berth_err err;
		setup(&f, graphs[i % 2]);
		cfg.time_from = berth_wall_seconds() + FAR;
		assert_ok(berth_objective_parse(objectives[i / 2 % 2], &cfg.objective, &err), &err);
		cfg.evaluations = evaluations[i / 4];
		assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &s, &err), &err);
		assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &again, &err), &err);
		assert_true(berth_seeds_short(&s));
		assert_ok(berth_seeds_run_short(&s, &f.tmp, &err), &err);
		assert_ok(berth_seeds_run_short(&again, &f.tmp, &err), &err);
		assert_true(berth_score_feasible(s.best) && s.evaluations > f.p.n_devs);
		if (i / 4 % 3 == 0)
			assert_in_range(s.evaluations, 10, 50);
		else
			assert_true(s.worked_ns <= 0.25 * BERTH_SURE_NS);
		assert_int_equal(s.n_left_out, i / 4 % 3 ? 3 : 0);
		assert_true(s.may_evaluate == INT64_MAX && isinf(s.may_work_ns) && !s.cut);
		assert_int_equal(again.evaluations, s.evaluations);
		assert_true(again.best.value == s.best.value);
		small_problem_free(&f);
	}
}

/* Where the first of the four is too dear for a short time, none of the others stands in for it. */
static void test_a_short_time_of_a_large_graph(void **state)
{
	(void)state;
	small_problem f;
	berth_search_cfg cfg = {.seed = 1, .evaluations = BERTH_UNLIMITED, .time_s = 0.1};
	berth_search s;
	berth_err err;
	setup(&f, "zoo:random:ops=2000");
	cfg.time_from = berth_wall_seconds() + FAR;
	assert_ok(berth_objective_parse("throughput", &cfg.objective, &err), &err);
	assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &s, &err), &err);
	assert_true(berth_seeds_short(&s));
	assert_ok(berth_method_run(berth_seeds[0].method, &s, &f.tmp, &err), &err);
	int64_t single = s.evaluations;
	assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &s, &err), &err);
	assert_ok(berth_seeds_run_short(&s, &f.tmp, &err), &err);
	assert_int_equal(s.n_left_out, 4);
	assert_int_equal(s.evaluations, single);
	small_problem_free(&f);
}

/* A short time has the policy's passes where they are quick. */
static void test_passes_in_a_short_time(void **state)
{
	static const double time_s[] = {0.001, 0.1};
	(void)state;
	small_problem f;
	setup(&f, "zoo:random:ops=100");
	for (int i = 0; i < 2; i++) {
		berth_search_cfg cfg = {.seed = 1, .evaluations = 10, .time_s = time_s[i]};
		berth_search s;
		berth_err err;
		cfg.time_from = berth_wall_seconds() + FAR;
		assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &s, &err), &err);
		assert_ok(berth_method_run(berth_method_default(), &s, &f.tmp, &err), &err);
		assert_int_equal(s.n_left_out, i ? 3 : 4);
		assert_true(s.worked_ns < 0.25 * BERTH_SURE_NS);
	}
	small_problem_free(&f);
}

/* From 0.2 s and 300 evaluations on a search has all seeds, and so has one with next to no evaluations. */
static void test_what_is_short(void **state)
{
	static const int64_t evaluations[] = {0, 63, 64, 299, 300};
	(void)state;
	small_problem f;
	setup(&f, "zoo:random:ops=100");
	for (int i = 0; i < 5; i++) {
		berth_search_cfg cfg = {.seed = 1, .evaluations = evaluations[i]};
		berth_search s;
		berth_err err;
		assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &s, &err), &err);
		assert_true(berth_seeds_short(&s) == (i == 2 || i == 3));
		assert_ok(berth_method_run(berth_method_default(), &s, &f.tmp, &err), &err);
		if (i >= 2)
			assert_int_equal(s.evaluations, evaluations[i]);
		/* A time that is not over changes nothing; a short one asks for no evaluations. */
		s.evaluations = 0;
		s.cfg.time_s = FAR;
		assert_true(berth_seeds_short(&s) == (i == 2 || i == 3));
		s.cfg.time_s = i < 3 ? 0.199 : 0.2;
		assert_true(berth_seeds_short(&s) == (i < 4) && berth_seeds_few(&s) == (i == 3));
	}
	small_problem_free(&f);
}

static void test_time_is_over(void **state)
{
	(void)state;
	small_problem f;
	setup(&f, "zoo:random:ops=600");
	berth_search s = start(&f, 2, -FAR);
	assert_true(isfinite(s.best.excess));
	assert_true(s.worked_ns <= BERTH_SURE_NS);
	assert_int_equal(berth_search_budget_left(&s, 1), 0);
	small_problem_free(&f);
	setup(&f, "zoo:alexnet");
	assert_int_equal(start(&f, 2, -FAR).n_left_out, 0);
	small_problem_free(&f);
}

static berth_search start_far(small_problem *f, const char *objective, double time_s, double from)
{
	berth_search_cfg cfg = {.seed = 1, .evaluations = BERTH_UNLIMITED, .time_s = time_s};
	berth_search s;
	berth_err err;
	assert_ok(berth_objective_parse(objective, &cfg.objective, &err), &err);
	cfg.time_from = berth_wall_seconds() + from;
	assert_ok(berth_search_new(&f->p, &cfg, &f->mem, &s, &err), &err);
	int32_t *partition[BERTH_PARTITIONS];
	assert_ok(berth_seeds_partitions(&s, partition, &f->mem, &f->tmp, &err), &err);
	assert_ok(berth_seeds_communities(&s, &f->tmp, &err), &err);
	return s;
}

/* None of them is left out for want of time, and large problems take no more of it. */
static void test_far_seeds_and_time(void **state)
{
	static const char *const graphs[] = {"zoo:random:ops=100", "zoo:random:ops=3000"};
	(void)state;
	for (int i = 0; i < 2; i++) {
		small_problem f;
		setup(&f, graphs[i]);
		berth_search s = start_far(&f, "latency", 0, 0), over = start_far(&f, "latency", 2, -FAR);
		assert_true(s.worked_ns <= BERTH_SURE_NS);
		assert_true(isfinite(s.best.value));
		assert_int_equal(over.n_left_out, 0);
		assert_int_equal(s.evaluations, over.evaluations);
		assert_true(s.best.value == over.best.value);
		small_problem_free(&f);
	}
}

/* They are kept as their methods find them, and offered where that is asked for; of a large graph only what
 * there is work for. */
static void test_partitions_apart(void **state)
{
	static const char *const methods[] = {"scotch", "metis"};
	(void)state;
	small_problem f;
	berth_search_cfg cfg = {.seed = 1, .evaluations = BERTH_UNLIMITED};
	berth_search s, alone;
	int32_t *partition[BERTH_PARTITIONS];
	double best = INFINITY;
	berth_err err;
	for (int i = 0; i < BERTH_PARTITIONS; i++) {
		const berth_method *m;
		assert_ok(berth_method_find(methods[i], &m, &err), &err);
		if (berth_method_missing(m))
			skip();
	}
	setup(&f, "zoo:random:ops=100");
	assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &s, &err), &err);
	assert_ok(berth_seeds_find_partitions(&s, partition, &f.mem, &f.tmp, &err), &err);
	assert_true(s.evaluations > 0);
	assert_false(berth_score_feasible(s.best));
	for (int i = 0; i < BERTH_PARTITIONS; i++) {
		const berth_method *m;
		assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &alone, &err), &err);
		assert_ok(berth_method_find(methods[i], &m, &err), &err);
		assert_ok(berth_method_run(m, &alone, &f.tmp, &err), &err);
		assert_memory_equal(partition[i], alone.best_dev, (size_t)f.p.n_ops * sizeof *partition[i]);
		best = fmin(best, alone.best.value);
	}
	assert_ok(berth_seeds_partitions(&s, partition, &f.mem, &f.tmp, &err), &err);
	assert_true(s.best.value == best);
	small_problem_free(&f);
	setup(&f, "zoo:random:ops=3000");
	assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &s, &err), &err);
	assert_ok(berth_seeds_find_partitions(&s, partition, &f.mem, &f.tmp, &err), &err);
	assert_non_null(partition[0]);
	assert_null(partition[1]);
	small_problem_free(&f);
}

/* Whole chains of tiles belong to other servers: the seeds that are near do not find it. */
static void test_far_seeds_go_far(void **state)
{
	(void)state;
	small_problem f;
	berth_err err;
	setup(&f, "zoo:ffnn:tiles=3:batch=6144");
	f.s.roofline = true; /* tiles are slower there, and worth the way */
	assert_ok(berth_problem_new(&f.g, &f.s, &f.mem, &f.tmp, &f.p, &err), &err);
	berth_search near = start(&f, 0, 0), far = start_far(&f, "latency", 0, 0);
	assert_true(far.best.value < 0.9 * near.best.value);
	small_problem_free(&f);
}

/* Communities are found for the latency; what that is worth in joules is told. Throughput does without. */
static void test_far_seeds_of_objectives(void **state)
{
	static const char *const objectives[] = {"energy", "edp", "throughput", "latency:energy<=1000"};
	(void)state;
	small_problem f;
	setup(&f, "zoo:random:ops=60");
	for (int i = 0; i < 4; i++) {
		berth_search s = start_far(&f, objectives[i], 0, 0);
		berth_score again = berth_search_offer(&s, s.best_dev, berth_search_order(&s));
		assert_true(isfinite(s.best.value));
		assert_true(again.value == s.best.value);
	}
	small_problem_free(&f);
}

/* Amid a search they end with its budget, wherever that is. */
static void test_far_seeds_and_budget(void **state)
{
	(void)state;
	small_problem f;
	setup(&f, "zoo:random:ops=100");
	for (int64_t budget = 600; budget < 800; budget += 7) {
		berth_search_cfg cfg = {.seed = 1, .evaluations = budget};
		berth_search s;
		berth_err err;
		assert_ok(berth_search_new(&f.p, &cfg, &f.mem, &s, &err), &err);
		assert_ok(berth_method_run(berth_method_default(), &s, &f.tmp, &err), &err);
		assert_int_equal(s.evaluations, budget);
	}
	small_problem_free(&f);
}

static void test_every_method_names_its_source(void **state)
{
	(void)state;
	for (int32_t i = 0; i < berth_n_methods(); i++) {
		const berth_method *m = berth_method_at(i);
		if (!m->source || !m->source[0])
			fail_msg("method %s names no source", m->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_method_names_its_source),
		cmocka_unit_test(test_evaluations_run_all),
		cmocka_unit_test(test_a_tenth),
		cmocka_unit_test(test_a_short_time),
		cmocka_unit_test(test_short_searches),
		cmocka_unit_test(test_a_short_time_of_a_large_graph),
		cmocka_unit_test(test_passes_in_a_short_time),
		cmocka_unit_test(test_what_is_short),
		cmocka_unit_test(test_time_is_over),
		cmocka_unit_test(test_far_seeds_and_time),
		cmocka_unit_test(test_partitions_apart),
		cmocka_unit_test(test_far_seeds_go_far),
		cmocka_unit_test(test_far_seeds_of_objectives),
		cmocka_unit_test(test_far_seeds_and_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
