/* Placements: reading against a graph and a system, the order, warnings, canonical form, every error with
 * its place. */
#include "graph_format.h"
#include "placement.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A diamond: conv1 -> {relu1, relu2} -> sum, listed with its end first. */
static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"tiny\",\"ops\":[{\"name\":\"sum\"},{\"name\":"
        "\"conv1\"},{\"name\":\"relu1\"},{\"name\":\"relu2\"}],"
	"\"edges\":[{\"from\":\"conv1\",\"to\":\"relu1\",\"bytes\":4},{\"from\":\"conv1\",\"to\":\"relu2\","
        "\"bytes\":4},"
	"{\"from\":\"relu1\",\"to\":\"sum\",\"bytes\":4},{\"from\":\"relu2\",\"to\":\"sum\",\"bytes\":4}]}";
static const char system_text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":[{\"name\":\"cpu0\"},{"
        "\"name\":\"gpu0\"}],"
	"\"links\":[{\"from\":\"cpu0\",\"to\":\"gpu0\",\"bandwidth\":1,\"both_ways\":true}]}";

#define ALL "\"placement\":{\"sum\":\"cpu0\",\"conv1\":\"gpu0\",\"relu1\":\"gpu0\",\"relu2\":\"cpu0\"}}"

typedef struct fixture {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
} fixture;

static int setup(void **state)
{
	fixture *f = calloc(1, sizeof *f);
	berth_err err;
	assert_non_null(f);
	assert_ok(berth_graph_parse_json("g", graph_text, strlen(graph_text), &f->mem, &f->tmp, &f->g, &err),
	          &err);
	assert_ok(
		berth_system_parse_json("s", system_text, strlen(system_text), &f->mem, &f->tmp, &f->s, &err),
		&err);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture *f = *state;
	berth_arena_free(&f->mem);
	berth_arena_free(&f->tmp);
	free(f);
	return 0;
}

static berth_status parse(fixture *f, const char *text, berth_placement *p, const char **warning,
                          berth_err *err)
{
	return berth_placement_parse_json("p.json", text, strlen(text), &f->g, &f->s, &f->mem, &f->tmp, p,
	                                  warning, err);
}

static void test_placement_alone(void **state)
{
	fixture *f = *state;
	berth_placement p;
	berth_err err;
	const char *warning = "x";
	assert_ok(parse(f, "{" ALL, &p, &warning, &err), &err);
	assert_null(warning);
	assert_null(p.graph_name);
	assert_null(p.graph_sha256);
	assert_null(p.system_name);
	assert_null(p.method);
	assert_null(p.objective);
	assert_null(p.order);
	assert_true(p.seed == 0 && p.evaluations == 0);
	assert_true(isnan(p.value) && isnan(p.lower_bound));
	const int32_t dev[] = {0, 1, 1, 0};
	assert_memory_equal(p.op_dev, dev, sizeof dev);
	assert_ok(berth_placement_check(&p, &f->g, &f->s, &f->tmp, &err), &err);
	const char *text;
	size_t len;
	assert_ok(berth_placement_write_json(&p, &f->g, &f->s, false, &f->mem, &text, &len, &err), &err);
	assert_string_equal(text, "{\"format\":\"berth-placement\",\"version\":1,\"seed\":0,\"evaluations\":"
	                          "0,\"value\":null,\"lower_bound\":null," ALL);
	assert_ok(parse(f, "{\"format\":\"berth-placement\",\"version\":1,\"order\":null,\"value\":null," ALL,
	                &p, NULL, &err),
	          &err);
	assert_null(p.order);
}

