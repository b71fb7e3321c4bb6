/* Earliest task first beside a plain search of all pairs; its work grows with the operators, not with their
 * square. */
#include "etf.h"
#include "instance.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <stdlib.h>
#include <string.h>

typedef struct compiled {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_partial *part;
} compiled;

static void finish(compiled *c)
{
	berth_err err;
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
	assert_ok(berth_partial_new(&c->p, &c->mem, &c->part, &err), &err);
}

static void discard(compiled *c)
{
	berth_arena_free(&c->mem);
	berth_arena_free(&c->tmp);
}

/* Any favourites will do. child out [n_ops]. */
static void draw_children(const compiled *c, uint64_t seed, int32_t *child)
{
	berth_rng rng = berth_rng_seed(seed, 9);
	bool *taken = calloc((size_t)c->p.n_ops, sizeof *taken);
	assert_non_null(taken);
	for (int32_t op = 0; op < c->p.n_ops; op++) {
		child[op] = -1;
		for (int32_t t = c->g.op_tensor_off[op]; t < c->g.op_tensor_off[op + 1]; t++)
			for (int32_t e = c->g.tensor_use_off[t]; e < c->g.tensor_use_off[t + 1]; e++) {
				int32_t to = c->g.edge_consumer[e];
				if (taken[to] || !berth_rng_below(&rng, 2))
					continue;
				if (child[op] >= 0)
					taken[child[op]] = false;
				child[op] = to;
				taken[to] = true;
			}
	}
	free(taken);
}

/* ---- what it is, pair by pair ---- */

typedef struct pair {
	int64_t key_ns, start_ns;
	int32_t op, dev, rank;
} pair;

typedef struct plain {
	const compiled *c;
	etf_key key;
	const int32_t *child; /* or NULL */
	berth_partial *part;
	int32_t last[16];     /* [n_devs] -1: none */
} plain;

static bool is_placed(const plain *x, int32_t op)
{
	return berth_partial_end_ns(x->part)[op] >= 0;
}

static bool is_ready(const plain *x, int32_t op)
{
	const berth_graph *g = &x->c->g;
	for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++)
		if (!is_placed(x, g->tensor_producer[g->in_tensor[i]]))
			return false;
	return !is_placed(x, op);
}

/* When the output of the operator last on dev, which has a favourite, could be on another device. */
static int64_t kept_until(const plain *x, int32_t dev, int32_t child)
{
	const berth_graph *g = &x->c->g;
	int64_t least = INT64_MAX, end = berth_partial_end_ns(x->part)[x->last[dev]];
	for (int32_t d = 0; d < x->c->p.n_devs; d++) {
		int64_t at = end;
		if (d == dev || !berth_op_legal(&x->c->p, child, d))
			continue;
		for (int32_t i = g->op_in_off[child]; i < g->op_in_off[child + 1]; i++)
			if (g->tensor_producer[g->in_tensor[i]] == x->last[dev])
				at += berth_transfer_ns(&x->c->p, g->in_tensor[i], dev, d);
		least = at < least ? at : least;
	}
	return least;
}

static pair pair_of(const plain *x, int32_t op, int32_t dev, const int64_t *ready_ns)
{
	const berth_problem *p = &x->c->p;
	int64_t ready = ready_ns[dev], urgent = 0;
	int32_t child = x->child && x->last[dev] >= 0 ? x->child[x->last[dev]] : -1;
	bool home = false, awake = child >= 0 && child != op && !is_placed(x, child) &&
	                           berth_op_legal(p, child, dev);
	for (int32_t o = 0; o < p->n_ops && x->child; o++)
		home |= x->child[o] == op && berth_partial_dev(x->part, o) == dev;
	for (int32_t d = 0; d < p->n_devs && awake; d++)
		urgent = berth_op_legal(p, op, d) && ready_ns[d] > urgent ? ready_ns[d] : urgent;
	if (awake && kept_until(x, dev, child) < urgent)
		urgent = kept_until(x, dev, child);
	int64_t start = berth_partial_start(x->part, op, dev, urgent > ready ? urgent : ready, false);
	return (pair){start + (x->key == ETF_END ? berth_op_time(p, op, dev) : 0), start, op, dev,
	              home ? 0 : awake ? 2 : 1};
}

