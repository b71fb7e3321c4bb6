/* One contract for every method of the registry: legal answers, memory kept, never below the bound, equal
 * bytes for any number of threads and for a run that time stopped. */
#include "bounds.h"
#include "ceft.h"
#include "instance.h"
#include "method.h"
#include "registry.h"
#include "seeds.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "topcuoglu.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct compiled {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
	char name[160];
} compiled;

static void finish(compiled *c)
{
	berth_err err;
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
	assert_ok(berth_bounds_new(&c->p, &c->tmp, &c->bounds, &err), &err);
}

static void compile_text(compiled *c, const char *name, const char *graph, const char *system)
{
	memset(c, 0, sizeof *c);
	snprintf(c->name, sizeof c->name, "%s", name);
	read_both(graph, system, &c->mem, &c->tmp, &c->g, &c->s);
	finish(c);
}

static void compile_zoo(compiled *c, const char *spec, const char *system)
{
	berth_err err;
	memset(c, 0, sizeof *c);
	snprintf(c->name, sizeof c->name, "%s on %s", spec, system);
	assert_ok(berth_zoo_build(spec, &c->mem, &c->tmp, &c->g, &err), &err);
	assert_ok(berth_system_builtin(system, &c->mem, &c->tmp, &c->s, &err), &err);
	finish(c);
}

static void discard(compiled *c)
{
	berth_arena_free(&c->mem);
	berth_arena_free(&c->tmp);
}

/* ---- running a method ---- */

typedef struct answer {
	berth_score score;
	int64_t evaluations;
	bool has_order;
	int32_t *op_dev, *order; /* malloc */
} answer;

static void *copy(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);
	assert_non_null(to);
	if (bytes)
		memcpy(to, from, bytes);
	return to;
}

static answer run_cfg(const compiled *c, const berth_method *m, const berth_search_cfg *cfg)
{
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_err err;
	size_t bytes = (size_t)c->g.n_ops * sizeof(int32_t);
	assert_ok(berth_search_new(&c->p, cfg, &mem, &s, &err), &err);
	assert_ok(berth_method_run(m, &s, &tmp, &err), &err);
	answer a = {s.best, s.evaluations, s.best_has_order, copy(s.best_dev, bytes),
	            copy(s.best_order, bytes)};
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return a;
}

static answer run(const compiled *c, const berth_method *m, int64_t evaluations, berth_pool *pool)
{
	berth_search_cfg cfg = {.seed = 7, .evaluations = evaluations, .pool = pool, .nodes = 300};
	return run_cfg(c, m, &cfg);
}

static void forget(answer *a)
{
	free(a->op_dev);
	free(a->order);
}

static void fail_at(const compiled *c, const berth_method *m, const char *what)
{
	print_error("%s on %s: %s\n", m->name, c->name, what);
	fail();
}

#define CHECK(c, m, cond)                     \
	do {                                  \
		if (!(cond))                  \
			fail_at(c, m, #cond); \
	} while (0)

static void same(const compiled *c, const berth_method *m, const answer *a, const answer *b)
{
	size_t bytes = (size_t)c->g.n_ops * sizeof(int32_t);
	CHECK(c, m, a->score.value == b->score.value);
	CHECK(c, m, a->score.excess == b->score.excess);
	CHECK(c, m, a->evaluations == b->evaluations);
	CHECK(c, m, a->has_order == b->has_order);
	CHECK(c, m, memcmp(a->op_dev, b->op_dev, bytes) == 0);
	CHECK(c, m, !a->has_order || memcmp(a->order, b->order, bytes) == 0);
}

/* ---- what an answer must keep to ---- */

/* Pins, forbidden devices, colocation, devices that can run it; straight from the graph. */
static bool legal(const compiled *c, const int32_t *op_dev)
{
	const berth_graph *g = &c->g;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t d = op_dev[op];
		if (d < 0 || d >= c->s.n_devs || berth_op_time(&c->p, op, d) < 0)
			return false;
		if (g->op_pin[op] && strcmp(g->op_pin[op], c->s.dev_name[d]) != 0)
			return false;
		for (int32_t i = g->op_forbid_off[op]; i < g->op_forbid_off[op + 1]; i++)
			if (strcmp(g->forbid_dev[i], c->s.dev_name[d]) == 0)
				return false;
		for (int32_t o = 0; o < op; o++)
			if (g->op_coloc_name[op] >= 0 && g->op_coloc_name[o] == g->op_coloc_name[op] &&
			    op_dev[o] != d)
				return false;
	}
	return true;
}

