/* Trees of cases that claim what is not so are refused; what duals prove is no more than what is so. */
#include "bounds_parts.h"
#include "certificate_cases.h"
#include "lp.h"
#include "placement_lp.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>
#include <string.h>

enum { MOST_CODES = 200 };

#define GRAPH(ops, edges) "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[" ops "],\"edges\":[" edges "]}"
#define OP(name, x, y) "{\"name\":\"" name "\",\"time_s\":{\"x\":" x ",\"y\":" y ",\"z\":1e-6}}"
#define LINK(from, to, latency)                                                                              \
	"{\"from\":\"" from "\",\"to\":\"" to "\",\"latency_s\":" latency                                    \
	",\"bandwidth\":1e9,\"both_ways\":true}"
#define SYSTEM(y, latency, more)                                                                             \
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\"},{\"name\":\"y\"" y         \
	"},{\"name\":\"z\"}],\"links\":[" LINK("x", "y", "1e-8") "," LINK("x", "z", "1e-8") "," LINK(        \
		"y", "z", latency) "]" more "}"

/* Does the tree prove the claim for the whole graph as one block? */
static bool proves(const berth_problem *p, int64_t claim_ns, int32_t *code, int32_t n, berth_arena *tmp,
                   berth_err *err)
{
	berth_case_tree tree = {.code = code, .n = n};
	berth_block_claim claim = {.tree = 0, .prices = -1, .bound_ns = claim_ns};
	berth_certificate c = {.kind = BERTH_CERTIFICATE_BLOCKS,
	                       .bound_ns = claim_ns,
	                       .claim = &claim,
	                       .n_claims = 1,
	                       .tree = &tree,
	                       .n_trees = 1};
	berth_status st = berth_certificate_check(&c, p, tmp, err);
	assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
	return st == BERTH_OK;
}

/* ---- devices that are left out ---- */

#define THREE GRAPH(OP("a", "1e-7", "1e-7") "," OP("b", "1e-7", "1e-7") "," OP("c", "1e-7", "1e-7"), "")

static const struct {
	const char *graph, *system;
	bool mirrors; /* x and y may stand for each other */
} pairs[] = {
	{THREE, SYSTEM("", "1e-8", ""), true},
	{GRAPH(OP("a", "1e-7", "1e-7") "," OP("b", "1e-7", "1e-7") "," OP("c", "1e-7", "1.01e-7"), ""),
         SYSTEM("", "1e-8", ""), false},
	{THREE, SYSTEM(",\"memory_bytes\":1000000", "1e-8", ""), false},
	{GRAPH(OP("a", "1e-7", "1e-7") "," OP("b", "1e-7", "1e-7") "," OP(
		       "c", "1e-7", "1e-7") ",{\"name\":\"e\",\"time_s\":{\"z\":0}}",
               "{\"from\":\"a\",\"to\":\"e\",\"bytes\":0}"),
         SYSTEM("", "2e-8", ""), false},
	{GRAPH(OP("a", "1e-7", "1e-7") "," OP("b", "1e-7", "1e-7") "," OP(
		       "c", "1e-7",
		       "1e-7") ",{\"name\":\"e\",\"forbid\":[\"y\"],\"time_s\":{\"x\":0,\"y\":0,\"z\":0}}",
               ""),
         SYSTEM("", "1e-8", ""), false},
	{THREE,
         SYSTEM("", "1e-8", ",\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1e9,\"devices\":[\"y\"]}]"),
         false},
};

/* Three operators on x and y take 200 ns: the first one on x, or on both by turns. */
static void a_device_is_left_out_for_its_mirror_image_alone(void **state)
{
	static int32_t half[] = {2, 0, 1, 2, 1, 3, 0, 2, 2, 3, 0, 0},
		       whole[] = {2, 0, 3, 2, 1, 3, 0, 2, 2, 3, 0, 0, 2, 1, 3, 2, 2, 3, 0, 0, 0},
		       late[] = {2, 0, 1, 2, 1, 1, 0}, far[] = {2, 0, 4, 0};
	(void)state;
	for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
		small_problem w;
		berth_err err = {0};
		small_problem_make(&w, pairs[k].graph, pairs[k].system);
		assert_true(proves(&w.p, 200, whole, sizeof whole / sizeof *whole, &w.tmp, &err));
		assert_true(proves(&w.p, 200, half, sizeof half / sizeof *half, &w.tmp, &err) ==
		            pairs[k].mirrors);
		assert_true(pairs[k].mirrors || strstr(err.msg, "a device is left out"));
		assert_false(proves(&w.p, 200, late, sizeof late / sizeof *late, &w.tmp, &err));
		assert_contains(err.msg, "a device is left out");
		assert_false(proves(&w.p, 200, far, sizeof far / sizeof *far, &w.tmp, &err));
		assert_contains(err.msg, "a device is left out");
		assert_false(proves(&w.p, 201, whole, sizeof whole / sizeof *whole, &w.tmp, &err));
		small_problem_free(&w);
	}
}

