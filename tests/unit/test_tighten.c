/* Memory drawn about a graph's need: the need by hand, the range and the seed of what is drawn, and that
 * placements still exist. */
#include "graph_format.h"
#include "instance.h"
#include "small_problem.h"
#include "support.h"
#include "system_change.h"
#include "system_json.h"
#include "systems_builtin.h"

#include <stdio.h>
#include <string.h>

/* a makes 100 bytes for b and c, b 10 for c and 3 to keep; parameters 7 each in a and b, one of 40 for both
 * b and c; c needs 300 to work in, 5 of state. */
static const char text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"params\":[{\"name\":\"w\",\"bytes\":40,"
        "\"ops\":[\"b\",\"c\"]}],"
	"\"ops\":[{\"name\":\"a\",\"param_bytes\":7},{\"name\":\"b\",\"param_bytes\":7,\"output_bytes\":3},"
	"{\"name\":\"c\",\"workspace_bytes\":300,\"state_bytes\":5}],"
	"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":100},{\"from\":\"a\",\"to\":\"c\",\"bytes\":100},{"
        "\"from\":\"b\",\"to\":\"c\",\"bytes\":10}]}";

static void read_graph(berth_arena *mem, berth_graph *g)
{
	berth_arena tmp = {0};
	berth_err err;
	assert_ok(berth_graph_parse_json("g.json", text, strlen(text), mem, &tmp, g, &err), &err);
	berth_arena_free(&tmp);
}

static void test_need(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_err err;
	int64_t need;
	read_graph(&mem, &g);
	assert_ok(berth_graph_need(&g, &tmp, &need, &err), &err);
	assert_int_equal(need, 7 + 7 + 40 + 5 + 100 + 10 + 3 + 300); /* at its largest while c runs */
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* By the definition: at each turn what stays, the outputs so far, tensors from their producers to their last
 * consumers. */
static int64_t need_by_turns(const berth_graph *g)
{
	int64_t most = 0, kept = berth_graph_param_bytes(g);
	for (int32_t op = 0; op < g->n_ops; op++)
		kept += g->op_state_bytes[op];
	for (int32_t i = 0; i < g->n_ops; i++) {
		int64_t now = g->op_workspace_bytes[g->topo_op[i]];
		for (int32_t k = 0; k <= i; k++)
			now += g->op_output_bytes[g->topo_op[k]];
		for (int32_t t = 0; t < g->n_tensors; t++) {
			int32_t first = g->op_topo[g->tensor_producer[t]], last = first;
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
				last = g->op_topo[g->edge_consumer[e]] > last
				               ? g->op_topo[g->edge_consumer[e]]
				               : last;
			now += first <= i && i <= last ? g->tensor_bytes[t] : 0;
		}
		most = now > most ? now : most;
	}
	return kept + most;
}

static void test_need_of_random_graphs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		instance in;
		small_problem c;
		berth_err err;
		int64_t need;
		instance_make(seed, 12, 1, &in);
		small_problem_make(&c, in.graph, in.system);
		size_t used = berth_arena_get_mark(&c.tmp).used;
		assert_ok(berth_graph_need(&c.g, &c.tmp, &need, &err), &err);
		assert_int_equal(need, need_by_turns(&c.g));
		assert_int_equal(berth_arena_get_mark(&c.tmp).used, used);
		small_problem_free(&c);
		instance_free(&in);
	}
}

static double tighten(const berth_graph *g, uint64_t seed, berth_system *s, berth_arena *mem)
{
	berth_arena tmp = {0};
	berth_err err;
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_TIGHTEN);
	double sum = 0;
	assert_ok(berth_system_builtin("hetero-cluster", mem, &tmp, s, &err), &err);
	assert_ok(berth_system_tighten(g, &rng, s, &tmp, &err), &err);
	for (int32_t d = 0; d < s->n_devs; d++) {
		assert_true(s->dev_memory_bytes[d] > 0);
		sum += (double)s->dev_memory_bytes[d];
	}
	berth_arena_free(&tmp);
	return sum;
}

static void test_range(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	double least = 1e9, most = 0;
	read_graph(&mem, &g);
	for (uint64_t seed = 1; seed <= 200; seed++) {
		berth_system s, same;
		double sum = tighten(&g, seed, &s, &mem);
		assert_true(sum >= 472 * 1.1 && sum <= 472 * 3 + s.n_devs);
		assert_true(sum == tighten(&g, seed, &same, &mem));
		least = sum < least ? sum : least;
		most = sum > most ? sum : most;
	}
	assert_true(least < 472 * 1.2 && most > 472 * 2.7);
	berth_arena_free(&mem);
}

static const char two_and_one[] =
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"a\",\"memory_bytes\":400},"
	"{\"name\":\"b\",\"memory_bytes\":1000},{\"name\":\"c\",\"memory_bytes\":500}],\"links\":["
	"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true},"
	"{\"from\":\"b\",\"to\":\"c\",\"bandwidth\":1,\"both_ways\":true}]%s}";
static const char pool_of_two[] =
	",\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1,\"bytes\":1000,\"devices\":[\"a\",\"b\"]}]";