static void check_answer(compiled *c, const berth_method *m, const answer *a)
{
	berth_arena mem = {0};
	berth_eval eval;
	berth_err err;
	CHECK(c, m, a->evaluations > 0);
	CHECK(c, m, legal(c, a->op_dev));
	assert_ok(berth_eval_new(&c->p, &(berth_objective){0}, &mem, &eval, &err), &err);
	if (a->has_order)
		CHECK(c, m, berth_order_is_topological(&c->g, a->order, &c->tmp));
	berth_score again = berth_eval_run(&eval, a->op_dev, a->has_order ? a->order : NULL);
	CHECK(c, m, again.value == a->score.value && again.excess == a->score.excess);
	CHECK(c, m, isfinite(a->score.excess) && a->score.value >= c->bounds.value[BERTH_LATENCY]);
	berth_arena_free(&mem);
}

/* Evaluations of the seeds with all their repairs, which a budget that is spent would leave out. */
static int64_t of_seeds(const compiled *c)
{
	berth_search_cfg cfg = {.seed = 7, .evaluations = INT64_MAX};
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_err err;
	assert_ok(berth_search_new(&c->p, &cfg, &mem, &s, &err), &err);
	assert_ok(berth_start_from_portfolio(&s, &tmp, &err), &err);
	int64_t made = s.evaluations;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return made;
}

/* A run that time stops equals the run with the number of evaluations that it reached. A time that ends amid
 * the seeds is no number of evaluations: the least that the method makes are so many, or the seeds are. */
static void check_stopped(compiled *c, const berth_method *m, int64_t least)
{
	berth_search_cfg cfg = {.seed = 7, .evaluations = INT64_MAX, .time_s = 0.002, .nodes = 300};
	answer stopped = run_cfg(c, m, &cfg), again = run(c, m, stopped.evaluations, NULL);
	check_answer(c, m, &stopped);
	if (stopped.evaluations > least && stopped.evaluations > of_seeds(c))
		same(c, m, &stopped, &again);
	forget(&stopped);
	forget(&again);
}

enum { N_POOLS = 3 };
static const int32_t pool_workers[N_POOLS] = {2, 3, 8};
static berth_pool *pools[N_POOLS];

static void check_method(compiled *c, const berth_method *m, int64_t evaluations, bool must_fit)
{
	answer a = run(c, m, evaluations, NULL), b = run(c, m, evaluations, NULL);
	check_answer(c, m, &a);
	CHECK(c, m, !must_fit || berth_score_feasible(a.score));
	same(c, m, &a, &b);
	forget(&b);
	for (int i = m->searches ? 0 : N_POOLS - 1; i < N_POOLS; i++) { /* at once there are no draws */
		b = run(c, m, evaluations, pools[i]);
		same(c, m, &a, &b);
		forget(&b);
	}
	if (m->searches) {
		answer little = run(c, m, 1, NULL);
		check_answer(c, m, &little);
		CHECK(c, m, !berth_score_less(little.score, a.score));
		check_stopped(c, m, little.evaluations);
		forget(&little);
	}
	forget(&a);
}

/* test_tarnawski and test_ip have these. */
static bool of_another_cost_model(const berth_method *m)
{
	return strcmp(m->name, "dp") == 0 || strcmp(m->name, "ip") == 0;
}

static void check_all(compiled *c, int64_t evaluations, bool must_fit)
{
	for (int32_t i = 0; i < berth_n_heuristics; i++)
		if (!of_another_cost_model(berth_heuristics[i]) && !berth_method_missing(berth_heuristics[i]))
			check_method(c, berth_heuristics[i], evaluations, must_fit);
	discard(c);
}

