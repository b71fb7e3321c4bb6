/* Walks of annealing side by side: the same for any number of threads, an exact count of evaluations, and
 * what the walks find apart counts together. */
#include "anneal.h"
#include "fail_each.h"
#include "registry.h"
#include "small_problem.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

static void open_random(small_problem *w, int seed, const char *system)
{
	char spec[80];
	snprintf(spec, sizeof spec, "zoo:random:ops=150:ccr=0.5:heterogeneity=1:seed=%d", seed);
	small_problem_build(w, spec, system);
}

typedef struct answer {
	berth_score score;
	int64_t evaluations;
	int32_t op_dev[256];
} answer;

static answer anneal(small_problem *w, int32_t walks, int64_t evaluations, berth_pool *pool)
{
	berth_search_cfg cfg = {.seed = 5, .evaluations = evaluations, .walks = walks, .pool = pool};
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_err err;
	answer a = {0};
	assert_ok(berth_search_new(&w->p, &cfg, &mem, &s, &err), &err);
	assert_ok(berth_method_run(&berth_method_anneal, &s, &tmp, &err), &err);
	a.score = s.best;
	a.evaluations = s.evaluations;
	memcpy(a.op_dev, s.best_dev, (size_t)w->g.n_ops * sizeof *a.op_dev);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return a;
}

static void same_for_any_threads(void **state)
{
	(void)state;
	small_problem w;
	open_random(&w, 1, "cpu+2gpu");
	const int64_t n = BERTH_DEBUG ? 1000 : 3000;
	for (int32_t walks = 2; walks <= 7; walks += 5) {
		answer one = anneal(&w, walks, n, NULL);
		assert_int_equal(one.evaluations, n);
		for (int32_t threads = 2; threads <= 8; threads *= 2) {
			berth_pool *pool;
			berth_err err;
			assert_ok(berth_pool_new(threads, &pool, &err), &err);
			answer other = anneal(&w, walks, n, pool);
			assert_memory_equal(&one, &other, sizeof one);
			berth_pool_free(pool);
		}
	}
	small_problem_free(&w);
}

/* Whatever the budget, also where it ends within a turn: it is used up. */
static void budgets(void **state)
{
	(void)state;
	if (support_answers_left())
		return;
	small_problem w;
	open_random(&w, 2, "hetero-cluster");
	for (int64_t n = 601; n < 1100; n += 43) {
		answer a = anneal(&w, 3, n, NULL);
		assert_int_equal(a.evaluations, n);
	}
	small_problem_free(&w);
}

/* Four walks that share their steps are better than one with a fourth of them. */
static void walks_add_up(void **state)
{
	(void)state;
	if (support_answers_left())
		return;
	int better = 0;
	for (int seed = 1; seed <= 6; seed++) {
		small_problem w;
		open_random(&w, seed, seed % 2 ? "hetero-cluster" : "cpu+2gpu");
		answer alone = anneal(&w, 1, 1500, NULL), four = anneal(&w, 4, 6000, NULL);
		better += berth_score_less(four.score, alone.score);
		small_problem_free(&w);
	}
	assert_in_range(better, 5, 6);
}

static berth_status make(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_search_cfg cfg = {.seed = 1, .evaluations = 10, .walks = 2};
	berth_annealer *a;
	berth_search s;
	(void)tmp;
	BERTH_TRY(berth_search_new(&((small_problem *)ctx)->p, &cfg, mem, &s, err));
	return berth_annealer_new(&s, 0.3, false, berth_rng_seed(1, 0), mem, &a, err);
}

static void each_allocation_may_fail(void **state)
{
	(void)state;
	small_problem w;
	open_random(&w, 3, "edge");
	assert_fails_each(make, &w, 5);
	small_problem_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_for_any_threads), cmocka_unit_test(budgets),
	                                   cmocka_unit_test(walks_add_up),
	                                   cmocka_unit_test(each_allocation_may_fail)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
