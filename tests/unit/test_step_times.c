/* Times of operators after measured steps: what a step on each device takes then. */
#include "fail_each.h"
#include "small_problem.h"
#include "support.h"
#include "times.h"

#include <math.h>

static const char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["
	"{\"name\":\"x\",\"time_s\":{\"a\":1e-3,\"b\":2e-3}},"
	"{\"name\":\"y\",\"time_s\":{\"a\":3e-3,\"c\":4e-3,\"*\":6e-3}}],"
	"\"edges\":[{\"from\":\"x\",\"to\":\"y\",\"bytes\":1000}]}";
static const char three[] = "{\"format\":\"berth-system\",\"version\":1,\"name\":\"three\",\"devices\":["
	"{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}],\"links\":["
	"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e6,\"both_ways\":true},"
	"{\"from\":\"b\",\"to\":\"c\",\"bandwidth\":1e6,\"both_ways\":true}]}";

static void test_scaled(void **state)
{
	(void)state;
	small_problem w;
	berth_graph g;
	berth_problem p;
	berth_err err;
	const double step_s[] = {0.1, NAN, NAN};
	small_problem_make(&w, graph, three);
	assert_ok(berth_graph_step_times(&w.p, step_s, &w.mem, &w.tmp, &g, &err), &err);
	assert_ok(berth_problem_new(&g, &w.s, &w.mem, &w.tmp, &p, &err), &err);
	static const int64_t times[2][3] = {{25000000, 2000000, -1}, {75000000, 6000000, 4000000}};
	for (int32_t op = 0; op < 2; op++)
		for (int32_t d = 0; d < 3; d++)
			assert_int_equal(berth_op_time(&p, op, d), times[op][d]);
	assert_int_equal(g.n_tensors, 1);
	small_problem_free(&w);
}

static void test_refused(void **state)
{
	(void)state;
	small_problem w;
	berth_graph g;
	berth_err err;
	const double step_s[] = {NAN, NAN, 1};
	small_problem_make(&w, graph, three);
	assert_int_equal(berth_graph_step_times(&w.p, step_s, &w.mem, &w.tmp, &g, &err), BERTH_EINVAL);
	assert_string_equal(err.msg, "a step of graph 'g' was measured on device 'c', where it cannot run");
	small_problem_free(&w);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	small_problem *w = ctx;
	berth_graph g;
	return berth_graph_step_times(&w->p, (double[]){1, 2, NAN}, mem, tmp, &g, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	small_problem w;
	small_problem_make(&w, graph, three);
	assert_fails_each(work, &w, 3);
	small_problem_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scaled),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
