/* What happens at one moment: all ends of a moment are seen before anything starts, and what could start
 * goes by the order of the system, then by its place in the graph. */
#include "graph_format.h"
#include "sim.h"
#include "support.h"
#include "system_json.h"

#include <string.h>

#define OP(name, ns) "{\"name\":\"" name "\",\"time_s\":{\"*\":" ns "e-9}}"
#define EDGE(from, to) "{\"from\":\"" from "\",\"to\":\"" to "\",\"bytes\":0}"

#define LINK(from, to) \
	"{\"from\":\"" from "\",\"to\":\"" to "\",\"latency_s\":5e-9,\"bandwidth\":1e9,\"both_ways\":true}"

typedef struct tie {
	const char *ops, *edges, *order;
	int32_t dev[6];
	int64_t start_ns[6];
} tie;

static const tie ties[] = {
	/* x ends on d0 when z's input comes from d1, and v has not ended: z goes before w */
	{OP("x", "10") "," OP("y", "5") "," OP("v", "30") "," OP("w", "1") "," OP("z", "50"), EDGE("y", "z"),
         "priority", {0, 1, 2, 0, 0}, {0, 0, 0, 60, 10}},
	/* the input comes first in the list of events */
	{OP("y", "5") "," OP("x", "10") "," OP("v", "30") "," OP("w", "1") "," OP("z", "50"), EDGE("y", "z"),
         "priority", {1, 0, 2, 0, 0}, {0, 0, 0, 60, 10}},
	/* w has waited longer */
	{OP("x", "10") "," OP("y", "5") "," OP("v", "30") "," OP("w", "1") "," OP("z", "50"), EDGE("y", "z"),
         "fifo", {0, 1, 2, 0, 0}, {0, 0, 0, 10, 11}},
	/* equal ranks, equal waiting: the first of the list */
	{OP("a", "2") "," OP("b", "2") "," OP("c", "2"), "", "priority", {0, 0, 0}, {0, 2, 4}},
	{OP("a", "2") "," OP("b", "3") "," OP("c", "3"), "", "priority", {0, 0, 0}, {6, 0, 3}},
	{OP("a", "2") "," OP("b", "3") "," OP("c", "3"), "", "fifo", {0, 0, 0}, {0, 2, 5}},
	/* x and w end, and u arrives, at 10; z waits for the channel; at 18 v goes before z */
	{OP("x", "10") "," OP("y", "5") "," OP("w", "10") "," OP("z", "7") "," OP("u", "8") "," OP("v", "9"),
         EDGE("y", "z") "," EDGE("y", "u") "," EDGE("w", "v"), "priority", {0, 1, 2, 0, 0, 0},
         {0, 0, 0, 27, 10, 18}},
};

static void test_starts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof ties / sizeof *ties; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_problem p;
		berth_sim *sim;
		berth_sim_result r;
		berth_err err;
		const char *graph = berth_arena_printf(
			&mem, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[%s]}",
			ties[i].ops, ties[i].edges);
		const char *system = berth_arena_printf(
			&mem,
			"{\"format\":\"berth-system\",\"version\":1,\"order\":\"%s\",\"devices\":["
			"{\"name\":\"d0\"},{\"name\":\"d1\"},{\"name\":\"d2\"}],\"links\":["
			LINK("d1", "d0") "," LINK("d2", "d0") "]}",
			ties[i].order);
		assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
		assert_ok(berth_system_parse_json("s", system, strlen(system), &mem, &tmp, &s, &err), &err);
		assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
		assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
		berth_sim_run(sim, ties[i].dev, NULL, &r);
		for (int32_t op = 0; op < g.n_ops; op++)
			if (berth_sim_last(sim).start_ns[op] != ties[i].start_ns[op])
				fail_msg("case %d: %s starts at %lld", (int)i, g.op_name[op],
				         (long long)berth_sim_last(sim).start_ns[op]);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_starts)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
