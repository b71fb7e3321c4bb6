/* The judge of groupers: values of whole groups, groupings that no device can run, memory. */
#include "group_loss.h"
#include "small_problem.h"
#include "support.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GRAPH                                                                                                \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"pair\",\"ops\":[{\"name\":\"a\",\"time_s\":{"  \
	"\"d0\":1,\"d1\":3}%s},"                                                                             \
	"{\"name\":\"b\",\"time_s\":{\"d0\":5,\"d1\":2}%s}],\"edges\":[{\"from\":\"a\",\"to\":\"b\","        \
	"\"bytes\":1000000000}]}"
#define SYSTEM                                                                                               \
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":[{\"name\":\"d0\"},{"       \
	"\"name\":\"d1\"}],"                                                                                 \
	"\"links\":[{\"from\":\"d0\",\"to\":\"d1\",\"bandwidth\":1e9,\"both_ways\":true}]}"

typedef struct fixture {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_coarsening apart, together; /* a and b in two groups; in one */
} fixture;

static void group_into(fixture *f, int32_t target, berth_coarsening *c)
{
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target);
	berth_err err;
	assert_ok(berth_coarsen(&f->g, &cfg, &f->mem, &f->tmp, c, &err), &err);
	assert_int_equal(c->n_groups, target);
}

/* more_a, more_b: further keys of the two operators. */
static void make(fixture *f, const char *more_a, const char *more_b)
{
	char text[1024];
	berth_err err;
	memset(f, 0, sizeof *f);
	snprintf(text, sizeof text, GRAPH, more_a, more_b);
	read_both(text, SYSTEM, &f->mem, &f->tmp, &f->g, &f->s);
	assert_ok(berth_problem_new(&f->g, &f->s, &f->mem, &f->tmp, &f->p, &err), &err);
	group_into(f, 2, &f->apart);
	group_into(f, 1, &f->together);
}

static void discard(fixture *f)
{
	berth_arena_free(&f->mem);
	berth_arena_free(&f->tmp);
}

/* The loss with an allocator whose call fail_at fails; nothing may stay allocated. */
static berth_status judge(const fixture *f, const berth_coarsening *c, long fail_at, double *loss)
{
	failing_allocator allocator;
	berth_arena tmp;
	berth_err err;
	failing_allocator_init(&allocator, fail_at);
	allocator.hook.each = false; /* the search takes thousands of blocks */
	berth_arena_init(&tmp, &allocator.hook);
	berth_group_judge j = {&f->p, 100, &tmp};
	berth_status st = berth_group_loss(&j, c, loss, &err);
	assert_true(allocator.calls > 0);
	berth_arena_free(&tmp);
	assert_int_equal(allocator.live, 0);
	return st;
}

/* Apart: 1 s, 1 s of transfer, 2 s. Together: 3 + 2 s on d1. */
static void test_values(void **state)
{
	(void)state;
	fixture f;
	double loss = 0;
	make(&f, "", "");
	assert_int_equal(judge(&f, &f.apart, LONG_MAX, &loss), BERTH_OK);
	assert_near(loss, 4.0, 1e-9);
	assert_int_equal(judge(&f, &f.together, LONG_MAX, &loss), BERTH_OK);
	assert_near(loss, 5.0, 1e-9);
	discard(&f);
}

static void test_no_common_device(void **state)
{
	(void)state;
	fixture f;
	double loss = 0;
	make(&f, ",\"forbid\":[\"d1\"]", ",\"forbid\":[\"d0\"]");
	assert_int_equal(judge(&f, &f.together, LONG_MAX, &loss), BERTH_OK);
	assert_true(isinf(loss) && loss > 0);
	assert_int_equal(judge(&f, &f.apart, LONG_MAX, &loss), BERTH_OK);
	assert_near(loss, 4.0, 1e-9);
	discard(&f);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	fixture f;
	double loss = 0;
	make(&f, "", "");
	long k = 0;
	for (berth_status st; (st = judge(&f, &f.apart, k, &loss)) != BERTH_OK; k++)
		assert_int_equal(st, BERTH_ENOMEM);
	assert_true(k > 1);
	discard(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_no_common_device),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