static bool goes_before(const plain *x, const pair *a, const pair *b)
{
	const int32_t *topo = x->c->g.op_topo;
	if (a->key_ns != b->key_ns)
		return a->key_ns < b->key_ns;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->op != b->op ? topo[a->op] < topo[b->op] : a->dev < b->dev;
}

/* On devices that refuse nothing. */
static void schedule_plainly(const compiled *c, etf_key key, const int32_t *child, berth_partial *part)
{
	plain x = {c, key, child, part, {0}};
	int64_t ready_ns[16];
	for (int32_t d = 0; d < c->p.n_devs; d++)
		x.last[d] = -1;
	for (int32_t n = 0; n < c->p.n_ops; n++) {
		pair best = {.op = -1};
		for (int32_t op = 0; op < c->p.n_ops; op++) {
			if (!is_ready(&x, op))
				continue;
			berth_partial_ready(part, op, ready_ns);
			for (int32_t d = 0; d < c->p.n_devs; d++) {
				pair new = pair_of(&x, op, d, ready_ns);
				if (berth_op_legal(&c->p, op, d) &&
				    (best.op < 0 || goes_before(&x, &new, &best)))
					best = new;
			}
		}
		assert_true(best.op >= 0);
		berth_partial_place(part, best.op, best.dev, best.start_ns);
		x.last[best.dev] = best.op;
	}
}

static bool is_free(const compiled *c)
{
	return berth_partial_asks_nothing(c->part) && c->p.n_colocs == c->p.n_ops &&
	       berth_problem_feasible(&c->p, NULL) == BERTH_OK;
}

static void check_same(compiled *c, etf_key key, const int32_t *child)
{
	berth_partial *plainly;
	berth_err err;
	size_t bytes = (size_t)c->p.n_ops * sizeof(int64_t);
	assert_ok(berth_partial_new(&c->p, &c->mem, &plainly, &err), &err);
	berth_partial_reset(c->part);
	schedule_plainly(c, key, child, plainly);
	assert_ok(etf_schedule(&c->p, key, child, c->part, NULL, &c->tmp, &err), &err);
	assert_memory_equal(berth_partial_start_ns(plainly), berth_partial_start_ns(c->part), bytes);
	assert_memory_equal(berth_partial_end_ns(plainly), berth_partial_end_ns(c->part), bytes);
	for (int32_t op = 0; op < c->p.n_ops; op++)
		assert_int_equal(berth_partial_dev(plainly, op), berth_partial_dev(c->part, op));
}

static void make(compiled *c, uint64_t seed, int max_ops, int max_devices)
{
	instance in;
	memset(c, 0, sizeof *c);
	instance_make(seed, max_ops, max_devices, &in);
	read_both(in.graph, in.system, &c->mem, &c->tmp, &c->g, &c->s);
	instance_free(&in);
	finish(c);
}

/* Many of these have equal times and times of zero, several slots, and operators that run on few devices. */
static void test_same_as_pair_by_pair(void **state)
{
	(void)state;
	int n_free = 0;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		compiled c;
		int32_t child[INSTANCE_MAX_OPS];
		make(&c, seed, 40, 5);
		draw_children(&c, seed, child);
		n_free += is_free(&c);
		for (int k = 0; k < ETF_KEYS && is_free(&c); k++) {
			check_same(&c, (etf_key)k, NULL);
			check_same(&c, (etf_key)k, child);
		}
		discard(&c);
	}
	print_message("%d of 1,500 instances are free\n", n_free);
	assert_true(n_free > 100);
}

static void test_same_on_random_graphs(void **state)
{
	(void)state;
	for (int seed = 1; seed <= 8; seed++) {
		compiled c = {0};
		berth_err err;
		int32_t child[150];
		char *graph = berth_arena_printf(&c.mem, "zoo:random:ops=150:seed=%d", seed);
		assert_ok(berth_zoo_build(graph, &c.mem, &c.tmp, &c.g, &err), &err);
		assert_ok(berth_system_builtin(seed % 2 ? "4gpu" : "cpu+2gpu", &c.mem, &c.tmp, &c.s, &err),
		          &err);
		finish(&c);
		assert_true(is_free(&c));
		draw_children(&c, (uint64_t)seed, child);
		for (int k = 0; k < ETF_KEYS; k++) {
			check_same(&c, (etf_key)k, NULL);
			check_same(&c, (etf_key)k, child);
		}
		discard(&c);
	}
}

