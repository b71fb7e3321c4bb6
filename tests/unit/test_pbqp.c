/* The PBQP solver against brute force, its reductions on graphs that they solve, its bound and its answers
 * on larger ones. */
#include "pbqp_work.h"
#include "rng.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ALTS = 6 };

/* A problem as the tests keep it: edges as they were added, parallel ones apart. */
typedef struct instance {
	int32_t n, m, *k, *u, *v;
	int64_t *node_cost; /* [n][MAX_ALTS] */
	int64_t *edge_cost; /* [m][MAX_ALTS][MAX_ALTS] by (u, v) */
} instance;

static instance instance_new(int32_t n, int32_t m, berth_arena *mem)
{
	instance p = {.n = n, .m = m};
	p.k = berth_arena_alloc(mem, (size_t)n, sizeof *p.k);
	p.u = berth_arena_alloc(mem, (size_t)m, sizeof *p.u);
	p.v = berth_arena_alloc(mem, (size_t)m, sizeof *p.v);
	p.node_cost = berth_arena_alloc(mem, (size_t)n * MAX_ALTS, sizeof *p.node_cost);
	p.edge_cost = berth_arena_alloc(mem, (size_t)m * MAX_ALTS * MAX_ALTS, sizeof *p.edge_cost);
	return p;
}

static int64_t *node_cost(const instance *p, int32_t v)
{
	return p->node_cost + v * MAX_ALTS;
}

static int64_t *edge_entry(const instance *p, int32_t e, int32_t i, int32_t j)
{
	return p->edge_cost + ((size_t)e * MAX_ALTS + (size_t)i) * MAX_ALTS + j;
}

/* In [0, range), or INF with the given probability in percent. */
static int64_t random_cost(berth_rng *rng, uint32_t range, uint32_t inf_percent)
{
	return berth_rng_below(rng, 100) < inf_percent ? BERTH_PBQP_INF : berth_rng_below(rng, range);
}

static void random_costs(instance *p, berth_rng *rng, uint32_t range, uint32_t inf_percent)
{
	for (int32_t v = 0; v < p->n; v++)
		for (int32_t i = 0; i < p->k[v]; i++)
			node_cost(p, v)[i] = random_cost(rng, range, inf_percent);
	for (int32_t e = 0; e < p->m; e++)
		for (int32_t i = 0; i < p->k[p->u[e]]; i++)
			for (int32_t j = 0; j < p->k[p->v[e]]; j++)
				*edge_entry(p, e, i, j) = random_cost(rng, range, inf_percent);
}

static instance random_instance(berth_rng *rng, int32_t n, int32_t max_alts, int32_t m, uint32_t range,
                                uint32_t inf_percent, berth_arena *mem)
{
	instance p = instance_new(n, n > 1 ? m : 0, mem);
	for (int32_t v = 0; v < n; v++)
		p.k[v] = 1 + (int32_t)berth_rng_below(rng, (uint32_t)max_alts);
	for (int32_t e = 0; e < p.m; e++) {
		p.u[e] = (int32_t)berth_rng_below(rng, (uint32_t)n);
		p.v[e] = (p.u[e] + 1 + (int32_t)berth_rng_below(rng, (uint32_t)n - 1)) % n;
	}
	random_costs(&p, rng, range, inf_percent);
	return p;
}

static berth_status build(const instance *p, berth_arena *mem, berth_pbqp **q, berth_err *err)
{
	int64_t matrix[MAX_ALTS * MAX_ALTS];
	BERTH_TRY(berth_pbqp_new(p->n, p->k, mem, q, err));
	for (int32_t v = 0; v < p->n; v++)
		memcpy(berth_pbqp_node(*q, v), node_cost(p, v), (size_t)p->k[v] * sizeof(int64_t));
	for (int32_t e = 0; e < p->m; e++) {
		for (int32_t i = 0; i < p->k[p->u[e]]; i++)
			memcpy(matrix + i * p->k[p->v[e]], edge_entry(p, e, i, 0),
			       (size_t)p->k[p->v[e]] * sizeof(int64_t));
		BERTH_TRY(berth_pbqp_edge(*q, p->u[e], p->v[e], matrix, err));
	}
	return BERTH_OK;
}

