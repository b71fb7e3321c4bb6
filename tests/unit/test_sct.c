/* Small communication times: the linear program's favourites, and what earliest task first makes of them. */
#include "etf.h"
#include "favourite.h"
#include "instance.h"
#include "lp.h"
#include "registry.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void finish(small_problem *c)
{
	berth_err err;
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
}

static bool has_solver(void)
{
	if (!berth_lp_solver())
		print_message("skipped: favourite children need %s\n", berth_lp_missing());
	return berth_lp_solver();
}

static const int32_t *favourites(small_problem *c, int32_t window, double promptness, double *length_ns)
{
	favourite_cfg cfg = favourite_cfg_default();
	int32_t *child;
	berth_err err;
	cfg.window = window > 0 ? window : cfg.window;
	cfg.promptness = promptness;
	assert_ok(BERTH_NEW(&c->mem, child, c->p.n_ops, &err), &err);
	assert_ok(favourite_children(&c->p, &cfg, child, length_ns, &c->tmp, &err), &err);
	return child;
}

/* One second is 1e9 bytes and 1e9 FLOP here: times can be read off. */
#define GRAPH(ops, edges) "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[" ops "],\"edges\":[" edges "]}"
#define OP(name, s) "{\"name\":\"" name "\",\"flops\":" #s "e9}"
#define EDGE(a, b, s) "{\"from\":\"" a "\",\"to\":\"" b "\",\"bytes\":" #s "e9,\"tensor\":\"" b "\"}"
#define PAIR                                                                                                 \
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\",\"peak_flops\":1e9},{"      \
	"\"name\":\"y\",\"peak_flops\":1e9}],\"links\":[{"                                                   \
	"\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,\"both_ways\":true}]}"

static void test_favourites_by_hand(void **state)
{
	(void)state;
	small_problem c;
	double length;
	if (!has_solver())
		skip();
	/* a chain: each is the favourite of the one before */
	small_problem_make(
		&c, GRAPH(OP("a", 2) "," OP("b", 2) "," OP("c", 2), EDGE("a", "b", 1) "," EDGE("b", "c", 1)),
		PAIR);
	const int32_t *child = favourites(&c, 0, 0.01, &length);
	assert_true(child[0] == 1 && child[1] == 2 && child[2] == -1);
	assert_true(fabs(length - 6e9) < 10);
	small_problem_free(&c);
	/* of two children the longer, of two parents the later: 3 + 5 against 3 + 1 + 2, then d after b */
	small_problem_make(&c,
	        GRAPH(OP("a", 3) "," OP("b", 5) "," OP("c", 2) "," OP("d", 1),
	              EDGE("a", "b", 1) "," EDGE("a", "c", 1) "," EDGE("b", "d", 1) "," EDGE("c", "d", 1)),
	        PAIR);
	child = favourites(&c, 0, 0.01, &length);
	assert_true(child[0] == 1 && child[1] == 3 && child[2] == -1);
	assert_true(fabs(length - 9e9) < 10);
	small_problem_free(&c);
	/* two equal children share: neither is the favourite of the length alone, 3 + 1/2 + 5 */
	small_problem_make(
		&c, GRAPH(OP("a", 3) "," OP("b", 5) "," OP("c", 5), EDGE("a", "b", 1) "," EDGE("a", "c", 1)),
		PAIR);
	favourites(&c, 0, 0, &length);
	assert_true(fabs(length - 8.5e9) < 10);
	small_problem_free(&c);
}

static void check_favourites(const small_problem *c, const int32_t *child)
{
	const berth_graph *g = &c->g;
	for (int32_t op = 0; op < g->n_ops; op++) {
		bool is_child = child[op] < 0;
		for (int32_t i = 0;
		     child[op] >= 0 && i < g->op_in_off[child[op] + 1] - g->op_in_off[child[op]]; i++)
			is_child |= g->tensor_producer[g->in_tensor[g->op_in_off[child[op]] + i]] == op;
		assert_true(is_child);
		for (int32_t o = 0; o < op; o++)
			assert_true(child[op] < 0 || child[o] != child[op]);
	}
}

/* In one window or in many, on any instance. */
static void test_one_child_one_parent(void **state)
{
	(void)state;
	int given = 0;
	if (!has_solver())
		skip();
	for (uint64_t seed = 1; seed <= 100; seed++)
		for (int32_t window = 2; window <= 32; window *= 4) {
			instance in;
			small_problem c;
			instance_make(seed, 20, 4, &in);
			small_problem_make(&c, in.graph, in.system);
			instance_free(&in);
			const int32_t *child = favourites(&c, window, 0.01, NULL);
			check_favourites(&c, child);
			for (int32_t op = 0; op < c.p.n_ops; op++)
				given += child[op] >= 0;
			small_problem_free(&c);
		}
	assert_true(given > 500);
}

