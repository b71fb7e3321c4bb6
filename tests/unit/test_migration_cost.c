/* What a move costs: routes over several hops, latencies, shared parameters once a device. */
#include "graph_format.h"
#include "run_history.h"
#include "support.h"
#include "system_json.h"

#include <string.h>

/* a - b - c in a line: what goes from a to c takes two hops */
static const char line[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"line\",\"devices\":[{\"name\":\"a\",\"peak_"
        "flops\":1e9},{\"name\":\"b\",\"peak_flops\":1e9},{\"name\":\"c\",\"peak_flops\":1e9}],"
	"\"links\":[{\"from\":\"a\",\"to\":\"b\",\"latency_s\":0.25,\"bandwidth\":1000,\"both_ways\":true},{"
        "\"from\":\"b\",\"to\":\"c\",\"latency_s\":0.5,\"bandwidth\":500,\"both_ways\":true}]}";
static const char graph[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"p\",\"param_bytes\":"
        "1000},{\"name\":\"q\"},{\"name\":\"r\",\"param_bytes\":400,\"state_bytes\":100},{\"name\":\"s\"}],"
	"\"params\":[{\"name\":\"tied\",\"bytes\":2000,\"ops\":[\"q\",\"s\"]}],"
	"\"edges\":[{\"from\":\"p\",\"to\":\"q\",\"bytes\":8},{\"from\":\"q\",\"to\":\"r\",\"bytes\":4000},{"
        "\"from\":\"r\",\"to\":\"s\",\"bytes\":16}]}";

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
} world;

static void make_world(world *w)
{
	*w = (world){0};
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &w->mem, &w->tmp, &w->g, &w->err),
	          &w->err);
	assert_ok(berth_system_parse_json("s", line, strlen(line), &w->mem, &w->tmp, &w->s, &w->err),
	          &w->err);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &w->err), &w->err);
}

static void end_world(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

static void moves_are_priced(void **state)
{
	(void)state;
	static const struct {
		int32_t from[4], to[4], n_moved;
		double seconds;
	} move[] = {
		{{0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0},
		{{0, 0, 0, 0}, {1, 0, 0, 0}, 1, 0.25 + 1},
		{{0, 0, 0, 0}, {2, 0, 0, 0}, 1, 0.25 + 1 + 0.5 + 2}, /* two hops */
		{{0, 0, 1, 0}, {0, 0, 2, 0}, 1, 0.5 + 1},            /* state too */
		{{0, 0, 0, 0}, {0, 1, 0, 1}, 2, 0.25 + 2},           /* the shared parameter once */
		{{0, 0, 0, 0}, {0, 1, 0, 0}, 1, 0.25 + 2},           /* a copy where only one user goes */
		{{0, 0, 0, 1}, {0, 1, 0, 1}, 1, 0},                  /* it is there already */
		{{0, 0, 0, 0}, {0, 1, 0, 2}, 2, 0.25 + 2 + 0.25 + 2 + 0.5 + 4},
	};
	world w;
	make_world(&w);
	for (size_t i = 0; i < sizeof move / sizeof *move; i++) {
		berth_migration r;
		assert_ok(berth_migration_cost(&w.p, move[i].from, move[i].to, &w.tmp, &r, &w.err), &w.err);
		assert_int_equal(r.n_moved, move[i].n_moved);
		assert_near(r.seconds, move[i].seconds, 1e-12);
	}
	end_world(&w);
}

static void no_memory(void **state)
{
	(void)state;
	world w;
	failing_allocator f;
	berth_migration r;
	const int32_t from[4] = {0}, to[4] = {1, 1, 1, 1};
	make_world(&w);
	failing_allocator_init(&f, 0);
	berth_arena tmp = {.hook = &f.hook};
	assert_int_equal(berth_migration_cost(&w.p, from, to, &tmp, &r, &w.err), BERTH_ENOMEM);
	berth_arena_free(&tmp);
	assert_int_equal(f.live, 0);
	end_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(moves_are_priced), cmocka_unit_test(no_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
