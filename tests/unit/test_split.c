/* Splitting: communities, exact search with surroundings against enumeration, and what community by
 * community makes of whole instances. */
#include "exact_search.h"
#include "instance.h"
#include "registry.h"
#include "small_problem.h"
#include "split.h"
#include "support.h"

#include <string.h>

/* Random instances; plain: without contention, memory, or several slots. */
static void draw(small_problem *c, uint64_t seed, int most_ops, int most_devs, bool plain)
{
	instance in;
	berth_err err;
	memset(c, 0, sizeof *c);
	instance_make(seed, most_ops, most_devs, &in);
	read_both(in.graph, in.system, &c->mem, &c->tmp, &c->g, &c->s);
	instance_free(&in);
	for (int32_t d = 0; d < c->s.n_devs && plain; d++) {
		c->s.dev_slots[d] = 1;
		c->s.dev_memory_bytes[d] = -1;
		c->s.contention = false;
	}
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
}

static bool runs(const small_problem *c)
{
	return berth_problem_feasible(&c->p, NULL) == BERTH_OK && !c->p.coupled;
}

/* ---- communities ---- */

static void check_communities(const small_problem *c, const split_communities *x, int32_t most_ops,
                              int32_t *backward)
{
	const berth_graph *g = &c->g;
	int32_t seen = 0;
	assert_int_equal(x->off[x->n], g->n_ops);
	for (int32_t k = 0; k < x->n; k++) {
		assert_true(x->off[k + 1] > x->off[k]);
		for (int32_t i = x->off[k]; i < x->off[k + 1]; i++) {
			assert_int_equal(x->op_comm[x->op[i]], k);
			assert_true(i == x->off[k] || g->op_topo[x->op[i - 1]] < g->op_topo[x->op[i]]);
			int32_t coloc = c->p.op_coloc[x->op[i]];
			for (int32_t u = c->p.coloc_off[coloc]; u < c->p.coloc_off[coloc + 1]; u++)
				assert_int_equal(x->op_comm[c->p.coloc_op[u]], k);
			if (c->p.coloc_off[coloc + 1] - c->p.coloc_off[coloc] <= most_ops)
				assert_true(x->off[k + 1] - x->off[k] <= most_ops);
			seen++;
		}
	}
	assert_int_equal(seen, g->n_ops);
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			*backward += x->op_comm[g->tensor_producer[t]] > x->op_comm[g->edge_consumer[e]];
}

static void test_communities_hold(void **state)
{
	(void)state;
	int32_t backward = 0, several = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		small_problem c;
		split_communities x;
		berth_err err;
		int32_t most = 1 + (int32_t)(seed % 7), back = 0;
		draw(&c, seed, 24, 3, false);
		assert_ok(split_communities_new(&c.p, most, &c.mem, &c.tmp, &x, &err), &err);
		check_communities(&c, &x, most, &back);
		if (c.g.n_coloc_names == 0)
			backward += back;
		several += x.n > 2;
		small_problem_free(&c);
	}
	assert_int_equal(backward, 0);
	assert_true(several > 200);
}

/* ---- exact search with surroundings ---- */

enum { N = 4, DEVS = 3 };

typedef struct around {
	const berth_problem *p;
	const int32_t *ops;
	int64_t release[N][DEVS], after[N][DEVS];
	int64_t found;
	int32_t n;
} around;

static int64_t length_of(const around *x, const int32_t *dev, const int32_t *order)
{
	const berth_graph *g = x->p->g;
	int64_t end[N] = {0}, free_ns[DEVS] = {0}, length = 0;
	for (int32_t k = 0; k < x->n; k++) {
		int32_t i = order[k], d = dev[i];
		int64_t at = x->release[i][d] > free_ns[d] ? x->release[i][d] : free_ns[d];
		for (int32_t in = g->op_in_off[x->ops[i]]; in < g->op_in_off[x->ops[i] + 1]; in++)
			for (int32_t j = 0; j < x->n; j++)
				if (x->ops[j] == g->tensor_producer[g->in_tensor[in]]) {
					int64_t arrives =
						end[j] + berth_transfer_ns(x->p, g->in_tensor[in], dev[j], d);
					at = arrives > at ? arrives : at;
				}
		free_ns[d] = end[i] = at + berth_op_time(x->p, x->ops[i], d);
		length = end[i] + x->after[i][d] > length ? end[i] + x->after[i][d] : length;
	}
	return length;
}

static int64_t leaf(void *ctx, const int32_t *dev, const int32_t *order)
{
	around *x = ctx;
	int64_t length = length_of(x, dev, order);
	x->found = length < x->found ? length : x->found;
	return length;
}

