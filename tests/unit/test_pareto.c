/* Pareto fronts against the front of all placements, their points against simulations of their own, threads,
 * limits, failing memory. */
#include "bounds.h"
#include "check.h"
#include "instance.h"
#include "pareto.h"
#include "small_problem.h"
#include "solve.h"
#include "support.h"
#include "systems_builtin.h"
#include "timeline.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096 };

static void compile(small_problem *c, uint64_t seed, int max_ops)
{
	instance in;
	instance_make(seed, max_ops, 3, &in);
	small_problem_make(c, in.graph, in.system);
	instance_free(&in);
}

static berth_pareto_cfg config(berth_metric a, berth_metric b, int64_t evaluations)
{
	return (berth_pareto_cfg){.objective = {berth_objective_of(a), berth_objective_of(b)},
	                          .most_points = 64,
	                          .search = {.seed = 1, .evaluations = evaluations}};
}

static bool dominated(const double value[2], double (*front)[2], int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (front[i][0] <= value[0] && front[i][1] <= value[1])
			return true;
	return false;
}

/* All values on the front of every legal placement under the system's rule; -1: too many placements. */
static int32_t brute_force(small_problem *c, const berth_pareto_cfg *cfg, double (*front)[2])
{
	berth_eval eval;
	berth_err err;
	int32_t op_dev[INSTANCE_MAX_OPS] = {0}, n = 0, op;
	assert_ok(berth_eval_new(&c->p, &(berth_objective){.text = ""}, &c->mem, &eval, &err), &err);
	do {
		bool legal = true;
		for (int32_t o = 0; o < c->p.n_ops; o++)
			legal = legal && berth_op_legal(&c->p, o, op_dev[o]) &&
			        op_dev[o] == op_dev[c->p.coloc_op[c->p.coloc_off[c->p.op_coloc[o]]]];
		berth_sim_result r;
		if (legal && !(berth_eval_result(&eval, op_dev, NULL, &r) > 0)) {
			double value[2] = {berth_objective_value(&cfg->objective[0], &r),
			                   berth_objective_value(&cfg->objective[1], &r)};
			if (!dominated(value, front, n)) {
				int32_t kept = 0;
				for (int32_t i = 0; i < n; i++)
					if (!(value[0] <= front[i][0] && value[1] <= front[i][1]))
						memcpy(front[kept++], front[i], sizeof front[i]);
				assert_true(kept < MOST);
				memcpy(front[kept++], value, sizeof value);
				n = kept;
			}
		}
		for (op = 0; op < c->p.n_ops && ++op_dev[op] == c->p.n_devs; op++)
			op_dev[op] = 0;
	} while (op < c->p.n_ops);
	return n;
}

static void check_points(small_problem *c, const berth_pareto_cfg *cfg, const berth_pareto *f)
{
	for (int32_t i = 0; i < f->n; i++) {
		const berth_pareto_point *x = &f->point[i];
		berth_timeline t;
		berth_verdict v;
		berth_err err;
		assert_ok(berth_judge(&c->p, x->op_dev, x->op_order, NULL, &c->mem, &t, &v, &err), &err);
		assert_true(v.feasible);
		for (int k = 0; k < 2; k++)
			assert_true(x->value[k] == berth_objective_value(&cfg->objective[k], &t.r));
		if (i)
			assert_true(x->value[0] > x[-1].value[0] && x->value[1] < x[-1].value[1]);
	}
}

static void fronts_are_those_of_all_placements(void **state)
{
	static double front[MOST][2];
	static const berth_metric pair[][2] = {{BERTH_LATENCY, BERTH_ENERGY},
	                                       {BERTH_LATENCY, BERTH_THROUGHPUT},
	                                       {BERTH_ENERGY, BERTH_POWER}};
	int32_t points = 0, found = 0, many = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 120; seed++) {
		small_problem c;
		compile(&c, seed, 7);
		for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
			berth_pareto_cfg cfg = config(pair[k][0], pair[k][1], 4000);
			berth_pareto f;
			berth_err err;
			if (berth_objective_check(&cfg.objective[0], &c.p, NULL) != BERTH_OK ||
			    berth_objective_check(&cfg.objective[1], &c.p, NULL) != BERTH_OK ||
			    berth_problem_feasible(&c.p, NULL) != BERTH_OK)
				continue;
			assert_ok(berth_pareto_search(&c.p, &cfg, &c.mem, &c.tmp, &f, &err), &err);
			check_points(&c, &cfg, &f);
			int32_t n = brute_force(&c, &cfg, front);
			for (int32_t i = 0; i < n; i++)
				for (int32_t j = 0; j < f.n; j++)
					if (f.point[j].value[0] <= front[i][0] &&
					    f.point[j].value[1] <= front[i][1]) {
						found++;
						break;
					}
			points += n;
			many += n > 2;
		}
		small_problem_free(&c);
	}
	print_message("%d of %d points found, %d fronts of more than two\n", found, points, many);
	assert_true(many > 10 && found >= points * 99 / 100);
}