/* min(sum, INF) over the nodes below n and the edges between them, straight from the definition. */
static int64_t cost_of(const instance *p, int32_t n, const int32_t *x)
{
	int64_t sum = 0;
	for (int32_t v = 0; v < n; v++)
		sum = pbqp_add(sum, node_cost(p, v)[x[v]]);
	for (int32_t e = 0; e < p->m; e++)
		if (p->u[e] < n && p->v[e] < n)
			sum = pbqp_add(sum, *edge_entry(p, e, x[p->u[e]], x[p->v[e]]));
	return sum;
}

/* Least cost below `best` with the first v nodes chosen; INF if there is none. */
static int64_t brute_force(const instance *p, int32_t v, int32_t *x, int64_t best)
{
	if (cost_of(p, v, x) >= best)
		return best;
	if (v == p->n)
		return cost_of(p, v, x);
	for (x[v] = 0; x[v] < p->k[v]; x[v]++)
		best = brute_force(p, v + 1, x, best);
	return best;
}

static berth_pbqp_stats solve(const instance *p, const berth_pbqp *q, berth_pbqp_mode mode, int64_t limit,
                              int32_t *x, berth_arena *tmp)
{
	berth_pbqp_stats stats;
	berth_err err;
	assert_ok(berth_pbqp_solve(q, mode, limit, x, &stats, tmp, &err), &err);
	for (int32_t v = 0; v < p->n; v++)
		assert_in_range(x[v], 0, p->k[v] - 1);
	assert_true(stats.cost == cost_of(p, p->n, x));
	assert_true(stats.lower_bound <= stats.cost);
	assert_int_equal(stats.n_r0 + stats.n_r1 + stats.n_r2 + stats.n_rn <= p->n, 1);
	return stats;
}

/* All modes on one instance against the least cost there is. */
static void check_modes(const instance *p, berth_arena *mem)
{
	berth_pbqp *q;
	berth_err err;
	berth_arena tmp = {0};
	int32_t x[64];
	int64_t optimum = brute_force(p, 0, x, BERTH_PBQP_INF);
	assert_ok(build(p, mem, &q, &err), &err);
	berth_pbqp_stats early = solve(p, q, BERTH_PBQP_RN_EARLY, 0, x, &tmp),
			 late = solve(p, q, BERTH_PBQP_RN_LATE, 0, x, &tmp);
	berth_pbqp_stats both = solve(p, q, BERTH_PBQP_RN_BOTH, 0, x, &tmp),
			 best = solve(p, q, BERTH_PBQP_BEST, 0, x, &tmp),
			 exact = solve(p, q, BERTH_PBQP_EXACT, 0, x, &tmp);
	const berth_pbqp_stats *all[] = {&early, &late, &both, &best, &exact};
	for (size_t i = 0; i < 5; i++) {
		assert_true(all[i]->cost >= optimum);
		assert_true(all[i]->lower_bound <= optimum);
		assert_true(!all[i]->proven || all[i]->cost == optimum);
	}
	assert_true(both.cost <= early.cost && both.cost <= late.cost && best.cost <= both.cost);
	assert_true((both.cost < BERTH_PBQP_INF) == (optimum < BERTH_PBQP_INF));
	assert_true((best.cost < BERTH_PBQP_INF) == (optimum < BERTH_PBQP_INF));
	assert_true(exact.cost == optimum && exact.proven);
	berth_arena_free(&tmp);
}

static void test_equals_brute_force(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (BERTH_DEBUG ? 1500 : 10000); seed++) {
		berth_arena mem = {0};
		berth_rng rng = berth_rng_seed(seed, 1);
		int32_t n = (int32_t)berth_rng_below(&rng, 13), max_alts = n <= 5 ? MAX_ALTS : n <= 8 ? 3 : 2;
		int32_t m = (int32_t)berth_rng_below(&rng, 3 * (uint32_t)n + 1);
		uint32_t range = seed % 4 == 0 ? 3 : 1000,
			 inf_percent = seed % 3 == 0 ? berth_rng_below(&rng, 60) : 0;
		instance p = random_instance(&rng, n, max_alts, m, range, inf_percent, &mem);
		check_modes(&p, &mem);
		berth_arena_free(&mem);
	}
}

