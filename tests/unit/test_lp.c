/* The LP model: building, checking, duals, text, and, where berth has a solver, solving. */
#include "lp.h"
#include "rng.h"
#include "support.h"

#include <math.h>
#include <string.h>

#define N 8

/* min of m * v over lower <= v <= upper */
static double least_product(double m, double lower, double upper)
{
	if (m == 0)
		return 0;
	double end = m > 0 ? lower : upper;
	return end <= -BERTH_LP_INF || end >= BERTH_LP_INF ? -INFINITY : m * end;
}

/* A lower bound of the LP's value that any row duals y [n_rows] prove: with r = cost - y A,
 *   cost x >= sum over rows of min(y lower, y upper) + sum over columns of min(r lower, r upper),
 * -INFINITY where a term asks for a bound that is not there. Summed in double: the caller's margin covers
 * rounding (relative 1e-9 is ample). It does not depend on how y was found. O(entries); r [n_cols] is
 * scratch. */
static double dual_value(const berth_lp *lp, const double *y, double *r)
{
	double sum = lp->offset;
	for (int32_t c = 0; c < lp->n_cols; c++)
		r[c] = lp->col_cost[c];
	for (int32_t i = 0; i < lp->n_rows; i++) {
		sum += least_product(y[i], lp->row_lower[i], lp->row_upper[i]);
		for (size_t e = lp->row_begin[i]; e < berth_lp_row_end(lp, i); e++)
			r[lp->entry_col[e]] -= y[i] * lp->entry_value[e];
	}
	for (int32_t c = 0; c < lp->n_cols; c++)
		sum += least_product(r[c], lp->col_lower[c], lp->col_upper[c]);
	return sum;
}

static int set_up(void **state)
{
	static berth_arena mem;
	berth_arena_init(&mem, NULL);
	*state = &mem;
	return 0;
}

static int tear_down(void **state)
{
	berth_arena_free(*state);
	return 0;
}

/* min -3x - 2y  s.t.  x + y <= 4,  1 <= x + 3y <= 7,  0 <= x <= 3, y >= 0: x = 3, y = 1, value -11, duals -2
 * and 0. */
static void small(berth_lp *lp, bool whole, berth_arena *mem)
{
	berth_err err;
	int32_t x, y;
	berth_lp_init(lp, "small", mem);
	assert_ok(berth_lp_col(lp, "x", 0, 3, -3, whole, &x, &err), &err);
	assert_ok(berth_lp_col(lp, NULL, 0, BERTH_LP_INF, -2, whole, &y, &err), &err);
	assert_ok(berth_lp_row_of(lp, "cap", -BERTH_LP_INF, 4, 2, (int32_t[]){x, y}, (double[]){1, 1}, &err),
	          &err);
	assert_ok(berth_lp_row(lp, NULL, 1, 7, &err), &err);
	assert_ok(berth_lp_put(lp, x, 1, &err), &err);
	assert_ok(berth_lp_put(lp, y, 3, &err), &err);
	lp->offset = 0.5;
}

static void checks_solutions(void **state)
{
	berth_lp lp;
	small(&lp, true, *state);
	assert_near(berth_lp_value(&lp, (double[]){3, 1}), -10.5, 0);
	assert_near(berth_lp_violation(&lp, (double[]){3, 1}), 0, 0);
	assert_near(berth_lp_violation(&lp, (double[]){3, 2}), 2, 1e-15);
	assert_near(berth_lp_violation(&lp, (double[]){0.25, 0}), 0.75, 1e-15);
	assert_near(berth_lp_violation(&lp, (double[]){-1, 1}), 1, 1e-15);
	assert_true(berth_lp_violation(&lp, (double[]){NAN, 1}) > 1);
}

static void duals_prove_bounds(void **state)
{
	berth_lp lp;
	double r[2];
	small(&lp, false, *state);
	assert_near(dual_value(&lp, (double[]){-2, 0}, r), -10.5, 1e-12);
	assert_near(dual_value(&lp, (double[]){-2.5, 0}, r), 0.5 - 10 - 1.5, 1e-12);
	assert_true(dual_value(&lp, (double[]){0, 0}, r) == -INFINITY);
}