/* ---- nodes ---- */

static const char two[] = "{\"format\":\"berth-system\",\"version\":1,\"contention\":false,\"devices\":["
			  "{\"name\":\"x\"},{\"name\":\"y\"}],\"links\":[" LINK("x", "y", "1e-7") "]}";

/* A random graph, or the same with all edges turned round. Operators run on x, on y (free 0), on these or
 * both (1), or on both (2). */
static const char *random_graph(uint64_t seed, int free, bool turned, berth_arena *mem)
{
	enum { N = 8 };
	static const char *const where[] = {"\"x\":%d.7e-7,\"y\":%d.2e-7", "\"x\":%d.3e-7", "\"y\":%d.1e-7"};
	berth_rng rng = berth_rng_seed(seed, 5);
	const char *ops = "", *edges = "";
	for (int k = 0; k < N; k++) {
		int time = 1 + (int)berth_rng_below(&rng, 3),
		    kind = free == 2 ? 0 : (int)berth_rng_below(&rng, 3);
		kind = free == 0 && kind == 0 ? 1 : kind;
		const char *text =
			berth_arena_printf(mem, where[kind], time, time + (int)berth_rng_below(&rng, 3));
		ops = berth_arena_printf(mem, "%s%s{\"name\":\"o%d\",\"time_s\":{%s}}", ops, k ? "," : "", k,
		                         text);
	}
	for (int i = 0; i < N; i++)
		for (int j = i + 1; j < N; j++)
			if (berth_rng_below(&rng, 5) == 0)
				edges = berth_arena_printf(
					mem, "%s%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":0}", edges,
					*edges ? "," : "", turned ? j : i, turned ? i : j);
	return berth_arena_printf(mem, GRAPH("%s", "%s"), ops, edges);
}

/* Where the node at `at` ends, with all below it. */
static int32_t end_of(const int32_t *code, int32_t at)
{
	static const int32_t words[] = {1, 2, 3, 3};
	int32_t kind = code[at], below = kind == 3   ? 2
	                                 : kind == 2 ? __builtin_popcount((unsigned)code[at + 2])
	                                             : 0;
	int32_t end = at + words[kind];
	for (int32_t k = 0; k < below; k++)
		end = end_of(code, end);
	return end;
}

/* Each node of a tree that is not closed is claimed to be, and each pair that is ordered to be ordered one
 * way only. kinds counts the nodes. */
static void claim_closed(const berth_problem *p, int64_t claim_ns, const berth_case_tree *tree,
                         int32_t *kinds, berth_arena *tmp)
{
	static int32_t code[2 * MOST_CODES];
	assert_true(tree->n < MOST_CODES);
	for (int32_t at = 0, words; at < tree->n; at += words) {
		berth_err err = {0};
		int32_t kind = tree->code[at], end = end_of(tree->code, at);
		words = kind == 0 ? 1 : kind == 1 ? 2 : 3;
		kinds[kind]++;
		if (kind < 2)
			continue;
		memcpy(code, tree->code, (size_t)at * sizeof *code);
		code[at] = 0;
		memcpy(code + at + 1, tree->code + end, (size_t)(tree->n - end) * sizeof *code);
		assert_false(proves(p, claim_ns, code, at + 1 + tree->n - end, tmp, &err));
		assert_contains(err.msg, "it is not closed");
		if (kind == 2)
			continue;
		/* the order of the second node below is that of the first again */
		int32_t second = end_of(tree->code, at + 3), n = second - at - 3;
		memcpy(code, tree->code, (size_t)second * sizeof *code);
		code[second] = 3;
		code[second + 1] = tree->code[at + 1];
		code[second + 2] = tree->code[at + 2];
		memcpy(code + second + 3, tree->code + at + 3, (size_t)n * sizeof *code);
		assert_false(proves(p, claim_ns, code, second + 3 + n, tmp, &err));
	}
}