/* Four alternatives everywhere: the unrolled paths. */
static void test_equals_brute_force_of_four(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (BERTH_DEBUG ? 60 : 300); seed++) {
		berth_arena mem = {0};
		berth_rng rng = berth_rng_seed(seed, 2);
		instance p = random_instance(&rng, 7, 4, 18, 1000, 0, &mem);
		for (int32_t v = 0; v < p.n; v++)
			p.k[v] = 4;
		random_costs(&p, &rng, 1000, seed % 2 ? 0 : 15);
		check_modes(&p, &mem);
		berth_arena_free(&mem);
	}
}

/* A random graph that RI and RII undo: each new node hangs on one node or on both ends of an edge there is.
 */
static instance series_parallel(berth_rng *rng, int32_t n, bool tree, berth_arena *mem)
{
	instance p = instance_new(n, 2 * n, mem);
	p.m = 0;
	for (int32_t v = 0; v < n; v++) {
		p.k[v] = 1 + (int32_t)berth_rng_below(rng, MAX_ALTS);
		if (v == 0)
			continue;
		int32_t on = (int32_t)berth_rng_below(rng, (uint32_t)v),
			e = p.m > 0 ? (int32_t)berth_rng_below(rng, (uint32_t)p.m) : -1;
		if (!tree && e >= 0 && berth_rng_below(rng, 2)) {
			p.u[p.m] = p.u[e];
			p.v[p.m++] = v;
			on = p.v[e];
		}
		p.u[p.m] = v;
		p.v[p.m++] = on;
	}
	random_costs(&p, rng, 1000, 5);
	for (int32_t v = 0; v < n; v++)
		node_cost(&p, v)[0] = 500;
	return p;
}

