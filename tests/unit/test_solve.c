/* Runs of methods with what is told about them: feasible, infeasible, interrupted, given orders; rows and
 * summaries of compare; failing memory. */
#include "compare.h"
#include "relax.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* a -> b, a -> c, b and c -> d; c cannot run on the cpu. Memory: the cpu holds everything, the gpu 4 MB. */
#define GRAPH(extra)                                                                                         \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"a\",\"time_s\":{"     \
	"\"cpu\":4e-3,\"gpu\":1e-3}},"                                                                       \
	"{\"name\":\"b\",\"time_s\":{\"cpu\":1e-3,\"gpu\":2e-3}},{\"name\":\"c\",\"time_s\":{\"cpu\":null,"  \
	"\"gpu\":1e-3}" extra "},{\"name\":\"d\",\"time_s\":{\"cpu\":4e-3,\"gpu\":1e-3}}],"                  \
	"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":100},{\"from\":\"a\",\"to\":\"c\",\"bytes\":100}" \
	",{\"from\":\"b\",\"to\":\"d\",\"bytes\":100},{\"from\":\"c\",\"to\":\"d\",\"bytes\":100}]}"
#define SYSTEM(order)                                                                                        \
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"order\":\"" order                       \
	"\",\"devices\":[{\"name\":\"cpu\"},{\"name\":\"gpu\",\"memory_bytes\":4000000}],"                   \
	"\"links\":[{\"from\":\"cpu\",\"to\":\"gpu\",\"bandwidth\":1e6,\"both_ways\":true}]}"

typedef struct fixture {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
} fixture;

static void setup(fixture *f, const char *graph, const char *system)
{
	berth_err err;
	memset(f, 0, sizeof *f);
	read_both(graph, system, &f->mem, &f->tmp, &f->g, &f->s);
	assert_ok(berth_problem_new(&f->g, &f->s, &f->mem, &f->tmp, &f->p, &err), &err);
	assert_ok(berth_bounds_new(&f->p, &f->tmp, &f->bounds, &err), &err);
}

static void teardown(fixture *f)
{
	berth_arena_free(&f->mem);
	berth_arena_free(&f->tmp);
}

static void setup_random(fixture *f, int ops, int seed)
{
	char spec[80];
	berth_err err;
	snprintf(spec, sizeof spec, "zoo:random:ops=%d:ccr=1:heterogeneity=1:seed=%d", ops, seed);
	assert_ok(berth_zoo_build(spec, &f->mem, &f->tmp, &f->g, &err), &err);
	assert_ok(berth_system_builtin("cpu+2gpu", &f->mem, &f->tmp, &f->s, &err), &err);
	assert_ok(berth_problem_new(&f->g, &f->s, &f->mem, &f->tmp, &f->p, &err), &err);
	assert_ok(berth_bounds_new(&f->p, &f->tmp, &f->bounds, &err), &err);
}

static const berth_method *method(const char *name)
{
	const berth_method *m = NULL;
	berth_err err;
	assert_ok(berth_method_find(name, &m, &err), &err);
	return m;
}

/* Budgets that end in each part of a long run of `berth`, also right before and after walks over orders:
 * none is exceeded, and what was made is enough to make it again. */
static void test_budget_is_kept(void **state)
{
	(void)state;
	fixture f = {0};
	berth_err err;
	int with_order = 0;
	assert_ok(
		berth_zoo_build("zoo:random:ops=60:ccr=1:heterogeneity=1:seed=8", &f.mem, &f.tmp, &f.g, &err),
		&err);
	assert_ok(berth_system_builtin("cpu+2gpu", &f.mem, &f.tmp, &f.s, &err), &err);
	assert_ok(berth_problem_new(&f.g, &f.s, &f.mem, &f.tmp, &f.p, &err), &err);
	for (int64_t n = 5200; n <= 13000; n += 1093) {
		double value = 0;
		int64_t made = n;
		for (int again = 0; again < 2; again++) {
			berth_arena mem = {0}, tmp = {0};
			berth_search s;
			berth_search_cfg cfg = {.seed = 1, .evaluations = made};
			assert_ok(berth_search_new(&f.p, &cfg, &mem, &s, &err), &err);
			assert_ok(berth_method_run(method("berth"), &s, &tmp, &err), &err);
			assert_true(s.evaluations <= made && s.evaluations > 5000);
			assert_true(again == 0 || (s.best.value == value && s.evaluations == made));
			value = s.best.value;
			made = s.evaluations;
			with_order += s.best_has_order;
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
		}
	}
	assert_true(with_order > 0);
	teardown(&f);
}

static void test_find(void **state)
{
	(void)state;
	const berth_method *m = NULL;
	berth_err err;
	assert_int_equal(berth_method_find("hef", &m, &err), BERTH_EINVAL);
	assert_contains(err.msg, "did you mean 'heft', 'heft-lookahead'");
	assert_null(m);
	assert_string_equal(berth_method_default()->name, "berth");
	for (int32_t i = 0; i < berth_n_methods(); i++)
		assert_ptr_equal(method(berth_method_at(i)->name), berth_method_at(i)); /* no name twice */
}

static void test_feasible(void **state)
{
	(void)state;
	fixture f;
	berth_solution r;
	berth_err err;
	berth_search_cfg cfg = berth_search_cfg_default();
	setup(&f, GRAPH(""), SYSTEM("priority"));
	assert_ok(berth_solve(&f.p, &f.bounds, method("berth"), &cfg, &f.mem, &f.tmp, &r, &err), &err);
	assert_true(r.answered && r.feasible && !r.interrupted);
	/* a, c, d on the gpu (3 ms) while b runs on the cpu: transfers of 0.1 ms, 1 + 0.1 + 1 + 0.1 + 1 */
	assert_near(r.value, 3.2e-3, 1e-12);
	assert_true(r.lower_bound > 0 && r.value >= r.lower_bound);
	assert_near(r.gap, r.value / r.lower_bound - 1, 1e-12);
	assert_true(r.evaluations > 0 && r.solve_s >= 0 && r.wall_s >= 0);
	berth_placement pl;
	assert_ok(berth_solution_placement(&r, &f.mem, &f.tmp, &pl, &err), &err);
	assert_ok(berth_placement_check(&pl, &f.g, &f.s, &f.tmp, &err), &err);
	assert_string_equal(pl.method, "berth");
	assert_true(pl.value == r.value && pl.evaluations == r.evaluations && pl.seed == 1);
	teardown(&f);
}

static void test_infeasible(void **state)
{
	(void)state;
	fixture f;
	berth_solution r;
	berth_err err;
	berth_search_cfg cfg = berth_search_cfg_default();
	setup(&f, GRAPH(",\"param_bytes\":5000000"), SYSTEM("priority")); /* c needs the gpu and does not fit
	                                                                   */
	assert_ok(berth_solve(&f.p, &f.bounds, method("heft"), &cfg, &f.mem, &f.tmp, &r, &err), &err);
	assert_true(r.answered && !r.feasible && isnan(r.value) && isnan(r.gap));
	assert_true(r.lower_bound > 0);
	teardown(&f);
	setup(&f, GRAPH(",\"forbid\":[\"gpu\"]"), SYSTEM("priority")); /* c can run nowhere */
	assert_ok(berth_solve(&f.p, &f.bounds, method("heft"), &cfg, &f.mem, &f.tmp, &r, &err), &err);
	assert_true(!r.answered && !r.feasible && isnan(r.value));
	cfg.objective = berth_objective_of(BERTH_ENERGY);
	assert_int_equal(berth_solve(&f.p, &f.bounds, method("heft"), &cfg, &f.mem, &f.tmp, &r, &err),
	                 BERTH_EFORMAT);
	teardown(&f);
}

/* Under the rule `given` every answer has an order. */
static void test_given(void **state)
{
	(void)state;
	fixture f;
	berth_solution r;
	berth_err err;
	berth_search_cfg cfg = berth_search_cfg_default();
	setup(&f, GRAPH(""), SYSTEM("given"));
	assert_ok(berth_solve(&f.p, &f.bounds, method("round-robin"), &cfg, &f.mem, &f.tmp, &r, &err), &err);
	assert_int_equal(r.order, BERTH_ORDER_GIVEN);
	assert_non_null(r.op_order);
	assert_true(berth_order_is_topological(&f.g, r.op_order, &f.tmp));
	teardown(&f);
}

static void test_interrupted(void **state)
{
	(void)state;
	fixture f;
	berth_solution r;
	berth_err err;
	atomic_int cancel = 1;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.cancel = &cancel;
	setup(&f, GRAPH(""), SYSTEM("priority"));
	assert_ok(berth_solve(&f.p, &f.bounds, method("berth"), &cfg, &f.mem, &f.tmp, &r, &err), &err);
	assert_true(r.interrupted && r.answered && r.feasible); /* the portfolio answers all the same */
	teardown(&f);
}

/* ---- compare ---- */

static void count(void *ctx, int32_t m, uint64_t seed)
{
	(void)m;
	*(uint64_t *)ctx += seed;
}

static void test_rows(void **state)
{
	(void)state;
	fixture f;
	berth_err err;
	uint64_t seeds = 0;
	const berth_method *methods[] = {method("single"), method("random"), method("berth")};
	berth_compare_cfg cfg = {
		.method = methods, .n_methods = 3, .n_seeds = 2, .told = count, .told_ctx = &seeds};
	cfg.search = berth_search_cfg_default();
	berth_compare_row row[6];
	int32_t n;
	cfg.search.evaluations = 50;
	cfg.search.seed = 7;
	setup(&f, GRAPH(""), SYSTEM("priority"));
	assert_ok(berth_compare(&f.p, &f.bounds, &cfg, row, &n, &f.mem, &f.tmp, &err), &err);
	assert_int_equal(n, 6);
	assert_int_equal(seeds, 3 * (7 + 8));
	for (int32_t i = 0; i < n; i++) {
		assert_int_equal(row[i].method, i / 2);
		assert_int_equal(row[i].seed, 7 + i % 2);
		assert_true(row[i].feasible && row[i].value >= row[i].lower_bound && !row[i].note);
		assert_true(row[4].value <= row[i].value);
	}
	atomic_int cancel = 1;
	cfg.search.cancel = &cancel;
	assert_int_equal(berth_compare(&f.p, &f.bounds, &cfg, row, &n, &f.mem, &f.tmp, &err),
	                 BERTH_EINTERRUPTED);
	assert_int_equal(n, 0);
	teardown(&f);
	cfg.search.cancel = NULL;
	setup(&f, GRAPH(",\"param_bytes\":5000000"), SYSTEM("priority"));
	assert_ok(berth_compare(&f.p, &f.bounds, &cfg, row, &n, &f.mem, &f.tmp, &err), &err);
	assert_int_equal(n, 6);
	assert_true(!row[5].feasible && isnan(row[5].value) && row[5].note);
	teardown(&f);
}

static void test_summary(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	berth_err err;
	berth_compare_summary s;
	berth_compare_row row[8];
	static const double value[8] = {3, 1, 4, 1.5, 9, 2.5, 6, 5};
	for (int i = 0; i < 8; i++)
		row[i] = (berth_compare_row){.feasible = true,
		                             .value = value[i],
		                             .lower_bound = 1,
		                             .evaluations = 10 * i,
		                             .solve_s = i};
	assert_ok(berth_compare_summarise(row, 8, &tmp, &s, &err), &err);
	assert_near(s.median, 3.5, 0);
	assert_true(s.least == 1 && s.most == 9 && s.n_feasible == 8 && s.n_rows == 8);
	assert_true(s.low >= 1 && s.low < 3.5 && s.high > 3.5 && s.high <= 9);
	assert_near(s.gap, 2.5, 1e-12);
	assert_near(s.evaluations, 35, 1e-9);
	row[4].feasible = false;
	row[4].value = NAN;
	assert_ok(berth_compare_summarise(row, 5, &tmp, &s, &err), &err); /* 3 1 4 1.5 */
	assert_near(s.median, 2.25, 0);
	assert_true(isnan(s.low) && s.n_feasible == 4);
	assert_ok(berth_compare_summarise(row + 4, 1, &tmp, &s, &err), &err);
	assert_true(isnan(s.median) && s.n_feasible == 0);
	berth_arena_free(&tmp);
}

/* ---- failing memory ---- */

/* Six instances of three methods: the single device, one that halves it everywhere but on the last, where it
 * has no value, and one that is as good but twice as slow on one. By hand: ratio 1/2 over five; 5 wins, 1
 * loss, so signed ranks 1 + .. + 5 on one side with the infinite one against: T = 6 of 64 signs 14 reach as
 * far (subsets of 1 .. 6 with sum <= 6: 14). */
static void test_over_instances(void **state)
{
	(void)state;
	berth_compare_summary s[6][3];
	berth_compare_overall o[3];
	berth_arena tmp = {0};
	berth_err err;
	for (int i = 0; i < 6; i++) {
		double single = 1 << i, other = single / (2 + 0.001 * i);
		s[i][0] = (berth_compare_summary){.n_rows = 2,
		                                  .n_feasible = 2,
		                                  .median = single,
		                                  .gap = 1,
		                                  .evaluations = 4,
		                                  .solve_s = 1};
		s[i][1] = (berth_compare_summary){.n_rows = 2,
		                                  .n_feasible = 2,
		                                  .median = other,
		                                  .gap = 0,
		                                  .evaluations = 10 * i,
		                                  .solve_s = 0};
		s[i][2] = s[i][0];
		s[i][2].gap = NAN;
	}
	s[5][1].n_feasible = 0;
	s[5][1].median = s[5][1].gap = NAN;
	s[2][2].median *= 2;
	assert_ok(berth_compare_over_instances(&s[0][0], 6, 3, 0, 0, &tmp, o, &err), &err);
	assert_true(o[0].n_feasible == 6 && o[0].ties == 6 && o[0].wins + o[0].losses == 0 && isnan(o[0].p) &&
	            isnan(o[0].p_corrected));
	assert_near(o[0].ratio.middle, 1, 1e-15);
	assert_near(o[0].gap, 1, 1e-12);
	assert_true(o[1].n_instances == 6 && o[1].n_feasible == 5 && o[1].n_ratios == 5 && o[1].n_gaps == 5);
	assert_true(o[1].wins == 5 && o[1].ties == 0 && o[1].losses == 1);
	assert_near(o[1].ratio.middle, 0.5, 0.001);
	assert_true(o[1].ratio.low <= o[1].ratio.middle && o[1].ratio.middle <= o[1].ratio.high &&
	            o[1].ratio.low > 0.498);
	assert_near(o[1].gap, 0, 1e-15);
	assert_near(o[1].p, 28.0 / 64, 1e-15);
	assert_near(o[1].p_corrected, 56.0 / 64, 1e-15);
	assert_near(o[1].evaluations, 25, 1e-12);
	assert_true(o[2].wins == 0 && o[2].ties == 5 && o[2].losses == 1 && isnan(o[2].gap));
	assert_near(o[2].ratio.middle, pow(2, 1.0 / 6), 1e-12);
	assert_near(o[2].p, 1, 0);
	assert_near(o[2].solve_s, 1, 1e-15);
	assert_ok(berth_compare_over_instances(&s[0][0], 6, 3, -1, 1, &tmp, o, &err), &err);
	assert_true(isnan(o[0].ratio.middle) && o[0].losses == 5 && o[0].wins == 1);
	assert_ok(berth_compare_over_instances(NULL, 0, 3, 0, 0, &tmp, o, &err), &err);
	assert_true(o[1].n_instances == 0 && isnan(o[1].ratio.middle) && o[1].p == 1);
	berth_arena_free(&tmp);
}

static double solved(const fixture *f, const char *name, const berth_objective *o, uint64_t seed,
                     int64_t *evaluations)
{
	berth_arena mem = {0}, tmp = {0};
	berth_search_cfg cfg = {.objective = *o, .seed = seed, .evaluations = 300};
	berth_solution r;
	berth_err err;
	assert_ok(berth_solve(&f->p, &f->bounds, method(name), &cfg, &mem, &tmp, &r, &err), &err);
	double value = r.value;
	*evaluations = r.evaluations;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

/* What a search finds for a metric, the same search finds under a limit on that metric: it has the limit, and
 * is feasible. */
static void test_limits_are_found(void **state)
{
	static const char *const names[] = {"anneal", "local-search", "berth"};
	static const berth_metric limited[] = {BERTH_LATENCY, BERTH_ENERGY, BERTH_THROUGHPUT};
	static const berth_metric wanted[] = {BERTH_ENERGY, BERTH_LATENCY, BERTH_LATENCY};
	(void)state;
	for (int k = 0; k < 3; k++) {
		fixture f = {0};
		setup_random(&f, 30 + 10 * k, k);
		for (int i = 0; i < 9; i++) {
			berth_metric m = limited[i / 3];
			berth_objective alone = berth_objective_of(m);
			berth_objective under = berth_objective_of(wanted[i / 3]);
			int64_t before, after;
			double best = solved(&f, names[i % 3], &alone, (uint64_t)k + 1, &before);
			under.limits[m] = true;
			under.most[m] = best;
			if (!isfinite(solved(&f, names[i % 3], &under, (uint64_t)k + 1, &after)))
				fail_msg("graph %d, %s at most %.9g: found by %s for the metric, not under "
				         "the limit",
				         k, berth_metrics[m].name, best, names[i % 3]);
			assert_true(after <= 3 * 300); /* seeds run for the limit, too, beyond the budget */
		}
		teardown(&f);
	}
}

/* No relaxation of a limit is worse than the placement that was found. */
static void test_relaxations_are_no_worse(void **state)
{
	int told = 0;
	(void)state;
	for (int seed = 1; seed <= 4; seed++) {
		fixture f = {0};
		berth_err err;
		berth_objective under = berth_objective_of(BERTH_LATENCY);
		berth_search_cfg cfg = {.objective = berth_objective_of(BERTH_ENERGY), .seed = 1};
		berth_solution r;
		berth_infeasible_subset subset;
		berth_relaxations list;
		setup_random(&f, 50, seed);
		cfg.evaluations = 4000;
		assert_ok(berth_solve(&f.p, &f.bounds, method("anneal"), &cfg, &f.mem, &f.tmp, &r, &err),
		          &err);
		under.limits[BERTH_ENERGY] = true;
		under.most[BERTH_ENERGY] = r.value * 0.999;
		assert_ok(berth_infeasible_subset_find(&f.p, &under, NULL, &f.mem, &f.tmp, &subset, &err),
		          &err);
		assert_ok(berth_relax(&f.p, &under, &subset, r.op_dev, r.op_order, NULL, &f.mem, &f.tmp,
		                      &list, &err),
		          &err);
		for (int32_t i = 0; i < list.n; i++, told++)
			assert_true(list.item[i].rule.metric == BERTH_ENERGY && list.item[i].most <= r.value);
		teardown(&f);
	}
	assert_true(told > 0);
}

static void test_failing_memory(void **state)
{
	(void)state;
	fixture f;
	berth_status st = BERTH_ENOMEM;
	setup(&f, GRAPH(""), SYSTEM("priority"));
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator fail;
		berth_arena mem, tmp;
		berth_err err;
		berth_compare_row row[2];
		berth_compare_summary s;
		int32_t n;
		const berth_method *methods[] = {method("single"), method("heft")};
		berth_compare_cfg cfg = {.method = methods, .n_methods = 2, .n_seeds = 1};
		cfg.search = berth_search_cfg_default();
		failing_allocator_init(&fail, k);
		berth_arena_init(&mem, &fail.hook);
		berth_arena_init(&tmp, &fail.hook);
		st = berth_compare(&f.p, &f.bounds, &cfg, row, &n, &mem, &tmp, &err);
		if (st == BERTH_OK)
			st = berth_compare_summarise(row, 2, &tmp, &s, &err);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(fail.live, 0);
	}
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_budget_is_kept), cmocka_unit_test(test_find),
		cmocka_unit_test(test_feasible),       cmocka_unit_test(test_infeasible),
		cmocka_unit_test(test_given),          cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_rows),           cmocka_unit_test(test_summary),
		cmocka_unit_test(test_over_instances), cmocka_unit_test(test_limits_are_found),
		cmocka_unit_test(test_relaxations_are_no_worse),
		cmocka_unit_test(test_failing_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
