/* Configurations of clusters: which hosts and devices are equal, the exchange against its formulas and
 * against simulation, choices against all configurations, each simulated whole. */
#include "configuration.h"
#include "configure.h"
#include "fail_each.h"
#include "graph_format.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One operator with parameters of 6000 bytes, and its backward pass. */
#define STEP(batch, time) \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"step\",\"ops\":[" \
	"{\"name\":\"f\",\"type\":\"MatMul\",\"param_bytes\":6000,\"colocate\":\"p\",\"time_s\":{" time \
	"},\"flops\":" batch "},{\"name\":\"b\",\"type\":\"MatMul\",\"colocate\":\"p\"," \
	"\"backward\":true,\"flops\":" batch "}]," \
	"\"edges\":[{\"from\":\"f\",\"to\":\"b\",\"bytes\":" batch "}]}"

#define HEAD "{\"format\":\"berth-system\",\"version\":1,\"name\":\"c\",\"devices\":["
#define DEVICE(name, host, kind, flops, watts) \
	"{\"name\":\"" name "\",\"host\":\"" host "\",\"kind\":\"" kind "\",\"peak_flops\":" flops \
	",\"idle_w\":" watts ",\"busy_w\":1" watts "}"
#define LINK(a, b, rest) \
	"{\"from\":\"" a "\",\"to\":\"" b "\"," \
	"\"latency_s\":1e-3,\"bandwidth\":1e6,\"both_ways\":true" rest "}"
#define WIRE ",\"shared\":\"wire\""

/* Four equal hosts of one device, each joined to each. */
static const char square[] = HEAD DEVICE("a", "ha", "k", "1e3", "10") ","
	DEVICE("b", "hb", "k", "1e3", "10") "," DEVICE("c", "hc", "k", "1e3", "10") ","
	DEVICE("d", "hd", "k", "1e3", "10") "],\"links\":["
	LINK("a", "b", "") "," LINK("a", "c", "") "," LINK("a", "d", "") "," LINK("b", "c", "") ","
	LINK("b", "d", "") "," LINK("c", "d", "") "]}";

/* Three unlike hosts in a row on one wire; the first has two equal devices behind its lead. */
static const char mixed[] = HEAD DEVICE("a", "ha", "k", "1e3", "10") ","
	DEVICE("a1", "ha", "g", "4e3", "20") "," DEVICE("a2", "ha", "g", "4e3", "20") ","
	DEVICE("b", "hb", "s", "2e3", "5") "," DEVICE("c", "hc", "t", "1500", "4") "],\"links\":["
	LINK("a", "a1", "") "," LINK("a", "a2", "") "," LINK("a", "b", WIRE) "," LINK("b", "c", WIRE) "]}";

typedef struct world {
	berth_arena mem, tmp, tmp2;
	berth_system s;
	berth_graph graph[2];
	berth_cluster c;
	berth_copies x;
	berth_exchanger e;
} world;

static const int64_t batch[2] = {4, 16};

static berth_status price(world *w, berth_err *err)
{
	const berth_method *method;
	berth_search_cfg search = berth_search_cfg_default();
	search.evaluations = 50;
	BERTH_TRY(berth_method_find("anneal", &method, err));
	BERTH_TRY(berth_cluster_new(&w->s, &w->mem, &w->tmp, &w->c, err));
	BERTH_TRY(berth_copies_new(&w->c, w->graph, batch, 2, method, &search, &w->mem, &w->tmp, &w->x, err));
	return berth_exchanger_new(&w->x, &w->mem, &w->tmp, &w->e, err);
}

static void read_graph(world *w, int32_t b, const char *text)
{
	berth_err err;
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &w->mem, &w->tmp, &w->graph[b], &err),
	          &err);
}

static void make(world *w, const char *system)
{
	berth_err err;
	*w = (world){0};
	assert_ok(berth_system_parse_json("s", system, strlen(system), &w->mem, &w->tmp, &w->s, &err), &err);
	read_graph(w, 0, STEP("4", ""));
	read_graph(w, 1, STEP("16", ""));
	assert_ok(price(w, &err), &err);
}

static void drop(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
	berth_arena_free(&w->tmp2);
}

/* ---- hosts ---- */