static void test_series_parallel_needs_no_rn(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		berth_arena mem = {0}, tmp = {0};
		berth_rng rng = berth_rng_seed(seed, 3);
		berth_err err;
		berth_pbqp *q;
		int32_t n = seed < 300 ? 1 + (int32_t)berth_rng_below(&rng, 7) : 400, x[400];
		instance p = series_parallel(&rng, n, seed % 2, &mem);
		assert_ok(build(&p, &mem, &q, &err), &err);
		berth_pbqp_stats early = solve(&p, q, BERTH_PBQP_RN_EARLY, 0, x, &tmp),
				 best = solve(&p, q, BERTH_PBQP_BEST, 0, x, &tmp);
		assert_int_equal(early.n_rn, 0);
		assert_true(early.proven && early.lower_bound == early.cost && best.cost == early.cost);
		if (n <= 7)
			assert_true(early.cost == brute_force(&p, 0, x, BERTH_PBQP_INF));
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* Colouring: k colours on the complete graph of n nodes, equal colours forbidden. */
static berth_pbqp_stats colour_complete(int32_t n, int32_t colours, berth_pbqp_mode mode)
{
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_pbqp *q;
	int32_t x[16];
	instance p = instance_new(n, n * (n - 1) / 2, &mem);
	p.m = 0;
	for (int32_t v = 0; v < n; v++) {
		p.k[v] = colours;
		for (int32_t i = 0; i < colours; i++)
			node_cost(&p, v)[i] = i;
		for (int32_t u = 0; u < v; u++, p.m++) {
			p.u[p.m] = u;
			p.v[p.m] = v;
			for (int32_t i = 0; i < colours; i++)
				*edge_entry(&p, p.m, i, i) = BERTH_PBQP_INF;
		}
	}
	assert_ok(build(&p, &mem, &q, &err), &err);
	berth_pbqp_stats stats = solve(&p, q, mode, 0, x, &tmp);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return stats;
}

static void test_infinite_costs(void **state)
{
	(void)state;
	for (int mode = BERTH_PBQP_RN_EARLY; mode <= BERTH_PBQP_EXACT; mode++) {
		berth_pbqp_stats few = colour_complete(5, 4, (berth_pbqp_mode)mode),
				 enough = colour_complete(6, 6, (berth_pbqp_mode)mode);
		assert_true(few.cost == BERTH_PBQP_INF);
		assert_true(enough.cost == 0 + 1 + 2 + 3 + 4 + 5);
	}
	assert_true(colour_complete(5, 4, BERTH_PBQP_EXACT).proven);
	assert_true(colour_complete(3, 2, BERTH_PBQP_RN_EARLY).proven); /* reductions alone find it impossible
	                                                                 */
}

static void test_node_without_alternative(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	berth_pbqp *q;
	berth_pbqp_stats stats;
	int32_t k[] = {2, 3}, x[2];
	assert_ok(berth_pbqp_new(2, k, &mem, &q, &err), &err);
	for (int32_t i = 0; i < 3; i++)
		berth_pbqp_node(q, 1)[i] = BERTH_PBQP_INF;
	assert_ok(berth_pbqp_solve(q, BERTH_PBQP_BEST, 0, x, &stats, &mem, &err), &err);
	assert_true(stats.cost == BERTH_PBQP_INF && stats.proven);
	assert_ok(berth_pbqp_new(0, k, &mem, &q, &err), &err);
	assert_ok(berth_pbqp_solve(q, BERTH_PBQP_EXACT, 0, x, &stats, &mem, &err), &err);
	assert_true(stats.cost == 0 && stats.proven);
	berth_arena_free(&mem);
}

/* Cost of the answer where node 0 may take i alone and node 1 j alone. */
static int64_t cost_at(berth_pbqp *q, int32_t i, int32_t j, berth_arena *tmp)
{
	berth_err err;
	berth_pbqp_stats stats;
	int32_t x[2];
	for (int32_t k = 0; k < 2; k++)
		berth_pbqp_node(q, 0)[k] = k == i ? 0 : BERTH_PBQP_INF;
	for (int32_t k = 0; k < 3; k++)
		berth_pbqp_node(q, 1)[k] = k == j ? 0 : BERTH_PBQP_INF;
	assert_ok(berth_pbqp_solve(q, BERTH_PBQP_BEST, 0, x, &stats, tmp, &err), &err);
	return stats.cost;
}

static void test_parallel_edges_add(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	berth_pbqp *one, *two;
	int32_t k[] = {2, 3};
	const int64_t a[] = {1, 2, 3, 4, 5, BERTH_PBQP_INF}, b[] = {10, 40, 20, 50, 30, 60},
		      sum[] = {11, 22, 33, 44, 55, BERTH_PBQP_INF};
	assert_ok(berth_pbqp_new(2, k, &mem, &one, &err), &err);
	assert_ok(berth_pbqp_new(2, k, &mem, &two, &err), &err);
	assert_ok(berth_pbqp_edge(one, 0, 1, a, &err), &err);
	assert_ok(berth_pbqp_edge(one, 1, 0, b, &err), &err);
	assert_ok(berth_pbqp_edge(two, 0, 1, sum, &err), &err);
	for (int32_t i = 0; i < 2; i++)
		for (int32_t j = 0; j < 3; j++) {
			assert_true(cost_at(one, i, j, &mem) == sum[3 * i + j]);
			assert_true(cost_at(two, i, j, &mem) == sum[3 * i + j]);
		}
	berth_arena_free(&mem);
}

/* Pulling and raising the bound move costs; the cost of every assignment stays. */
static void test_moves_keep_the_problem(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (BERTH_DEBUG ? 100 : 500); seed++) {
		berth_arena mem = {0};
		berth_rng rng = berth_rng_seed(seed, 4);
		berth_err err;
		berth_pbqp *q;
		pbqp_work w;
		instance p = random_instance(&rng, 6, 4, 12, 1000, seed % 2 ? 10 : 0, &mem);
		int32_t x[6], x_inner[6];
		int64_t optimum = brute_force(&p, 0, x, BERTH_PBQP_INF);
		assert_ok(build(&p, &mem, &q, &err), &err);
		assert_ok(pbqp_work_extract((const pbqp_work *)q, NULL, &mem, &w, &err), &err);
		int64_t bound = w.base;
		for (int32_t sweep = 0; sweep < 4; sweep++) {
			assert_ok(pbqp_raise_bound(&w, 1, &err), &err);
			assert_true(w.base >= bound && pbqp_lower_bound(&w) <= optimum);
			bound = w.base;
			for (int32_t trial = 0; trial < 20 && w.base < BERTH_PBQP_INF; trial++) {
				for (int32_t s = 0; s < w.n_nodes; s++)
					x_inner[s] = (int32_t)berth_rng_below(&rng, (uint32_t)w.n_alts[s]);
				pbqp_work_lift(&w, x_inner, x);
				assert_true(pbqp_work_cost(&w, x_inner) == cost_of(&p, p.n, x));
			}
		}
		berth_arena_free(&mem);
	}
}

