/* Results: what is filled by a table comes out as JSON, found by its keys, and missing memory is told. */
#include "fail_each.h"
#include "result.h"
#include "support.h"

#include <string.h>

#define INNER(K, IF) \
	K(TEXT, "name", "", "", name) \
	K(NS, "time_s", "s", "", (int64_t)1500000000) \
	IF(more, INT, "more", "", "only where there is more", 7)
static RESULT_FLAT_KIND(inner_kind, "Inner", "", INNER);

#define OUTER(K, IF) \
	K(NUMBER_OR_NULL, "value", "s", "", (double)NAN) \
	K(INT_OR_NULL, "limit", "bytes", "", -1) \
	K(BOOL, "feasible", "", "", true) \
	K(TEXTS, "names", "", "", names, 2) \
	K(NUMBERS, "numbers", "", "", numbers, 2) \
	K(OBJECT(inner_kind), "first", "", "", first) \
	K(LIST(inner_kind), "all", "", "", list) \
	K(MAP("integer"), "types", "", "", map) \
	K(ALL_OF(inner_kind), "", "", "its keys", first)
static RESULT_KIND(outer_kind, "Outer", "", OUTER);

static const berth_result *make(berth_arena *mem)
{
	static const char *const names[] = {"a", "b"};
	static const double numbers[] = {1, 2.5};
	const char *name = "one";
	bool more = false;
	const berth_result *first = RESULT_NEW(mem, inner_kind, INNER);
	berth_result_list *list = berth_result_list_new(mem, &inner_kind);
	for (int i = 0; i < 2; i++) {
		more = i == 1;
		RESULT_ADD(list, INNER);
	}
	berth_result_map *map = berth_result_map_new(mem);
	berth_result_map_add(map, "Conv", berth_result_int(3));
	return RESULT_NEW(mem, outer_kind, OUTER);
}

static void test_json(void **state)
{
	berth_arena mem = {0};
	berth_json_out w;
	const char *text;
	size_t n;
	(void)state;
	berth_json_out_init(&w, &mem, false);
	berth_json_open(&w, NULL, '{');
	berth_result_put_members(&w, make(&mem));
	berth_json_close(&w, '}');
	assert_int_equal(berth_json_done(&w, &text, &n, NULL), BERTH_OK);
	assert_string_equal(text, "{\"value\":null,\"limit\":null,\"feasible\":true,\"names\":[\"a\",\"b\"],"
	                          "\"numbers\":[1,2.5],\"first\":{\"name\":\"one\",\"time_s\":1.5},"
	                          "\"all\":[{\"name\":\"one\",\"time_s\":1.5},"
	                          "{\"name\":\"one\",\"time_s\":1.5,\"more\":7}],\"types\":{\"Conv\":3},"
	                          "\"name\":\"one\",\"time_s\":1.5}");
	berth_arena_free(&mem);
}

static void test_found(void **state)
{
	berth_arena mem = {0};
	const berth_result *r = make(&mem);
	const berth_result_key *key = NULL;
	(void)state;
	assert_string_equal(berth_result_get(r, "first.name", NULL).is.text, "one");
	assert_int_equal(berth_result_get(r, "time_s", &key).is.integer, 1500000000);
	assert_string_equal(key->unit, "s");
	assert_int_equal(berth_result_get(r, "first.more", NULL).type, BERTH_RESULT_NONE);
	assert_int_equal(berth_result_get(r, "first.name.x", NULL).type, BERTH_RESULT_NONE);
	assert_int_equal(berth_result_get(r, "nam", NULL).type, BERTH_RESULT_NONE);
	berth_arena_free(&mem);
}

/* Each allocation fails in turn: what is told as text is asked for it, and the document says it. */
static berth_status fill_and_write(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t n;
	const berth_result *r = make(mem);
	bool failed = berth_result_failed(r);
	(void)ctx;
	berth_json_out_init(&w, tmp, false);
	berth_json_open(&w, NULL, '{');
	berth_result_put_members(&w, r);
	berth_json_close(&w, '}');
	berth_status st = berth_json_done(&w, &text, &n, err);
	assert_true(!failed || st == BERTH_ENOMEM);
	return failed ? berth_nomem(err) : st;
}

static void test_memory(void **state)
{
	(void)state;
	assert_fails_each(fill_and_write, NULL, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_json), cmocka_unit_test(test_found),
	                                   cmocka_unit_test(test_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
