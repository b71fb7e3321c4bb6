/* Changes of machines whose result no golden file shows. */
#include "support.h"
#include "system_change.h"
#include "system_json.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
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

/* A device like another one gets a channel of its own where the other has one, and shares what it shares. */
static void test_channels_of_a_like_one(void **state)
{
	(void)state;
	static const char text[] =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"},"
		"{\"name\":\"c\"}],\"links\":["
		"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true,\"shared\":\"own\"},"
		"{\"from\":\"b\",\"to\":\"c\",\"bandwidth\":1,\"both_ways\":true,\"shared\":\"bus\"},"
		"{\"from\":\"a\",\"to\":\"c\",\"bandwidth\":1,\"both_ways\":true,\"shared\":\"bus\"}]}";
	berth_arena mem = {0}, tmp = {0};
	berth_system s, out;
	berth_err err;
	assert_ok(berth_system_parse_json("s", text, strlen(text), &mem, &tmp, &s, &err), &err);
	assert_ok(berth_system_change(&s, "+d=like:b", &mem, &tmp, &out, &err), &err);
	assert_int_equal(out.n_channels, 3);
	int32_t a = 0, b = 1, c = 2, d = berth_system_find_dev(&out, "d"), n = out.n_devs;
	const int32_t *channel = out.link_channel, *link = out.link_of;
	assert_int_equal(channel[link[d * n + c]], channel[link[b * n + c]]);
	assert_int_equal(channel[link[c * n + d]], channel[link[a * n + c]]);
	assert_int_not_equal(channel[link[a * n + d]], channel[link[a * n + b]]);
	assert_int_equal(channel[link[a * n + d]], channel[link[d * n + a]]);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static const char trio[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":[{\"name\":\"a\","
	"\"peak_flops\":1},{\"name\":\"a:b\"},{\"name\":\"b\"}],\"links\":["
	"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true,\"shared\":\"bus\"},"
	"{\"from\":\"a:b\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true},"
	"{\"from\":\"a\",\"to\":\"a:b\",\"bandwidth\":1,\"both_ways\":true}]}";

/* What looks like the ends of a link, and is none; and names that have a colon. */
static void test_ends(void **state)
{
	(void)state;
	static const struct { const char *change, *says; } refused[] = {
		{"-a:x", "has no device or link 'a:x'"},      {"-a->x", "has no device or link 'a->x'"},
		{"-b:b", "has no device or link 'b:b'"},      {"-b->b", "has no device or link 'b->b'"},
		{"-b:a:b:b", "has no device or link"},        {"-a-b", "has no device or link 'a-b'"},
		{"+a:a=1GB/s", "a:a"},                        {"-", "takes nothing away"},
		{"-bos", "did you mean 'bus'?"},              {"a.op_overhead_s=", "neither a number nor"},
		{"a.idle_w=3,a.busy_w=2", "after 'a.idle_w=3,a.busy_w=2': device 'a'"},
	};
	static const struct { const char *change; int n_links; } done[] = {
		{"-a->b", 5},   {"-bus", 4}, {"-a:b:b", 4}, {"-b:a:b", 4},
		{"-a:b->b", 5}, {"-b", 2},   {"-a:b", 2},   {"-b->a,-a->b", 4},
	};
	berth_arena mem = {0}, tmp = {0};
	berth_system s, out;
	berth_err err;
	assert_ok(berth_system_parse_json("s", trio, strlen(trio), &mem, &tmp, &s, &err), &err);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		assert_int_equal(berth_system_change(&s, refused[i].change, &mem, &tmp, &out, &err),
		                 BERTH_EINVAL);
		assert_contains(err.msg, refused[i].says);
	}
	for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
		assert_ok(berth_system_change(&s, done[i].change, &mem, &tmp, &out, &err), &err);
		assert_int_equal(out.n_links, done[i].n_links);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static int64_t left, live;

static void *one_fails(size_t n)
{
	void *p = left-- == 0 ? NULL : malloc(n);
	live += p != NULL;
	return p;
}

static void give_back(void *p)
{
	live -= p != NULL;
	free(p);
}

/* The parser's own allocations, one after the other: told, and nothing is lost. */
static void test_no_memory(void **state)
{
	(void)state;
	static const char changes[] = "+c=like:a,-c->b,-c,-a->b,a.peak_flops=2x";
	cJSON_Hooks failing = {one_fails, give_back};
	berth_arena mem = {0}, tmp = {0};
	berth_system s, out;
	berth_err err;
	berth_status st = BERTH_ENOMEM;
	int64_t k = 0;
	assert_ok(berth_system_parse_json("s", trio, strlen(trio), &mem, &tmp, &s, &err), &err);
	for (; st != BERTH_OK; k++) {
		left = k;
		live = 0;
		cJSON_InitHooks(&failing);
		st = berth_system_change(&s, changes, &mem, &tmp, &out, &err);
		cJSON_InitHooks(NULL);
		assert_int_equal(live, 0);
		assert_true(st == BERTH_ENOMEM || (st == BERTH_OK && left >= 0));
	}
	assert_true(k > 200);
	assert_int_equal(out.n_links, 5);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_way_is_there),
		cmocka_unit_test(test_channels_of_a_like_one),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
