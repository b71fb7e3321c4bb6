/* Small linear programs: known answers, ties, what nothing bounds; random ones against all corners. */
#include "fail_each.h"
#include "rng.h"
#include "simplex.h"
#include "support.h"

#include <math.h>

static void check(int32_t rows, int32_t cols, const double *a, const double *limit, const double *gain,
                  double value, double *x)
{
	berth_arena tmp = {0};
	berth_err err;
	double got;
	assert_ok(berth_simplex_max(rows, cols, a, limit, gain, &tmp, x, &got, &err), &err);
	assert_true(isinf(value) ? isinf(got) : fabs(got - value) <= 1e-9 * fmax(1, fabs(value)));
	berth_arena_free(&tmp);
}

static void test_known(void **state)
{
	(void)state;
	double x[2];
	check(3, 2, (double[]){1, 0, 0, 2, 3, 2}, (double[]){4, 12, 18}, (double[]){3, 5}, 36, x);
	assert_near(x[0], 2, 1e-12);
	assert_near(x[1], 6, 1e-12);
	check(1, 2, (double[]){1, -1}, (double[]){0}, (double[]){1, 0}, INFINITY, x);
	check(1, 2, (double[]){1, 1}, (double[]){5}, (double[]){0, 0}, 0, x);
	check(2, 2, (double[]){1, -1, 0, 1}, (double[]){0, 3}, (double[]){1, 0}, 3, x); /* a limit of 0 */
}

/* The best corner of two unknowns, by all pairs of lines. */
static double best_corner(int32_t rows, const double *a, const double *limit, const double *gain)
{
	double best = 0, line[12][3];
	int32_t n = 0;
	for (int32_t k = 0; k < rows; k++, n++)
		for (int i = 0; i < 3; i++)
			line[n][i] = i < 2 ? a[2 * k + i] : limit[k];
	for (int i = 0; i < 2; i++, n++)
		line[n][0] = -(i == 0), line[n][1] = -(i == 1), line[n][2] = 0;
	for (int32_t i = 0; i < n; i++)
		for (int32_t j = 0; j < i; j++) {
			double det = line[i][0] * line[j][1] - line[j][0] * line[i][1];
			double x = (line[i][2] * line[j][1] - line[j][2] * line[i][1]) / det;
			double y = (line[i][0] * line[j][2] - line[j][0] * line[i][2]) / det;
			bool in = det != 0;
			for (int32_t k = 0; k < n && in; k++)
				in = line[k][0] * x + line[k][1] * y <= line[k][2] + 1e-9;
			best = in ? fmax(best, gain[0] * x + gain[1] * y) : best;
		}
	return best;
}

static void test_against_corners(void **state)
{
	(void)state;
	berth_rng rng = berth_rng_seed(5, BERTH_STREAM_RANDOM);
	double a[20], limit[10], gain[2], x[2];
	for (int turn = 0; turn < 300; turn++) {
		int32_t rows = 2 + (int32_t)berth_rng_below(&rng, 8);
		for (int32_t k = 0; k < rows; k++) {
			a[2 * k] = 0.1 + (double)berth_rng_below(&rng, 10);
			a[2 * k + 1] = 0.1 + (double)berth_rng_below(&rng, 10);
			limit[k] = (double)berth_rng_below(&rng, 20);
		}
		for (int i = 0; i < 2; i++)
			gain[i] = (double)berth_rng_below(&rng, 5);
		check(rows, 2, a, limit, gain, best_corner(rows, a, limit, gain), x);
	}
}

/* The cube of Klee and Minty, where Bland's rule takes a way far too long. */
static void test_ends(void **state)
{
	(void)state;
	enum { N = 28 };
	berth_arena tmp = {0};
	berth_err err;
	double a[N * N] = {0}, limit[N], gain[N], x[N], value;
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < i; j++)
			a[i * N + j] = ldexp(1, i - j + 1);
		a[i * N + i] = 1;
		limit[i] = pow(5, i + 1);
		gain[i] = ldexp(1, N - 1 - i);
	}
	assert_int_equal(berth_simplex_max(N, N, a, limit, gain, &tmp, x, &value, &err), BERTH_ELIMIT);
	assert_contains(err.msg, "28 rows and 28 columns");
	berth_arena_free(&tmp);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	(void)ctx;
	(void)mem;
	static const double ones[] = {1, 1};
	double x[2], value;
	return berth_simplex_max(1, 2, ones, ones, ones, tmp, x, &value, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	assert_fails_each(work, NULL, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_against_corners),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
