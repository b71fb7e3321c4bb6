/* Pages: what stands in them is escaped and closed, their policy names their parts by digest, groups of large
 * graphs are complete, each allocation failing in turn. tests/report looks at whole pages. */
#include "compiled_instance.h"
#include "page.h"
#include "page_graph.h"
#include "page_plan.h"
#include "sha256.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <string.h>

static size_t count(const char *text, const char *part)
{
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, part)); at++)
		n++;
	return n;
}

static void test_escaped(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_page page;
	const char *text;
	size_t len;
	char digest[45];
	berth_err err;
	berth_page_open(&page, "place", "</title><b>&", &mem);
	berth_json_put_string(&page.w, "name",
	                      "</script><!--\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa & \xc3\xa9");
	assert_ok(berth_page_done(&page, &mem, &text, &len, &err), &err);
	assert_int_equal(strlen(text), len);
	assert_contains(text, "<title>&lt;/title&gt;&lt;b&gt;&amp;</title>");
	assert_contains(text, "\\u003c/script\\u003e\\u003c!--\\u2028\\u2029\\u202a \\u0026 "
	                      "\xc3\xa9\"}</script>");
	assert_int_equal(count(text, "</script>"), 2);
	assert_int_equal(count(text, "<script"), 2);
	assert_int_equal(count(text, "<b>"), 0);
	berth_sha256_base64("", 0, digest); /* a published vector */
	assert_string_equal(digest, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
	berth_arena_free(&mem);
}

/* Every operator is in a group, and no group is empty. */
static void check_groups(const char *spec, int32_t words, const char *first)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	const char **label;
	int32_t *op_group, n, got, *n_ops;
	berth_err err;
	assert_ok(berth_zoo_build(spec, &mem, &tmp, &g, &err), &err);
	assert_ok(BERTH_NEW(&mem, op_group, g.n_ops, &err), &err);
	assert_ok(page_group(&g, &mem, &tmp, op_group, &label, &n, &got, &err), &err);
	assert_true(n > 1 && n <= BERTH_PAGE_GROUPS);
	assert_int_equal(got, words);
	assert_ok(BERTH_NEW(&mem, n_ops, n, &err), &err);
	for (int32_t op = 0; op < g.n_ops; op++)
		n_ops[op_group[op]]++;
	for (int32_t i = 0; i < n; i++)
		assert_true(n_ops[i] > 0 && label[i]);
	assert_string_equal(label[0], first);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_groups(void **state)
{
	(void)state;
	check_groups("zoo:random:ops=7001", 0, "1-18");
	check_groups("zoo:resnet50", 12, "");
}

/* A plan of more operators and transfers than are shown one by one, on devices that share memories: what is
 * left out is told. */
static void test_large_plan(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_timeline t;
	berth_page page;
	berth_err err;
	const char *text;
	size_t len;
	int32_t *op_dev;
	assert_ok(berth_zoo_build("zoo:random:ops=7001", &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_builtin("edge", &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(BERTH_NEW(&mem, op_dev, g.n_ops, &err), &err);
	for (int32_t op = 0; op < g.n_ops; op++)
		for (op_dev[op] = op % s.n_devs; !berth_op_legal(&p, op, op_dev[op]);)
			op_dev[op] = (op_dev[op] + 1) % s.n_devs;
	assert_ok(berth_timeline_new(&p, op_dev, NULL, &mem, &t, &err), &err);
	assert_true(t.r.runs && t.n_hops > BERTH_PAGE_HOPS);
	berth_page_open(&page, "place", "title", &mem);
	assert_ok(berth_page_put_plan(&page.w, &p, &t, &mem, &tmp, &err), &err);
	assert_ok(berth_page_done(&page, &mem, &text, &len, &err), &err);
	assert_contains(text, "7,001 operators: the schedule and the list show the 5,000 longest one by one. "
	                      "The other 2,001 stand");
	assert_contains(text, " transfers the 5,000 longest are shown.");
	assert_contains(text, "\"memory_pools\":[{");
	assert_contains(text, "\"rest\":[[");
	assert_contains(text, "by runs in topological order");
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static double last(const cJSON *list)
{
	int n = cJSON_GetArraySize(list);
	return n ? cJSON_GetArrayItem(list, n - 1)->valuedouble : 0;
}

/* The figures of a page are those of the run: operators by start, transfers, peaks of memory, pools. */
static int check_plan(compiled_instance *c, uint64_t seed)
{
	berth_arena mem = {0}, tmp = {0};
	berth_json_out w;
	const char *text;
	size_t len;
	berth_err err;
	double before = 0, ops = 0;
	(void)seed;
	berth_json_out_init(&w, &mem, false);
	berth_json_open(&w, NULL, '{');
	assert_ok(berth_page_put_plan(&w, &c->p, &c->t, &mem, &tmp, &err), &err);
	berth_json_close(&w, '}');
	assert_ok(berth_json_done(&w, &text, &len, &err), &err);
	cJSON *doc = cJSON_Parse(text), *at = cJSON_GetObjectItem(doc, "plan"), *item;
	assert_non_null(at);
	cJSON_ArrayForEach(item, cJSON_GetObjectItem(cJSON_GetObjectItem(at, "ops"), "start_ns")) {
		assert_true(item->valuedouble >= before);
		before = item->valuedouble;
	}
	cJSON_ArrayForEach(item, cJSON_GetObjectItem(at, "devices"))
		ops += cJSON_GetObjectItem(item, "ops")->valuedouble;
	assert_true(ops == c->p.n_ops && cJSON_GetObjectItem(at, "n_ops")->valuedouble == ops);
	assert_true(cJSON_GetObjectItem(at, "n_transfers")->valuedouble == (double)c->t.n_hops);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(at, "memory_pools")), c->p.n_pools);
	int32_t d = 0;
	cJSON_ArrayForEach(item, cJSON_GetObjectItem(at, "memory")) {
		const cJSON *step, *bytes = cJSON_GetObjectItem(item, "bytes");
		double peak = 0;
		cJSON_ArrayForEach(step, bytes)
			peak = step->valuedouble > peak ? step->valuedouble : peak;
		assert_true(peak == (double)c->t.peak_bytes[d++]);
		assert_true(last(cJSON_GetObjectItem(item, "at_ns")) <= (double)c->t.r.latency_ns);
	}
	assert_int_equal(d, c->s.n_devs);
	cJSON_Delete(doc);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 1;
}

static void test_figures(void **state)
{
	(void)state;
	assert_true(compiled_instance_each(150, check_plan) > 50);
}

static void test_failing_memory(void **state)
{
	(void)state;
	compiled_instance c;
	berth_status st = BERTH_ENOMEM;
	compiled_instance_make(&c, 5);
	assert_true(c.t.r.runs);
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_page page;
		const char *text;
		size_t len;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_page_open(&page, "place", "title", &mem);
		st = berth_page_put_plan(&page.w, &c.p, &c.t, &mem, &tmp, &err);
		if (st == BERTH_OK)
			st = berth_page_done(&page, &mem, &text, &len, &err);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
	}
	compiled_instance_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_escaped), cmocka_unit_test(test_groups),
	                                   cmocka_unit_test(test_large_plan),
	                                   cmocka_unit_test(test_figures),
	                                   cmocka_unit_test(test_failing_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