/* A tree that splits pairs of a device first. False: the claim does not hold, or it takes too many nodes. */
static bool grow(berth_block *b, int64_t claim_ns, berth_case c, berth_case_tree *tree)
{
	if (tree->n > MOST_CODES - 4)
		return false;
	int32_t *code = tree->code + tree->n;
	if (berth_case_conclude(b, claim_ns, &c)) {
		code[0] = 0;
		tree->n++;
		return true;
	}
	tree->n += 3;
	for (int32_t i = 0; i < b->n; i++)
		for (int32_t j = i + 1; j < b->n; j++)
			if (berth_case_open_pair(b, &c, i, j)) {
				berth_case one = c, other = c;
				memcpy(code, (int32_t[]){3, i, j}, 3 * sizeof *code);
				berth_case_order(b, &one, i, j);
				berth_case_order(b, &other, j, i);
				return grow(b, claim_ns, one, tree) && grow(b, claim_ns, other, tree);
			}
	for (int32_t i = 0; i < b->n; i++)
		if (!berth_case_fixed(&c, i)) {
			berth_case one = c, other = c;
			memcpy(code, (int32_t[]){2, i, 3}, 3 * sizeof *code);
			berth_case_place(b, &one, i, 0);
			berth_case_place(b, &other, i, 1);
			return grow(b, claim_ns, one, tree) && grow(b, claim_ns, other, tree);
		}
	return false;
}

static void no_node_is_closed_by_being_called_so(void **state)
{
	static int32_t code[MOST_CODES];
	int32_t kinds[4] = {0};
	berth_arena mem = {0};
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		small_problem w;
		berth_err err;
		berth_case_tree tree = {.code = code};
		berth_case first;
		berth_block *b;
		int64_t low = 0, high = 1 << 14;
		small_problem_make(&w, random_graph(seed, (int)(seed % 3), false, &mem), two);
		assert_ok(berth_block_new(&w.p, w.p.n_ops, w.g.topo_op, false, false, &w.mem, &b, &err),
		          &err);
		berth_block_first_case(b, 0, 0, &first);
		while (low + 1 < high) {
			int64_t middle = low + (high - low) / 2;
			tree.n = 0;
			if (grow(b, middle, first, &tree))
				low = middle;
			else
				high = middle;
		}
		tree.n = 0;
		assert_true(grow(b, low, first, &tree));
		assert_true(proves(&w.p, low, tree.code, tree.n, &w.tmp, &err));
		assert_false(proves(&w.p, low + 1, tree.code, tree.n, &w.tmp, &err));
		claim_closed(&w.p, low, &tree, kinds, &w.tmp);
		small_problem_free(&w);
	}
	print_message("nodes: %d closed, %d of devices, %d of orders\n", kinds[0], kinds[2], kinds[3]);
	assert_true(kinds[2] > 100 && kinds[3] > 20);
	berth_arena_free(&mem);
}

/* ---- heads and tails ---- */

/* The largest claim that is closed at once. */
static int64_t closed_at_once(const berth_problem *p, berth_arena *tmp)
{
	static int32_t closed[] = {0};
	int64_t low = 0, high = 1 << 20;
	while (low + 1 < high) {
		berth_err err;
		int64_t middle = low + (high - low) / 2;
		if (proves(p, middle, closed, 1, tmp, &err))
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void heads_are_tails_of_the_graph_turned_round(void **state)
{
	berth_arena mem = {0};
	int unlike = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		int64_t ns[2];
		for (int turned = 0; turned < 2; turned++) {
			small_problem w;
			small_problem_make(&w, random_graph(seed, 1, turned, &mem), two);
			ns[turned] = closed_at_once(&w.p, &w.tmp);
			small_problem_free(&w);
		}
		assert_int_equal(ns[0], ns[1]);
		unlike += seed > 0 && ns[0] > 500;
	}
	assert_true(unlike > 100);
	berth_arena_free(&mem);
}

/* Heads: the producer, the way, then two on one device. Tails: the same before a consumer. One nanosecond
 * more is refused. */
static void claims_reach_as_far_as_heads_and_tails(void **state)
{
#define ON(name, dev) "{\"name\":\"" name "\",\"time_s\":{\"" dev "\":1e-7}}"
#define EDGE(from, to) "{\"from\":\"" from "\",\"to\":\"" to "\",\"bytes\":0}"
	static const struct {
		const char *graph;
		int64_t ns;
	} cases[] = {
		{GRAPH(ON("a", "x") "," ON("b", "y"), EDGE("a", "b")), 210},
		{GRAPH(ON("a", "x") "," ON("b", "y") "," ON("c", "y"), EDGE("a", "b") "," EDGE("a", "c")),
	         310},
		{GRAPH(ON("b", "y") "," ON("c", "y") "," ON("a", "x"), EDGE("b", "a") "," EDGE("c", "a")),
	         310},
		{GRAPH(ON("b", "x") "," ON("c", "x") "," ON("a", "x"), EDGE("b", "a") "," EDGE("c", "a")),
	         300},
		{GRAPH(ON("a", "x") "," ON("b", "x") "," ON("c", "x"), EDGE("a", "b") "," EDGE("a", "c")),
	         300},
	};
	(void)state;
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		small_problem w;
		small_problem_make(&w, cases[k].graph, SYSTEM("", "1e-8", ""));
		assert_int_equal(closed_at_once(&w.p, &w.tmp), cases[k].ns);
		small_problem_free(&w);
	}
}