static bool is_order(const around *x, const int32_t *order)
{
	for (int32_t a = 0; a < x->n; a++)
		for (int32_t b = a + 1; b < x->n; b++) {
			if (order[a] == order[b])
				return false;
			const berth_graph *g = x->p->g;
			for (int32_t in = g->op_in_off[x->ops[order[a]]];
			     in < g->op_in_off[x->ops[order[a]] + 1]; in++)
				if (g->tensor_producer[g->in_tensor[in]] == x->ops[order[b]])
					return false;
		}
	return true;
}

static bool is_legal(const around *x, const int32_t *dev)
{
	for (int32_t i = 0; i < x->n; i++)
		for (int32_t j = 0; j <= i; j++)
			if (!berth_op_legal(x->p, x->ops[i], dev[i]) ||
			    (x->p->op_coloc[x->ops[i]] == x->p->op_coloc[x->ops[j]] && dev[i] != dev[j]))
				return false;
	return true;
}

/* All digits below base; false when they are through. */
static bool count_up(int32_t *digit, int32_t n, int32_t base)
{
	for (int32_t i = 0; i < n; i++) {
		if (++digit[i] < base)
			return true;
		digit[i] = 0;
	}
	return false;
}

static int64_t enumerate(const around *x)
{
	int32_t dev[N] = {0}, order[N] = {0};
	int64_t best = BERTH_EXACT_SEARCH_NEVER;
	do {
		memset(order, 0, sizeof order);
		do {
			int64_t length = is_legal(x, dev) && is_order(x, order) ? length_of(x, dev, order)
			                                                        : BERTH_EXACT_SEARCH_NEVER;
			best = length < best ? length : best;
		} while (count_up(order, x->n, x->n));
	} while (count_up(dev, x->n, x->p->n_devs));
	return best;
}

static void test_search_with_surroundings(void **state)
{
	(void)state;
	int searched = 0;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		small_problem c;
		berth_exact_search *small;
		berth_exact_search_result r;
		berth_err err;
		berth_rng rng = berth_rng_seed(seed, 3);
		draw(&c, seed, N, DEVS, true);
		around x = {.p = &c.p, .ops = c.g.topo_op, .n = c.p.n_ops, .found = BERTH_EXACT_SEARCH_NEVER};
		if (!runs(&c) || x.n == 0) {
			small_problem_free(&c);
			continue;
		}
		assert_ok(berth_exact_search_new(&c.p, x.n, x.ops, &c.mem, &small, &err), &err);
		for (int32_t i = 0; i < x.n; i++)
			for (int32_t d = 0; d < c.p.n_devs; d++) {
				int64_t coloc = 1 + c.p.op_mean_ns[x.ops[i]];
				x.release[i][d] = coloc * berth_rng_below(&rng, 4) / 2;
				x.after[i][d] = coloc * berth_rng_below(&rng, 4) / 2;
				berth_exact_search_set_outside(small, i, d, x.release[i][d], x.after[i][d]);
			}
		berth_exact_search_cfg cfg = {.upper_ns = BERTH_EXACT_SEARCH_NEVER, .leaf = leaf, .ctx = &x};
		berth_exact_search_run(small, &cfg, &r);
		assert_true(r.complete);
		int64_t best = enumerate(&x);
		if (r.best_ns != best || x.found != best)
			fail_msg("seed %d: search finds %lld, enumeration %lld", (int)seed,
			         (long long)r.best_ns, (long long)best);
		searched++;
		small_problem_free(&c);
	}
	assert_true(searched > 60);
}

/* What a device holds already leaves less room. */
static void test_held_memory(void **state)
{
	(void)state;
	static const char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\","
	                            "\"flops\":1e9,\"param_bytes\":60}],\"edges\":[]}";
	static const char system[] = "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":"
	                             "\"x\",\"peak_flops\":2e9,\"memory_bytes\":100},"
				     "{\"name\":\"y\",\"peak_flops\":1e9}],\"links\":[{\"from\":\"x\",\"to\":"
	                             "\"y\",\"bandwidth\":1e9,\"both_ways\":true}]}";
	small_problem c;
	berth_err err;
	berth_exact_search *small;
	berth_exact_search_result r;
	memset(&c, 0, sizeof c);
	read_both(graph, system, &c.mem, &c.tmp, &c.g, &c.s);
	assert_ok(berth_problem_new(&c.g, &c.s, &c.mem, &c.tmp, &c.p, &err), &err);
	assert_ok(berth_exact_search_new(&c.p, 1, c.g.topo_op, &c.mem, &small, &err), &err);
	berth_exact_search_cfg cfg = {.upper_ns = BERTH_EXACT_SEARCH_NEVER};
	for (int64_t held = 40; held <= 41; held++) {
		berth_exact_search_set_held(small, 0, held);
		berth_exact_search_run(small, &cfg, &r);
		assert_int_equal(r.best_ns, held == 40 ? 500000000 : 1000000000);
	}
	small_problem_free(&c);
}