static void writes_text(void **state)
{
	berth_lp lp;
	berth_err err;
	const char *text;
	size_t len;
	small(&lp, true, *state);
	berth_strbuf mps = {.mem = *state};
	berth_lp_write_mps(&lp, &mps);
	assert_ok(berth_strbuf_done(&mps, &text, &len, &err), &err);
	assert_string_equal(
		text,
		"NAME small\nROWS\n N COST\n L cap\n G r1\nCOLUMNS\n M 'MARKER' 'INTORG'\n x COST -3\n x cap "
	        "1\n x r1 1\n"
		" x1 COST -2\n x1 cap 1\n x1 r1 3\n M 'MARKER' 'INTEND'\nRHS\n RHS COST -0.5\n RHS cap 4\n "
	        "RHS r1 1\n"
		"RANGES\n RNG r1 6\nBOUNDS\n LO BND x 0\n UP BND x 3\n LO BND x1 0\n PL BND x1\nENDATA\n");
}

static void solves_linear(void **state)
{
	berth_lp lp;
	berth_err err;
	berth_lp_result out;
	double r[2];
	if (!berth_lp_solver())
		skip();
	small(&lp, false, *state);
	assert_ok(berth_lp_solve(&lp, NULL, *state, *state, &out, &err), &err);
	assert_int_equal(out.status, BERTH_LP_OPTIMAL);
	assert_near(out.value, -10.5, 1e-9);
	assert_near(out.x[0], 3, 1e-9);
	assert_near(out.row_dual[0], -2, 1e-9);
	assert_near(dual_value(&lp, out.row_dual, r), -10.5, 1e-9);
}

static void tells_infeasible_and_unbounded(void **state)
{
	berth_lp lp;
	berth_err err;
	berth_lp_result out;
	if (!berth_lp_solver())
		skip();
	for (int whole = 0; whole < 2; whole++) {
		small(&lp, whole, *state);
		lp.row_lower[1] = 20;
		lp.row_upper[1] = BERTH_LP_INF;
		assert_ok(berth_lp_solve(&lp, NULL, *state, *state, &out, &err), &err);
		assert_int_equal(out.status, BERTH_LP_INFEASIBLE);
		assert_true(out.value == INFINITY);
	}
	small(&lp, false, *state);
	lp.row_upper[0] = lp.row_upper[1] = BERTH_LP_INF;
	assert_ok(berth_lp_solve(&lp, NULL, *state, *state, &out, &err), &err);
	assert_int_equal(out.status, BERTH_LP_UNBOUNDED);
}

/* A knapsack with two sides over N zero-one columns. */
static void random_knapsack(berth_lp *lp, uint64_t seed, berth_arena *mem)
{
	berth_err err;
	berth_rng rng = berth_rng_seed(seed, 7);
	berth_lp_init(lp, "knapsack", mem);
	for (int32_t c = 0; c < N; c++)
		assert_ok(berth_lp_col(lp, NULL, 0, 1, (double)berth_rng_below(&rng, 40) - 30, true, NULL,
		                       &err),
		          &err);
	for (int32_t r = 0; r < 3; r++) {
		assert_ok(berth_lp_row(lp, NULL, r == 1 ? 10 : -BERTH_LP_INF, 60, &err), &err);
		for (int32_t c = 0; c < N; c++)
			assert_ok(berth_lp_put(lp, c, berth_rng_below(&rng, 25), &err), &err);
	}
}

/* By trying all; INFINITY: nothing holds. */
static double best_of_all(const berth_lp *lp, double *best_x)
{
	double best = INFINITY, x[N];
	for (int32_t bits = 0; bits < 1 << N; bits++) {
		for (int32_t c = 0; c < N; c++)
			x[c] = bits >> c & 1;
		if (berth_lp_violation(lp, x) == 0 && berth_lp_value(lp, x) < best) {
			best = berth_lp_value(lp, x);
			memcpy(best_x, x, sizeof x);
		}
	}
	return best;
}

