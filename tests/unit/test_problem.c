/* Compiled problems: what no result shows of their tables, and why there is no legal device. */
#include "small_problem.h"
#include "support.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_time_no_share),
	                                   cmocka_unit_test(all_are_forbidden)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