/* After the exact reductions every edge left has a zero in each allowed row and column, and every node left
 * three neighbours. */
static void test_normal_form(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		berth_arena mem = {0};
		berth_rng rng = berth_rng_seed(seed, 5);
		berth_err err;
		berth_pbqp *q;
		pbqp_work w;
		pbqp_reducer r;
		instance p = random_instance(&rng, 12, 4, 36, 1000, 0, &mem);
		assert_ok(build(&p, &mem, &q, &err), &err);
		assert_ok(pbqp_work_extract((const pbqp_work *)q, NULL, &mem, &w, &err), &err);
		assert_ok(pbqp_reducer_new(&w, true, &r, &err), &err);
		assert_ok(pbqp_reduce_exact(&r, &err), &err);
		for (int32_t e = 0; e < w.n_edges; e++) {
			pbqp_view view = pbqp_view_of(&w, 2 * e);
			int32_t n = w.n_alts[w.half[2 * e + 1].to], m = w.n_alts[w.half[2 * e].to],
				row_zeros = 0, col_zeros = 0;
			if (!w.edge[e].live)
				continue;
			for (int32_t i = 0; i < n; i++)
				for (int32_t j = 0, zero = 0; j < m && !zero; j++)
					row_zeros += zero = view.c[i * view.row + j * view.col] == 0;
			for (int32_t j = 0; j < m; j++)
				for (int32_t i = 0, zero = 0; i < n && !zero; i++)
					col_zeros += zero = view.c[i * view.row + j * view.col] == 0;
			assert_true(row_zeros == n && col_zeros == m);
		}
		for (int32_t v = 0; v < w.n_nodes; v++)
			assert_true(!w.alive[v] || w.degree[v] >= 3);
		berth_arena_free(&mem);
	}
}

/* ---- larger instances ---- */

/* Simulated annealing over single nodes, geometric cooling; the best of three temperatures. */
static int64_t anneal(const instance *p, int32_t sweeps, berth_rng *rng, berth_arena *tmp)
{
	int64_t best = INT64_MAX;
	int32_t *x = berth_arena_alloc(tmp, (size_t)p->n, sizeof *x);
	for (double hot = 500; hot < 10000; hot *= 4)
		for (int32_t sweep = 0; sweep < sweeps; sweep++) {
			double temperature = hot * pow(0.005, (double)sweep / sweeps);
			for (int32_t v = 0; v < p->n; v++) {
				int32_t i = x[v], j = (int32_t)berth_rng_below(rng, (uint32_t)p->k[v]);
				int64_t delta = node_cost(p, v)[j] - node_cost(p, v)[i];
				for (int32_t e = 3 * v; e < 3 * v + 3; e++)
					delta += *edge_entry(p, e, x[p->u[e]], j) -
					         *edge_entry(p, e, x[p->u[e]], i);
				if (delta <= 0 || berth_rng_unit(rng) < exp(-(double)delta / temperature))
					x[v] = j;
			}
			int64_t cost = 0;
			for (int32_t v = 0; v < p->n; v++)
				cost += 2 * node_cost(p, v)[x[v]];
			for (int32_t e = 0; e < p->m; e++)
				cost += *edge_entry(p, e, x[p->u[e]], x[p->v[e]]);
			best = cost < best ? cost : best;
		}
	return best;
}

/* A random cubic multigraph as annealing wants it: edges 3v .. 3v+2 end in v, each edge stands at both of
 * its ends, node costs are halved so that cost = sum over that doubled list. */
