/* Groupers: invariants on zoo models and random graphs, the target reached, units whole, colocated training-like graphs. */
#include "coarsen.h"
#include "graph_json.h"
#include "instance.h"
#include "support.h"
#include "zoo.h"

#include <stdio.h>
#include <string.h>

static void check(const berth_graph *g, const berth_coarsen_cfg *cfg, berth_coarsening *c, berth_arena *mem)
{
	berth_arena tmp = {0};
	berth_err err;
	assert_ok(berth_coarsen(g, cfg, mem, &tmp, c, &err), &err);
	assert_ok(berth_coarsening_check(g, c, cfg, &tmp, &err), &err);
	berth_arena_free(&tmp);
}

static void test_zoo_reaches_targets(void **state)
{
	(void)state;
	static const char *const spec[] = {"zoo:resnet50", "zoo:inception-v3", "zoo:bert-base"};
	static const int32_t target[] = {1, 8, 32, 64, 256};
	for (int m = 0; m < 3; m++)
		for (int k = 0; k < 5; k++) {
			berth_arena mem = {0}, tmp = {0};
			berth_graph g;
			berth_coarsening c;
			berth_err err;
			assert_ok(berth_zoo_build(spec[m], &mem, &tmp, &g, &err), &err);
			berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target[k]);
			check(&g, &cfg, &c, &mem);
			int32_t want = target[k] < g.n_ops ? target[k] : g.n_ops;
			assert_true(c.n_groups <= want);
			assert_true(c.n_groups >= want / 2);
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
		}
}

static void test_random_graphs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		instance in;
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_coarsening c;
		berth_err err;
		instance_make(seed, 40, 3, &in);
		assert_ok(berth_graph_parse_json("g", in.graph, strlen(in.graph), &mem, &tmp, &g, &err), &err);
		berth_coarsen_cfg cfg = berth_coarsen_cfg_default((int32_t)(seed % 9) + 1);
		if (seed % 3 == 0)
			cfg.max_bytes = 2000;
		check(&g, &cfg, &c, &mem);
		if (seed % 3)
			assert_true(c.n_groups <= cfg.target || c.n_groups <= c.n_units);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		instance_free(&in);
	}
}

/* Two colocated pairs that point against each other: the quotient of units is cyclic, the groups are still well-formed. */
static void test_colocation_against_the_order(void **state)
{
	(void)state;
	static const char text[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"f1\",\"colocate\":\"w1\"},{\"name\":\"f2\",\"colocate\":\"w2\"},"
	                           "{\"name\":\"b2\",\"colocate\":\"w2\"},{\"name\":\"b1\",\"colocate\":\"w1\"},{\"name\":\"x\"}],\"edges\":["
	                           "{\"from\":\"f1\",\"to\":\"f2\",\"bytes\":5},{\"from\":\"f2\",\"to\":\"x\",\"bytes\":5},{\"from\":\"x\",\"to\":\"b2\",\"bytes\":5},"
	                           "{\"from\":\"b2\",\"to\":\"b1\",\"bytes\":5}]}";
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_coarsening c;
	berth_err err;
	int64_t bytes;
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &mem, &tmp, &g, &err), &err);
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(3);
	check(&g, &cfg, &c, &mem);
	assert_int_equal(c.n_units, 3);
	assert_int_equal(c.n_groups, 3);
	assert_ok(berth_coarsening_crossing_bytes(&g, &c, &tmp, &bytes, &err), &err);
	assert_int_equal(bytes, 20);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_checker_finds_faults(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_coarsening c;
	berth_err err;
	assert_ok(berth_zoo_build("zoo:resnet50", &mem, &tmp, &g, &err), &err);
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(16);
	check(&g, &cfg, &c, &mem);
	/* First and last operator in one group, alone with level maps to match: a cycle through all others. */
	int32_t last = c.op_group[g.topo_op[g.n_ops - 1]], first = c.op_group[g.topo_op[0]];
	assert_int_not_equal(first, last);
	for (int32_t op = 0; op < g.n_ops; op++)
		c.op_group[op] = c.op_group[op] == last ? first : c.op_group[op];
	assert_int_equal(berth_coarsening_check(&g, &c, &cfg, &tmp, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "levels lead to group");
	for (int32_t v = 0; v < c.level_n[c.n_levels - 2]; v++)
		if (c.level_map[c.n_levels - 2][v] == last)
			c.level_map[c.n_levels - 2][v] = first;
	assert_int_equal(berth_coarsening_check(&g, &c, &cfg, &tmp, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "cycle");
	cfg.max_bytes = 1;
	assert_int_equal(berth_coarsen(&g, &(berth_coarsen_cfg){.target = 0}, &mem, &tmp, &c, &err), BERTH_EINVAL);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zoo_reaches_targets),
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_colocation_against_the_order),
		cmocka_unit_test(test_checker_finds_faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
