/* Minimum cuts against all placements on two devices, also beside operators that stay elsewhere; the best
 * split point of a chain against all of them. */
#include "coloc.h"
#include "instance.h"
#include "method.h"
#include "min_cut.h"
#include "registry.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>
#include <string.h>

enum { MAX_OPS = 11, MAX_DEVS = 4, N_CHAIN = 12 };

static bool always(void *ctx, int64_t arcs)
{
	*(int64_t *)ctx += arcs;
	return true;
}

static bool never(void *ctx, int64_t arcs)
{
	(void)ctx, (void)arcs;
	return false;
}

/* Each colocation group somewhere where it may be. */
static void draw_placement(const berth_problem *p, berth_rng *rng, int32_t *op_dev)
{
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t d = (int32_t)berth_rng_below(rng, (uint32_t)p->n_devs);
		while (!berth_coloc_legal(p, u, d))
			d = (d + 1) % p->n_devs;
		berth_coloc_put(p, u, d, op_dev);
	}
}

static double cost(const berth_problem *p, const int32_t *op_dev, const double *byte_ns, const int64_t *bytes)
{
	uint8_t seen[MAX_DEVS] = {0};
	double sum = (double)berth_sum_of_times(p, op_dev, seen);
	for (int32_t u = 0; u < p->n_colocs; u++)
		sum += byte_ns[berth_coloc_dev(p, u, op_dev)] * (double)bytes[u];
	return sum;
}

/* The least cost over what the cut may change: colocation groups from u on that are on one of the two. */
static double least(const berth_problem *p, const int32_t dev[2], int32_t u, int32_t *op_dev,
                    const double *byte_ns, const int64_t *bytes)
{
	double best = INFINITY;
	if (u == p->n_colocs)
		return cost(p, op_dev, byte_ns, bytes);
	int32_t now = berth_coloc_dev(p, u, op_dev);
	if (now != dev[0] && now != dev[1])
		return least(p, dev, u + 1, op_dev, byte_ns, bytes);
	for (int k = 0; k < 2; k++)
		if (berth_coloc_legal(p, u, dev[k])) {
			berth_coloc_put(p, u, dev[k], op_dev);
			best = fmin(best, least(p, dev, u + 1, op_dev, byte_ns, bytes));
		}
	berth_coloc_put(p, u, now, op_dev);
	return best;
}

static void test_against_all(void **state)
{
	(void)state;
	int n_better = 0, n_apart = 0;
	for (uint64_t seed = 1; seed <= 600; seed++) {
		instance in;
		small_problem w;
		berth_err err;
		berth_min_cut cut;
		int32_t op_dev[MAX_OPS], all[MAX_OPS];
		int64_t bytes[MAX_OPS], price_ns[MAX_OPS * MAX_DEVS], arcs = 0;
		berth_rng rng = berth_rng_seed(seed, 7);
		double byte_ns[MAX_DEVS] = {0};
		instance_make(seed, MAX_OPS, MAX_DEVS, &in);
		small_problem_make(&w, in.graph, in.system);
		instance_free(&in);
		if (w.p.n_devs > 1 && berth_problem_feasible(&w.p, NULL) == BERTH_OK) {
			int32_t dev[2] = {(int32_t)berth_rng_below(&rng, (uint32_t)w.p.n_devs)};
			dev[1] = (dev[0] + 1) % w.p.n_devs;
			draw_placement(&w.p, &rng, op_dev);
			memcpy(all, op_dev, sizeof all);
			berth_coloc_bytes(&w.p, bytes);
			if (seed % 2) /* whole ns, so that the sum is the flow's */
				byte_ns[dev[seed / 2 % 2]] = (double)berth_rng_below(&rng, 3);
			for (int32_t u = 0; u < w.p.n_colocs; u++)
				for (int32_t d = 0; d < w.p.n_devs; d++)
					price_ns[berth_cell(&w.p, u, d)] = (int64_t)byte_ns[d] * bytes[u];
			double before = cost(&w.p, op_dev, byte_ns, bytes),
			       best = least(&w.p, dev, 0, all, byte_ns, bytes);
			assert_ok(berth_min_cut_new(&w.p, &w.mem, &cut, &err), &err);
			assert_true(berth_min_cut_place(&cut, dev, price_ns, always, &arcs, op_dev));
			assert_true(cost(&w.p, op_dev, byte_ns, bytes) == best);
			for (int32_t op = 0; op < w.p.n_ops; op++) {
				assert_true(berth_op_legal(&w.p, op, op_dev[op]));
				n_apart += op_dev[op] != dev[0] && op_dev[op] != dev[1];
			}
			n_better += best < before;
		}
		small_problem_free(&w);
	}
	assert_true(n_better > 100 && n_apart > 200);
}