static instance cubic(berth_rng *rng, int32_t n, uint32_t range, berth_arena *mem)
{
	instance p = instance_new(n, 3 * n, mem);
	int32_t *stub = berth_arena_alloc(mem, 3 * (size_t)n, sizeof *stub);
	for (int32_t s = 0; s < 3 * n; s++)
		stub[s] = s;
	for (int32_t s = 3 * n - 1; s > 0; s--) {
		int32_t t = (int32_t)berth_rng_below(rng, (uint32_t)s + 1), swap = stub[s];
		stub[s] = stub[t];
		stub[t] = swap;
	}
	for (int32_t v = 0; v < n; v++) {
		p.k[v] = 4;
		for (int32_t i = 0; i < 4; i++)
			node_cost(&p, v)[i] = berth_rng_below(rng, range);
	}
	for (int32_t s = 0; s < 3 * n; s += 2) {
		int32_t a = stub[s], b = stub[s + 1];
		p.v[a] = p.u[b] = a / 3;
		p.v[b] = p.u[a] = b / 3;
		for (int32_t i = 0; i < 4; i++)
			for (int32_t j = 0; j < 4; j++)
				*edge_entry(&p, a, i, j) = *edge_entry(&p, b, j, i) =
					a / 3 == b / 3 ? 0 : berth_rng_below(rng, range);
	}
	return p;
}

/* The problem of a doubled list: node costs twice, every edge from both sides; loops left out. */
static berth_status build_doubled(const instance *p, berth_arena *mem, berth_pbqp **q, berth_err *err)
{
	int64_t matrix[16];
	BERTH_TRY(berth_pbqp_new(p->n, p->k, mem, q, err));
	for (int32_t v = 0; v < p->n; v++)
		for (int32_t i = 0; i < 4; i++)
			berth_pbqp_node(*q, v)[i] = 2 * node_cost(p, v)[i];
	for (int32_t e = 0; e < p->m; e++) {
		for (int32_t i = 0; i < 4; i++)
			memcpy(matrix + 4 * i, edge_entry(p, e, i, 0), 4 * sizeof *matrix);
		if (p->u[e] != p->v[e])
			BERTH_TRY(berth_pbqp_edge(*q, p->u[e], p->v[e], matrix, err));
	}
	return BERTH_OK;
}