static void test_equal_hosts(void **state)
{
	(void)state;
	world w;
	make(&w, square);
	assert_int_equal(w.c.n_hosts, 4);
	for (int32_t h = 0; h < 4; h++) {
		assert_int_equal(w.c.host_like[h], 0);
		assert_ptr_equal(w.x.host[h], w.x.host[0]);
		assert_int_equal(w.c.host_lead[h], h);
	}
	drop(&w);
	make(&w, mixed);
	assert_int_equal(w.c.n_hosts, 3);
	assert_int_equal(w.c.host_like[1], 1);
	assert_int_equal(w.c.host_like[2], 2);
	assert_int_equal(w.c.host_lead[0], 0);
	assert_int_equal(w.c.dev_like[2], 1); /* a2 is as a1 */
	assert_int_equal(w.c.dev_like[1], 1);
	assert_near(w.c.host_idle_w[0], 50, 1e-9);
	/* none, one or both of a1 and a2, with or without a; two or more apart, or joined through a */
	assert_int_equal(w.x.host[0]->n_layouts, 5 + 2);
	drop(&w);
}

/* The figures are the same, but a time is measured for one of the hosts by its device's name. */
static void test_measured_times_tell_apart(void **state)
{
	(void)state;
	world w;
	berth_err err;
	make(&w, square);
	read_graph(&w, 0, STEP("4", "\"c\":0.5"));
	read_graph(&w, 1, STEP("16", "\"c\":2"));
	assert_ok(price(&w, &err), &err);
	assert_int_equal(w.c.host_like[1], 0);
	assert_int_equal(w.c.host_like[2], 2);
	assert_int_equal(w.c.host_like[3], 0);
	drop(&w);
}

/* ---- exchange ---- */

/* The step of a configuration by formulas, and simulated whole. NAN: it cannot be. */
static double step_of(world *w, const int32_t *layout, int64_t deadline_ns, berth_exchange_kind kind,
                      double *whole)
{
	berth_member member[8];
	berth_configuration c = {.deadline_ns = deadline_ns};
	memcpy(c.host_layout, layout, (size_t)w->c.n_hosts * sizeof *layout);
	berth_config_value v, s;
	berth_err err;
	bool runs;
	if (!berth_config_predict(&w->e, &c, kind, member, &v))
		return NAN;
	assert_ok(berth_config_simulate(&w->x, &c, &v.exchange, &w->tmp, &w->tmp2, &s, &runs, &err), &err);
	assert_true(runs);
	assert_near(s.energy_j, v.energy_j, 1e-6 * s.energy_j);
	assert_near(s.peak_w, v.peak_w, 1e-9);
	assert_int_equal(s.samples, v.samples);
	*whole = s.step_s;
	return v.step_s;
}

/* A copy takes 4 or 16 ms; gradients are 6000 bytes, 6 ms on a link, and 1 ms for each message. */
static void test_ring_and_server(void **state)
{
	(void)state;
	world w;
	double whole;
	make(&w, square);
	static const int32_t all[] = {0, 0, 0, 0}, two[] = {-1, 0, -1, 0};
	int64_t deadline = w.x.host[0]->crew[0].price[1].time_ns;
	assert_int_equal(deadline, 32000000);
	assert_near(step_of(&w, all, deadline, BERTH_EXCHANGE_RING, &whole), 0.032 + 6 * (0.001 + 0.0015),
	            1e-9);
	assert_near(whole, 0.032 + 6 * (0.001 + 0.0015), 1e-9);
	assert_near(step_of(&w, all, deadline, BERTH_EXCHANGE_SERVER, &whole), 0.032 + 2 * 0.007, 1e-9);
	assert_near(whole, 0.032 + 2 * 0.007, 1e-9);
	assert_near(step_of(&w, two, deadline, BERTH_EXCHANGE_RING, &whole), 0.032 + 2 * 0.004, 1e-9);
	assert_near(whole, 0.032 + 2 * 0.004, 1e-9);
	assert_near(step_of(&w, two, deadline, BERTH_EXCHANGE_BEST, &whole), 0.032 + 2 * 0.004, 1e-9);
	assert_near(berth_exchange_least_s(&w.e, 4, BERTH_EXCHANGE_RING), 6 * 0.0025, 1e-12);
	/* a host has three ways out here, and one wire in the other system */
	assert_near(berth_exchange_least_s(&w.e, 4, BERTH_EXCHANGE_SERVER), 0.007, 1e-12);
	drop(&w);
}