static const berth_method *find(const char *name)
{
	for (int32_t i = 0; i < berth_n_heuristics; i++)
		if (strcmp(berth_heuristics[i]->name, name) == 0)
			return berth_heuristics[i];
	fail_msg("no method '%s'", name);
	return NULL;
}

/* ---- the contract ---- */

static void test_registry(void **state)
{
	(void)state;
	assert_true(berth_n_heuristics >= 9);
	for (int32_t i = 0; i < berth_n_heuristics; i++) {
		assert_true(strlen(berth_heuristics[i]->about) > 10);
		if (berth_method_missing(berth_heuristics[i]))
			print_message("skipped: method %s needs %s\n", berth_heuristics[i]->name,
			              berth_method_missing(berth_heuristics[i]));
		for (int32_t k = 0; k < i; k++)
			assert_string_not_equal(berth_heuristics[i]->name, berth_heuristics[k]->name);
	}
}

static void test_models(void **state)
{
	(void)state;
	static const char *const specs[] = {"zoo:resnet18", "zoo:random:ops=80:ccr=1:heterogeneity=1"};
	int32_t n;
	const berth_system_row *row = berth_system_builtin_list(&n);
	/* a sample takes one of the graphs on each system, in turn */
	int graphs = support_sampled(2, 1, "graphs on each system");
	int evaluations = support_sampled(BERTH_DEBUG ? 100 : 400, BERTH_DEBUG ? 30 : 100, "evaluations");
	const int step = BERTH_DEBUG ? 4 : 1;
	for (int32_t i = 0; i < n; i += step)
		for (int k = 0; k < graphs && !row[i].recipe; k++) {
			compiled c;
			compile_zoo(&c, specs[(i / step + k) % 2], row[i].name);
			check_all(&c, evaluations, true);
		}
}

static void test_random_instances(void **state)
{
	(void)state;
	int checked = 0, fit = 0;
	const int n = support_sampled(BERTH_DEBUG ? 20 : 60, BERTH_DEBUG ? 8 : 20, "random instances");
	for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
		instance in;
		compiled c;
		char name[32];
		instance_make(seed, 14, 4, &in);
		snprintf(name, sizeof name, "instance %d", (int)seed);
		compile_text(&c, name, in.graph, in.system);
		instance_free(&in);
		if (berth_problem_feasible(&c.p, NULL) == BERTH_OK) {
			answer a = run(&c, find("anneal"), 500, NULL);
			fit += berth_score_feasible(a.score);
			forget(&a);
			checked++;
			check_all(&c, 60, false);
		} else {
			berth_search s;
			berth_search_cfg cfg = {.evaluations = 1};
			berth_err err;
			assert_int_equal(berth_search_new(&c.p, &cfg, &c.mem, &s, &err), BERTH_EINFEASIBLE);
			discard(&c);
		}
	}
	assert_true(checked > n / 3);
	assert_true(fit > checked / 2);
}

#define GRAPH(ops, edges)                                                                                    \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[" ops "],\"edges\":[" edges "]}"
#define SYSTEM(devices, links)                                                                               \
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":[" devices                    \
	"],\"links\":[" links "]}"
#define BOTH(a, b) "{\"from\":\"" a "\",\"to\":\"" b "\",\"bandwidth\":1e9,\"both_ways\":true}"
#define OP(name, more) "{\"name\":\"" name "\",\"type\":\"T\",\"flops\":1000" more "}"
#define EDGE(a, b) "{\"from\":\"" a "\",\"to\":\"" b "\",\"bytes\":100}"
#define TWO                                                                                                  \
	SYSTEM("{\"name\":\"d0\",\"peak_flops\":1e9},{\"name\":\"d1\",\"peak_flops\":2e9}", BOTH("d0", "d"   \
	                                                                                               "1"))

