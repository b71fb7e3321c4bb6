/* The key "*" of time_s: for every device that no other key names; a name goes before a kind, and that
 * before "*", in whatever order they stand: keys ascend, and "#npu" comes before "*". */
#include "problem.h"
#include "small_problem.h"
#include "support.h"


static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["
	"{\"name\":\"a\",\"time_s\":{\"*\":5,\"gpu\":3,\"cpu0\":null}},"
	"{\"name\":\"b\",\"time_s\":{\"*\":null,\"cpu0\":2}},"
	"{\"name\":\"c\",\"type\":\"Conv\",\"flops\":1e12,\"time_s\":{\"*\":7}},"
	"{\"name\":\"d\",\"time_s\":{\"#npu\":4,\"*\":6}}]}";
static const char system_text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"cpu0\",\"kind\":\"cpu\",\"peak_"
        "flops\":1e12},{\"name\":\"gpu0\",\"kind\":\"gpu\"},"
	"{\"name\":\"npu0\",\"kind\":\"#npu\",\"runs\":[\"Gemm\"]}],\"links\":[{\"from\":\"cpu0\",\"to\":"
        "\"gpu0\",\"bandwidth\":1,\"both_ways\":true},"
	"{\"from\":\"npu0\",\"to\":\"gpu0\",\"bandwidth\":1,\"both_ways\":true}]}";

static void test_star(void **state)
{
	(void)state;
	static const int64_t seconds[4][3] = {{-1, 3, 5}, {2, -1, -1}, {7, 7, 7}, {6, 6, 4}};
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
	read_both(graph_text, system_text, &mem, &tmp, &g, &s);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	for (int32_t op = 0; op < 4; op++)
		for (int32_t d = 0; d < 3; d++)
			assert_int_equal(berth_op_time(&p, op, d),
			                 seconds[op][d] < 0 ? -1 : seconds[op][d] * 1000000000);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_star)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
