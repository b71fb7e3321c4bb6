/* The graph of a coarsening's groups: what leaves a group, and what its operators come to. */
#include "graph_json.h"
#include "quotient.h"
#include "support.h"
#include "system_json.h"

#include <string.h>

/* a feeds b and c of one group, which feed d; b and d share a parameter. */
static const char diamond[] =
	"{\"format\":\"berth-graph\",\"version\":1,"
	"\"params\":[{\"name\":\"w\",\"bytes\":7,\"ops\":[\"b\",\"d\"]}],\"ops\":["
	"{\"name\":\"a\",\"time_s\":{\"*\":1}},"
	"{\"name\":\"b\",\"time_s\":{\"d\":2,\"e\":null},\"workspace_bytes\":3},"
	"{\"name\":\"c\",\"time_s\":{\"*\":4},\"workspace_bytes\":2},"
	"{\"name\":\"d\",\"time_s\":{\"*\":8}}],\"edges\":["
	"{\"from\":\"a\",\"to\":\"b\",\"bytes\":10},{\"from\":\"a\",\"to\":\"c\",\"bytes\":10},"
	"{\"from\":\"b\",\"to\":\"c\",\"bytes\":20},{\"from\":\"b\",\"to\":\"d\",\"bytes\":20},"
	"{\"from\":\"c\",\"to\":\"d\",\"bytes\":30}]}";
static const char two[] =
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
	"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}]}";

static void of_a_diamond(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g, q;
	berth_system s;
	berth_problem p;
	berth_err err;
	int32_t group[4] = {0, 1, 1, 2};
	berth_coarsening c = {.n_groups = 3, .op_group = group};
	assert_ok(berth_graph_parse_json("g", diamond, strlen(diamond), &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_parse_json("s", two, strlen(two), &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_quotient_new(&p, &c, &mem, &tmp, &q, &err), &err);
	static const int32_t from[] = {0, 1, 1}, to[] = {1, 2, 2};
	static const int64_t bytes[] = {10, 20, 30};
	assert_int_equal(q.n_ops, 3);
	assert_int_equal(q.n_tensors, 3);
	assert_int_equal(q.n_edges, 3);
	for (int32_t t = 0; t < 3; t++) {
		assert_int_equal(q.tensor_producer[t], from[t]);
		assert_int_equal(q.edge_consumer[q.tensor_use_off[t]], to[t]);
		assert_int_equal(q.tensor_bytes[t], bytes[t]);
	}
	assert_int_equal(q.op_workspace_bytes[1], 3);
	assert_int_equal(q.n_params, 1);
	assert_int_equal(q.param_op_off[1], 2);
	assert_ok(berth_problem_new(&q, &s, &mem, &tmp, &p, &err), &err);
	assert_int_equal(berth_op_time(&p, 1, 0), 6000000000);
	assert_true(berth_op_time(&p, 1, 1) < 0);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_a_diamond)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
