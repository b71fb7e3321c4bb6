/* Tabu search: every objective, exact counts, the same for any number of threads, and better than a search
 * that ends where no single move is. */
#include "improve.h"
#include "registry.h"
#include "small_problem.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

enum { MOST_OPS = 128 };

static void open_random(small_problem *w, int seed, const char *system)
{
	char spec[80];
	snprintf(spec, sizeof spec, "zoo:random:ops=100:ccr=0.5:heterogeneity=1:seed=%d", seed);
	small_problem_build(w, spec, system);
}

typedef struct answer {
	berth_score score;
	int64_t evaluations;
	int32_t op_dev[MOST_OPS];
} answer;

static answer search(small_problem *w, const char *objective, int64_t evaluations, berth_pool *pool)
{
	berth_search_options o = {
		.objective = objective, .seed = 3, .evaluations = evaluations, .threads = 1};
	berth_search_cfg cfg;
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_err err;
	answer a = {0};
	assert_ok(berth_search_cfg_open(&o, &cfg, &err), &err);
	berth_pool_free(cfg.pool);
	cfg.pool = pool;
	assert_ok(berth_search_new(&w->p, &cfg, &mem, &s, &err), &err);
	assert_ok(berth_method_run(&berth_method_tabu, &s, &tmp, &err), &err);
	a.score = s.best;
	a.evaluations = s.evaluations;
	memcpy(a.op_dev, s.best_dev, (size_t)w->g.n_ops * sizeof *a.op_dev);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return a;
}

/* Those with estimates, a sum of them, and one without. */
static const char *const objectives[] = {"latency", "energy", "edp", "throughput", "latency+energy",
                                         "memory"};
enum { N_OBJECTIVES = sizeof objectives / sizeof *objectives };

static void same_for_any_threads(void **state)
{
	(void)state;
	small_problem w;
	berth_pool *pool;
	berth_err err;
	open_random(&w, 1, "cpu+2gpu");
	int gained = 0;
	assert_ok(berth_pool_new(3, &pool, &err), &err);
	for (int i = 0; i < N_OBJECTIVES; i++) {
		answer one = search(&w, objectives[i], 500, NULL), start = search(&w, objectives[i], 0, NULL);
		assert_int_equal(one.evaluations, 500);
		assert_false(berth_score_less(start.score, one.score));
		gained += berth_score_less(one.score, start.score);
		answer other = search(&w, objectives[i], 500, pool);
		assert_memory_equal(&one, &other, sizeof one);
	}
	assert_true(gained >= N_OBJECTIVES - 2); /* a start may be best */
	berth_pool_free(pool);
	small_problem_free(&w);
}

/* Whatever the budget, also where it ends within a step: it is used up, and more is never worse. */
static void budgets(void **state)
{
	(void)state;
	small_problem w;
	open_random(&w, 2, "hetero-cluster");
	berth_score before = berth_score_worst();
	for (int64_t n = 401; n < 600; n += 13) {
		answer a = search(&w, NULL, n, NULL);
		assert_int_equal(a.evaluations, n);
		assert_false(berth_score_less(before, a.score));
		before = a.score;
	}
	small_problem_free(&w);
}

/* From the portfolio's best to where no single move is better. */
static berth_score improved(small_problem *w)
{
	berth_search_cfg cfg = {.seed = 3, .evaluations = INT64_MAX};
	berth_arena mem = {0}, tmp = {0};
	berth_rng rng = berth_rng_seed(3, 0);
	berth_search s;
	berth_err err;
	int32_t op_dev[MOST_OPS];
	assert_ok(berth_search_new(&w->p, &cfg, &mem, &s, &err), &err);
	assert_ok(berth_start_from_portfolio(&s, &tmp, &err), &err);
	memcpy(op_dev, s.best_dev, (size_t)w->g.n_ops * sizeof *op_dev);
	berth_score score = berth_search_offer(&s, op_dev, NULL);
	assert_ok(berth_improve(&s, op_dev, &score, INT64_MAX, &rng, &tmp, &err), &err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return score;
}

static void leaves_local_optima(void **state)
{
	(void)state;
	int better = 0;
	for (int seed = 1; seed <= 6; seed++) {
		small_problem w;
		open_random(&w, seed, seed % 2 ? "hetero-cluster" : "cpu+2gpu");
		answer a = search(&w, NULL, 2000, NULL);
		better += berth_score_less(a.score, improved(&w));
		small_problem_free(&w);
	}
	assert_true(better >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_for_any_threads),
		cmocka_unit_test(budgets),
		cmocka_unit_test(leaves_local_optima),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
