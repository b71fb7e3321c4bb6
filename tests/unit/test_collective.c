/* What collectives take: formulas against messages that are counted one by one, and the simulator's messages
 * against the formulas. */
#include "collective.h"
#include "graph_format.h"
#include "problem.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const berth_fabric fabric = {4e-5, 1e-6, 1e11, true};

/* Around a ring, step by step: what each device has is followed until all have all. */
static double ring_by_steps(int32_t n, double bytes)
{
	double s = fabric.start_s;
	for (int32_t step = 0; step < 2 * (n - 1); step++)
		s += fabric.step_s + bytes / n / fabric.bandwidth;
	return s;
}

/* Distances double until all have been reached. */
static int32_t doublings(int32_t n)
{
	int32_t k = 0;
	for (int32_t reached = 1; reached < n; reached *= 2)
		k++;
	return k;
}

static void test_formulas(void **state)
{
	(void)state;
	const double bytes = 3e7, wire_s = bytes / fabric.bandwidth;
	for (int32_t n = 2; n <= 64; n++) {
		const double all = berth_collective_s(BERTH_ALL_REDUCE, BERTH_WAY_RING, n, bytes, &fabric),
		             tree = berth_collective_s(BERTH_ALL_REDUCE, BERTH_WAY_TREE, n, bytes, &fabric);
		assert_near(all, ring_by_steps(n, bytes), 1e-12);
		assert_near(tree, 4e-5 + 2e-6 * doublings(n) + 2 * wire_s, 1e-12);
		for (int w = 0; w < BERTH_N_COLLECTIVE_WAYS; w++) {
			berth_collective_way way = (berth_collective_way)w;
			double half = berth_collective_s(BERTH_ALL_GATHER, way, n, bytes, &fabric);
			assert_true(half == berth_collective_s(BERTH_REDUCE_SCATTER, way, n, bytes, &fabric));
			assert_true(half < berth_collective_s(BERTH_ALL_REDUCE, way, n, bytes, &fabric));
			assert_true(half >= fabric.start_s + wire_s * (n - 1) / n);
		}
	}
	assert_near(berth_collective_s(BERTH_ALL_REDUCE, BERTH_WAY_SWITCH, 8, bytes, &fabric),
	            4.2e-5 + wire_s * 9 / 8, 1e-12);
	assert_true(berth_collective_s(BERTH_ALL_REDUCE, BERTH_WAY_RING, 1, bytes, &fabric) == 0);
}

/* More bytes take longer, and so do more devices; not where a switch adds, as each has less to hand out. */
static void test_monotone(void **state)
{
	(void)state;
	for (int i = 0; i < BERTH_N_COLLECTIVES * BERTH_N_COLLECTIVE_WAYS; i++) {
		berth_collective what = (berth_collective)(i % BERTH_N_COLLECTIVES);
		berth_collective_way way = (berth_collective_way)(i / BERTH_N_COLLECTIVES);
		for (int32_t n = 2; n < 40; n++)
			for (double b = 1; b < 1e10; b *= 10) {
				double s = berth_collective_s(what, way, n, b, &fabric);
				assert_true(berth_collective_s(what, way, n, 2 * b, &fabric) > s);
				assert_true((what == BERTH_ALL_REDUCE && way == BERTH_WAY_SWITCH) ||
				            berth_collective_s(what, way, n + 1, b, &fabric) >= s);
			}
	}
}

static void test_least(void **state)
{
	(void)state;
	berth_fabric plain = fabric;
	berth_collective_way way;
	plain.adds = false;
	assert_true(isinf(berth_collective_s(BERTH_ALL_REDUCE, BERTH_WAY_SWITCH, 4, 1, &plain)));
	berth_collective_least_s(BERTH_ALL_REDUCE, 16, 100, &plain, &way);
	assert_int_equal(way, BERTH_WAY_TREE);
	berth_collective_least_s(BERTH_ALL_REDUCE, 16, 1e9, &plain, &way);
	assert_int_equal(way, BERTH_WAY_RING);
	berth_collective_least_s(BERTH_ALL_REDUCE, 16, 1e9, &fabric, &way);
	assert_int_equal(way, BERTH_WAY_SWITCH);
}

/* 2 (n - 1) messages of an n-th take what the collective takes. */
static void test_hop(void **state)
{
	(void)state;
	for (int32_t n = 2; n <= 16; n++)
		for (double bytes = 1e3; bytes < 1e10; bytes *= 10) {
			double latency_s, bandwidth;
			berth_collective_hop(n, bytes, &fabric, &latency_s, &bandwidth);
			assert_near(2 * (n - 1) * (latency_s + bytes / n / bandwidth),
			            berth_collective_least_s(BERTH_ALL_REDUCE, n, bytes, &fabric, NULL),
			            1e-9);
		}
}

/* Of three tensors of one size the two that make a collective take its figures; without figures all are one
 * class. */
static void test_messages(void **state)
{
	(void)state;
	static const char graph[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["
		"{\"name\":\"a/piece 1 of 2\"},{\"name\":\"w/all_reduce 1 of 2\",\"type\":\"AllReduce\"},"
		"{\"name\":\"b/joined 1 of 2\",\"type\":\"Concat\"},"
		"{\"name\":\"c\",\"type\":\"Concat\"}],\"edges\":["
		"{\"from\":\"a/piece 1 of 2\",\"to\":\"b/joined 1 of 2\",\"bytes\":1000,\"tensor\":\"x\"},"
		"{\"from\":\"a/piece 1 of 2\",\"to\":\"c\",\"bytes\":1000,\"tensor\":\"y\"},"
		"{\"from\":\"w/all_reduce 1 of 2\",\"to\":\"c\",\"bytes\":1000,\"tensor\":\"z\"}]}";
	static const char *const figures[] = {"", ",\"collective_latency_s\":5e-6",
	                                      ",\"collective_bandwidth\":1e8"};
	static const int64_t ns[] = {2000, 6000, 11000};
	for (size_t i = 0; i < 3; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_problem p;
		berth_err err;
		char text[600];
		snprintf(text, sizeof text,
		         "{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":["
		         "{\"name\":\"d\",\"peak_flops\":1},{\"name\":\"e\",\"peak_flops\":1}],\"links\":["
		         "{\"from\":\"d\",\"to\":\"e\",\"latency_s\":1e-6,\"bandwidth\":1e9,"
		         "\"both_ways\":true%s}"
		         "]}",
		         figures[i]);
		assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
		assert_ok(berth_system_parse_json("s", text, strlen(text), &mem, &tmp, &s, &err), &err);
		assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
		assert_int_equal(p.n_classes, i ? 2 : 1);
		for (int32_t t = 0; t < g.n_tensors; t++) {
			bool y = g.tensor_name[t][0] == 'y';
			assert_int_equal(berth_tensor_is_collective(&g, t), !y);
			assert_int_equal(p.class_link_ns[p.tensor_class[t] * s.n_links], y ? 2000 : ns[i]);
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formulas), cmocka_unit_test(test_monotone),
		cmocka_unit_test(test_least),    cmocka_unit_test(test_hop),
		cmocka_unit_test(test_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
