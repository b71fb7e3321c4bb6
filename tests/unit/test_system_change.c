/* Changes of machines whose result no golden file shows. */
#include "support.h"
#include "system_change.h"
#include "system_json.h"

#include <string.h>

/* A link of both ways is refused where one of the ways is there, whichever. */
static void test_one_way_is_there(void **state)
{
	(void)state;
	static const char text[] =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"},"
		"{\"name\":\"c\"}],\"links\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1},"
		"{\"from\":\"b\",\"to\":\"c\",\"bandwidth\":1},{\"from\":\"c\",\"to\":\"a\","
		"\"bandwidth\":1}]}";
	static const char *const refused[] = {"+a:b=1GB/s", "+b:a=1GB/s", "+a->b=1GB/s"};
	berth_arena mem = {0}, tmp = {0};
	berth_system s, out;
	berth_err err;
	assert_ok(berth_system_parse_json("s", text, strlen(text), &mem, &tmp, &s, &err), &err);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		assert_int_equal(berth_system_change(&s, refused[i], &mem, &tmp, &out, &err), BERTH_EINVAL);
		assert_contains(err.msg, "there is such a link already");
	}
	assert_ok(berth_system_change(&s, "+b->a=1GB/s", &mem, &tmp, &out, &err), &err);
	assert_int_equal(out.n_links, 4);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_way_is_there)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
