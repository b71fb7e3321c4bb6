/* Planted optima (tests/support/planted.h): the schedule takes what it is said to, and no bound is above. */
#include "bounds.h"
#include "eval.h"
#include "planted.h"
#include "support.h"

#include <math.h>

static void tries(planted_kind kind, int32_t n_ops, int32_t n_devs, uint64_t seed)
{
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	planted p;
	berth_eval eval;
	berth_bounds bounds;
	berth_bound_effort all = berth_bound_effort_all(NULL);
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	assert_ok(planted_make(kind, n_ops, n_devs, seed, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_eval_new(&p.problem, &latency, &mem, &eval, &err), &err);
	assert_int_equal(llround(berth_eval_run(&eval, p.dev, p.order).value * 1e9),
	                 llround(p.latency_s * 1e9));
	assert_ok(berth_bounds_new(&p.problem, &tmp, &bounds, &err), &err);
	assert_ok(berth_bounds_strengthen(&p.problem, &all, &tmp, &bounds, &err), &err);
	assert_true(bounds.value[BERTH_LATENCY] <= p.latency_s * (1 + 1e-12));
	assert_true(bounds.value[BERTH_LATENCY] >= p.latency_s * (1 - 1e-3)); /* the load bound sees the
	                                                                         prices */
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void takes_what_was_planted(void **state)
{
	(void)state;
	for (int kind = 0; kind < PLANTED_KINDS; kind++)
		for (uint64_t seed = 1; seed <= 8; seed++)
			tries((planted_kind)kind, 20 + (int32_t)seed * 10, (int32_t)seed, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(takes_what_was_planted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