static void test_small_graphs(void **state)
{
	(void)state;
	static const struct {
		const char *name, *graph, *system;
	} rows[] = {
		{"empty", GRAPH("", ""), TWO},
		{"one operator", GRAPH(OP("a", ""), ""), TWO},
		{"one device",
	         GRAPH(OP("a", "") "," OP("b", "") "," OP("c", ""), EDGE("a", "b") "," EDGE("a", "c")),
	         SYSTEM("{\"name\":\"d0\",\"peak_flops\":1e9}", "")},
		{"only one runs it",
	         GRAPH(OP("a", "") ",{\"name\":\"b\",\"type\":\"X\",\"flops\":5}," OP("c", ""),
	               EDGE("a", "b") "," EDGE("b", "c")),
	         SYSTEM("{\"name\":\"d0\",\"peak_flops\":1e9},{\"name\":\"d1\",\"peak_flops\":4e9,\"runs\":["
	                "\"T\"]}",
	                BOTH("d0", "d1"))},
		{"disconnected",
	         GRAPH(OP("a", "") "," OP("b", "") "," OP("c", "") "," OP("d", ""), EDGE("a", "b")), TWO},
		{"pins",
	         GRAPH(OP("a", ",\"pin\":\"d0\"") "," OP("b", "") "," OP("c", ",\"pin\":\"d1\""),
	               EDGE("a", "b") "," EDGE("b", "c")),
	         TWO},
		{"forbidden",
	         GRAPH(OP("a", ",\"forbid\":[\"d1\"]") "," OP("b", ",\"forbid\":[\"d0\"]") "," OP("c", ""),
	               EDGE("a", "b") "," EDGE("b", "c")),
	         TWO},
		{"colocated",
	         GRAPH(OP("a", ",\"colocate\":\"g\"") "," OP("b", "") "," OP(
			       "c", ",\"colocate\":\"g\"") "," OP("d",
	                                                          ",\"colocate\":\"g\",\"forbid\":[\"d1\"]"),
	               EDGE("a", "b") "," EDGE("b", "c") "," EDGE("c", "d")),
	         TWO},
		{"no times",
	         GRAPH("{\"name\":\"a\",\"time_s\":{\"d0\":0,\"d1\":0}},{\"name\":\"b\",\"time_s\":{\"d0\":0,"
	               "\"d1\":0}}",
	               EDGE("b", "a")),
	         TWO},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		compiled c;
		compile_text(&c, rows[i].name, rows[i].graph, rows[i].system);
		check_all(&c, 80, true);
	}
}

/* Twelve operators of 100 bytes of parameters on devices with room for four each, and a chain through all of
 * them; then with a group that fills half a device and one device that only the smallest fit on. */
static void test_tight_memory(void **state)
{
	(void)state;
	char ops[4096] = "", edges[4096] = "", graph[9000], piece[256];
	for (int i = 0; i < 12; i++) {
		snprintf(piece, sizeof piece, "%s{\"name\":\"o%d\",\"flops\":1e6,\"param_bytes\":100%s}",
		         i ? "," : "", i, i == 3 || i == 9 ? ",\"colocate\":\"g\"" : "");
		strcat(ops, piece);
		if (i) {
			snprintf(piece, sizeof piece, "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":1}",
			         i > 1 ? "," : "", i - 1, i);
			strcat(edges, piece);
		}
	}
	snprintf(graph, sizeof graph,
	         "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"tight\",\"ops\":[%s],\"edges\":[%s]}",
	         ops, edges);
	static const char *const systems[] = {
		SYSTEM("{\"name\":\"d0\",\"peak_flops\":9e9,\"memory_bytes\":408},{\"name\":\"d1\",\"peak_"
	               "flops\":1e9,\"memory_bytes\":408},"
	               "{\"name\":\"d2\",\"peak_flops\":2e9,\"memory_bytes\":408}",
	               BOTH("d0", "d1") "," BOTH("d1", "d2") "," BOTH("d0", "d2")),
		SYSTEM("{\"name\":\"d0\",\"peak_flops\":9e9,\"memory_bytes\":110},{\"name\":\"d1\",\"peak_"
	               "flops\":1e9,\"memory_bytes\":1320},"
	               "{\"name\":\"d2\",\"peak_flops\":2e9,\"memory_bytes\":10}",
	               BOTH("d0", "d1") "," BOTH("d1", "d2") "," BOTH("d0", "d2")),
	};
	for (int i = 0; i < 2; i++) {
		compiled c;
		compile_text(&c, "tight memory", graph, systems[i]);
		assert_false(c.p.memory_free);
		check_all(&c, BERTH_DEBUG ? 40 : 100, true);
	}
}

