/* Whole blocks that move until devices and pools hold them. */
#include "fail_each.h"
#include "graph_format.h"
#include "nearest.h"
#include "problem.h"
#include "support.h"
#include "system_json.h"

#include <stdio.h>
#include <string.h>

static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["
	"{\"name\":\"a\",\"param_bytes\":100,\"time_s\":{\"*\":1}},"
	"{\"name\":\"b\",\"param_bytes\":300,\"time_s\":{\"*\":1}},"
	"{\"name\":\"c\",\"param_bytes\":100,\"time_s\":{\"*\":1}},"
	"{\"name\":\"d\",\"param_bytes\":100,\"time_s\":{\"*\":1}},"
	"{\"name\":\"e\",\"time_s\":{\"*\":1}}],\"edges\":[]}";

/* x and y hold so much, and share a pool of so much; z holds anything. */
static const char system_format[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":["
	"{\"name\":\"x\",\"memory_bytes\":%d},{\"name\":\"y\",\"memory_bytes\":%d},{\"name\":\"z\"}],"
	"\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,\"both_ways\":true},"
	"{\"from\":\"y\",\"to\":\"z\",\"bandwidth\":1e9,\"both_ways\":true}],"
	"\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1e9,\"bytes\":%d,\"devices\":[\"x\",\"y\"]}]}";

enum { X, Y, Z, N_OPS = 5 };

/* Blocks a b, c, d e. */
static int32_t op_block[N_OPS] = {0, 0, 1, 2, 2};
static const berth_granularity blocks = {.n_blocks = 3, .op_block = op_block};

typedef struct fitting {
	int32_t x_bytes, y_bytes, pool_bytes, plan[N_OPS], out[N_OPS];
	bool fits;
} fitting;

static berth_status fit(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	fitting *f = ctx;
	char text[1024];
	berth_graph g;
	berth_system s;
	berth_problem p;
	snprintf(text, sizeof text, system_format, f->x_bytes, f->y_bytes, f->pool_bytes);
	BERTH_TRY(berth_graph_parse_json("g", graph_text, sizeof graph_text - 1, mem, tmp, &g, err));
	BERTH_TRY(berth_system_parse_json("s", text, strlen(text), mem, tmp, &s, err));
	BERTH_TRY(berth_problem_new(&g, &s, mem, tmp, &p, err));
	for (int op = 0; op < N_OPS; op++)
		f->out[op] = X;
	return berth_nearest_fit(&p, f->plan, &blocks, tmp, f->out, &f->fits, err);
}

static void expect(fitting f, bool fits, const char *devices)
{
	berth_arena mem = {0}, tmp = {0};
	berth_err err = {0};
	char got[N_OPS + 1] = "";
	assert_ok(fit(&f, &mem, &tmp, &err), &err);
	for (int op = 0; op < N_OPS; op++)
		got[op] = "xyz"[f.out[op]];
	assert_string_equal(got, devices);
	assert_int_equal(f.fits, fits);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_moves(void **state)
{
	(void)state;
	/* all fits */
	expect((fitting){.x_bytes = 600, .y_bytes = 600, .pool_bytes = 600}, true, "xxxxx");
	/* what makes room with the fewest operators: c, to the first that has room */
	expect((fitting){.x_bytes = 500, .y_bytes = 100, .pool_bytes = 600}, true, "xxyxx");
	/* half of d and e stood on z: back there nothing parts from the plan */
	expect((fitting){.x_bytes = 500, .y_bytes = 100, .pool_bytes = 600, .plan = {X, X, X, X, Z}}, true,
	       "xxxzz");
	/* then the pool is full, too: to a device outside of it */
	expect((fitting){.x_bytes = 500, .y_bytes = 300, .pool_bytes = 500}, true, "zzyxx");
	/* one after the other: first what makes the most room for its operators */
	expect((fitting){.x_bytes = 100, .y_bytes = 600, .pool_bytes = 600}, true, "yyyxx");
}

static void test_allocations(void **state)
{
	(void)state;
	fitting f = {.x_bytes = 500, .y_bytes = 100, .pool_bytes = 600};
	assert_fails_each(fit, &f, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_allocations)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