/* What ends a cut leaves the placement as it was. */
static void test_ended(void **state)
{
	(void)state;
	small_problem w;
	berth_err err;
	berth_min_cut cut;
	const int32_t was[2] = {0, 1};
	int32_t op_dev[2] = {0, 1};
	small_problem_make(&w,
	        "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
	        "{\"name\":\"a\",\"time_s\":{\"d\":1,\"e\":9}},"
	        "{\"name\":\"b\",\"time_s\":{\"d\":9,\"e\":1}}],"
	        "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1000000000}]}",
	        "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
	        "\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1e7,\"both_ways\":true}]}");
	assert_ok(berth_min_cut_new(&w.p, &w.mem, &cut, &err), &err);
	assert_false(berth_min_cut_place(&cut, was, NULL, never, NULL, op_dev));
	assert_memory_equal(op_dev, was, sizeof was);
	int64_t arcs = 0;
	assert_true(berth_min_cut_place(&cut, was, NULL, always, &arcs, op_dev));
	assert_int_equal(op_dev[0], op_dev[1]); /* 100 s for the tensor */
	assert_true(arcs > 0);
	small_problem_free(&w);
}

/* A chain of random times and sizes on a slow and a fast device. */
static void draw_chain(small_problem *w, uint64_t seed)
{
	berth_arena text = {0};
	berth_rng rng = berth_rng_seed(seed, 9);
	const char *ops = "", *edges = "";
	for (int i = 0; i < N_CHAIN; i++) {
		ops = berth_arena_printf(&text, "%s%s{\"name\":\"o%d\",\"time_s\":{\"d\":%d,\"e\":%d}}", ops,
		                         i ? "," : "", i, 1 + (int)berth_rng_below(&rng, 50),
		                         1 + (int)berth_rng_below(&rng, 50));
		if (i)
			edges = berth_arena_printf(
				&text, "%s%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":%d}", edges,
				i > 1 ? "," : "", i - 1, i, (int)berth_rng_below(&rng, 40));
	}
	small_problem_make(w,
	        berth_arena_printf(
			&text, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[%s]}",
			ops, edges),
	        "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
	        "\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}]}");
	berth_arena_free(&text);
}

static double run_method(const berth_method *m, small_problem *w)
{
	berth_err err;
	berth_search s;
	berth_search_cfg cfg = berth_search_cfg_default();
	assert_ok(berth_search_new(&w->p, &cfg, &w->mem, &s, &err), &err);
	assert_ok(berth_method_run(m, &s, &w->tmp, &err), &err);
	return s.best.value;
}

static void test_chain(void **state)
{
	(void)state;
	int n_cut = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		small_problem w;
		uint8_t seen[2] = {0};
		int32_t op_dev[N_CHAIN];
		int64_t split = INT64_MAX, best = INT64_MAX;
		draw_chain(&w, seed);
		for (int bits = 0; bits < 1 << N_CHAIN; bits++) {
			int cuts = 0;
			for (int32_t op = 0; op < N_CHAIN; op++) {
				op_dev[op] = bits >> op & 1;
				cuts += op && op_dev[op] != op_dev[op - 1];
			}
			int64_t sum = berth_sum_of_times(&w.p, op_dev, seen);
			split = cuts <= 1 && sum < split ? sum : split;
			best = sum < best ? sum : best;
		}
		assert_int_equal(llround(1e9 * run_method(&berth_method_split_point, &w)), split);
		assert_int_equal(llround(1e9 * run_method(&berth_method_min_cut, &w)), best);
		n_cut += best < split;
		small_problem_free(&w);
	}
	assert_true(n_cut > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_all), cmocka_unit_test(test_ended),
	                                   cmocka_unit_test(test_chain)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
