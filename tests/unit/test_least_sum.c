/* Least sums of times against all placements of small instances: the bound, the method `least-sum`, and the
 * default method where nothing overlaps; walks over sums. */
#include "bounds.h"
#include "coloc.h"
#include "cost_model.h"
#include "eval.h"
#include "instance.h"
#include "least_sum.h"
#include "method.h"
#include "min_cut.h"
#include "registry.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>

enum { MAX_OPS = 7, MAX_DEVS = 3, FEW = 4000, ALL = 100000 };

typedef struct case_of {
	small_problem w;
	berth_eval e;
	int32_t op_dev[MAX_OPS]; /* scratch */
	double best; /* of those that keep all limits; INFINITY: none */
} case_of;

/* Each device holds about a half of all that there is. */
static void limit_memory(small_problem *w, uint64_t seed)
{
	berth_rng rng = berth_rng_seed(seed, 5);
	int64_t all = 0;
	for (int32_t op = 0; op < w->g.n_ops; op++)
		all += berth_kept_bytes(&w->p, op) + w->g.op_workspace_bytes[op];
	for (int32_t t = 0; t < w->g.n_tensors; t++)
		all += w->g.tensor_bytes[t];
	for (int32_t d = 0; d < w->s.n_devs; d++)
		w->s.dev_memory_bytes[d] =
			(int64_t)((double)all * (0.2 + 0.6 * berth_rng_unit(&rng)));
}

static void open_case(case_of *c, uint64_t seed)
{
	instance in;
	berth_err err;
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	*c = (case_of){.best = INFINITY};
	(seed % 4 ? instance_make : instance_make_pooled)(seed, MAX_OPS - (seed % 10 != 0), MAX_DEVS, &in);
	small_problem_make(&c->w, in.graph, in.system);
	instance_free(&in);
	assert_ok(berth_cost_model_find("serial", &c->w.s.cost_model, &err), &err);
	if (seed % 3 == 0)
		limit_memory(&c->w, seed);
	assert_ok(berth_problem_new(&c->w.g, &c->w.s, &c->w.mem, &c->w.tmp, &c->w.p, &err), &err);
	if (berth_problem_feasible(&c->w.p, NULL) == BERTH_OK)
		assert_ok(berth_eval_new(&c->w.p, &latency, &c->w.mem, &c->e, &err), &err);
}

static void try_all(case_of *c, int32_t u)
{
	const berth_problem *p = &c->w.p;
	if (u == p->n_colocs) {
		berth_score score = berth_eval_run(&c->e, c->op_dev, NULL);
		if (berth_score_feasible(score))
			c->best = fmin(c->best, score.value);
		return;
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_coloc_legal(p, u, d)) {
			berth_coloc_put(p, u, d, c->op_dev);
			try_all(c, u + 1);
		}
}

/* What a method answers: never better than the best, its bound never above. */
static berth_search answer(case_of *c, const berth_method *m)
{
	berth_search s;
	berth_err err;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.evaluations = 100;
	assert_ok(berth_search_new(&c->w.p, &cfg, &c->w.mem, &s, &err), &err);
	assert_ok(berth_method_run(m, &s, &c->w.tmp, &err), &err);
	assert_true(!berth_score_feasible(s.best) || s.best.value >= c->best);
	assert_true(isnan(s.bound) || s.bound <= c->best);
	return s;
}

