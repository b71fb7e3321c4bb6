/* Compiled problems: what no result shows of their tables, and why there is no legal device. */
#include "graph_json.h"
#include "small_problem.h"
#include "support.h"
#include "system_json.h"

#include <string.h>

/* Devices d, in a memory pool, and e, in none. */
static void open_world(small_problem *w, const char *ops)
{
	berth_arena text = {0};
	const char *graph = berth_arena_printf(
		&text, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[]}", ops);
	const char *system =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
		"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}],"
		"\"memory_pools\":[{\"name\":\"p\",\"devices\":[\"d\"],\"bandwidth\":1e9}]}";
	small_problem_make(w, graph, system);
	berth_arena_free(&text);
}

/* An operator that takes no time asks nothing of its memory pool. */
static void no_time_no_share(void **state)
{
	(void)state;
	small_problem w;
	open_world(&w, "{\"name\":\"a\",\"time_s\":{\"*\":0},\"read_bytes\":8},"
	               "{\"name\":\"b\",\"time_s\":{\"*\":1},\"read_bytes\":8}");
	const double *demand = w.p.op_dev_demand;
	assert_true(demand[0] == 0 && demand[1] == 0 && demand[2] > 0 && demand[3] == 0);
	small_problem_free(&w);
}

/* The first reason that leaves no device is told. */
static void all_are_forbidden(void **state)
{
	(void)state;
	small_problem w;
	berth_err err;
	open_world(&w, "{\"name\":\"a\",\"time_s\":{\"d\":null,\"e\":1},\"forbid\":[\"e\"],"
	               "\"colocate\":\"c\"}");
	assert_int_equal(berth_problem_feasible(&w.p, &err), BERTH_EINFEASIBLE);
	assert_contains(err.msg, "its pin and forbidden devices leave no device");
	small_problem_free(&w);
}

/* No sum of times may reach 2^60 ns, 1.15e9 s: each kind of sum just below and just above. */
static void too_long_to_simulate(void **state)
{
	(void)state;
#define TAKES(name, type, s) "{\"name\":\"" name "\",\"type\":\"" type "\",\"flops\":" s "}"
#define SENDS(bytes) "{\"from\":\"a\",\"to\":\"b\",\"bytes\":" bytes "}"
	static const struct {
		const char *ops, *edges, *says;
	} cases[] = {
		{TAKES("a", "of d", "1.1e9"), "", NULL},
		{TAKES("a", "of d", "1.2e9"), "",
	         "operator 'a' takes 1.2e+09 s on 'd': too long to simulate"},
		{TAKES("a", "of e", "1.2e9"), "",
	         "operator 'a' takes 1.2e+09 s on 'e': too long to simulate"},
		{TAKES("a", "both", "5.5e8"), "", NULL},
		{TAKES("a", "both", "6e8"), "", "operator 'a' takes 6e+08 s on 'e': too long to simulate"},
		/* the longest of each operator */
		{TAKES("a", "both", "5e8") "," TAKES("b", "of e", "6e8"), "", NULL},
		{TAKES("a", "of d", "6e8") "," TAKES("b", "of e", "6e8"), "",
	         "all operators and transfers together take 1.2e+09 s: too long to simulate"},
		/* links of a byte a second: a hop, both ways, mean times for all pairs and operators */
		{TAKES("a", "both", "0") "," TAKES("b", "both", "0"), SENDS("1200000000"),
	         "a tensor of 1200000000 bytes takes 1.2e+09 s from 'd' to 'e': too long"},
		{TAKES("a", "both", "0") "," TAKES("b", "both", "0"), SENDS("600000000"),
	         "a tensor of 600000000 bytes takes 1.2e+09 s over all links: too long"},
		{TAKES("a", "both", "0") "," TAKES("b", "both", "0"), SENDS("300000000"),
	         "all operators and transfers together take 1.2e+09 s: too long to simulate"},
		{TAKES("a", "both", "0") "," TAKES("b", "both", "2e7"), SENDS("280000000"), NULL},
		{TAKES("a", "both", "0") "," TAKES("b", "both", "4e7"), SENDS("280000000"),
	         "all operators and transfers together take 1.16e+09 s: too long to simulate"},
	};
#undef TAKES
#undef SENDS
	static const char system[] =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":["
		"{\"name\":\"d\",\"peak_flops\":1,\"runs\":[\"of d\",\"both\"]},"
		"{\"name\":\"e\",\"peak_flops\":1,\"runs\":[\"of e\",\"both\"]}],"
		"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}]}";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_problem p;
		berth_err err;
		const char *graph = berth_arena_printf(
			&mem, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[%s]}",
			cases[i].ops, cases[i].edges);
		assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
		assert_ok(berth_system_parse_json("s", system, strlen(system), &mem, &tmp, &s, &err), &err);
		size_t used = berth_arena_get_mark(&tmp).used;
		berth_status st = berth_problem_new(&g, &s, &mem, &tmp, &p, &err);
		assert_int_equal(st, cases[i].says ? BERTH_EFORMAT : BERTH_OK);
		if (cases[i].says)
			assert_contains(err.msg, cases[i].says);
		assert_int_equal(berth_arena_get_mark(&tmp).used, used);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* Memory is no matter where the smallest memory, or the smallest member's part of a pool, holds all there
 * is: 30 bytes of parameters, state, outputs, workspaces, tensors and shared parameters. */
