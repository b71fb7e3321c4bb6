/* Rules added to a graph, in its tables. What they lead to is seen in tests/golden/rules_added.test. */
#include "graph_json.h"
#include "graph_rules.h"
#include "support.h"
#include "system_json.h"

#include <string.h>

/* A device forbidden twice stands once, and names ascend. */
static void forbidden_once(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_err err;
	const char *graph = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
			    "{\"name\":\"x\",\"forbid\":[\"b\"]},{\"name\":\"y\"}],\"edges\":[]}",
		   *system = "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"a\"},"
			     "{\"name\":\"b\"},{\"name\":\"c\"}],\"links\":["
			     "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true},"
			     "{\"from\":\"b\",\"to\":\"c\",\"bandwidth\":1,\"both_ways\":true}]}",
		   *forbid[] = {"*=b", "x=c", "*=a", "x=a"};
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_parse_json("s", system, strlen(system), &mem, &tmp, &s, &err), &err);
	berth_rule_texts texts = {.forbid = forbid, .n_forbids = 4};
	assert_ok(berth_graph_add_rules(&texts, &s, &mem, &tmp, &g, &err), &err);
	static const char *const expected[] = {"a", "b", "c", "a", "b"};
	assert_int_equal(g.n_forbids, 5);
	assert_int_equal(g.op_forbid_off[1], 3);
	for (int i = 0; i < 5; i++)
		assert_string_equal(g.forbid_dev[i], expected[i]);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Groups keep their names where others before them go. */
static void names_of_groups(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s = {0};
	berth_err err;
	const char *graph = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
			    "{\"name\":\"a\",\"colocate\":\"x\"},{\"name\":\"b\",\"colocate\":\"y\"},"
			    "{\"name\":\"c\",\"colocate\":\"x\"},{\"name\":\"d\"}],\"edges\":[]}",
		   *colocate[] = {"a,d"};
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
	berth_rule_texts texts = {.colocate = colocate, .n_colocates = 1};
	assert_ok(berth_graph_add_rules(&texts, &s, &mem, &tmp, &g, &err), &err);
	static const char *const expected[] = {"a,d", "y", "a,d", "a,d"};
	assert_int_equal(g.n_coloc_names, 2);
	for (int32_t op = 0; op < 4; op++)
		assert_string_equal(g.coloc_name[g.op_coloc_name[op]], expected[op]);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forbidden_once),
	                                   cmocka_unit_test(names_of_groups)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