/* ---- placements ---- */

/* Simulated in the order made. */
static int64_t split_ns(small_problem *c, const split_cfg *cfg)
{
	int32_t op_dev[64], order[64];
	bool ordered;
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	assert_ok(split_place(&c->p, cfg, op_dev, order, &c->tmp, &err), &err);
	ordered = berth_order_is_topological(&c->g, order, &c->tmp);
	for (int32_t op = 0; op < c->p.n_ops; op++)
		assert_true(berth_op_legal(&c->p, op, op_dev[op]) &&
		            op_dev[op] == op_dev[c->p.coloc_op[c->p.coloc_off[c->p.op_coloc[op]]]]);
	assert_true(ordered || c->g.n_coloc_names > 0);
	assert_ok(berth_sim_new(&c->p, &c->mem, &sim, &err), &err);
	berth_sim_run(sim, op_dev, ordered ? order : NULL, &r);
	assert_true(r.runs);
	return r.latency_ns;
}

/* One community is exact search; several come close, and closer with rounds. */
static void test_against_the_optimum(void **state)
{
	(void)state;
	int searched = 0, better = 0, equal = 0;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		small_problem c;
		berth_search s;
		berth_search_cfg search = {.evaluations = 100, .nodes = 1000000};
		berth_err err;
		draw(&c, seed, 9, 3, true);
		if (!runs(&c) || c.p.n_ops == 0 || c.g.n_coloc_names > 0) {
			small_problem_free(&c);
			continue;
		}
		assert_ok(berth_search_new(&c.p, &search, &c.mem, &s, &err), &err);
		assert_ok(berth_method_run(&berth_method_branch_and_bound, &s, &c.tmp, &err), &err);
		assert_int_equal(s.proof, BERTH_PROOF_OPTIMAL);
		split_cfg whole = {.most_ops = 12, .nodes = 1000000, .rounds = 0},
			  parts = {.most_ops = 3, .nodes = 1000000, .rounds = 0}, again = parts;
		again.rounds = 4;
		int64_t one = split_ns(&c, &whole), once = split_ns(&c, &parts), more = split_ns(&c, &again);
		if ((double)one * 1e-9 > s.best.value * (1 + 1e-12))
			fail_msg("seed %d: one community takes %lld ns, the optimum %.17g s", (int)seed,
			         (long long)one, s.best.value);
		assert_true(more <= once && once >= one);
		better += more < once;
		equal += more == one;
		searched++;
		small_problem_free(&c);
	}
	print_message("%d instances: rounds help on %d, %d end at the optimum\n", searched, better, equal);
	assert_true(searched > 60 && better > 1 && equal > searched / 2);
}

typedef struct patience {
	int asked, most;
} patience;

static bool is_patient(void *ctx)
{
	patience *x = ctx;
	return x->asked++ < x->most;
}

/* Whenever there is no more time, there is a placement, and what is solved by then is kept. */
static void test_ends_at_any_time(void **state)
{
	(void)state;
	int64_t first = 0, all = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		small_problem c;
		draw(&c, seed, 12, 3, true);
		if (!runs(&c) || c.p.n_ops < 6 || c.g.n_coloc_names > 0) {
			small_problem_free(&c);
			continue;
		}
		for (int most = 0; most <= 32; most = 2 * most + 1) {
			patience x = {0, most};
			split_cfg cfg = {
				.most_ops = 3, .nodes = 1000, .rounds = 3, .go_on = is_patient, .ctx = &x};
			int64_t ns = split_ns(&c, &cfg);
			first += most == 0 ? ns : 0;
			all += most == 31 ? ns : 0;
		}
		small_problem_free(&c);
	}
	assert_true(all > 0 && all < first);
}

static void test_what_it_cannot_do(void **state)
{
	(void)state;
	small_problem c;
	berth_search s;
	berth_search_cfg cfg = {.evaluations = 10, .objective = berth_objective_of(BERTH_THROUGHPUT)};
	berth_err err;
	uint64_t seed = 1;
	for (draw(&c, seed, 6, 3, true); !runs(&c); draw(&c, ++seed, 6, 3, true))
		small_problem_free(&c);
	assert_ok(berth_search_new(&c.p, &cfg, &c.mem, &s, &err), &err);
	assert_int_equal(berth_method_run(&berth_method_split, &s, &c.tmp, &err), BERTH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "split"));
	small_problem_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_communities_hold),  cmocka_unit_test(test_search_with_surroundings),
		cmocka_unit_test(test_held_memory),       cmocka_unit_test(test_against_the_optimum),
		cmocka_unit_test(test_ends_at_any_time),  cmocka_unit_test(test_what_it_cannot_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
