/* Separation and contiguity mended: where an operator goes that cannot stay, and on random instances that
 * what is called kept is kept, on devices that may run it. */
#include "constraints.h"
#include "problem.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TEXT = 1 << 14, MOST_OPS = 9, MOST_DEVS = 4 };

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	uint64_t *scratch;
} world;

static void compile(world *w, const char *graph, const char *system)
{
	berth_err err;
	memset(w, 0, sizeof *w);
	read_both(graph, system, &w->mem, &w->tmp, &w->g, &w->s);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	assert_ok(BERTH_NEW(&w->mem, w->scratch, berth_constraints_scratch(&w->p), &err), &err);
}

static void discard(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

static void add(char *text, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;
	va_start(args, format);
	assert_true(vsnprintf(text + used, MOST_TEXT - used, format, args) < (int)(MOST_TEXT - used));
	va_end(args);
}

/* Devices d0, d1, ... all contiguous, or those that the bits say, and a link between any two. */
static void write_system(char *text, int n_devs, unsigned contiguous)
{
	*text = 0;
	add(text, "{\"format\":\"berth-system\",\"version\":1,\"devices\":[");
	for (int d = 0; d < n_devs; d++)
		add(text, "%s{\"name\":\"d%d\",\"contiguous\":%s}", d ? "," : "", d,
		    d >= 32 || contiguous >> d & 1 ? "true" : "false");
	add(text, "],\"links\":[");
	for (int d = 1; d < n_devs; d++)
		add(text, "%s{\"from\":\"d0\",\"to\":\"d%d\",\"bandwidth\":1e9,\"both_ways\":true}",
		    d > 1 ? "," : "", d);
	add(text, "]}");
}

/* a -> b -> c on four contiguous devices. */
static void open_chain(world *w, const char *keys_of_c)
{
	char graph[MOST_TEXT] = "", system[MOST_TEXT];
	add(graph, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"time_s\":{\"*\":1}},"
	           "{\"name\":\"b\",\"time_s\":{\"*\":1}},{\"name\":\"c\",\"time_s\":{%s}],"
	           "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1},"
	           "{\"from\":\"b\",\"to\":\"c\",\"bytes\":1}]}",
	    keys_of_c);
	write_system(system, 4, 15);
	compile(w, graph, system);
}

static void check_chain(const char *keys_of_c, const int32_t *wanted, const int32_t *expected)
{
	world w;
	berth_err err;
	bool kept;
	int32_t op_dev[3];
	open_chain(&w, keys_of_c);
	memcpy(op_dev, wanted, sizeof op_dev);
	assert_ok(berth_constraints_mend(&w.p, op_dev, &kept, &w.tmp, &err), &err);
	assert_true(kept);
	assert_memory_equal(op_dev, expected, sizeof op_dev);
	discard(&w);
}

static void goes_where_it_may(void **state)
{
	(void)state;
	const int32_t leaves[3] = {1, 2, 1}, with_producer[3] = {1, 2, 2}, fastest[3] = {1, 2, 3},
	              kept[3] = {3, 3, 0};
	check_chain("\"*\":1}", kept, kept);
	check_chain("\"*\":1}", leaves, with_producer);
	check_chain("\"d0\":3,\"d1\":1,\"d2\":1,\"d3\":2},\"forbid\":[\"d2\"]", leaves, fastest);
}

/* Of two separated operators that want one device, the one that has fewer to choose from gets it. */
static void fewest_devices_first(void **state)
{
	(void)state;
	world w;
	berth_err err;
	bool kept;
	int32_t op_dev[2] = {0, 0};
	char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
		       "{\"name\":\"a\",\"time_s\":{\"*\":1},\"separate\":\"s\"},{\"name\":\"b\","
		       "\"time_s\":{\"*\":1},"
		       "\"separate\":\"s\",\"forbid\":[\"d2\",\"d3\"]}],\"edges\":[]}";
	char system[MOST_TEXT];
	write_system(system, 4, 0);
	compile(&w, graph, system);
	assert_ok(berth_constraints_mend(&w.p, op_dev, &kept, &w.tmp, &err), &err);
	assert_true(kept && op_dev[0] == 1 && op_dev[1] == 0);
	discard(&w);
}

static void stays_where_it_cannot(void **state)
{
	(void)state;
	world w;
	berth_err err;
	bool kept, infeasible;
	const int32_t wanted[3] = {1, 2, 1};
	int32_t op_dev[3];
	char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"pin\":\"d1\"},"
		       "{\"name\":\"b\",\"pin\":\"d2\"},{\"name\":\"c\",\"pin\":\"d1\"}],"
		       "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1},"
		       "{\"from\":\"b\",\"to\":\"c\",\"bytes\":1}]}";
	char system[MOST_TEXT];
	write_system(system, 3, 7);
	compile(&w, graph, system);
	memcpy(op_dev, wanted, sizeof op_dev);
	assert_ok(berth_constraints_mend(&w.p, op_dev, &kept, &w.tmp, &err), &err);
	assert_false(kept);
	assert_memory_equal(op_dev, wanted, sizeof op_dev);
	assert_ok(berth_constraints_prove(&w.p, &w.tmp, &infeasible, &err), &err);
	assert_true(infeasible);
	discard(&w);
}

/* From the wanted devices neither pass keeps the rules, and with all on d0 both do. The one in topological
 * order comes first: only the last operator leaves, and not the backward one before it too. */
static void all_on_one_in_order(void **state)
{
	(void)state;
	world w;
	berth_err err;
	bool kept;
	const int32_t expected[5] = {0, 0, 0, 0, 1};
	int32_t op_dev[5] = {1, 0, 1, 0, 0};
	char graph[MOST_TEXT] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[";
	for (int op = 0; op < 5; op++)
		add(graph, "%s{\"name\":\"o%d\",\"time_s\":{\"*\":1}%s}", op ? "," : "", op,
		    op == 1 ? ",\"separate\":\"s\"" : op == 3 ? ",\"backward\":true" : "");
	add(graph, "],\"edges\":[");
	for (int op = 1; op < 5; op++)
		add(graph, "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":1}", op > 1 ? "," : "", op - 1, op);
	add(graph, "]}");
	char system[MOST_TEXT];
	write_system(system, 2, 3);
	compile(&w, graph, system);
	assert_ok(berth_constraints_mend(&w.p, op_dev, &kept, &w.tmp, &err), &err);
	assert_true(kept);
	assert_memory_equal(op_dev, expected, sizeof op_dev);
	discard(&w);
}

/* Sixteen operators that must stand apart and fifteen devices: the search gives up long before it has tried
 * all ways, and what was not proven is not said. */
static void gives_up(void **state)
{
	(void)state;
	enum { OPS = 16 };
	world w;
	berth_err err;
	bool kept, infeasible;
	int32_t op_dev[OPS], wanted[OPS];
	char graph[MOST_TEXT] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[", system[MOST_TEXT];
	for (int op = 0; op < OPS; op++)
		add(graph, "%s{\"name\":\"o%d\",\"time_s\":{\"*\":1},\"separate\":\"s\"}", op ? "," : "", op);
	add(graph, "],\"edges\":[]}");
	write_system(system, OPS - 1, 0);
	compile(&w, graph, system);
	for (int32_t op = 0; op < OPS; op++)
		wanted[op] = op_dev[op] = op % 3;
	assert_ok(berth_constraints_mend(&w.p, op_dev, &kept, &w.tmp, &err), &err);
	assert_false(kept);
	assert_memory_equal(op_dev, wanted, sizeof op_dev);
	assert_ok(berth_constraints_prove(&w.p, &w.tmp, &infeasible, &err), &err);
	assert_false(infeasible);
	discard(&w);
}

/* With more contiguous devices than one word has bits, each counts. */
static void many_pieces(void **state)
{
	(void)state;
	world w;
	char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"},"
		       "{\"name\":\"c\"}],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1},"
		       "{\"from\":\"b\",\"to\":\"c\",\"bytes\":1}]}";
	char system[MOST_TEXT];
	write_system(system, 70, ~0u);
	compile(&w, graph, system);
	assert_int_equal(contiguity_words(&w.p), 3);
	for (int32_t d = 0; d < 70; d++)
		for (int32_t other = 0; other < 70; other += 23) {
			const int32_t back[3] = {d, other, d}, on[3] = {d, other, other};
			assert_int_equal(berth_groups_broken(&w.p, back, w.scratch), d != other);
			assert_int_equal(berth_groups_broken(&w.p, on, w.scratch), 0);
		}
	discard(&w);
}

/* ---- random instances ---- */

static int below(berth_rng *rng, int n)
{
	return (int)berth_rng_below(rng, (uint32_t)n);
}

static void draw(berth_rng *rng, world *w)
{
	char graph[MOST_TEXT] = "", system[MOST_TEXT];
	int n_ops = 2 + below(rng, MOST_OPS - 1), n_devs = 2 + below(rng, MOST_DEVS - 1), n_edges = 0;
	add(graph, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[");
	for (int op = 0; op < n_ops; op++) {
		add(graph, "%s{\"name\":\"o%d\"", op ? "," : "", op);
		for (int d = 0; d < n_devs; d++)
			add(graph, "%s\"d%d\":%d", d ? "," : ",\"time_s\":{", d, 1 + below(rng, 9));
		add(graph, "},\"forbid\":[");
		int allowed = below(rng, n_devs), n = 0;
		for (int d = 0; d < n_devs; d++)
			if (d != allowed && below(rng, 3) == 0)
				add(graph, "%s\"d%d\"", n++ ? "," : "", d);
		add(graph, "]");
		if (below(rng, 4) == 0)
			add(graph, ",\"separate\":\"s%d\"", below(rng, 2));
		if (below(rng, 3) == 0)
			add(graph, ",\"backward\":true");
		add(graph, "}");
	}
	add(graph, "],\"edges\":[");
	for (int a = 0; a < n_ops; a++)
		for (int b = a + 1; b < n_ops; b++)
			if (b == a + 1 || below(rng, 4) == 0)
				add(graph, "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":1}",
				    n_edges++ ? "," : "", a, b);
	add(graph, "]}");
	write_system(system, n_devs, 1 + (unsigned)below(rng, 15));
	compile(w, graph, system);
}

static bool all_legal(const berth_problem *p, const int32_t *op_dev)
{
	bool legal = true;
	for (int32_t op = 0; op < p->n_ops; op++)
		legal &= berth_op_legal(p, op, op_dev[op]);
	return legal;
}

/* By counting all placements: does one keep the rules? */
static bool can_be_kept(const world *w)
{
	int32_t op_dev[MOST_OPS + 1] = {0};
	const berth_problem *p = &w->p;
	while (!all_legal(p, op_dev) || berth_groups_broken(p, op_dev, w->scratch)) {
		int32_t op = 0;
		while (op < p->n_ops && ++op_dev[op] == p->n_devs)
			op_dev[op++] = 0;
		if (op == p->n_ops)
			return false;
	}
	return true;
}

static void kept_on_random_instances(void **state)
{
	(void)state;
	int n_kept = 0, n_not = 0;
	uint64_t all = 0;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		world w;
		berth_err err;
		bool kept, infeasible;
		int32_t op_dev[MOST_OPS + 1], wanted[MOST_OPS + 1];
		berth_rng rng = berth_rng_seed(seed, 5);
		draw(&rng, &w);
		for (int32_t op = 0; op < w.p.n_ops; op++)
			do
				wanted[op] = op_dev[op] = below(&rng, w.p.n_devs);
			while (!berth_op_legal(&w.p, op, wanted[op]));
		bool was = berth_groups_broken(&w.p, wanted, w.scratch) == 0, can = was || can_be_kept(&w);
		berth_arena_mark before = berth_arena_get_mark(&w.tmp);
		assert_ok(berth_constraints_mend(&w.p, op_dev, &kept, &w.tmp, &err), &err);
		assert_true(berth_arena_get_mark(&w.tmp).used == before.used);
		assert_int_equal(kept, can); /* small enough for the exact search */
		assert_true(all_legal(&w.p, op_dev));
		assert_int_equal(berth_groups_broken(&w.p, op_dev, w.scratch) == 0, kept);
		if (was || !kept)
			assert_memory_equal(op_dev, wanted, (size_t)w.p.n_ops * sizeof *op_dev);
		assert_ok(berth_constraints_prove(&w.p, &w.tmp, &infeasible, &err), &err);
		assert_int_equal(infeasible, !can);
		for (int32_t op = 0; op < w.p.n_ops; op++)
			all = all * 31 + (uint64_t)op_dev[op];
		n_kept += kept && !was;
		n_not += !kept;
		discard(&w);
	}
	assert_true(n_kept > 100 && n_not > 30);
	assert_true(all == UINT64_C(0x597d01430fba89d6)); /* the same devices for ever */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(goes_where_it_may),
	                                   cmocka_unit_test(fewest_devices_first),
	                                   cmocka_unit_test(stays_where_it_cannot),
	                                   cmocka_unit_test(all_on_one_in_order),
	                                   cmocka_unit_test(gives_up),
	                                   cmocka_unit_test(many_pieces),
	                                   cmocka_unit_test(kept_on_random_instances)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
