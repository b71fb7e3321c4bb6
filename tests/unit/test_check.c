/* Violations: what each is about, and that it is about nothing else; orders of placements that do not run. */
#include "check.h"
#include "graph_format.h"
#include "small_problem.h"
#include "support.h"
#include "times.h"

#include <string.h>

/* The consumer y comes before its producer x. */
static void open_pair(small_problem *w, const char *keys_of_y)
{
	berth_arena text = {0};
	const char *graph = berth_arena_printf(
		&text,
		"{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"y\",%s},"
		"{\"name\":\"x\",\"time_s\":{\"*\":1},\"param_bytes\":5}],"
		"\"edges\":[{\"from\":\"x\",\"to\":\"y\",\"bytes\":1}]}",
		keys_of_y);
	const char *system =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\",\"memory_bytes\":3},"
		"{\"name\":\"e\"}],\"links\":["
		"{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}]}";
	small_problem_make(w, graph, system);
	berth_arena_free(&text);
}

static void assert_about(const berth_violation *v, berth_violation_kind kind, int32_t op, int32_t dev)
{
	assert_int_equal(v->kind, kind);
	assert_int_equal(v->op, op);
	assert_int_equal(v->dev, dev);
	assert_int_equal(v->pool, -1);
	assert_int_equal(v->metric, kind == BERTH_VIOLATION_LIMIT ? BERTH_LATENCY : -1);
	if (kind != BERTH_VIOLATION_MEMORY)
		assert_true(v->needed == -1 && v->limit == -1);
}

static void of_problems(void **state)
{
	(void)state;
	small_problem w;
	berth_violations list;
	berth_err err;
	open_pair(&w, "\"time_s\":{\"d\":null,\"e\":1},\"forbid\":[\"e\"]");
	assert_ok(berth_check_problem(&w.p, &w.mem, &list, &err), &err);
	assert_int_equal(list.n, 1);
	assert_about(&list.item[0], BERTH_VIOLATION_FORBID, 0, -1);
	small_problem_free(&w);
}

static void of_placements(void **state)
{
	(void)state;
	small_problem w;
	berth_verdict v;
	berth_timeline t;
	berth_err err;
	const int32_t op_dev[2] = {1, 0};
	open_pair(&w, "\"time_s\":{\"*\":1},\"pin\":\"d\"");
	assert_ok(berth_judge(&w.p, op_dev, NULL, NULL, &w.mem, &t, &v, &err), &err);
	assert_int_equal(v.broken.n, 2);
	assert_about(&v.broken.item[0], BERTH_VIOLATION_PIN, 0, 1);
	assert_about(&v.broken.item[1], BERTH_VIOLATION_MEMORY, -1, 0);
	small_problem_free(&w);
}

static void of_limits(void **state)
{
	(void)state;
	small_problem w;
	berth_objective o = berth_objective_of(BERTH_LATENCY);
	berth_verdict v;
	berth_timeline t;
	berth_err err;
	const int32_t op_dev[2] = {1, 1};
	open_pair(&w, "\"time_s\":{\"*\":1}");
	o.limits[BERTH_LATENCY] = true;
	o.most[BERTH_LATENCY] = 1;
	assert_ok(berth_judge(&w.p, op_dev, NULL, &o, &w.mem, &t, &v, &err), &err);
	assert_int_equal(v.broken.n, 1);
	assert_about(&v.broken.item[0], BERTH_VIOLATION_LIMIT, -1, -1);
	assert_true(v.broken.item[0].value == 2 && v.broken.item[0].most == 1);
	small_problem_free(&w);
}

/* Memory of no bytes is a limit like any other. */
static void of_no_memory(void **state)
{
	(void)state;
	small_problem w;
	berth_verdict v;
	berth_timeline t;
	berth_err err;
	const int32_t op_dev[2] = {0, 0};
	open_pair(&w, "\"time_s\":{\"*\":1}");
	w.p.dev_limit_bytes[0] = 0;
	assert_ok(berth_judge(&w.p, op_dev, NULL, NULL, &w.mem, &t, &v, &err), &err);
	assert_int_equal(v.broken.n, 1);
	assert_int_equal(v.broken.item[0].kind, BERTH_VIOLATION_MEMORY);
	assert_int_equal(v.broken.item[0].limit, 0);
	small_problem_free(&w);
}

/* An operator on a device that cannot run it: the order is still one of the graph. */
static void orders_of_what_does_not_run(void **state)
{
	(void)state;
	small_problem w;
	berth_sim *sim;
	berth_err err;
	int32_t op_dev[2] = {0, 0}, order[2] = {-1, -1};
	open_pair(&w, "\"time_s\":{\"d\":null,\"e\":1}");
	assert_ok(berth_sim_new(&w.p, &w.mem, &sim, &err), &err);
	berth_start_order(&w.p, sim, op_dev, order);
	assert_true(order[0] == 1 && order[1] == 0);
	small_problem_free(&w);
}

/* Each operator once. */
static void orders(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_err err;
	const char *text = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\"},"
		"{\"name\":\"b\"},"
			   "{\"name\":\"c\"}],\"edges\":[]}";
	static const int32_t good[] = {2, 0, 1}, twice[] = {2, 2, 1}, later[] = {0, 1, 1},
			     below[] = {0, -1, 1}, above[] = {3, 0, 1};
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &mem, &tmp, &g, &err), &err);
	assert_true(berth_order_is_topological(&g, good, &tmp));
	assert_false(berth_order_is_topological(&g, twice, &tmp));
	assert_false(berth_order_is_topological(&g, later, &tmp));
	assert_false(berth_order_is_topological(&g, below, &tmp));
	assert_false(berth_order_is_topological(&g, above, &tmp));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_problems), cmocka_unit_test(of_placements),
	                                   cmocka_unit_test(of_limits), cmocka_unit_test(of_no_memory),
	                                   cmocka_unit_test(orders),
	                                   cmocka_unit_test(orders_of_what_does_not_run)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