/* Restarts must not use up what repair needs: instances where a first critical-path list exceeds some memory
 * and every restart does too. */
static void test_restarts_are_repaired(void **state)
{
	(void)state;
	static const uint64_t seeds[] = {70, 792, 1764, 1855, 2426};
	for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
		instance in;
		compiled c;
		instance_make(seeds[i], 14, 4, &in);
		compile_text(&c, "memory is short", in.graph, in.system);
		instance_free(&in);
		answer heft = run(&c, find("heft"), 0, NULL), list = run(&c, find("cp-list"), 1000, NULL);
		assert_true(berth_score_feasible(heft.score));
		CHECK(&c, find("cp-list"), berth_score_feasible(list.score));
		forget(&heft);
		forget(&list);
		discard(&c);
	}
}

/* ---- quality ---- */

/* The best latency over all feasible placements under the system's rule; NAN: none. */
static double brute_force(compiled *c)
{
	berth_eval eval;
	berth_err err;
	int32_t op_dev[8] = {0};
	double best = NAN;
	assert_ok(berth_eval_new(&c->p, &(berth_objective){0}, &c->mem, &eval, &err), &err);
	for (;;) {
		int32_t op = 0;
		if (legal(c, op_dev)) {
			berth_score score = berth_eval_run(&eval, op_dev, NULL);
			if (berth_score_feasible(score) && !(score.value >= best))
				best = score.value;
		}
		while (op < c->g.n_ops && ++op_dev[op] == c->s.n_devs)
			op_dev[op++] = 0;
		if (op == c->g.n_ops)
			return best;
	}
}

static void test_searches_reach_the_optimum(void **state)
{
	(void)state;
	static const char *const names[] = {"local-search", "anneal", "tabu"};
	int instances = 0, reached[3] = {0};
	const int n = 150;
	if (support_answers_left())
		return;
	for (uint64_t seed = 1; instances < n; seed++) {
		instance in;
		compiled c;
		instance_make(seed, 6, 3, &in);
		compile_text(&c, "tiny", in.graph, in.system);
		instance_free(&in);
		double best = berth_problem_feasible(&c.p, NULL) == BERTH_OK ? brute_force(&c) : NAN;
		for (int i = 0; i < 3 && !isnan(best); i++) {
			answer a = run(&c, find(names[i]), 1000, NULL);
			reached[i] += berth_score_feasible(a.score) && a.score.value <= best;
			forget(&a);
		}
		instances += !isnan(best);
		discard(&c);
	}
	for (int i = 0; i < 3; i++) {
		if (reached[i] < n - 2)
			print_error("optimum reached: %s %d of %d\n", names[i], reached[i], instances);
		assert_true(reached[i] >= n - 2);
	}
}

static void test_worked_example(void **state)
{
	(void)state;
	compiled c;
	compile_text(&c, "topcuoglu", topcuoglu_graph, topcuoglu_system);
	answer heft = run(&c, find("heft"), 0, NULL), cpop = run(&c, find("cpop"), 0, NULL);
	assert_true(heft.score.value <= 80 * TOPCUOGLU_UNIT * 1e-9 * (1 + 1e-12));
	assert_true(cpop.score.value <= 86 * TOPCUOGLU_UNIT * 1e-9 * (1 + 1e-12));
	assert_int_equal(heft.evaluations, 2);
	forget(&heft);
	forget(&cpop);
	discard(&c);
}

/* Where memory is no matter, the critical path of the CEFT table stands on its devices; ceft-cpop, which
 * tries the same, is never worse. */