/* Devices of a limited pool have in common what is drawn for them; the rest is as without the pool. */
static void test_pool(void **state)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s[2];
	berth_err err;
	(void)state;
	read_graph(&mem, &g);
	for (int pools = 0; pools < 2; pools++) {
		berth_rng rng = berth_rng_seed(5, BERTH_STREAM_TIGHTEN);
		const char *text_of = berth_arena_printf(&mem, two_and_one, pools ? pool_of_two : "");
		assert_ok(berth_system_parse_json("s", text_of, strlen(text_of), &mem, &tmp, &s[pools], &err),
		          &err);
		assert_ok(berth_system_tighten(&g, &rng, &s[pools], &tmp, &err), &err);
		assert_ok(berth_system_check(&s[pools], &tmp, &err), &err);
	}
	int64_t sum = s[0].dev_memory_bytes[0] + s[0].dev_memory_bytes[1];
	assert_int_equal(s[1].pool_bytes[0], sum);
	assert_int_equal(s[1].dev_memory_bytes[1], sum);
	assert_int_equal(s[1].dev_memory_bytes[0], (int64_t)((double)sum * 0.4));
	assert_int_equal(s[1].dev_memory_bytes[2], s[0].dev_memory_bytes[2]);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Memories drawn with one seed for devices a, b and c with these keys, and a pool of a and b or none. */
static void draw(const berth_graph *g, const char *a, const char *b, const char *c, const char *pool,
                 berth_system *s, berth_arena *mem)
{
	berth_arena tmp = {0};
	berth_err err;
	berth_rng rng = berth_rng_seed(7, BERTH_STREAM_TIGHTEN);
	const char *text_of =
		berth_arena_printf(mem,
	                           "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"a\"%"
	                           "s},{\"name\":\"b\"%s},"
	                           "{\"name\":\"c\"%s}],\"links\":["
	                           "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true},"
	                           "{\"from\":\"b\",\"to\":\"c\",\"bandwidth\":1,\"both_ways\":true}]%s}",
	                           a, b, c, pool);
	assert_ok(berth_system_parse_json("s", text_of, strlen(text_of), mem, &tmp, s, &err), &err);
	assert_ok(berth_system_tighten(g, &rng, s, &tmp, &err), &err);
	assert_ok(berth_system_check(s, &tmp, &err), &err);
	berth_arena_free(&tmp);
}

#define HAS(bytes) ",\"memory_bytes\":" bytes
#define POOL_OF_AB(bytes)                                                                                    \
	",\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1" bytes ",\"devices\":[\"a\",\"b\"]}]"

/* Shares are those of the memories there were where all devices have some, else equal. */
static void test_shares(void **state)
{
	berth_arena mem = {0};
	berth_graph g;
	berth_system none, some, all;
	(void)state;
	read_graph(&mem, &g);
	draw(&g, "", "", "", "", &none, &mem);
	draw(&g, HAS("5"), HAS("0"), HAS("5"), "", &some, &mem);
	draw(&g, HAS("100"), HAS("1"), HAS("100"), "", &all, &mem);
	const int64_t *equal = none.dev_memory_bytes, *by_memory = all.dev_memory_bytes;
	assert_memory_equal(equal, some.dev_memory_bytes, 3 * sizeof *equal);
	assert_near((double)by_memory[0] / (double)by_memory[2], (double)equal[0] / (double)equal[2], 0.02);
	assert_true(by_memory[1] * 20 < equal[1] && by_memory[1] > 0);
	berth_arena_free(&mem);
}

/* In a limited pool no limit stays none, and none of its bytes stays none. A pool without a limit gets none.
 */
static void test_unusual_pools(void **state)
{
	berth_arena mem = {0};
	berth_graph g;
	berth_system free_ones, s;
	(void)state;
	read_graph(&mem, &g);
	draw(&g, "", "", "", "", &free_ones, &mem);
	int64_t a = free_ones.dev_memory_bytes[0], b = free_ones.dev_memory_bytes[1];
	draw(&g, "", HAS("0"), "", POOL_OF_AB(",\"bytes\":50"), &s, &mem);
	assert_true(s.pool_bytes[0] == a + b && s.dev_memory_bytes[0] == -1 && s.dev_memory_bytes[1] == 0);
	draw(&g, HAS("0"), "", "", POOL_OF_AB(",\"bytes\":0"), &s, &mem);
	assert_true(s.pool_bytes[0] == a + b && s.dev_memory_bytes[0] == 0 && s.dev_memory_bytes[1] == -1);
	draw(&g, "", "", "", POOL_OF_AB(""), &s, &mem);
	assert_true(s.pool_bytes[0] == -1 && s.dev_memory_bytes[0] == a && s.dev_memory_bytes[1] == b);
	assert_int_equal(s.dev_memory_bytes[2], free_ones.dev_memory_bytes[2]);
	berth_arena_free(&mem);
}

/* No device and no pool gets more than a system can say. */
static void test_most_memory(void **state)
{
	static const char huge[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\","
				   "\"param_bytes\":9007199254740992}],\"edges\":[]}";
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_err err;
	(void)state;
	assert_ok(berth_graph_parse_json("g", huge, strlen(huge), &mem, &tmp, &g, &err), &err);
	draw(&g, HAS("1"), HAS("9000000"), HAS("1"), "", &s, &mem);
	assert_int_equal(s.dev_memory_bytes[1], INT64_C(1) << 53);
	draw(&g, HAS("9000000"), HAS("9000000"), HAS("1"), POOL_OF_AB(",\"bytes\":9000000"), &s, &mem);
	assert_int_equal(s.pool_bytes[0], INT64_C(1) << 53);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	read_graph(&mem, &g);
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_err err;
		int64_t need;
		failing_allocator_init(&f, k);
		berth_arena tmp;
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_graph_need(&g, &tmp, &need, &err);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
	berth_arena_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_need),        cmocka_unit_test(test_need_of_random_graphs),
		cmocka_unit_test(test_range),       cmocka_unit_test(test_pool),
		cmocka_unit_test(test_shares),      cmocka_unit_test(test_unusual_pools),
		cmocka_unit_test(test_most_memory), cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