static void same_front_for_any_threads(void **state)
{
	small_problem c;
	berth_pareto one, four;
	berth_err err;
	berth_pareto_cfg cfg = config(BERTH_LATENCY, BERTH_THROUGHPUT, 3000);
	(void)state;
	uint64_t seed = 1;
	for (compile(&c, seed, 40); berth_problem_feasible(&c.p, NULL) != BERTH_OK || c.p.n_ops < 20;
	     compile(&c, ++seed, 40))
		small_problem_free(&c);
	cfg.most_points = 3;
	assert_ok(berth_pareto_search(&c.p, &cfg, &c.mem, &c.tmp, &one, &err), &err);
	assert_ok(berth_pool_new(4, &cfg.search.pool, &err), &err);
	assert_ok(berth_pareto_search(&c.p, &cfg, &c.mem, &c.tmp, &four, &err), &err);
	berth_pool_free(cfg.search.pool);
	assert_true(one.n == four.n && one.n <= 3 && one.evaluations == four.evaluations);
	for (int32_t i = 0; i < one.n; i++) {
		assert_memory_equal(one.point[i].value, four.point[i].value, sizeof one.point[i].value);
		assert_memory_equal(one.point[i].op_dev, four.point[i].op_dev,
		                    (size_t)c.p.n_ops * sizeof(int32_t));
	}
	cfg.search.pool = NULL;
	cfg.most_points = 1;
	assert_int_equal(berth_pareto_search(&c.p, &cfg, &c.mem, &c.tmp, &one, &err), BERTH_EINVAL);
	small_problem_free(&c);
}

static void limits_hold_for_all_points(void **state)
{
	small_problem c;
	berth_pareto all, some;
	berth_err err;
	berth_pareto_cfg cfg = config(BERTH_LATENCY, BERTH_THROUGHPUT, 3000);
	uint64_t seed = 1;
	char text[96];
	(void)state;
	for (;; seed++) {
		compile(&c, seed, 12);
		if (berth_problem_feasible(&c.p, NULL) == BERTH_OK) {
			assert_ok(berth_pareto_search(&c.p, &cfg, &c.mem, &c.tmp, &all, &err), &err);
			if (all.n > 2)
				break;
		}
		small_problem_free(&c);
	}
	double most = all.point[all.n - 2].value[0];
	snprintf(text, sizeof text, "throughput:latency<=%.17g", most);
	assert_ok(berth_objective_parse(text, &cfg.objective[1], &err), &err);
	assert_ok(berth_pareto_search(&c.p, &cfg, &c.mem, &c.tmp, &some, &err), &err);
	assert_true(some.n > 0);
	for (int32_t i = 0; i < some.n; i++)
		assert_true(some.point[i].value[0] <= most);
	small_problem_free(&c);
}

static void failing_memory(void **state)
{
	small_problem c;
	berth_pareto_cfg cfg = config(BERTH_LATENCY, BERTH_THROUGHPUT, 50);
	(void)state;
	uint64_t seed = 3;
	for (compile(&c, seed, 6); berth_problem_feasible(&c.p, NULL) != BERTH_OK || c.p.n_ops < 4;
	     compile(&c, ++seed, 6))
		small_problem_free(&c);
	cfg.most_points = 2;
	for (long k = 0;; k += 7) {
		failing_allocator f;
		berth_err err;
		berth_pareto front;
		berth_arena mem, tmp;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_pareto_search(&c.p, &cfg, &mem, &tmp, &front, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK)
			break;
		assert_int_equal(st, BERTH_ENOMEM);
	}
	small_problem_free(&c);
}

/* What the method finds for either objective in a tenth of the evaluations dominates no point. */
static void no_point_is_dominated_by_a_short_search(void **state)
{
	static const char *const names[] = {"anneal", "local-search", "berth"};
	(void)state;
	for (int k = 0; k < 6; k++) {
		small_problem c = {0};
		berth_err err;
		berth_pareto front;
		berth_bounds bounds;
		char spec[80];
		berth_pareto_cfg cfg = config(BERTH_LATENCY, BERTH_ENERGY, 2000);
		snprintf(spec, sizeof spec, "zoo:random:ops=%d:ccr=1:heterogeneity=1:seed=%d", 25 + 5 * k, k);
		assert_ok(berth_zoo_build(spec, &c.mem, &c.tmp, &c.g, &err), &err);
		assert_ok(berth_system_builtin(k % 2 ? "4gpu" : "cpu+2gpu", &c.mem, &c.tmp, &c.s, &err),
		          &err);
		assert_ok(berth_problem_new(&c.g, &c.s, &c.mem, &c.tmp, &c.p, &err), &err);
		assert_ok(berth_bounds_new(&c.p, &c.tmp, &bounds, &err), &err);
		cfg.search.seed = (uint64_t)k + 1;
		assert_ok(berth_method_find(names[k % 3], &cfg.method, &err), &err);
		assert_ok(berth_pareto_search(&c.p, &cfg, &c.mem, &c.tmp, &front, &err), &err);
		for (int m = 0; m < 2; m++) {
			berth_search_cfg tenth = cfg.search;
			berth_solution r;
			berth_sim_result sim;
			berth_eval eval;
			tenth.objective = cfg.objective[m];
			tenth.evaluations /= 10;
			assert_ok(berth_solve(&c.p, &bounds, cfg.method, &tenth, &c.mem, &c.tmp, &r, &err),
			          &err);
			assert_ok(berth_eval_new(&c.p, &tenth.objective, &c.mem, &eval, &err), &err);
			berth_eval_result(&eval, r.op_dev, r.op_order, &sim);
			double latency = berth_objective_value(&cfg.objective[0], &sim),
			       energy = berth_objective_value(&cfg.objective[1], &sim);
			for (int32_t i = 0; i < front.n; i++) {
				const double *v = front.point[i].value;
				if (latency <= v[0] && energy <= v[1] && (latency < v[0] || energy < v[1]))
					fail_msg("%s: point %d is dominated by %s for objective %d", spec,
					         (int)i + 1, names[k % 3], m + 1);
			}
		}
		small_problem_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fronts_are_those_of_all_placements),
		cmocka_unit_test(same_front_for_any_threads),
		cmocka_unit_test(limits_hold_for_all_points),
		cmocka_unit_test(no_point_is_dominated_by_a_short_search),
		cmocka_unit_test(failing_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