/* ---- windows ---- */

/* a, then b and c on x or y, then e; the way between devices is 10 ns, all operators 100 ns. */
#define TOGETHER(name) "{\"name\":\"" name "\",\"time_s\":{\"x\":1e-7,\"y\":1e-7},\"colocate\":\"one\"}"
#define BETWEEN(a, b, c, e)                                                                                  \
	GRAPH(a "," b "," c "," e, EDGE("a", "b") "," EDGE("a", "c") "," EDGE("b", "e") "," EDGE("c", "e"))
#define ON_EITHER(dev) BETWEEN(ON("a", dev), OP("b", "1e-7", "1e-7"), OP("c", "1e-7", "1e-7"), ON("e", dev))

static const int64_t even[] = {1, 1, 0, 5, 0, 0}; /* prices of x, y and z; and those of x alone */
enum { N_EVEN = 2 };

static berth_status prove_windows(const small_problem *w, berth_window_claim *window, int32_t n, int64_t *ns,
                                  berth_err *err)
{
	int64_t price[6];
	berth_arena tmp = {0};
	memcpy(price, even, sizeof price);
	berth_certificate c = {.kind = BERTH_CERTIFICATE_WINDOWS,
	                       .window = window,
	                       .n_windows = n,
	                       .price_vector = price,
	                       .n_prices = N_EVEN};
	berth_status st = berth_certificate_prove(&c, &w->p, &tmp, ns, err);
	berth_arena_free(&tmp);
	assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
	return st;
}

/* The largest claim of a window that is taken, at the first prices. */
static int64_t largest_claim(const small_problem *w, int32_t first, int32_t last, int32_t to)
{
	int32_t prices[3] = {0};
	berth_window_claim k = {first, last, to, 0, prices};
	berth_err err;
	int64_t ns, low = 0;
	for (k.bound_ns = 1; k.bound_ns < 2000; k.bound_ns++)
		if (prove_windows(w, &k, 1, &ns, &err) == BERTH_OK)
			low = k.bound_ns;
	return low;
}

/* Two devices of one slot take 120 ns for b and c: one of them has to go to the other device and back. One of
 * two slots takes 100, one that both must stand on 200, where an end of the window tells that. */
static void windows_reach_as_far_as_there_is_no_room(void **state)
{
	static const struct {
		const char *graph, *system;
		int32_t dev;
		int64_t ns, whole_ns; /* between operators; from beginning to end */
	} cases[] = {
		{ON_EITHER("x"), SYSTEM("", "1e-8", ""), 0, 320, 320},
		{ON_EITHER("y"), SYSTEM("", "1e-8", ""), 1, 320, 320},
		{ON_EITHER("y"), SYSTEM(",\"slots\":2", "1e-8", ""), 1, 300, 300},
		{BETWEEN(TOGETHER("a"), TOGETHER("b"), TOGETHER("c"), TOGETHER("e")), SYSTEM("", "1e-8", ""),
	         0, 400, 300},
	};
	(void)state;
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		small_problem w;
		small_problem_make(&w, cases[k].graph, cases[k].system);
		assert_int_equal(largest_claim(&w, 0, 3, cases[k].dev), cases[k].ns);
		assert_int_equal(largest_claim(&w, -1, 3, cases[k].dev), cases[k].ns);
		assert_int_equal(largest_claim(&w, 0, -1, 0), cases[k].ns);
		assert_int_equal(largest_claim(&w, -1, -1, 0), cases[k].whole_ns);
		small_problem_free(&w);
	}
}