/* The least latency over placements and orders on two equal devices is no less than the program's length, if
 * transfers are no longer than operators. */
static void test_length_is_a_bound(void **state)
{
	(void)state;
	double least_gap = INFINITY;
	if (!has_solver())
		skip();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		char graph[4000];
		berth_rng rng = berth_rng_seed(seed, 5);
		size_t at = (size_t)snprintf(graph, sizeof graph,
		                             "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[");
		for (int i = 0; i < 6; i++)
			at += (size_t)snprintf(graph + at, sizeof graph - at,
			                       "%s{\"name\":\"o%d\",\"flops\":%ue8}", i ? "," : "", i,
			                       10 + berth_rng_below(&rng, 30));
		at += (size_t)snprintf(graph + at, sizeof graph - at, "],\"edges\":[");
		for (int i = 1, n = 0; i < 6; i++)
			for (int k = 0; k < i; k++)
				if (berth_rng_below(&rng, 3) == 0)
					at += (size_t)snprintf(graph + at, sizeof graph - at,
					                       "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":"
					                       "%ue8,\"tensor\":\"t%d\"}",
					                       n++ ? "," : "", k, i,
					                       1 + berth_rng_below(&rng, 9), i);
		snprintf(graph + at, sizeof graph - at, "]}");
		small_problem c;
		berth_search s;
		berth_search_cfg cfg = {.evaluations = 1000};
		berth_err err;
		double length;
		small_problem_make(&c, graph, PAIR);
		favourites(&c, 0, 0, &length);
		assert_ok(berth_search_new(&c.p, &cfg, &c.mem, &s, &err), &err);
		assert_ok(berth_method_run(&berth_method_branch_and_bound, &s, &c.tmp, &err), &err);
		assert_true(s.best.value * 1e9 >= length * (1 - 1e-6));
		least_gap = fmin(least_gap, s.best.value * 1e9 / length);
		small_problem_free(&c);
	}
	assert_true(least_gap < 1.01); /* and is met somewhere */
}

/* ---- the schedule ---- */

static void schedule(small_problem *c, const int32_t *child, int32_t *op_dev, const int64_t **start_ns)
{
	berth_partial *part;
	berth_err err;
	assert_ok(berth_partial_new(&c->p, &c->mem, &part, &err), &err);
	assert_ok(etf_schedule(&c->p, ETF_START, child, part, NULL, &c->tmp, &err), &err);
	berth_partial_devs(part, op_dev);
	*start_ns = berth_partial_start_ns(part);
}

/* a (2 s) and b (3 s) start; f needs both, g only a. At 2 s, device x is free and g could start there, f not
 * before 4 s. As the favourite of a, f keeps x: g goes to y at 3 s, when it is urgent. */
static void test_awake_device_waits(void **state)
{
	(void)state;
	static const int32_t none[] = {-1, -1, -1, -1}, child[] = {2, -1, -1, -1};
	small_problem c;
	int32_t op_dev[4];
	const int64_t *start;
	small_problem_make(&c,
	        GRAPH(OP("a", 2) "," OP("b", 3) "," OP("f", 4) "," OP("g", 10),
	              EDGE("a", "f", 9) "," EDGE("b", "f", 1) "," EDGE("a", "g", 1)),
	        PAIR);
	const int32_t *plain[] = {NULL, none};
	for (int i = 0; i < 2; i++) {
		schedule(&c, plain[i], op_dev, &start);
		assert_true(op_dev[3] == op_dev[0] && start[3] == 2000000000 && start[2] >= 11000000000);
	}
	schedule(&c, child, op_dev, &start);
	assert_true(op_dev[2] == op_dev[0] && start[2] == 4000000000);
	assert_true(op_dev[3] == op_dev[1] && start[3] == 3000000000);
	small_problem_free(&c);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	small_problem c;
	berth_err err;
	int32_t child[64];
	favourite_cfg cfg = favourite_cfg_default();
	if (!has_solver())
		skip();
	memset(&c, 0, sizeof c);
	assert_ok(berth_zoo_build("zoo:random:ops=30", &c.mem, &c.tmp, &c.g, &err), &err);
	assert_ok(berth_system_builtin("cpu+2gpu", &c.mem, &c.tmp, &c.s, &err), &err);
	finish(&c);
	cfg.window = 10;
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_arena tmp;
		failing_allocator_init(&f, k);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = favourite_children(&c.p, &cfg, child, NULL, &tmp, NULL);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 3);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
	small_problem_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_favourites_by_hand), cmocka_unit_test(test_one_child_one_parent),
		cmocka_unit_test(test_length_is_a_bound),  cmocka_unit_test(test_awake_device_waits),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