/* What takes no time uses each channel once all the same. */
static void test_no_time(void **state)
{
	(void)state;
	world w;
	berth_exchange y;
	make(&w, square);
	berth_crew crew = w.x.host[0]->crew[0];
	berth_copy_price price = crew.price[0];
	crew.price = &price;
	price.time_ns = w.x.grad_bytes = 0;
	for (int32_t l = 0; l < w.s.n_links; l++)
		w.s.link_latency_s[l] = 0;
	const berth_member all[] = {{0, &crew, 0}, {1, &crew, 0}, {2, &crew, 0}, {3, &crew, 0}};
	assert_true(berth_exchange_of(&w.e, all, 4, BERTH_EXCHANGE_RING, &y));
	assert_near(y.time_s, 0, 0);
	assert_int_equal(w.e.n_touched, 4);
	drop(&w);
}

/* a - b - c in a row: without b, a and c do not reach each other. */
static void test_unreachable(void **state)
{
	(void)state;
	world w;
	double whole;
	make(&w, mixed);
	static const int32_t ends[] = {0, -1, 0}, row[] = {0, 0, 0};
	assert_true(isnan(step_of(&w, ends, INT64_MAX, BERTH_EXCHANGE_BEST, &whole)));
	assert_true(step_of(&w, row, INT64_MAX, BERTH_EXCHANGE_BEST, &whole) > 0);
	assert_near(berth_exchange_least_s(&w.e, 3, BERTH_EXCHANGE_SERVER), 2 * 0.007, 1e-12);
	drop(&w);
}

/* ---- plans ---- */

/* Copies of the configuration, where they stand, and when the slowest is done. */
static void test_plan(void **state)
{
	(void)state;
	world w;
	berth_err err;
	berth_config_plan p;
	make(&w, square);
	berth_configuration c = {{-1, -1, -1, 0}, INT64_MAX};
	assert_ok(berth_config_plan_new(&w.x, &c, w.x.graph, &w.mem, &w.tmp, &p, &err), &err);
	assert_int_equal(p.n_copies, 1);
	assert_int_equal(p.batch[0], 1);
	assert_int_equal(p.g.n_ops, 2);
	assert_string_equal(p.g.op_name[0], "f");
	for (int32_t op = 0; op < 2; op++)
		assert_string_equal(w.s.dev_name[p.op_dev[op]], "d");
	assert_int_equal(p.latency_ns, w.x.host[0]->crew[0].price[1].time_ns);
	c = (berth_configuration){{0, -1, -1, 0}, w.x.host[0]->crew[0].price[0].time_ns};
	assert_ok(berth_config_plan_new(&w.x, &c, w.x.graph, &w.mem, &w.tmp, &p, &err), &err);
	assert_int_equal(p.n_copies, 2);
	assert_int_equal(p.batch[1], 0);
	assert_string_equal(p.g.op_name[3], "step-2/b");
	assert_true(berth_order_is_topological(&p.g, p.op_order, &w.tmp));
	for (int32_t op = 0; op < 4; op++)
		assert_string_equal(w.s.dev_name[p.op_dev[op]], op < 2 ? "a" : "d");
	assert_int_equal(p.latency_ns, w.x.host[0]->crew[0].price[0].time_ns);
	drop(&w);
}

/* ---- choices ---- */

typedef struct all_of {
	world *w;
	double least[BERTH_N_GOALS], predicted[BERTH_N_GOALS];
	int32_t n;
} all_of;

static berth_status look(void *ctx, const berth_configuration *c, const berth_config_value *v, berth_err *err)
{
	all_of *all = ctx;
	berth_config_value s;
	bool runs;
	BERTH_TRY(berth_config_simulate(&all->w->x, c, &v->exchange, &all->w->tmp, &all->w->tmp2, &s, &runs,
	                                err));
	assert_true(runs);
	all->n++;
	for (int g = 0; g < BERTH_N_GOALS; g++) {
		all->least[g] = fmin(all->least[g], berth_goal_value((berth_goal)g, &s));
		all->predicted[g] = fmin(all->predicted[g], berth_goal_value((berth_goal)g, v));
	}
	return BERTH_OK;
}

