/* Rules added to a graph, in its tables. What they lead to is seen in tests/golden/rules_added.test. */
#include "constraints.h"
#include "graph_format.h"
#include "small_problem.h"
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
	read_both(graph, system, &mem, &tmp, &g, &s);
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
			    "{\"name\":\"c\",\"colocate\":\"x\"},{\"name\":\"d\"},{\"name\":\"e\"}],"
			    "\"edges\":[]}",
		   *colocate[] = {"a,d"};
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
	berth_rule_texts texts = {.colocate = colocate, .n_colocates = 1};
	assert_ok(berth_graph_add_rules(&texts, &s, &mem, &tmp, &g, &err), &err);
	static const char *const expected[] = {"a,d", "y", "a,d", "a,d"};
	assert_int_equal(g.n_coloc_names, 2);
	for (int32_t op = 0; op < 4; op++)
		assert_string_equal(g.coloc_name[g.op_coloc_name[op]], expected[op]);
	assert_int_equal(g.op_coloc_name[4], -1);
	assert_ok(berth_graph_check(&g, &err), &err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Of two pins of an operator the narrower one holds, else the later one; what gives way is told. */
static void pins_give_way(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_system s;
	berth_err err;
	const char *
		graph = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["
			"{\"name\":\"l1.a\"},{\"name\":\"l1.b\"},{\"name\":\"l2.a\",\"pin\":\"x\"}],"
			"\"edges\":[]}",
	       *system = "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\"},{\"name\":"
			 "\"y\"}],\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,\"both_ways\":"
	                 "true}]}";
	static const struct {
		const char *pin[3], *expected, *told;
	} cases[] = {
		{{"*=x", "l1.*=y"},
	         "yyx",
	         "--pin *=x: 2 operators go where a narrower or later --pin says\n"},
		{{"l1.*=y", "*=x"},
	         "yyx",
	         "--pin *=x: 2 operators go where a narrower or later --pin says\n"},
		{{"l1.a=x", "l1.a=y"},
	         "y-x",
	         "--pin l1.a=x: 1 operator goes where a narrower or later --pin says\n"},
		{{"*=y"}, "yyy", "pins of g: 1 operator goes where a narrower or later --pin says\n"},
		{{"*=y", "l1.*=x", "l1.b=y"},
	         "xyy",
	         "pins of g: 1 operator goes where a narrower or later --pin says\n--pin *=y: 2 operators go "
	         "where "
	         "a narrower or later --pin says\n--pin l1.*=x: 1 operator goes where a narrower or later "
	         "--pin "
	         "says\n"},
	};
	assert_ok(berth_system_parse_json("s", system, strlen(system), &mem, &tmp, &s, &err), &err);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_graph g;
		const char *pins[3], *text;
		size_t len;
		berth_strbuf told = {.mem = &mem};
		berth_rule_texts texts = {.pin = pins, .told = &told};
		for (int k = 0; k < 3 && cases[i].pin[k]; k++)
			pins[texts.n_pins++] = cases[i].pin[k];
		assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
		assert_ok(berth_graph_add_rules(&texts, &s, &mem, &tmp, &g, &err), &err);
		for (int32_t op = 0; op < 3; op++)
			assert_int_equal(g.op_pin[op] ? *g.op_pin[op] : '-', cases[i].expected[op]);
		assert_ok(berth_strbuf_done(&told, &text, &len, &err), &err);
		assert_string_equal(text, cases[i].told);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* A new group's name is no group's yet. What a text takes of scratch it gives back. */
static void names_of_new_groups(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s = {0};
	berth_err err;
	const char *graph = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
			    "{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\",\"colocate\":\"a,b'\"},"
			    "{\"name\":\"d\",\"colocate\":\"a,b\"}],\"edges\":[]}",
		   *colocate[] = {"a,b"};
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
	size_t used = berth_arena_get_mark(&tmp).used;
	berth_rule_texts texts = {.colocate = colocate, .n_colocates = 1};
	assert_ok(berth_graph_add_rules(&texts, &s, &mem, &tmp, &g, &err), &err);
	assert_int_equal(berth_arena_get_mark(&tmp).used, used);
	static const char *const expected[] = {"a,b''", "a,b''", "a,b'", "a,b"};
	for (int32_t op = 0; op < 4; op++)
		assert_string_equal(g.coloc_name[g.op_coloc_name[op]], expected[op]);
	assert_true(g.plain->op_coloc_name[0] == -1 && g.plain->op_coloc_name[2] >= 0);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Pins and what is refused, by the message. */
static void refused(void **state)
{
	(void)state;
	static const struct {
		const char *pin, *forbid, *colocate, *says;
	} cases[] = {
		{"x=b", NULL, NULL, NULL},
		{"x=a", NULL, NULL, NULL},
		{"y=a", NULL, NULL, NULL},
		{"y=c", NULL, NULL, "--pin: system 's' has no device 'c'"},
		{"=a", NULL, NULL, "--pin: '=a' is not of the form OP=DEVICE"},
		{"y=", NULL, NULL, "--pin: 'y=' is not of the form OP=DEVICE"},
		{"y", NULL, NULL, "--pin: 'y' is not of the form OP=DEVICE"},
		{"v=w=a", NULL, NULL, NULL}, /* the last equals sign */
		{NULL, "lnger,x=a", NULL,
	         "--forbid: graph 'g' has no operator 'lnger' (the nearest is 'longer')"},
		{NULL, "long*x=a", NULL, "graph 'g' has no operator 'long*x' (the nearest is 'longer')"},
		{NULL, NULL, "x", "--colocate: 'x' is one operator; name others behind commas"},
		{NULL, NULL, "x,x", "'x,x' is one operator"},
		{NULL, NULL, "one,two", "'one,two' is one operator"}, /* its name */
		{NULL, NULL, "one,two,x", "--colocate: graph 'g' has no operator 'one'"},
	};
	static const char
		graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"x\","
			  "\"pin\":\"b\"},"
			  "{\"name\":\"y\"},{\"name\":\"v=w\"},{\"name\":\"longer\"},{\"name\":\"one,two\"}],"
			  "\"edges\":[]}",
		system[] = "{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":["
			   "{\"name\":\"a\"},{\"name\":\"b\"}],\"links\":[{\"from\":\"a\",\"to\":\"b\","
			   "\"bandwidth\":1,\"both_ways\":true}]}";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_err err;
		const char *pin[] = {cases[i].pin}, *forbid[] = {cases[i].forbid},
			   *colocate[] = {cases[i].colocate};
		assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
		assert_ok(berth_system_parse_json("s", system, strlen(system), &mem, &tmp, &s, &err), &err);
		berth_rule_texts texts = {.pin = pin,
		                          .n_pins = *pin != NULL,
		                          .forbid = forbid,
		                          .n_forbids = *forbid != NULL,
		                          .colocate = colocate,
		                          .n_colocates = *colocate != NULL};
		berth_status st = berth_graph_add_rules(&texts, &s, &mem, &tmp, &g, &err);
		assert_int_equal(st, cases[i].says ? BERTH_EINVAL : BERTH_OK);
		if (cases[i].says)
			assert_contains(err.msg, cases[i].says);
		else
			assert_string_equal(
				g.op_pin[berth_graph_find(&g, i == 7 ? "v=w" : i < 2 ? "x" : "y")],
				i == 0 ? "b" : "a");
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forbidden_once), cmocka_unit_test(pins_give_way),
	                                   cmocka_unit_test(names_of_new_groups), cmocka_unit_test(refused),
	                                   cmocka_unit_test(names_of_groups)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
