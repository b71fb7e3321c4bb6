/* Reading JSON when memory runs out: every allocation of the parser fails once, and from there on for ever.
 * It is told as that, never as a fault of the text. */
#include "graph_format.h"
#include "json.h"
#include "load.h"
#include "placement.h"
#include "support.h"
#include "system_change.h"
#include "system_json.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int left, for_ever; /* allocations until one fails; -1: none does */

static void *failing_malloc(size_t size)
{
	if (left == 0) {
		left = for_ever ? 0 : -1;
		return NULL;
	}
	left -= left > 0;
	return malloc(size);
}

static const char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
			    "{\"name\":\"a\",\"flops\":1},{\"name\":\"b\",\"time_s\":{\"*\":1}}],"
			    "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":4}]}";
static const char duo[] = "{\"format\":\"berth-system\",\"version\":1,"
			  "\"devices\":[{\"name\":\"x\"},{\"name\":\"y\"}],"
			  "\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":10,\"both_ways\":true}]}";

typedef berth_status reader(berth_arena *mem, berth_arena *tmp, berth_err *err);

static berth_status read_graph(berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_graph g;
	return berth_graph_parse_json("g", graph, strlen(graph), mem, tmp, &g, err);
}

static berth_status read_system(berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_system s;
	return berth_system_parse_json("s", duo, strlen(duo), mem, tmp, &s, err);
}

/* Devices, links and channels that come and go. */
static berth_status change_system(berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	static const char pooled[] =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\"},{\"name\":\"y\"}],"
		"\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":10,\"both_ways\":true,"
		"\"shared\":\"c\"}],"
		"\"memory_pools\":[{\"name\":\"p\",\"devices\":[\"x\"],\"bandwidth\":1}]}";
	berth_system s, out;
	BERTH_TRY(berth_system_parse_json("s", pooled, strlen(pooled), mem, tmp, &s, err));
	return berth_system_change(&s, "+z=like:x,-x->y,+x->y=1GB/s@5us,-y->x,+y->x=like:x->y,-z", mem, tmp,
	                           &out, err);
}

/* The number of allocations that were there to fail. */
static int fail_each(reader *read)
{
	int n = 0;
	for (berth_status st = BERTH_ENOMEM; st != BERTH_OK || left == 0; n++) {
		berth_arena mem = {0}, tmp = {0};
		berth_err err;
		left = n;
		st = read(&mem, &tmp, &err);
		if (st != BERTH_OK && st != BERTH_ENOMEM)
			fail_msg("allocation %d: status %d, %s", n, (int)st, err.msg);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		if (left > 0)
			break;
	}
	left = -1;
	return n;
}

static void test_readers(void **state)
{
	static reader *const readers[] = {read_graph, read_system, change_system};
	cJSON_Hooks failing = {failing_malloc, free};
	(void)state;
	left = -1;
	cJSON_InitHooks(&failing);
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		for (for_ever = 0; for_ever < 2; for_ever++)
			assert_true(fail_each(readers[i]) > 20);
	cJSON_InitHooks(NULL);
}

static void check(const char *text, bool is)
{
	cJSON *doc = NULL;
	assert_int_equal(!berth_json_fault(text, strlen(text)), is);
	assert_int_equal(berth_json_parse("f", text, strlen(text), &doc, NULL),
	                 is ? BERTH_OK : BERTH_EFORMAT);
	cJSON_Delete(doc);
}

static void test_check(void **state)
{
	static const char *const yes[] = {
		"{}", " [ ] ", "0", "-0.5e+3", "null",
		"\"\\ud83d\\ude00\\u0041\\\"\"", "{\"a\":[1,{\"b\":true}],\"c\":\"\"}"};
	static const char *const no[] = {
		"", " ", "{", "}", "[1,]", "[,1]", "{\"a\"}", "{a:1}", "[1 2]", "01", "1.", ".5", "-",
		"1e", "+1", "\"", "\"\\x\"", "\"\\u12g4\"", "tru", "{}{}", "[1}", "{\"a\":1]",
		"\"\\ud800\"", "\"\\udc00\"", "{\"a\":}", "{,}", "nulll", "\"a\nb\"", "\"\\ud800\\u0041\"",
		"\"\\"};
	char digits[65];
	cJSON *doc;
	berth_err err;
	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		check(yes[i], true);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		check(no[i], false);
	memset(digits, '1', 64);
	digits[64] = '\0';
	check(digits, false);
	check(digits + 1, true);
	assert_ok(berth_json_parse("f", "\xef\xbb\xbf{}", 5, &doc, &err), &err);
	cJSON_Delete(doc);
	assert_int_equal(berth_json_parse("f", "{\n\"a\":007}", 10, &doc, &err), BERTH_EFORMAT);
	assert_string_equal(err.msg, "f:2:6: JSON syntax error near '07}'");
}

static void test_depth(void **state)
{
	char text[2100];
	(void)state;
	for (int depth = 999; depth <= 1001; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		assert_int_equal(!berth_json_fault(text, 2 * (size_t)depth), depth <= 1000);
	}
}

/* ---- long documents ---- */

static size_t in_use, most; /* bytes of cJSON */