/* Also where devices refuse operators: all are placed where they may run, and starts follow producers. */
static void test_schedules_hold(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++)
		for (int key = 0; key < ETF_KEYS; key++) {
			compiled c;
			berth_err err;
			int32_t child[INSTANCE_MAX_OPS], op_dev[INSTANCE_MAX_OPS];
			make(&c, seed, 20, 4);
			if (berth_problem_feasible(&c.p, NULL) != BERTH_OK) {
				discard(&c);
				continue;
			}
			draw_children(&c, seed, child);
			assert_ok(etf_schedule(&c.p, (etf_key)key, child, c.part, NULL, &c.tmp, &err), &err);
			berth_partial_devs(c.part, op_dev);
			const int64_t *start = berth_partial_start_ns(c.part),
				      *end = berth_partial_end_ns(c.part);
			for (int32_t op = 0; op < c.p.n_ops; op++) {
				assert_true(start[op] >= 0 &&
				            end[op] == start[op] + berth_op_time(&c.p, op, op_dev[op]) &&
				            berth_op_legal(&c.p, op, op_dev[op]));
				for (int32_t i = c.g.op_in_off[op]; i < c.g.op_in_off[op + 1]; i++) {
					int32_t t = c.g.in_tensor[i], from = c.g.tensor_producer[t];
					assert_true(start[op] >=
					            end[from] + berth_transfer_ns(&c.p, t, op_dev[from],
					                                          op_dev[op]));
				}
			}
			discard(&c);
		}
}

/* ---- its work ---- */

/* One operator before all others, or behind them: its favourite parent waits awake for it. Memory is
 * followed where it is tight. */
typedef struct shape {
	const char *name;
	bool is_join, is_tight;
} shape;

static int64_t steps_on(const shape *x, int32_t n, etf_key key)
{
	compiled c = {0};
	berth_err err;
	berth_builder *b;
	berth_rng rng = berth_rng_seed(1, 0);
	int64_t steps;
	int32_t *child;
	assert_ok(berth_builder_new(&c.tmp, x->name, &b, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		const berth_op_spec op = {.name = berth_arena_printf(&c.mem, "n%d", (int)i),
		                          .flops = 1e6 * (1 + berth_rng_below(&rng, 7)),
		                          .param_bytes = x->is_tight ? 120000000000 / n : 0};
		assert_ok(berth_builder_op(b, &op, NULL, &err), &err);
	}
	for (int32_t i = 1; i < n; i++)
		assert_ok(x->is_join ? berth_builder_edge(b, i, 0, 1000, NULL, &err)
		                     : berth_builder_edge(b, 0, i, 1000, "t", &err), &err);
	assert_ok(berth_builder_finish(b, &c.mem, &c.g, &err), &err);
	assert_ok(berth_system_builtin("4gpu", &c.mem, &c.tmp, &c.s, &err), &err);
	finish(&c);
	assert_int_equal(is_free(&c), !x->is_tight);
	assert_ok(BERTH_NEW(&c.mem, child, n, &err), &err);
	draw_children(&c, 1, child);
	assert_ok(etf_schedule(&c.p, key, child, c.part, &steps, &c.tmp, &err), &err);
	discard(&c);
	return steps;
}

static void test_work_grows_with_the_graph(void **state)
{
	(void)state;
	static const shape shapes[] = {{"star", false, false},
	                               {"join", true, false},
	                               {"tight star", false, true},
	                               {"tight join", true, true}};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int k = 0; k < ETF_KEYS; k++) {
			int64_t small = steps_on(&shapes[i], 2000, (etf_key)k),
				large = steps_on(&shapes[i], 20000, (etf_key)k);
			print_message("%s: %lld pairs of 2,000 operators, %lld of 20,000\n", shapes[i].name,
			              (long long)small, (long long)large);
			assert_true(small > 0 && large < 20 * small);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_pair_by_pair),
		cmocka_unit_test(test_same_on_random_graphs),
		cmocka_unit_test(test_schedules_hold),
		cmocka_unit_test(test_work_grows_with_the_graph),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