static void windows_that_are_none_are_refused(void **state)
{
	static int32_t first_prices[] = {0, 0, 0}, none[] = {-1, -1, -1}, unknown[] = {2, 2, 2},
		       below[] = {-2, 0, 0}, x_alone[] = {1, 1, 1};
	static const struct {
		berth_window_claim window[2];
		int32_t n;
		const char *why; /* NULL: it is taken */
	} cases[] = {
		{{{0, 3, 0, 320, first_prices}}, 1, NULL},
		{{{0, 3, 0, 320, x_alone}}, 1, NULL},
		{{{0, 3, 0, 321, first_prices}}, 1, "window 0, from 'a' to 'e': there is room"},
		{{{0, -1, 0, 321, first_prices}}, 1, "window 0, from 'a' to the end: there is room"},
		{{{-1, 3, 0, 321, first_prices}}, 1, "window 0, from the beginning to 'e': there is room"},
		{{{0, 3, 0, 320, none}}, 1, "there is room"},
		{{{0, 3, 0, 300, none}}, 1, NULL},
		{{{0, 3, 0, 320, unknown}}, 1, "there are no such prices"},
		{{{0, 3, 0, 320, below}}, 1, "there are no such prices"},
		{{{0, 3, 1, 320, first_prices}}, 1, "its end cannot stand on that device"},
		{{{0, -1, 1, 320, first_prices}}, 1, "its end cannot stand on that device"},
		{{{1, 2, 0, 150, first_prices}}, 1, "no path leads there"},
		{{{3, 0, 0, 400, first_prices}}, 1, "no path leads there"},
		{{{3, 3, 0, 400, first_prices}}, 1, "no path leads there"},
		{{{0, 1, 1, 210, none}, {0, 3, 0, 320, first_prices}}, 2, NULL},
		{{{0, 3, 0, 320, first_prices}, {0, 1, 1, 210, none}}, 2, "window 1 is not in the order"},
		{{{0, 1, 1, 210, none}, {0, 1, 0, 200, none}}, 2, "window 1 is not behind"},
		{{{0, 1, 1, 210, none}, {0, 1, 1, 210, none}}, 2, "window 1 is not behind"},
	};
	small_problem w;
	(void)state;
	small_problem_make(&w, ON_EITHER("x"), SYSTEM("", "1e-8", ""));
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		berth_window_claim window[2];
		berth_err err = {0};
		int64_t ns;
		memcpy(window, cases[k].window, sizeof window);
		berth_status st = prove_windows(&w, window, cases[k].n, &ns, &err);
		if (cases[k].why)
			assert_contains(err.msg, cases[k].why);
		assert_true((st == BERTH_OK) == (cases[k].why == NULL));
	}
	small_problem_free(&w);
}

/* Between two operators more than a window may have inside: refused; to the end of the run it may. */
static void windows_have_a_largest_size(void **state)
{
	static int32_t prices[] = {0, 0, 0};
	berth_arena mem = {0};
	(void)state;
	for (int n = BERTH_CERTIFICATE_WINDOW_OPS; n < BERTH_CERTIFICATE_WINDOW_OPS + 2; n++) {
		const char *ops = ON("a", "x"), *edges = "";
		berth_window_claim to_last = {0, n + 1, 0, 1, prices}, to_end = {0, -1, 0, 1, prices};
		berth_err err = {0};
		int64_t ns;
		small_problem w;
		for (int k = 0; k < n; k++) {
			ops = berth_arena_printf(&mem, "%s,{\"name\":\"o%d\",\"time_s\":{\"x\":1e-7}}", ops,
			                         k);
			edges = berth_arena_printf(&mem,
			                           "%s%s{\"from\":\"a\",\"to\":\"o%d\",\"bytes\":0},"
			                           "{\"from\":\"o%d\",\"to\":\"e\",\"bytes\":0}",
			                           edges, k ? "," : "", k, k);
		}
		small_problem_make(&w,
		                   berth_arena_printf(&mem, GRAPH("%s,%s", "%s"), ops, ON("e", "x"), edges),
		                   SYSTEM("", "1e-8", ""));
		assert_true((prove_windows(&w, &to_last, 1, &ns, &err) == BERTH_OK) ==
		            (n == BERTH_CERTIFICATE_WINDOW_OPS));
		assert_true(n == BERTH_CERTIFICATE_WINDOW_OPS ||
		            strstr(err.msg, "too many operators are inside"));
		assert_ok(prove_windows(&w, &to_end, 1, &ns, &err), &err);
		small_problem_free(&w);
	}
	berth_arena_free(&mem);
}

