/* Reading JSON when memory runs out: every allocation of the parser fails once, and from there on for ever.
 * It is told as that, never as a fault of the text. */
#include "graph_json.h"
#include "json_check.h"
#include "placement.h"
#include "support.h"
#include "system_json.h"

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

/* The number of allocations that were there to fail. */
static int fail_each(reader *read)
{
	int n = 0;
	for (berth_status st = BERTH_ENOMEM; st != BERTH_OK || left == 0; n++) {
		berth_arena mem = {0}, tmp = {0};
		berth_err err;
		left = n;
		st = read(&mem, &tmp, &err);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
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
	static reader *const readers[] = {read_graph, read_system};
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
	assert_int_equal(berth_json_is(text, strlen(text)), is);
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
	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		check(yes[i], true);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		check(no[i], false);
	memset(digits, '1', 64);
	digits[64] = '\0';
	check(digits, false);
	check(digits + 1, true);
}

static void test_depth(void **state)
{
	char text[2100];
	(void)state;
	for (int depth = 999; depth <= 1001; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		assert_int_equal(berth_json_is(text, 2 * (size_t)depth), depth <= 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_readers), cmocka_unit_test(test_check),
	                                   cmocka_unit_test(test_depth)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
