/* Compiled problems: what no result shows of their tables, and why there is no legal device. */
#include "graph_json.h"
#include "problem.h"
#include "support.h"
#include "system_json.h"

#include <string.h>

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
} world;

/* Devices d, in a memory pool, and e, in none. Scratch is given back. */
static void open_world(world *w, const char *ops)
{
	berth_err err;
	memset(w, 0, sizeof *w);
	const char *graph = berth_arena_printf(
		&w->mem, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[]}", ops);
	const char *system =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
		"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}],"
		"\"memory_pools\":[{\"name\":\"p\",\"devices\":[\"d\"],\"bandwidth\":1e9}]}";
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &w->mem, &w->tmp, &w->g, &err), &err);
	assert_ok(berth_system_parse_json("s", system, strlen(system), &w->mem, &w->tmp, &w->s, &err), &err);
	size_t used = berth_arena_get_mark(&w->tmp).used;
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	assert_int_equal(berth_arena_get_mark(&w->tmp).used, used);
}

static void close_world(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

/* An operator that takes no time asks nothing of its memory pool. */
static void no_time_no_share(void **state)
{
	(void)state;
	world w;
	open_world(&w, "{\"name\":\"a\",\"time_s\":{\"*\":0},\"read_bytes\":8},"
	               "{\"name\":\"b\",\"time_s\":{\"*\":1},\"read_bytes\":8}");
	const double *demand = w.p.op_dev_demand;
	assert_true(demand[0] == 0 && demand[1] == 0 && demand[2] > 0 && demand[3] == 0);
	close_world(&w);
}

/* The first reason that leaves no device is told. */
static void all_are_forbidden(void **state)
{
	(void)state;
	world w;
	berth_err err;
	open_world(&w, "{\"name\":\"a\",\"time_s\":{\"d\":null,\"e\":1},\"forbid\":[\"e\"],"
	               "\"colocate\":\"c\"}");
	assert_int_equal(berth_problem_feasible(&w.p, &err), BERTH_EINFEASIBLE);
	assert_contains(err.msg, "its pin and forbidden devices leave no device");
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_time_no_share),
	                                   cmocka_unit_test(all_are_forbidden)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