static void equals_trying_all(void **state)
{
	if (!berth_lp_solver())
		skip();
	for (uint64_t seed = 0; seed < 40; seed++) {
		berth_lp lp;
		berth_err err;
		berth_lp_result out;
		double x[N];
		random_knapsack(&lp, seed, *state);
		double best = best_of_all(&lp, x);
		berth_lp_options options = {.start = seed % 2 && isfinite(best) ? x : NULL};
		assert_ok(berth_lp_solve(&lp, &options, *state, *state, &out, &err), &err);
		assert_int_equal(out.status, isfinite(best) ? BERTH_LP_OPTIMAL : BERTH_LP_INFEASIBLE);
		if (isfinite(best)) {
			assert_near(out.value, best, 1e-9);
			assert_near(out.bound, best, 1e-6);
			assert_near(berth_lp_violation(&lp, out.x), 0, 1e-9);
		}
	}
}

/* A market split problem, hard for its size: no solver proves it in three nodes. */
static void stops_at_nodes(void **state)
{
	berth_lp lp;
	berth_err err;
	berth_lp_result out;
	int32_t slack;
	double start[44] = {0};
	if (!berth_lp_solver())
		skip();
	berth_rng rng = berth_rng_seed(3, 7);
	berth_lp_init(&lp, "split", *state);
	for (int32_t c = 0; c < 40; c++)
		assert_ok(berth_lp_col(&lp, NULL, 0, 1, 0, true, NULL, &err), &err);
	for (int32_t r = 0; r < 4; r++) {
		double sum = 0;
		assert_ok(berth_lp_col(&lp, NULL, 0, BERTH_LP_INF, 1, false, &slack, &err), &err);
		assert_ok(berth_lp_row(&lp, NULL, 0, BERTH_LP_INF, &err), &err);
		for (int32_t c = 0; c < 40; c++) {
			double v = berth_rng_below(&rng, 100);
			sum += v;
			assert_ok(berth_lp_put(&lp, c, v, &err), &err);
		}
		assert_ok(berth_lp_put(&lp, slack, 1, &err), &err);
		lp.row_lower[r] = floor(sum / 2);
		lp.row_upper[r] = floor(sum / 2);
		start[40 + r] = floor(sum / 2);
	}
	berth_lp_options options = {.nodes = 3, .start = start};
	assert_ok(berth_lp_solve(&lp, &options, *state, *state, &out, &err), &err);
	assert_int_equal(out.status, BERTH_LP_LIMIT);
	assert_true(out.value <= berth_lp_value(&lp, start));
	assert_true(out.bound < out.value);
	assert_near(berth_lp_violation(&lp, out.x), 0, 1e-6);
}

static void lacking_solver_names_package(void **state)
{
	berth_lp lp;
	berth_err err = {0};
	berth_lp_result out;
	if (berth_lp_solver())
		skip();
	small(&lp, false, *state);
	assert_int_equal(berth_lp_solve(&lp, NULL, *state, *state, &out, &err), BERTH_EUNSUPPORTED);
	assert_contains(err.msg, berth_lp_missing());
}

static void survives_failing_allocations(void **state)
{
	(void)state;
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_arena mem;
		berth_lp lp;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_lp_init(&lp, "failing", &mem);
		berth_status st = BERTH_OK;
		for (int32_t i = 0; i < 300 && st == BERTH_OK; i++) {
			st = berth_lp_col(&lp, NULL, 0, 1, 1, true, NULL, &err);
			st = st ? st : berth_lp_row_of(&lp, NULL, 0, 1, 1, &i, (double[]){1}, &err);
		}
		berth_strbuf text = {.mem = &mem};
		const char *out;
		size_t len;
		if (st == BERTH_OK) {
			berth_lp_write_mps(&lp, &text);
			st = berth_strbuf_done(&text, &out, &len, &err);
		}
		if (st == BERTH_OK && berth_lp_solver()) {
			berth_lp_result result;
			st = berth_lp_solve(&lp, NULL, &mem, &mem, &result, &err);
		}
		berth_arena_free(&mem);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK)
			break;
		assert_int_equal(st, BERTH_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_solutions),
		cmocka_unit_test(duals_prove_bounds),
		cmocka_unit_test(writes_text),
		cmocka_unit_test(solves_linear),
		cmocka_unit_test(tells_infeasible_and_unbounded),
		cmocka_unit_test(equals_trying_all),
		cmocka_unit_test(stops_at_nodes),
		cmocka_unit_test(lacking_solver_names_package),
		cmocka_unit_test(survives_failing_allocations),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