/* ---- duals ---- */

#define KEEPS(name, bytes)                                                                                   \
	"{\"name\":\"" name "\",\"time_s\":{\"fast\":1e-6,\"slow\":3e-6},\"param_bytes\":" bytes "}"
#define FOUR(bytes)                                                                                          \
	GRAPH(KEEPS("a", bytes) "," KEEPS("b", bytes) "," KEEPS("c", bytes) "," KEEPS("d", bytes),           \
	      EDGE("a", "b") "," EDGE("b", "c") "," EDGE("c", "d"))
#define HOLDS(bytes)                                                                                         \
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"fast\",\"memory_bytes\":" bytes \
	"},{\"name\":\"slow\"}],\"links\":[" LINK("fast", "slow", "1e-9") "]}"

/* Two of four operators fit: 8 us and the way. The price of one of 7e14 bytes is below what a certificate
 * can tell: the dual proves less than the solver's value, which is dropped, with a note. */
static void a_dual_that_proves_less_is_dropped(void **state)
{
	static const struct {
		const char *graph, *system;
		bool dropped;
	} cases[] = {{FOUR("3000"), HOLDS("7000"), false},
	             {FOUR("300000000000000"), HOLDS("700000000000000"), true}};
	int64_t ns[2];
	(void)state;
	if (!berth_lp_solver())
		skip();
	for (size_t k = 0; k < 2; k++) {
		berth_bound_work work = {.left_ns = BERTH_BOUND_ALL};
		small_problem w;
		berth_err err;
		small_problem_make(&w, cases[k].graph, cases[k].system);
		assert_ok(berth_bounds_lp(&w.p, 4000, &work, &w.tmp, &ns[k], &err), &err);
		assert_true(work.dropped == cases[k].dropped);
		assert_true(ns[k] <= 8001);
		small_problem_free(&w);
	}
	assert_true(ns[1] < ns[0]);
}

/* Whatever the duals are, they prove no more than what is so. */
static void wrong_duals_prove_nothing_wrong(void **state)
{
	small_problem w;
	berth_rng rng = berth_rng_seed(3, 4);
	int64_t most = 0;
	(void)state;
	small_problem_make(&w, FOUR("3000"), HOLDS("7000"));
	for (int k = 0; k < 300; k++) {
		berth_arena mem = {0};
		berth_placement_lp m;
		berth_certificate c;
		berth_err err;
		double *y;
		int64_t ns = 0;
		assert_ok(berth_placement_lp_new(&w.p, 32000, false, &mem, &m, &err), &err);
		assert_ok(BERTH_NEW(&mem, y, m.lp.n_rows, &err), &err);
		for (int32_t r = 0; r < m.lp.n_rows; r++)
			y[r] = k == 0 ? NAN : k == 1 ? INFINITY : berth_rng_unit(&rng) * (k % 3) - (k % 2);
		assert_ok(berth_placement_certificate(&m, &w.p, y, &mem, &c, &err), &err);
		berth_status st = berth_certificate_prove(&c, &w.p, &w.tmp, &ns, &err);
		assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
		assert_true(ns <= 8001);
		most = ns > most ? ns : most;
		berth_arena_free(&mem);
	}
	assert_true(most > 0);
	small_problem_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_is_left_out_for_its_mirror_image_alone),
		cmocka_unit_test(no_node_is_closed_by_being_called_so),
		cmocka_unit_test(heads_are_tails_of_the_graph_turned_round),
		cmocka_unit_test(claims_reach_as_far_as_heads_and_tails),
		cmocka_unit_test(windows_reach_as_far_as_there_is_no_room),
		cmocka_unit_test(windows_that_are_none_are_refused),
		cmocka_unit_test(windows_have_a_largest_size),
		cmocka_unit_test(a_dual_that_proves_less_is_dropped),
		cmocka_unit_test(wrong_duals_prove_nothing_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
