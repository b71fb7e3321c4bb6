/* Weights of the uses of a language model, and times mixed by them. */
#include "problem.h"
#include "support.h"
#include "system_json.h"
#include "systems_builtin.h"
#include "uses.h"
#include "zoo.h"

#include <math.h>

static void test_words(void **state)
{
	static const struct {
		const char *text;
		double answer, read;
	} good[] = {{NULL, 1, 0},       {"answer:1", 1, 0},     {"read:2", 0, 1},
	            {"answer:3,read:1", 0.75, 0.25}, {"read:0.2,answer:0.8", 0.8, 0.2}};
	static const char *const bad[] = {"", "answer", "answer:", "answer:-1", "write:1", "answer:0,read:0",
	                                  "answer:1x", "answer:1 ,read:2", "answer:1e999"};
	(void)state;
	berth_uses u;
	berth_err err = {0};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_ok(berth_uses_parse(good[i].text, &u, &err), &err);
		assert_near(u.answer, good[i].answer, 1e-15);
		assert_near(u.read, good[i].read, 1e-15);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(berth_uses_parse(bad[i], &u, &err), BERTH_EINVAL);
		assert_contains(err.msg, "expected weights of 0 and more, as in answer:0.8,read:0.2");
	}
}

static const char text[] = "{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":["
			   "{\"name\":\"a\",\"peak_flops\":1e12,\"mem_bandwidth\":5e10},"
			   "{\"name\":\"b\",\"peak_flops\":1e11,\"mem_bandwidth\":1e10}],"
			   "\"links\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e10,\"both_ways\":true}]}";

/* What a mean token takes is the mean of both uses, on every device. */
static void test_mean(void **state)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g[2];
	berth_system s;
	berth_problem p[2];
	berth_err err = {0};
	const berth_uses u = {0.75, 0.25}, alone = {1, 0};
	int32_t *twin;
	(void)state;
	assert_ok(berth_system_parse_json("two", text, sizeof text - 1, &mem, &tmp, &s, &err), &err);
	assert_ok(berth_zoo_build("zoo:llama:layers=2:seq=64:mode=decode", &mem, &tmp, &g[0], &err), &err);
	assert_ok(berth_zoo_build("zoo:llama:layers=2:seq=64", &mem, &tmp, &g[1], &err), &err);
	for (int i = 0; i < 2; i++)
		assert_ok(berth_problem_new(&g[i], &s, &mem, &tmp, &p[i], &err), &err);
	assert_ok(BERTH_NEW(&mem, twin, g[1].n_ops, &err), &err);
	for (int32_t op = 0; op < g[1].n_ops; op++)
		twin[op] = berth_graph_find(&g[0], g[1].op_name[op]);
	for (int32_t d = 0; d < 2; d++) {
		double sum[2] = {0, 0}, mixed = 0;
		berth_problem both = p[0];
		for (int i = 0; i < 2; i++)
			for (int32_t op = 0; op < g[i].n_ops; op++)
				sum[i] += (double)berth_op_time(&p[i], op, d);
		assert_ok(berth_uses_mix(&u, &both, &p[1], twin, 64, &mem, &err), &err);
		for (int32_t op = 0; op < both.n_ops; op++)
			mixed += (double)berth_op_time(&both, op, d);
		assert_near(mixed, 0.75 * sum[0] + 0.25 / 64 * sum[1], both.n_ops);
		both = p[0];
		assert_ok(berth_uses_mix(&alone, &both, &p[1], twin, 64, &mem, &err), &err);
		assert_ptr_equal(both.op_dev_time_ns, p[0].op_dev_time_ns);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Where devices share a memory, a mean token loads it with the mean of both uses, for no longer than it
 * takes, so that no bound is above a plan. */
static void test_loads(void **state)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g[2];
	berth_system s;
	berth_problem p[2], both;
	berth_err err = {0};
	const berth_uses u = {0.5, 0.5};
	int32_t *twin;
	int64_t less = 0;
	(void)state;
	assert_ok(berth_system_builtin("laptop", &mem, &tmp, &s, &err), &err);
	assert_ok(berth_zoo_build("zoo:llama:layers=2:seq=64:mode=decode", &mem, &tmp, &g[0], &err), &err);
	assert_ok(berth_zoo_build("zoo:llama:layers=2:seq=64", &mem, &tmp, &g[1], &err), &err);
	for (int i = 0; i < 2; i++)
		assert_ok(berth_problem_new(&g[i], &s, &mem, &tmp, &p[i], &err), &err);
	assert_ok(BERTH_NEW(&mem, twin, g[1].n_ops, &err), &err);
	for (int32_t op = 0; op < g[1].n_ops; op++)
		twin[op] = berth_graph_find(&g[0], g[1].op_name[op]);
	both = p[0];
	assert_ok(berth_uses_mix(&u, &both, &p[1], twin, 64, &mem, &err), &err);
	for (int32_t op = 0; op < both.n_ops; op++)
		for (int32_t d = 0; d < both.n_devs; d++) {
			int64_t load = berth_op_pool_ns(&both, op, d), time = berth_op_time(&both, op, d);
			assert_true(load <= time || time < 0);
			assert_true(both.op_dev_demand[berth_cell(&both, op, d)] <= both.pool_rate[0]);
			less += load < berth_op_pool_ns(&p[0], op, d);
		}
	assert_true(less > 0);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_mean),
	                                   cmocka_unit_test(test_loads)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
