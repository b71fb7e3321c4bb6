/* Each allocation fails in turn: what rooms base, graphs and env do for a command, where their own tests do
 * not try it. The run that succeeds gives the right result. */
#include "bounds.h"
#include "bounds_effort.h"
#include "compiled_instance.h"
#include "fail_each.h"
#include "file.h"
#include "graph_json.h"
#include "graph_rules.h"
#include "graph_union.h"
#include "infeasible_subset.h"
#include "load.h"
#include "load_system.h"
#include "support.h"
#include "system_change.h"
#include "system_json.h"
#include "system_set.h"
#include "zoo.h"

#include <stdio.h>
#include <string.h>

static const char DUO[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"duo\",\"devices\":[{\"name\":\"a\","
	"\"peak_flops\":1e9,\"memory_bytes\":10},{\"name\":\"b\",\"memory_bytes\":100}],\"links\":["
	"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9,\"shared\":\"bus\"},"
	"{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":1e9,\"shared\":\"bus\"}]}";
static const char NET[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"net\",\"ops\":["
			  "{\"name\":\"x.1\",\"time_s\":{\"*\":1}},"
			  "{\"name\":\"x.2\",\"time_s\":{\"*\":1},\"param_bytes\":60},"
			  "{\"name\":\"y\",\"time_s\":{\"*\":1},\"param_bytes\":60}],"
			  "\"edges\":[{\"from\":\"x.1\",\"to\":\"y\",\"bytes\":4}]}";

static void read_system(berth_arena *mem, berth_system *s)
{
	berth_arena tmp = {0};
	berth_err err;
	assert_ok(berth_system_parse_json("duo", DUO, strlen(DUO), mem, &tmp, s, &err), &err);
	berth_arena_free(&tmp);
}

static void read_graph(berth_arena *mem, berth_graph *g)
{
	berth_arena tmp = {0};
	berth_err err;
	assert_ok(berth_graph_parse_json("net", NET, strlen(NET), mem, &tmp, g, &err), &err);
	berth_arena_free(&tmp);
}

static berth_status change(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_system out;
	static const char changes[] = "+c=like:a,a.peak_flops=2x,+c->a=1GB/s@5us,+a->c=like:b->a,-c,-bus,"
				      "+b:a=2GB/s";
	BERTH_TRY(berth_system_change(ctx, changes, mem, tmp, &out, err));
	assert_int_equal(out.n_devs, 2);
	assert_int_equal(out.n_links, 2);
	assert_true(out.dev_peak_flops[0] == 2e9);
	return BERTH_OK;
}

static void test_change(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_system s;
	read_system(&mem, &s);
	assert_fails_each(change, &s, 1);
	assert_true(s.dev_peak_flops[0] == 1e9);
	berth_arena_free(&mem);
}

static berth_status set(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_system copy;
	BERTH_TRY(berth_system_clone(ctx, mem, &copy, err));
	BERTH_TRY(berth_system_set(&copy, "a->b.latency_s=5us", tmp, err));
	BERTH_TRY(berth_system_set(&copy, "b.memory_bytes=0.5x", tmp, err));
	assert_int_equal(copy.dev_memory_bytes[1], 50);
	return BERTH_OK;
}

static void test_set(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_system s;
	read_system(&mem, &s);
	assert_fails_each(set, &s, 1);
	assert_int_equal(s.dev_memory_bytes[1], 100);
	berth_arena_free(&mem);
}

typedef struct net_on_duo {
	berth_arena mem;
	berth_graph g;
	berth_system s;
} net_on_duo;

static berth_status rules(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	net_on_duo *c = ctx;
	berth_graph g = c->g;
	berth_problem p;
	berth_placement placement;
	const char *pin = "x.1=b", *forbid = "x.*=a", *colocate = "x.?,y";
	berth_rule_texts texts = {&pin, &forbid, &colocate, 1, 1, 1};
	BERTH_TRY(berth_graph_add_rules(&texts, &c->s, mem, tmp, &g, err));
	BERTH_TRY(berth_problem_new(&g, &c->s, mem, tmp, &p, err));
	BERTH_TRY(berth_placement_new(&g, &c->s, mem, tmp, &placement, err));
	assert_int_equal(p.n_colocs, 1);
	assert_false(p.op_dev_legal[0]); /* x.1 on a */
	return BERTH_OK;
}

/* 60 bytes each on devices of 10 and of 100: two rules that contradict each other. */
static berth_status infeasible(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	net_on_duo *c = ctx;
	berth_problem p;
	berth_infeasible_subset subset;
	BERTH_TRY(berth_problem_new(&c->g, &c->s, mem, tmp, &p, err));
	BERTH_TRY(berth_infeasible_subset_find(&p, NULL, NULL, mem, tmp, &subset, err));
	assert_true(subset.proven);
	assert_true(subset.n > 0);
	return BERTH_OK;
}

static void test_rules(void **state)
{
	(void)state;
	net_on_duo c = {0};
	read_graph(&c.mem, &c.g);
	read_system(&c.mem, &c.s);
	assert_fails_each(rules, &c, 1);
	assert_fails_each(infeasible, &c, 1);
	berth_arena_free(&c.mem);
}

static berth_status join(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_graph both, two[2] = {*(berth_graph *)ctx, *(berth_graph *)ctx};
	berth_graph_parts parts;
	BERTH_TRY(berth_graph_union(two, 2, mem, tmp, &both, &parts, err));
	assert_int_equal(both.n_ops, 2 * two[0].n_ops);
	assert_string_equal(parts.name[1], "net-2");
	return BERTH_OK;
}

static void test_union(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	read_graph(&mem, &g);
	assert_fails_each(join, &g, 1);
	berth_arena_free(&mem);
}

/* The problem of a random instance once more, and its bounds. */
static berth_status bounds(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	berth_problem p;
	berth_bounds b;
	berth_objective o;
	berth_bound_effort all = berth_bound_effort_all(NULL);
	double joint;
	bool none;
	BERTH_TRY(berth_objective_parse("latency+throughput:memory<=1TB", &o, err));
	BERTH_TRY(berth_problem_new(&c->g, &c->s, mem, tmp, &p, err));
	BERTH_TRY(berth_bounds_new(&p, tmp, &b, err));
	BERTH_TRY(berth_bounds_strengthen(&p, &all, tmp, &b, err));
	BERTH_TRY(berth_bounds_objective(&p, &b, &o, tmp, &joint, err));
	BERTH_TRY(berth_bounds_limits_infeasible(&p, &b, &o, tmp, &none, err));
	assert_true(!c->t.r.runs || !c->t.r.fits || b.latency_ns <= c->t.r.latency_ns);
	return BERTH_OK;
}

static void test_bounds(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		compiled_instance c;
		compiled_instance_make(&c, seed);
		assert_fails_each(bounds, &c, 7); /* the LP solver takes most of the time */
		compiled_instance_free(&c);
	}
}

/* The exported models, which use far more of the ONNX reader than the files made for its tests. */
static berth_status load(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_graph g;
	berth_read_report report;
	BERTH_TRY(berth_graph_load(ctx, NULL, mem, tmp, &g, &report, err));
	assert_true(g.n_ops > 5);
	return BERTH_OK;
}

static void test_files(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		long step;
	} file[] = {
		{"greedy_loop", 1}, {"tagger", 1},           {"convnext", 11}, {"lstm_unrolled", 31},
		{"vit", 11},        {"encoder_dynamic", 61}, {"seq2seq", 61},  {"swin", 61},
	};
	for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
		char path[sizeof BERTH_FIXTURES + 64];
		snprintf(path, sizeof path, "%s/%s.onnx", BERTH_FIXTURES, file[i].name);
		assert_fails_each(load, path, file[i].step);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change), cmocka_unit_test(test_set),    cmocka_unit_test(test_rules),
		cmocka_unit_test(test_union),  cmocka_unit_test(test_bounds), cmocka_unit_test(test_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