static void memory_is_free(void **state)
{
	(void)state;
	static const char graph[] =
		"{\"format\":\"berth-graph\",\"version\":1,"
		"\"params\":[{\"name\":\"w\",\"bytes\":7,\"ops\":[\"a\",\"b\"]}],\"ops\":["
		"{\"name\":\"a\",\"time_s\":{\"*\":1},\"param_bytes\":2,\"state_bytes\":3},"
		"{\"name\":\"b\",\"time_s\":{\"*\":1},\"workspace_bytes\":4,\"output_bytes\":5}],"
		"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":9}]}";
	static const struct {
		const char *d, *e, *pools;
		bool is;
	} cases[] = {
		{"", "", "", true},
		{",\"memory_bytes\":30", "", "", true},
		{",\"memory_bytes\":29", "", "", false},
		{",\"memory_bytes\":90", ",\"memory_bytes\":29", "", false},
		{",\"memory_bytes\":29", ",\"memory_bytes\":90", "", false},
		{",\"memory_bytes\":0", "", "", false},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":30,\"devices\":[\"d\"]}", true},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":29,\"devices\":[\"e\"]}", false},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":0,\"devices\":[\"e\"]}", false},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":60,\"devices\":[\"d\",\"e\"]}", true},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":59,\"devices\":[\"d\",\"e\"]}", false},
		{"", "",
	         "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":90,\"devices\":[\"e\"]},"
	         "{\"name\":\"q\",\"bandwidth\":1,\"bytes\":29,\"devices\":[\"d\"]}",
	         false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena text = {0};
		small_problem w;
		small_problem_make(
			&w, graph,
			berth_arena_printf(&text,
		                           "{\"format\":\"berth-system\",\"version\":1,\"devices\":["
		                           "{\"name\":\"d\"%s},{\"name\":\"e\"%s}],\"links\":[{\"from\":"
		                           "\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}],"
		                           "\"memory_pools\":[%s]}",
		                           cases[i].d, cases[i].e, cases[i].pools));
		if (w.p.memory_free != cases[i].is)
			fail_msg("case %d: memory is%s free", (int)i, w.p.memory_free ? "" : " not");
		small_problem_free(&w);
		berth_arena_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_time_no_share), cmocka_unit_test(too_long_to_simulate),
		cmocka_unit_test(memory_is_free), cmocka_unit_test(all_are_forbidden)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