static void test_near_annealing(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (BERTH_DEBUG ? 4 : 6); seed++) {
		berth_arena mem = {0}, tmp = {0};
		berth_rng rng = berth_rng_seed(seed, 6);
		berth_err err;
		berth_pbqp *q;
		berth_pbqp_stats early, late, best;
		int32_t n = seed < 3 ? 100 : 400, x[400];
		instance p = cubic(&rng, n, 1000, &mem);
		assert_ok(build_doubled(&p, &mem, &q, &err), &err);
		assert_ok(berth_pbqp_solve(q, BERTH_PBQP_RN_EARLY, 0, x, &early, &tmp, &err), &err);
		assert_ok(berth_pbqp_solve(q, BERTH_PBQP_RN_LATE, 0, x, &late, &tmp, &err), &err);
		assert_ok(berth_pbqp_solve(q, BERTH_PBQP_BEST, 0, x, &best, &tmp, &err), &err);
		int64_t annealed = anneal(&p, 500, &rng, &tmp);
		assert_true(early.n_rn > 0 && late.n_rn > 0);
		assert_true(best.cost <= early.cost && best.cost <= late.cost);
		assert_true((double)best.cost <= 1.003 * (double)annealed);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

static void test_same_answer_again(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_rng rng = berth_rng_seed(1, 7);
	berth_err err;
	berth_pbqp *q;
	instance p = random_instance(&rng, 3000, 5, 4500, 10000, 0, &mem);
	int32_t *x = berth_arena_alloc(&mem, 3000, sizeof *x),
		*again = berth_arena_alloc(&mem, 3000, sizeof *again);
	assert_ok(build(&p, &mem, &q, &err), &err);
	berth_pbqp_stats best = solve(&p, q, BERTH_PBQP_BEST, 0, x, &tmp);
	assert_non_null(berth_arena_alloc(&tmp, 12345, 1));
	assert_true(solve(&p, q, BERTH_PBQP_BEST, 0, again, &tmp).cost == best.cost);
	assert_memory_equal(x, again, 3000 * sizeof *x);
	assert_true(best.cost <= solve(&p, q, BERTH_PBQP_RN_EARLY, 0, again, &tmp).cost);
	assert_true(best.cost <= solve(&p, q, BERTH_PBQP_RN_LATE, 0, again, &tmp).cost);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_node_limit(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_rng rng = berth_rng_seed(2, 8);
	berth_err err;
	berth_pbqp *q;
	int32_t x[60];
	instance p = random_instance(&rng, 60, 6, 240, 1000, 0, &mem);
	assert_ok(build(&p, &mem, &q, &err), &err);
	berth_pbqp_stats best = solve(&p, q, BERTH_PBQP_BEST, 0, x, &tmp),
			 limited = solve(&p, q, BERTH_PBQP_EXACT, 7, x, &tmp);
	assert_int_equal(limited.nodes, 7);
	assert_false(limited.proven);
	assert_true(limited.cost <= best.cost);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* ---- failures ---- */

static void test_wrong_arguments(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	berth_pbqp *q;
	int32_t k[] = {2, 2}, none[] = {2, 0}, x[2];
	int64_t cost[] = {0, 1, 2, 3};
	assert_int_equal(berth_pbqp_new(-1, k, &mem, &q, &err), BERTH_EINVAL);
	assert_int_equal(berth_pbqp_new(2, none, &mem, &q, &err), BERTH_EINVAL);
	assert_contains(err.msg, "node 1 has 0 alternatives");
	assert_ok(berth_pbqp_new(2, k, &mem, &q, &err), &err);
	assert_int_equal(berth_pbqp_edge(q, 0, 0, cost, &err), BERTH_EINVAL);
	assert_int_equal(berth_pbqp_edge(q, 0, 2, cost, &err), BERTH_EINVAL);
	cost[2] = -1;
	assert_int_equal(berth_pbqp_edge(q, 0, 1, cost, &err), BERTH_EINVAL);
	cost[2] = BERTH_PBQP_INF + 1;
	assert_int_equal(berth_pbqp_edge(q, 0, 1, cost, &err), BERTH_EINVAL);
	berth_pbqp_node(q, 1)[0] = -1;
	assert_int_equal(berth_pbqp_solve(q, BERTH_PBQP_BEST, 0, x, NULL, &mem, &err), BERTH_EINVAL);
	berth_pbqp_node(q, 0)[0] = berth_pbqp_node(q, 1)[0] = BERTH_PBQP_INF / 2;
	assert_int_equal(berth_pbqp_solve(q, BERTH_PBQP_BEST, 0, x, NULL, &mem, &err), BERTH_EINVAL);
	assert_contains(err.msg, "scale them down");
	berth_arena_free(&mem);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	berth_arena own = {0};
	berth_rng rng = berth_rng_seed(3, 9);
	instance p = random_instance(&rng, 16, 6, 48, 1000, 0, &own);
	for (int32_t v = 0; v < p.n; v++)
		p.k[v] = MAX_ALTS;
	random_costs(&p, &rng, 1000, 0);
	const int step = support_one_in(5, "failing allocations");
	for (long k = 0;; k += step) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_err err;
		berth_pbqp *q;
		int32_t x[16];
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = build(&p, &mem, &q, &err);
		if (st == BERTH_OK)
			st = berth_pbqp_solve(q, BERTH_PBQP_EXACT, 5, x, NULL, &tmp, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
	berth_arena_free(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_brute_force),
		cmocka_unit_test(test_equals_brute_force_of_four),
		cmocka_unit_test(test_series_parallel_needs_no_rn),
		cmocka_unit_test(test_infinite_costs),
		cmocka_unit_test(test_node_without_alternative),
		cmocka_unit_test(test_parallel_edges_add),
		cmocka_unit_test(test_moves_keep_the_problem),
		cmocka_unit_test(test_normal_form),
		cmocka_unit_test(test_near_annealing),
		cmocka_unit_test(test_same_answer_again),
		cmocka_unit_test(test_node_limit),
		cmocka_unit_test(test_wrong_arguments),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
