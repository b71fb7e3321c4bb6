/* Earliest task first on free devices beside the general way; its work grows with the operators, not with
 * their square. */
#include "etf_free.h"
#include "graph_json.h"
#include "instance.h"
#include "rng.h"
#include "support.h"
#include "system_json.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <string.h>

typedef struct compiled {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_partial *part;
} compiled;

static void finish(compiled *c)
{
	berth_err err;
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
	assert_ok(berth_partial_new(&c->p, &c->mem, &c->part, &err), &err);
}

static void discard(compiled *c)
{
	berth_arena_free(&c->mem);
	berth_arena_free(&c->tmp);
}

static void check_same(compiled *c, etf_key key)
{
	berth_partial *general;
	berth_err err;
	size_t bytes = (size_t)c->p.n_ops * sizeof(int64_t);
	assert_ok(berth_partial_new(&c->p, &c->mem, &general, &err), &err);
	berth_partial_reset(c->part);
	assert_ok(etf_schedule(&c->p, key, NULL, general, &c->tmp, &err), &err);
	assert_ok(etf_free_schedule(&c->p, key, c->part, NULL, &c->tmp, &err), &err);
	assert_memory_equal(berth_partial_start_ns(general), berth_partial_start_ns(c->part), bytes);
	assert_memory_equal(berth_partial_end_ns(general), berth_partial_end_ns(c->part), bytes);
	for (int32_t op = 0; op < c->p.n_ops; op++)
		assert_int_equal(berth_partial_dev(general, op), berth_partial_dev(c->part, op));
}

/* Many of these have equal times and times of zero, several slots, and operators that run on few devices. */
static void test_same_as_in_general(void **state)
{
	(void)state;
	int n_free = 0;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		instance in;
		compiled c = {0};
		berth_err err;
		instance_make(seed, 40, 5, &in);
		assert_ok(berth_graph_parse_json("graph", in.graph, strlen(in.graph), &c.mem, &c.tmp, &c.g,
		                                 &err), &err);
		assert_ok(berth_system_parse_json("system", in.system, strlen(in.system), &c.mem, &c.tmp,
		                                  &c.s, &err), &err);
		instance_free(&in);
		finish(&c);
		bool is_free = etf_is_free(&c.p, c.part);
		n_free += is_free;
		for (int k = 0; k < ETF_KEYS && is_free; k++)
			check_same(&c, (etf_key)k);
		discard(&c);
	}
	print_message("%d of 1,500 instances are free\n", n_free);
	assert_true(n_free > 100);
}

static void test_same_on_random_graphs(void **state)
{
	(void)state;
	for (int seed = 1; seed <= 8; seed++) {
		compiled c = {0};
		berth_err err;
		char *graph = berth_arena_printf(&c.mem, "zoo:random:ops=150:seed=%d", seed);
		assert_ok(berth_zoo_build(graph, &c.mem, &c.tmp, &c.g, &err), &err);
		assert_ok(berth_system_builtin(seed % 2 ? "4gpu" : "cpu+2gpu", &c.mem, &c.tmp, &c.s, &err),
		          &err);
		finish(&c);
		assert_true(etf_is_free(&c.p, c.part));
		for (int k = 0; k < ETF_KEYS; k++)
			check_same(&c, (etf_key)k);
		discard(&c);
	}
}

/* One operator before all others. */
static int64_t steps_on_star(int32_t n, etf_key key)
{
	compiled c = {0};
	berth_err err;
	berth_builder *b;
	berth_rng rng = berth_rng_seed(1, 0);
	int64_t steps;
	assert_ok(berth_builder_new(&c.tmp, "star", &b, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		const berth_op_spec op = {.name = berth_arena_printf(&c.mem, "n%d", (int)i),
		                          .flops = 1e6 * (1 + berth_rng_below(&rng, 7))};
		assert_ok(berth_builder_op(b, &op, NULL, &err), &err);
		if (i)
			assert_ok(berth_builder_edge(b, 0, i, 1000, "t", &err), &err);
	}
	assert_ok(berth_builder_finish(b, &c.mem, &c.g, &err), &err);
	assert_ok(berth_system_builtin("4gpu", &c.mem, &c.tmp, &c.s, &err), &err);
	finish(&c);
	assert_true(etf_is_free(&c.p, c.part));
	assert_ok(etf_free_schedule(&c.p, key, c.part, &steps, &c.tmp, &err), &err);
	discard(&c);
	return steps;
}

static void test_work_grows_with_the_star(void **state)
{
	(void)state;
	for (int k = 0; k < ETF_KEYS; k++) {
		int64_t small = steps_on_star(2000, (etf_key)k), large = steps_on_star(20000, (etf_key)k);
		print_message("%lld pairs of 2,000 operators, %lld of 20,000\n", (long long)small,
		              (long long)large);
		assert_true(small > 0 && large < 12 * small);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_in_general),
		cmocka_unit_test(test_same_on_random_graphs),
		cmocka_unit_test(test_work_grows_with_the_star),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