static void test_against_all(void **state)
{
	(void)state;
	int all = 0, plenty = 0, proven = 0, found = 0, best = 0;
	uint64_t n = (uint64_t)support_sampled(ALL, FEW, "instances");
	for (uint64_t seed = 1; seed <= n; seed++) {
		case_of c;
		berth_bounds b;
		berth_err err;
		berth_bound_effort effort = berth_bound_effort_all(NULL);
		open_case(&c, seed);
		if (berth_problem_feasible(&c.w.p, NULL) == BERTH_OK) {
			try_all(&c, 0);
			assert_ok(berth_bounds_new(&c.w.p, &c.w.tmp, &b, &err), &err);
			double fast = b.value[BERTH_LATENCY];
			assert_ok(berth_bounds_strengthen(&c.w.p, &effort, &c.w.tmp, &b, &err), &err);
			assert_true(b.value[BERTH_LATENCY] >= fast && b.value[BERTH_LATENCY] <= c.best);
			berth_search s = answer(&c, &berth_method_least_sum);
			if (c.w.p.memory_free && !c.w.p.coupled) { /* exact on any number of devices */
				assert_true(s.best.value == c.best && berth_search_proven(&s));
				assert_true(b.value[BERTH_LATENCY] == c.best);
				plenty++;
			}
			all += isfinite(c.best);
			found += isfinite(c.best) && berth_score_feasible(s.best);
			best += isfinite(c.best) && s.best.value == c.best;
			proven += berth_search_proven(&s);
		}
		small_problem_free(&c.w);
	}
	print_message("%d instances, %d without limits of memory; %d answered, %d best, %d proven\n", all,
	              plenty, found, best, proven);
	assert_true(all > (int)n / 2 && plenty > all / 4 && proven > plenty);
	assert_true(found > all * 9 / 10 && best > all * 9 / 10);
}

/* The default answers by them, and ends there. */
static void test_default(void **state)
{
	(void)state;
	small_problem w;
	berth_search s;
	berth_err err;
	berth_search_cfg cfg = berth_search_cfg_default();
	small_problem_build(&w, "zoo:resnet18", "laptop");
	w.s.n_pools = 0;
	assert_ok(berth_cost_model_find("serial", &w.s.cost_model, &err), &err);
	assert_ok(berth_problem_new(&w.g, &w.s, &w.mem, &w.tmp, &w.p, &err), &err);
	assert_ok(berth_search_new(&w.p, &cfg, &w.mem, &s, &err), &err);
	assert_ok(berth_start_from_portfolio(&s, &w.tmp, &err), &err);
	assert_true(berth_search_proven(&s) && s.evaluations == w.p.n_devs + 1);
	small_problem_free(&w);
}

static void test_walk(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		case_of c;
		berth_err err;
		berth_sum_walk walk;
		uint8_t seen[MAX_DEVS] = {0};
		berth_rng rng = berth_rng_seed(seed, 3);
		open_case(&c, seed);
		const berth_problem *p = &c.w.p;
		assert_ok(berth_sum_walk_new(p, &c.w.mem, &walk, &err), &err);
		berth_sum_walk_set(&walk, c.op_dev);
		for (int i = 0; i < 50; i++) {
			int32_t u = (int32_t)berth_rng_below(&rng, (uint32_t)p->n_colocs),
				d = (int32_t)berth_rng_below(&rng, (uint32_t)p->n_devs);
			berth_sum_walk_move_coloc(&walk, u, d);
			berth_coloc_put(p, u, d, c.op_dev);
			assert_int_equal(walk.sum_ns, berth_sum_of_times(p, c.op_dev, seen));
		}
		small_problem_free(&c.w);
	}
}

/* Near evaluations are those of whole runs. */
static void test_near(void **state)
{
	(void)state;
	int n_less = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		case_of c;
		berth_err err;
		berth_rng rng = berth_rng_seed(seed, 4);
		open_case(&c, seed);
		const berth_problem *p = &c.w.p;
		if (berth_problem_feasible(p, NULL) == BERTH_OK)
			assert_ok(berth_eval_want_near(&c.e, &c.w.mem, &err), &err);
		for (int i = 0; i < 20 && c.e.walk; i++) {
			int32_t u = (int32_t)berth_rng_below(&rng, (uint32_t)p->n_colocs),
				d = (int32_t)berth_rng_below(&rng, (uint32_t)p->n_devs);
			berth_coloc_put(p, u, d, c.op_dev);
			berth_keyed x = {c.op_dev, NULL};
			berth_score all = berth_eval_run(&c.e, c.op_dev, NULL),
				    near = berth_eval_near(&c.e, x, x, INT64_MAX);
			assert_true(all.excess == near.excess && all.value == near.value);
			if (!isfinite(all.value) || all.value == 0)
				continue;
			int64_t ns = berth_eval_latency_limit(&c.e, all.value);
			assert_true(berth_eval_near(&c.e, x, x, ns).value == all.value);
			assert_true(berth_eval_near(&c.e, x, x, ns - 1).value == INFINITY);
			n_less++;
		}
		small_problem_free(&c.w);
	}
	assert_true(n_less > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_all),
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_near),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