/* What new and write make, parse reads back without a warning, and writes again to the same bytes. */
static void test_round_trip(void **state)
{
	fixture *f = *state;
	berth_placement p, q;
	berth_err err;
	const char *text, *again, *pretty, *warning = "x";
	size_t len;
	int32_t order[] = {1, 3, 2, 0};
	assert_ok(berth_placement_new(&f->g, &f->s, &f->mem, &f->tmp, &p, &err), &err);
	p.method = "heft";
	p.objective = "latency";
	p.seed = UINT64_C(1) << 53;
	p.evaluations = 12;
	p.value = 0.1;
	p.op_dev[1] = p.op_dev[2] = 1;
	p.order = order;
	assert_ok(berth_placement_write_json(&p, &f->g, &f->s, false, &f->mem, &text, &len, &err), &err);
	char expected[1024];
	snprintf(expected, sizeof expected,
	         "{\"format\":\"berth-placement\",\"version\":1,\"graph\":{\"name\":\"tiny\",\"sha256\":\"%"
	         "s\"},\"system\":{\"name\":\"two\",\"sha256\":\"%s\"},"
	         "\"method\":\"heft\",\"seed\":9007199254740992,\"evaluations\":12,\"objective\":\"latency\","
	         "\"value\":0.1,\"lower_bound\":null,"
	         "\"order\":[\"conv1\",\"relu2\",\"relu1\",\"sum\"]," ALL,
	         p.graph_sha256, p.system_sha256);
	assert_string_equal(text, expected);
	assert_int_equal(strlen(p.graph_sha256), 64);
	assert_string_not_equal(p.graph_sha256, p.system_sha256);
	assert_ok(parse(f, text, &q, &warning, &err), &err);
	assert_null(warning);
	assert_true(q.seed == p.seed && q.evaluations == 12 && q.value == 0.1 && isnan(q.lower_bound));
	assert_memory_equal(q.order, order, sizeof order);
	assert_ok(berth_placement_write_json(&q, &f->g, &f->s, false, &f->mem, &again, &len, &err), &err);
	assert_string_equal(again, text);
	assert_ok(berth_placement_write_json(&q, &f->g, &f->s, true, &f->mem, &pretty, &len, &err), &err);
	assert_ok(parse(f, pretty, &q, &warning, &err), &err);
	assert_ok(berth_placement_write_json(&q, &f->g, &f->s, false, &f->mem, &again, &len, &err), &err);
	assert_string_equal(again, text);
	q.seed++;
	assert_int_equal(berth_placement_write_json(&q, &f->g, &f->s, false, &f->mem, &again, &len, &err),
	                 BERTH_EINVAL);
	q.seed = 0;
	q.evaluations = -1;
	assert_int_equal(berth_placement_write_json(&q, &f->g, &f->s, false, &f->mem, &again, &len, &err),
	                 BERTH_EINVAL);
}

static void test_mismatch_warns(void **state)
{
	fixture *f = *state;
	berth_placement p;
	berth_err err;
	char hex[65], text[1024];
	const char *warning = NULL;
	assert_ok(parse(f, "{\"graph\":{\"name\":\"other\",\"sha256\":\"00ff\"}," ALL, &p, &warning, &err),
	          &err);
	assert_contains(warning, "p.json: made for graph 'other' with sha256 00ff");
	assert_null(strstr(warning, "system"));
	assert_ok(parse(f, "{\"system\":{\"sha256\":\"00ff\"}," ALL, &p, &warning, &err), &err);
	assert_contains(warning, "made for system '(unnamed)'");
	assert_ok(parse(f, "{\"graph\":{\"sha256\":\"1\"},\"system\":{\"sha256\":\"2\"}," ALL, &p, &warning,
	                &err),
	          &err);
	assert_contains(warning, " and system ");
	assert_ok(berth_graph_sha256(&f->g, &f->tmp, hex, &err), &err);
	snprintf(text, sizeof text, "{\"graph\":{\"name\":\"renamed\",\"sha256\":\"%s\"}," ALL, hex);
	assert_ok(parse(f, text, &p, &warning, &err), &err);
	assert_null(warning); /* the digest speaks, not the name */
}

