/* Copies for requests of unlike sizes: known answers, the loads that they make by the simulator, memory, few
 * copies, and what is refused. */
#include "fail_each.h"
#include "load.h"
#include "request_mix.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>
#include <string.h>

#define ONE(a, b) \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"one\",\"ops\":[{\"name\":\"x\"," \
	"\"param_bytes\":600,\"time_s\":{\"a\":" a "e-3,\"b\":" b "e-3}}]}"
#define SYSTEM(memory) \
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":[{\"name\":\"a\"," \
	"\"memory_bytes\":1000},{\"name\":\"b\",\"memory_bytes\":" memory "}],\"links\":[" \
	"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e6,\"both_ways\":true}]}"

typedef struct world {
	small_problem small, large;
	berth_graph graph[2];
	berth_requests x;
} world;

static const double half[] = {0.5, 0.5};

static void make(world *w, const char *small, const char *large, const char *system)
{
	small_problem_make(&w->small, small, system);
	small_problem_make(&w->large, large, system);
	w->graph[0] = w->small.g;
	w->graph[1] = w->large.g;
	w->x = (berth_requests){2, w->graph, half};
}

static void drop(world *w)
{
	small_problem_free(&w->small);
	small_problem_free(&w->large);
}

static berth_status choose_in(const world *w, int32_t most, double time_s, berth_arena *mem, berth_arena *tmp,
                              berth_mix *r, berth_err *err)
{
	const berth_method *method;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.objective = berth_objective_of(BERTH_THROUGHPUT);
	cfg.evaluations = 20;
	cfg.time_s = time_s;
	BERTH_TRY(berth_method_find("anneal", &method, err));
	return berth_mix_choose(&w->x, &w->small.s, most, method, &cfg, mem, tmp, r, err);
}

static berth_status choose(const world *w, int32_t most, berth_arena *mem, berth_arena *tmp, berth_mix *r,
                           berth_err *err)
{
	return choose_in(w, most, 0, mem, tmp, r, err);
}

static void check_known(const char *system, int32_t most, int32_t n, double per_s)
{
	world w;
	berth_mix r;
	berth_err err;
	make(&w, ONE("1", "2"), ONE("10", "5"), system);
	assert_ok(choose(&w, most, &w.small.mem, &w.small.tmp, &r, &err), &err);
	assert_int_equal(r.n, n);
	assert_near(r.per_s, per_s, 1e-9 * per_s);
	assert_near(r.bound_per_s, 6000. / 11, 1e-6);
	if (n == 0)
		assert_true(r.one_per_s == 0 && r.device == -1);
	drop(&w);
}

/* Both devices are busy all the time: small ones and some large ones on a, the rest on b. */
static void test_known(void **state)
{
	(void)state;
	check_known(SYSTEM("1000"), 4, 2, 6000. / 11);
	check_known(SYSTEM("1000"), 1, 1, 2000. / 7);
	check_known(SYSTEM("100"), 4, 1, 2000. / 11);
}

#define THREE \
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"three\",\"devices\":[{\"name\":\"a\"}," \
	"{\"name\":\"b\"},{\"name\":\"c\"}],\"links\":[" \
	"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e6,\"both_ways\":true}," \
	"{\"from\":\"b\",\"to\":\"c\",\"bandwidth\":1e6,\"both_ways\":true}]}"
#define ON(text) \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"one\",\"ops\":[{\"name\":\"x\"," text "}]}"

/* Small ones run on a and c, large ones on b: of two copies no one takes all. */
static void test_no_copy_takes_all(void **state)
{
	(void)state;
	world w;
	berth_mix r;
	berth_err err;
	make(&w, ON("\"forbid\":[\"b\"],\"time_s\":{\"a\":4e-3,\"c\":2e-3}"),
	     ON("\"forbid\":[\"a\",\"c\"],\"time_s\":{\"b\":1e-3}"), THREE);
	assert_ok(choose(&w, 2, &w.small.mem, &w.small.tmp, &r, &err), &err);
	assert_int_equal(r.n, 2);
	assert_near(r.per_s, 1000, 1e-6);
	assert_true(r.one_per_s == 0);
	drop(&w);
}