static void *counting_malloc(size_t size)
{
	size_t *p = malloc(size + sizeof(max_align_t));
	if (!p)
		return NULL;
	*p = size;
	in_use += size;
	most = most > in_use ? most : in_use;
	return (char *)p + sizeof(max_align_t);
}

static void counting_free(void *p)
{
	if (!p)
		return;
	size_t *block = (size_t *)(void *)((char *)p - sizeof(max_align_t));
	in_use -= *block;
	free(block);
}

/* head, n times item with commas between, tail. */
static char *repeat(const char *head, const char *item, int n, const char *tail)
{
	size_t one = strlen(item);
	char *text = malloc(strlen(head) + (size_t)n * (one + 1) + strlen(tail) + 1), *p = text;
	assert_non_null(text);
	p += sprintf(p, "%s", head);
	for (int i = 0; i < n; i++)
		p += sprintf(p, "%s%s", i ? "," : "", item);
	sprintf(p, "%s", tail);
	return text;
}

static berth_status sum_index(void *sum, const berth_json *item, berth_err *err)
{
	(void)err;
	*(int64_t *)sum += item->key ? (int64_t)strlen(item->key) : item->index;
	return BERTH_OK;
}

/* What stands in key of the document, visited; little of it is in memory at once. */
static void check_long(const char *head, const char *item, const char *tail, const char *key, int64_t sum)
{
	enum { N = 100000 };
	char *text = repeat(head, item, N, tail);
	cJSON *doc;
	berth_err err;
	int64_t found = 0;
	most = 0;
	assert_ok(berth_json_parse_large("f", text, strlen(text), &doc, &err), &err);
	berth_json at = {doc, "f", NULL, NULL, 0}, list = *key ? berth_json_get(&at, key) : at;
	assert_true(berth_json_is_text(list.item));
	assert_int_equal(berth_json_count(&list), N);
	assert_ok(berth_json_each(&list, sum_index, &found, &err), &err);
	assert_true(found == sum * N || found == (int64_t)N * (N - 1) / 2);
	cJSON_Delete(doc);
	assert_true(most < 1 << 18); /* a thousand members were tried as a tree */
	assert_int_equal(in_use, 0);
	free(text);
}

static void test_long(void **state)
{
	cJSON_Hooks counting = {counting_malloc, counting_free};
	(void)state;
	cJSON_InitHooks(&counting);
	check_long("{\"a\":1,\"b\":[", "{\"c\":[1,\"]\"]}", "],\"d\":[] }", "b", 0);
	check_long(" [ ", "1", " ] ", "", 0);
	check_long("{\"b\": {", "\"k\\u0041\\\"\" : [ 1 , {} ] ", "}}", "b", 3);
	check_long("{", "\"key\":null", "}", "", 3);
	cJSON_InitHooks(NULL);
}

/* What a reader in a sandbox tells beside the graph takes little memory here, however long it is. */
static void test_long_report(void **state)
{
	enum { N = 100000 };
	cJSON_Hooks counting = {counting_malloc, counting_free};
	static const char head[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[],\"edges\":[]}\n"
		"{\"nodes\":1,\"folded\":0,\"outputs\":0,\"unknown\":0,\"weight_inputs\":0,"
		"\"param_elements\":0,\"dims\":[\"n\"],\"dim_values\":[7],\"guessed\":[],\"fitted\":[],"
		"\"loops\":[],\"external\":[],"
	        "\"warnings\":[";
	char *text = repeat(head, "\"w\"", N, "]}");
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_read_report r;
	berth_err err;
	(void)state;
	most = 0;
	cJSON_InitHooks(&counting);
	assert_ok(berth_graph_from_text("g", text, strlen(text), &mem, &tmp, &g, &r, &err), &err);
	cJSON_InitHooks(NULL);
	assert_int_equal(r.n_warnings, N);
	assert_string_equal(r.warning[N - 1], "w");
	assert_string_equal(r.dim_name[0], "n");
	assert_int_equal(r.dim_value[0], 7);
	assert_true(most < 1 << 18);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	free(text);
}

/* Of a long document the fault is told where it is, and what is too large for a look inside. */
static void test_long_faults(void **state)
{
	cJSON *doc;
	berth_err err;
	double x;
	char *text = repeat("{\n\"b\":[", "1", 100000, "],}");
	(void)state;
	assert_int_equal(berth_json_parse_large("f", text, strlen(text), &doc, &err), BERTH_EFORMAT);
	assert_string_equal(err.msg, "f:2:200007: JSON syntax error near '}'");
	free(text);
	text = repeat("{", "\"key\":0", 100000, "}");
	assert_ok(berth_json_parse_large("f", text, strlen(text), &doc, &err), &err);
	berth_json at = {doc, "f", NULL, NULL, 0};
	assert_int_equal(berth_json_number(&at, "key", true, 0, &x, &err), BERTH_EFORMAT);
	assert_non_null(strstr(err.msg, "more than 1000 members"));
	assert_int_equal(berth_json_keys(&at, (const char *const[]){"key", NULL}, &err), BERTH_EFORMAT);
	assert_non_null(strstr(err.msg, "stands twice"));
	cJSON_Delete(doc);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_readers), cmocka_unit_test(test_check),
	                                   cmocka_unit_test(test_depth), cmocka_unit_test(test_long),
	                                   cmocka_unit_test(test_long_report),
	                                   cmocka_unit_test(test_long_faults)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