static void check_choices(const char *system)
{
	world w;
	berth_err err;
	all_of all = {.w = &w};
	make(&w, system);
	for (int g = 0; g < BERTH_N_GOALS; g++)
		all.least[g] = all.predicted[g] = INFINITY;
	assert_ok(berth_configure_each(&w.e, BERTH_EXCHANGE_BEST, &w.mem, look, &all, &err), &err);
	assert_true(all.n > 4 && all.n <= berth_configurations_most(&w.x));
	for (int g = 0; g < BERTH_N_GOALS; g++)
		for (int search = 0; search < 2; search++) {
			berth_configure_cfg cfg = berth_configure_cfg_default();
			berth_configured r;
			cfg.goal = (berth_goal)g;
			cfg.most = search ? 0 : cfg.most;
			assert_ok(berth_configure(&w.x, &cfg, NULL, &w.mem, &w.tmp, &w.tmp2, &r, &err), &err);
			assert_true(r.found && r.all == !search);
			assert_near(berth_goal_value(cfg.goal, &r.best.simulated), all.least[g],
			            1e-9 * all.least[g]);
			assert_true(r.bound <= all.predicted[g] * (1 + 1e-12));
			assert_true(r.n_front > 0);
			for (int32_t i = 1; i < r.n_front; i++) {
				const berth_config_value *a = &r.front[i - 1].simulated,
							 *b = &r.front[i].simulated;
				assert_true(berth_goal_value(BERTH_GOAL_TIME, a) <=
				            berth_goal_value(BERTH_GOAL_TIME, b));
				assert_true(berth_goal_value(BERTH_GOAL_ENERGY, a) >
				            berth_goal_value(BERTH_GOAL_ENERGY, b));
			}
		}
	drop(&w);
}

static void test_choices(void **state)
{
	(void)state;
	check_choices(square);
	check_choices(mixed);
}

/* ---- refused ---- */

static void test_refused(void **state)
{
	(void)state;
	world w = {0};
	berth_err err;
	static const char half[] = HEAD DEVICE(
		"a", "ha", "k", "1", "1") ",{\"name\":\"b\"}],\"links\":[" LINK("a", "b", "") "]}";
	static const char no_watts[] = HEAD "{\"name\":\"a\",\"peak_flops\":1e3}]}";
	assert_ok(berth_system_parse_json("s", half, strlen(half), &w.mem, &w.tmp, &w.s, &err), &err);
	assert_int_equal(berth_cluster_new(&w.s, &w.mem, &w.tmp, &w.c, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "device 'b' has no \"host\"");
	drop(&w);
	make(&w, no_watts);
	berth_configure_cfg cfg = berth_configure_cfg_default();
	berth_configured r;
	cfg.goal = BERTH_GOAL_EDP;
	assert_int_equal(berth_configure(&w.x, &cfg, NULL, &w.mem, &w.tmp, &w.tmp2, &r, &err), BERTH_EINVAL);
	assert_contains(err.msg, "goal edp needs watts, but device 'a' has no");
	cfg.goal = BERTH_GOAL_TIME;
	assert_ok(berth_configure(&w.x, &cfg, NULL, &w.mem, &w.tmp, &w.tmp2, &r, &err), &err);
	assert_true(r.found && r.n_front == 0 && isnan(r.best.simulated.energy_j));
	assert_int_equal(r.best.predicted.exchange.kind, BERTH_EXCHANGE_NONE);
	drop(&w);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	world *w = ctx;
	berth_configure_cfg cfg = berth_configure_cfg_default();
	berth_configured r;
	berth_cluster c;
	berth_copies x;
	berth_search_cfg search = berth_search_cfg_default();
	const berth_method *method;
	search.evaluations = 5;
	cfg.most = 0;
	BERTH_TRY(berth_method_find("heft", &method, err));
	BERTH_TRY(berth_cluster_new(&w->s, mem, tmp, &c, err));
	BERTH_TRY(berth_copies_new(&c, w->graph, batch, 2, method, &search, mem, tmp, &x, err));
	BERTH_TRY(berth_configure(&x, &cfg, NULL, mem, tmp, &w->tmp2, &r, err));
	berth_config_plan plan;
	return berth_config_plan_new(&x, &r.best.c, x.graph, mem, tmp, &plan, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	world w;
	make(&w, mixed);
	assert_fails_each(work, &w, 11);
	drop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_hosts),
		cmocka_unit_test(test_measured_times_tell_apart),
		cmocka_unit_test(test_ring_and_server),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