/* Where the time is over there is an answer, without more copies. */
static void test_no_time(void **state)
{
	(void)state;
	for (int over = 0; over < 2; over++) {
		world w;
		berth_mix r;
		berth_err err;
		make(&w, ON("\"time_s\":{\"a\":1e-3,\"b\":1e-3,\"c\":1e-3}"),
		     ON("\"time_s\":{\"a\":1e-3,\"b\":1e-3,\"c\":1e-3}"), THREE);
		assert_ok(choose_in(&w, 2, over ? 1e-9 : 0, &w.small.mem, &w.small.tmp, &r, &err), &err);
		assert_int_equal(r.n, over ? 1 : 2);
		assert_near(r.per_s, 1000 * r.n, 1e-6);
		drop(&w);
	}
}

/* What the copies are told to do keeps every load, and the shares. */
static void test_loads(void **state)
{
	(void)state;
	static const char *const system =
		"{\"format\":\"berth-system\",\"version\":1,\"name\":\"three\",\"contention\":true,"
		"\"devices\":["
		"{\"name\":\"a\",\"peak_flops\":1e12,\"mem_bandwidth\":1e11},"
		"{\"name\":\"b\",\"peak_flops\":2e12,\"mem_bandwidth\":5e10},"
		"{\"name\":\"c\",\"peak_flops\":1e11,\"op_overhead_s\":1e-6}],\"links\":["
		"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9,\"both_ways\":true,\"shared\":\"w\"},"
		"{\"from\":\"b\",\"to\":\"c\",\"bandwidth\":1e9,\"both_ways\":true,\"shared\":\"w\"}]}";
	berth_arena mem = {0}, tmp = {0};
	berth_graph g[2];
	world w = {0};
	berth_mix r;
	berth_err err;
	double busy[4] = {0}, sum[2] = {0};
	small_problem_make(&w.small, ONE("1", "1"), system);
	assert_ok(berth_graph_load("zoo:alexnet", NULL, &mem, &tmp, &g[0], NULL, &err), &err);
	assert_ok(berth_graph_load("zoo:alexnet:batch=16", NULL, &mem, &tmp, &g[1], NULL, &err), &err);
	w.x = (berth_requests){2, g, (double[]){0.8, 0.2}};
	assert_ok(choose(&w, 6, &mem, &tmp, &r, &err), &err);
	assert_true(r.n > 1 && r.per_s <= r.bound_per_s && r.per_s >= r.one_per_s * 0.999);
	assert_true(r.one_per_s >= r.device_per_s && r.device_per_s > 0);
	for (int32_t k = 0; k < r.n; k++)
		for (int i = 0; i < 2; i++) {
			berth_problem p;
			berth_sim *sim;
			berth_sim_result at;
			assert_ok(berth_problem_new(&g[i], &w.small.s, &mem, &tmp, &p, &err), &err);
			assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
			berth_sim_run(sim, r.copy[k].op_dev, NULL, &at);
			for (int d = 0; d < 3; d++)
				busy[d] += r.copy[k].per_s[i] *
				           (double)berth_sim_last(sim).dev_time_ns[d] * 1e-9;
			busy[3] += r.copy[k].per_s[i] * (double)berth_sim_last(sim).channel_ns[0] * 1e-9;
			sum[i] += r.copy[k].per_s[i];
		}
	for (int d = 0; d < 4; d++)
		assert_true(busy[d] <= 1 + 1e-9);
	assert_near(sum[0], 0.8 * r.per_s, 1e-9 * r.per_s);
	assert_near(sum[1], 0.2 * r.per_s, 1e-9 * r.per_s);
	small_problem_free(&w.small);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_refused(void **state)
{
	(void)state;
	world w;
	berth_mix r;
	berth_err err;
	make(&w, ONE("1", "2"),
	     "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"other\",\"ops\":[{\"name\":\"y\"}]}",
	     SYSTEM("1000"));
	assert_int_equal(choose(&w, 4, &w.small.mem, &w.small.tmp, &r, &err), BERTH_EINVAL);
	assert_contains(err.msg, "graphs 'one' and 'other' have unlike operators");
	drop(&w);
	make(&w, ONE("0", "0"), ONE("0", "0"), SYSTEM("1000"));
	assert_int_equal(choose(&w, 4, &w.small.mem, &w.small.tmp, &r, &err), BERTH_EINVAL);
	assert_contains(err.msg, "takes no time");
	drop(&w);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_mix r;
	return choose(ctx, 2, mem, tmp, &r, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	world w;
	make(&w, ONE("1", "2"), ONE("10", "5"), SYSTEM("1000"));
	assert_fails_each(work, &w, 307);
	drop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_no_copy_takes_all),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