static void test_pins(void **state)
{
	(void)state;
	int better = 0;
	for (int seed = 1; seed <= 30; seed++) {
		compiled c;
		berth_ceft ceft;
		berth_err err;
		char spec[64];
		snprintf(spec, sizeof spec, "zoo:random:ops=50:ccr=1:heterogeneity=1:seed=%d", seed);
		compile_zoo(&c, spec, seed % 2 ? "edge" : "hetero-cluster");
		answer pins = run(&c, find("heft-ceft"), 0, NULL), both = run(&c, find("ceft-cpop"), 0, NULL),
		       heft = run(&c, find("heft"), 0, NULL);
		assert_ok(berth_ceft_new(&c.p, &c.mem, &ceft, &err), &err);
		for (berth_ceft_step at = ceft.end; at.op >= 0; at = berth_ceft_before(&ceft, at))
			assert_int_equal(pins.op_dev[at.op], at.dev);
		assert_int_equal(pins.evaluations, 2);
		assert_true(both.score.value <= pins.score.value);
		better += pins.score.value < heft.score.value;
		forget(&pins);
		forget(&both);
		forget(&heft);
		discard(&c);
	}
	assert_true(better >= 5 && better < 30); /* another method than HEFT, and of use */
}

/* The walks find what list scheduling does not: each is to close at least half of HEFT's distance to the
 * bound somewhere, and never to end above HEFT. */
static void test_searches_improve(void **state)
{
	(void)state;
	static const char *const names[] = {"local-search", "anneal", "tabu"};
	compiled c;
	compile_zoo(&c, "zoo:random:ops=60:ccr=1:heterogeneity=1:seed=3", "edge");
	answer heft = run(&c, find("heft"), 0, NULL);
	for (int i = 0; i < 3; i++) {
		answer a = run(&c, find(names[i]), 3000, NULL);
		double bound = c.bounds.value[BERTH_LATENCY];
		assert_true(a.score.value - bound <= 0.7 * (heft.score.value - bound));
		assert_true(a.evaluations <= 3000);
		forget(&a);
	}
	forget(&heft);
	discard(&c);
}

/* Every method with each of its allocations failing in turn, where an answer is possible in a few of them. */
static void fail_each_allocation(const compiled *c, const berth_method *m, int step)
{
	for (long k = 0;; k += step) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_search s;
		berth_search_cfg cfg = {.evaluations = 140, .nodes = 50}; /* enough for a generation of
		                                                             genetic */
		failing_allocator_init(&f, k);
		f.hook.each = false; /* searches take thousands of blocks */
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_search_new(&c->p, &cfg, &mem, &s, NULL);
		if (st == BERTH_OK)
			st = berth_method_run(m, &s, &tmp, NULL);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		CHECK(c, m, f.live == 0);
		if (st == BERTH_OK) {
			CHECK(c, m, k > 0);
			return;
		}
		CHECK(c, m, st == BERTH_ENOMEM);
	}
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static const char *const specs[] = {"zoo:random:ops=9", "zoo:resnet18"};
	const int step = support_one_in(3, "failing allocations");
	for (size_t i = 0; i < (BERTH_DEBUG ? 1 : sizeof specs / sizeof *specs); i++) {
		compiled c;
		compile_zoo(&c, specs[i], "4gpu");
		for (int32_t k = 0; k < berth_n_heuristics; k++)
			if (!of_another_cost_model(berth_heuristics[k]) &&
			    !berth_method_missing(berth_heuristics[k]))
				fail_each_allocation(&c, berth_heuristics[k], step);
		discard(&c);
	}
}

static int start_pools(void **state)
{
	berth_err err;
	(void)state;
	for (int i = 0; i < N_POOLS; i++)
		if (berth_pool_new(pool_workers[i], &pools[i], &err) != BERTH_OK)
			return -1;
	return 0;
}

static int stop_pools(void **state)
{
	(void)state;
	for (int i = 0; i < N_POOLS; i++)
		berth_pool_free(pools[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_random_instances),
		cmocka_unit_test(test_small_graphs),
		cmocka_unit_test(test_tight_memory),
		cmocka_unit_test(test_restarts_are_repaired),
		cmocka_unit_test(test_searches_reach_the_optimum),
		cmocka_unit_test(test_worked_example),
		cmocka_unit_test(test_pins),
		cmocka_unit_test(test_searches_improve),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, start_pools, stop_pools);
}
