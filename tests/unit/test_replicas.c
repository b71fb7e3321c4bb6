/* Copies of a graph: the number of copies and its value against all placements of all numbers of copies. */
#include "check.h"
#include "fail_each.h"
#include "replicas.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>
#include <string.h>

#define OP(name, a, b) \
	"{\"name\":\"" name "\",\"param_bytes\":400,\"time_s\":{\"a\":" a "e-3,\"b\":" b "e-3}}"
static const char chain[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"chain\",\"ops\":["
	OP("x", "3", "5") "," OP("y", "2", "7") "," OP("z", "4", "4") "],\"edges\":["
	"{\"from\":\"x\",\"to\":\"y\",\"bytes\":1000},{\"from\":\"y\",\"to\":\"z\",\"bytes\":3000}]}";

#define SYSTEM(memory) \
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":[{\"name\":\"a\"," \
	"\"memory_bytes\":" memory "},{\"name\":\"b\",\"memory_bytes\":" memory "}],\"links\":[" \
	"{\"from\":\"a\",\"to\":\"b\",\"latency_s\":1e-6,\"bandwidth\":1e6,\"both_ways\":true}]}"

enum { MOST = 4 };

/* The least load / n over all placements of n copies. */
static double least(const small_problem *w, int32_t n)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph one[MOST], g;
	berth_problem p;
	berth_eval e;
	berth_err err;
	double best = INFINITY;
	int32_t op_dev[3 * MOST];
	const berth_objective throughput = berth_objective_of(BERTH_THROUGHPUT);
	for (int32_t i = 0; i < n; i++)
		one[i] = w->g;
	assert_ok(berth_graph_union(one, n, &mem, &tmp, &g, NULL, &err), &err);
	assert_ok(berth_problem_new(&g, &w->s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_eval_new(&p, &throughput, &mem, &e, &err), &err);
	for (uint32_t bits = 0; bits < 1u << (3 * n); bits++) {
		for (int32_t op = 0; op < 3 * n; op++)
			op_dev[op] = bits >> op & 1;
		berth_score s = berth_eval_run(&e, op_dev, NULL);
		best = berth_score_feasible(s) ? fmin(best, s.value) : best;
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return best / n;
}

static berth_status choose(small_problem *w, int32_t from, int32_t to, berth_arena *mem, berth_arena *tmp,
                           berth_replicas *r, berth_err *err)
{
	const berth_method *method;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.objective = berth_objective_of(BERTH_THROUGHPUT);
	cfg.evaluations = 500;
	BERTH_TRY(berth_method_find("anneal", &method, err));
	return berth_replicas_choose(&w->g, &w->s, from, to, method, &cfg, mem, tmp, r, err);
}

/* So many copies have placements that fit. */
static void check(const char *system, int32_t fit)
{
	small_problem w;
	berth_replicas r;
	berth_err err;
	double best = INFINITY;
	small_problem_make(&w, chain, system);
	for (int32_t n = 1; n <= MOST; n++) {
		double all = least(&w, n);
		best = fmin(best, all);
		assert_true(isinf(all) == (n > fit));
		assert_ok(choose(&w, n, n, &w.mem, &w.tmp, &r, &err), &err);
		assert_int_equal(r.n, isinf(all) ? 0 : n);
		if (r.n)
			assert_near(r.sample_s, all, 1e-12);
	}
	assert_ok(choose(&w, 1, MOST, &w.mem, &w.tmp, &r, &err), &err);
	assert_near(r.sample_s, best, 1e-12);
	assert_int_equal(r.g.n_ops, 3 * r.n);
	small_problem_free(&w);
}

static void test_against_all(void **state)
{
	(void)state;
	check(SYSTEM("1000000"), MOST);
	check(SYSTEM("5200"), 2); /* 1200 of weights a copy, and tensors of 1000 and 3000 at once */
}

/* Three copies fit on the device in some orders only, not in that of the rule: the answer has one. */
static void test_order(void **state)
{
	small_problem w;
	berth_replicas r;
	berth_problem p;
	berth_timeline t;
	berth_verdict v;
	berth_err err;
	const berth_objective throughput = berth_objective_of(BERTH_THROUGHPUT);
	(void)state;
	small_problem_make(&w,
	                   "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["
	                   "{\"name\":\"x\",\"flops\":2e6},{\"name\":\"y\",\"param_bytes\":2672108},"
	                   "{\"name\":\"z\"}],\"edges\":["
	                   "{\"from\":\"x\",\"to\":\"z\",\"bytes\":2407181}]}",
	                   "{\"format\":\"berth-system\",\"version\":1,\"order\":\"fifo\",\"devices\":["
	                   "{\"name\":\"a\",\"peak_flops\":8e9,\"memory_bytes\":15000000}]}");
	assert_ok(choose(&w, 3, 3, &w.mem, &w.tmp, &r, &err), &err);
	assert_int_equal(r.n, 3);
	assert_ok(berth_problem_new(&r.g, &w.s, &w.mem, &w.tmp, &p, &err), &err);
	assert_ok(berth_judge(&p, r.op_dev, NULL, &throughput, &w.mem, &t, &v, &err), &err);
	assert_false(v.feasible);
	assert_ok(berth_judge(&p, r.op_dev, r.op_order, &throughput, &w.mem, &t, &v, &err), &err);
	assert_true(v.feasible);
	assert_near(v.value / 3, r.sample_s, 1e-12);
	small_problem_free(&w);
}

/* Interrupted from the start: what a search would have started from is the answer. */
static void test_interrupted(void **state)
{
	(void)state;
	small_problem w;
	berth_err err;
	const atomic_int now = 1;
	small_problem_make(&w, chain, SYSTEM("1000000"));
	for (int32_t n = 1; n <= MOST; n++) {
		const berth_method *method;
		berth_replicas r;
		berth_search_cfg cfg = berth_search_cfg_default();
		cfg.objective = berth_objective_of(BERTH_THROUGHPUT);
		cfg.cancel = &now;
		assert_ok(berth_method_find("anneal", &method, &err), &err);
		berth_status st =
			berth_replicas_choose(&w.g, &w.s, n, MOST, method, &cfg, &w.mem, &w.tmp, &r, &err);
		assert_ok(st, &err);
		assert_true(r.interrupted);
		assert_true(r.n >= n && r.n <= MOST);
		assert_int_equal(r.g.n_ops, 3 * r.n);
		assert_true(r.sample_s > 0);
	}
	small_problem_free(&w);
}

static void test_most(void **state)
{
	(void)state;
	small_problem w;
	small_problem_make(&w, chain, SYSTEM("1000000"));
	assert_int_equal(berth_replicas_most(&w.g, &w.s), 4);
	w.g.n_ops = 15000;
	assert_int_equal(berth_replicas_most(&w.g, &w.s), 2);
	w.g.n_ops = 3;
	small_problem_free(&w);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_replicas r;
	return choose(ctx, 1, 2, mem, tmp, &r, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	small_problem w;
	small_problem_make(&w, chain, SYSTEM("1000000"));
	int share = support_sampled(6, 1, "parts of the allocations");
	assert_fails_each(work, &w, share == 6 ? (BERTH_DEBUG ? 41 : 7) : BERTH_DEBUG ? 251 : 43);
	small_problem_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_all),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_interrupted), cmocka_unit_test(test_most),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