static void test_errors(void **state)
{
	fixture *f = *state;
	static const struct { const char *text, *part; } cases[] = {
		{"", "p.json:1:1: the file is empty"},
		{"[]", "expected an object"},
		{"{\"format\":\"berth-graph\",\"version\":1,\"ops\":[]}",
		 "/format: format is 'berth-graph', expected 'berth-placement'"},
		{"{\"format\":\"berth-placement\"," ALL, "key 'version' is missing"},
		{"{\"version\":1," ALL, "key 'format' is missing"},
		{"{\"format\":\"berth-placement\",\"version\":2," ALL, "version 2"},
		{"{\"methd\":\"x\"," ALL, "unknown key 'methd' (did you mean 'method'?)"},
		{"{\"graph\":{\"nam\":\"x\"}," ALL, "/graph: unknown key 'nam' (did you mean 'name'?)"},
		{"{\"graph\":\"x\"," ALL, "/graph: expected an object"},
		{"{\"method\":1," ALL, "/method: expected a string"},
		{"{\"seed\":-1," ALL, "/seed"},
		{"{\"seed\":1.5," ALL, "/seed: 1.5 is not a whole number"},
		{"{\"seed\":1e17," ALL, "/seed"},
		{"{\"evaluations\":0.5," ALL, "/evaluations"},
		{"{\"value\":\"x\"," ALL, "/value: expected a number"},
		{"{\"seed\":1}", "key 'placement' is missing"},
		{"{\"placement\":[]}", "/placement: expected an object"},
		{"{\"placement\":{\"sum\":\"cpu0\",\"conv2\":\"gpu0\"}}",
		 "/placement: the graph has no operator 'conv2' (did you mean 'conv1'?)"},
		{"{\"placement\":{\"sum\":\"cpu1\"}}",
		 "/placement/sum: the system has no device 'cpu1' (did you mean 'cpu0'?)"},
		{"{\"placement\":{\"sum\":0}}", "/placement/sum: expected the name of a device"},
		{"{\"placement\":{\"sum\":\"cpu0\",\"sum\":\"cpu0\"}}", "operator 'sum' stands twice"},
		{"{\"placement\":{\"sum\":\"cpu0\",\"conv1\":\"gpu0\",\"relu2\":\"gpu0\"}}",
		 "/placement: operator 'relu1' has no device"},
		{"{\"placement\":{\"sum\":\"cpu0\"}}", "operator 'conv1' has no device, nor have 2 more"},
		{"{\"order\":{}," ALL, "/order: expected an array"},
		{"{\"order\":[1]," ALL, "/order/0: expected the name of an operator"},
		{"{\"order\":[\"conv\"]," ALL,
		 "/order/0: the graph has no operator 'conv' (did you mean 'conv1'?)"},
		{"{\"order\":[\"conv1\",\"relu1\",\"sum\",\"relu2\"]," ALL,
		 "/order/2: operator 'sum' stands before 'relu2', whose output it needs"},
		{"{\"order\":[\"conv1\",\"relu1\",\"relu1\",\"relu2\",\"sum\"]," ALL,
		 "/order/2: operator 'relu1' stands twice"},
		{"{\"order\":[\"conv1\",\"relu1\",\"relu2\",\"sum\",\"conv1\"]," ALL,
		 "/order/4: operator 'conv1' stands twice"},
		{"{\"order\":[\"conv1\",\"relu1\"]," ALL, "/order: operator 'sum' is not in the order"},
		{"{\"order\":[]," ALL, "/order: operator 'sum' is not in the order"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_placement p, before;
		berth_err err = {0};
		memset(&p, 0x5a, sizeof p);
		memcpy(&before, &p, sizeof p);
		assert_int_equal(parse(f, cases[i].text, &p, NULL, &err), BERTH_EFORMAT);
		assert_contains(err.msg, cases[i].part);
		assert_memory_equal(&p, &before, sizeof p);
	}
}

static void test_check(void **state)
{
	fixture *f = *state;
	berth_placement p;
	berth_err err = {0};
	int32_t order[] = {1, 2, 3, 0};
	assert_ok(berth_placement_new(&f->g, &f->s, &f->mem, &f->tmp, &p, &err), &err);
	p.order = order;
	assert_ok(berth_placement_check(&p, &f->g, &f->s, &f->tmp, &err), &err);
	order[0] = 0;
	assert_int_equal(berth_placement_check(&p, &f->g, &f->s, &f->tmp, &err), BERTH_EFORMAT);
	order[0] = 4;
	assert_int_equal(berth_placement_check(&p, &f->g, &f->s, &f->tmp, &err), BERTH_EFORMAT);
	order[0] = 1;
	p.op_dev[3] = 2;
	assert_int_equal(berth_placement_check(&p, &f->g, &f->s, &f->tmp, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "'relu2' is on device 2 of 2");
}

static void test_empty_graph(void **state)
{
	fixture *f = *state;
	berth_graph g;
	berth_placement p;
	berth_err err;
	static const char none[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[]}",
			  text[] = "{\"order\":[],\"placement\":{}}";
	const char *out;
	size_t len;
	assert_ok(berth_graph_parse_json("g", none, strlen(none), &f->mem, &f->tmp, &g, &err), &err);
	assert_ok(berth_placement_parse_json("p", text, strlen(text), &g, &f->s, &f->mem, &f->tmp, &p, NULL,
	                                     &err),
	          &err);
	assert_non_null(p.order);
	assert_ok(berth_placement_write_json(&p, &g, &f->s, true, &f->mem, &out, &len, &err), &err);
}

/* A chain of n operators as a graph, with a placement of it that has a foreign digest. */
static void write_chain(char *graph, char *placement, size_t size, int n)
{
	size_t a = (size_t)snprintf(graph, size, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[");
	size_t b = (size_t)snprintf(placement, size, "{\"graph\":{\"sha256\":\"0\"},\"order\":[");
	for (int i = 0; i < n; i++) {
		a += (size_t)snprintf(graph + a, size - a, "%s{\"name\":\"operator number %d\"}",
		                      i ? "," : "", i);
		b += (size_t)snprintf(placement + b, size - b, "%s\"operator number %d\"", i ? "," : "", i);
	}
	snprintf(graph + a, size - a, "]}");
	b += (size_t)snprintf(placement + b, size - b, "],\"placement\":{");
	for (int i = 0; i < n; i++)
		b += (size_t)snprintf(placement + b, size - b, "%s\"operator number %d\":\"gpu0\"",
		                      i ? "," : "", i);
	snprintf(placement + b, size - b, "}}");
}

/* New, read, check, write with one allocator. */
static berth_status use_all(const fixture *f, const berth_graph *g, const char *text,
                            const berth_allocator *hook, berth_err *err)
{
	berth_arena mem, tmp;
	berth_placement p;
	const char *out, *warning;
	size_t len;
	berth_arena_init(&mem, hook);
	berth_arena_init(&tmp, hook);
	berth_status st = berth_placement_new(g, &f->s, &mem, &tmp, &p, err);
	if (st == BERTH_OK)
		st = berth_placement_parse_json("p.json", text, strlen(text), g, &f->s, &mem, &tmp, &p,
		                                &warning, err);
	if (st == BERTH_OK)
		st = berth_placement_check(&p, g, &f->s, &tmp, err);
	if (st == BERTH_OK)
		st = berth_placement_write_json(&p, g, &f->s, true, &mem, &out, &len, err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static void test_each_allocation_may_fail(void **state)
{
	fixture *f = *state;
	static char graph[64 * 1024], placement[sizeof graph];
	berth_graph g;
	berth_err err;
	write_chain(graph, placement, sizeof graph, 500);
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &f->mem, &f->tmp, &g, &err), &err);
	for (long k = 0;; k++) {
		failing_allocator fail;
		failing_allocator_init(&fail, k);
		berth_status st = use_all(f, &g, placement, &fail.hook, &err);
		assert_int_equal(fail.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 5);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_placement_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mismatch_warns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_check, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_graph, setup, teardown),
		cmocka_unit_test_setup_teardown(test_each_allocation_may_fail, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
