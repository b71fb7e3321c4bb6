/* Statistics against values worked by hand. */
#include "statistics.h"
#include "support.h"

#include <math.h>

static void test_by_hand(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	const double four[] = {4, 1, 100, 2}, five[] = {5, 1, 4, 2, 3};
	assert_near(berth_median(four, 4, &tmp), 3, 0);
	assert_near(berth_median(five, 5, &tmp), 3, 0);
	assert_near(berth_iqm(four, 4, &tmp), 3, 1e-15);            /* 2 and 4 */
	assert_near(berth_iqm(five, 5, &tmp), 3, 1e-15);            /* .75 * 2 + 3 + .75 * 4 over 2.5 */
	assert_near(berth_geomean((const double[]){1, 4, 16}, 3), 4, 1e-12);
	assert_true(isnan(berth_median((const double[]){1, NAN}, 2, &tmp)));
	berth_arena_free(&tmp);
}

static void test_bootstrap_covers(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	double x[20];
	for (int i = 0; i < 20; i++)
		x[i] = i;
	berth_interval a = berth_bootstrap(x, 20, berth_median, &tmp),
		       b = berth_bootstrap(x, 20, berth_median, &tmp);
	assert_near(a.middle, 9.5, 0);
	assert_true(a.low < a.middle && a.middle < a.high);
	assert_true(a.low > 3 && a.high < 16);
	assert_true(a.low == b.low && a.high == b.high);
	berth_interval one = berth_bootstrap(x + 3, 1, berth_iqm, &tmp);
	assert_true(one.low == 3 && one.high == 3);
	berth_arena_free(&tmp);
}

static double p_of(const double *x, int32_t n)
{
	berth_arena tmp = {0};
	double p = berth_signed_rank(x, n, &tmp);
	berth_arena_free(&tmp);
	return p;
}

/* Differences 1 .. n of which those in `minus` (a set of bits) are negative. */
static double p_of_signs(int n, unsigned minus)
{
	double x[24];
	for (int i = 0; i < n; i++)
		x[i] = minus >> i & 1 ? -(i + 1) : i + 1;
	return p_of(x, n);
}

/* Tables of the signed-rank statistic: n = 10, T = 8: 25 of 1024 subsets of ranks sum to 8 or less; T = 9:
 * 33; n = 20, T = 52: 25,397 of 2^20. */
static void test_signed_rank(void **state)
{
	(void)state;
	assert_near(p_of_signs(5, 0), 2.0 / 32, 1e-15);
	assert_near(p_of_signs(5, 31), 2.0 / 32, 1e-15);
	assert_near(p_of_signs(6, 1), 4.0 / 64, 1e-15);
	assert_near(p_of_signs(10, 1 << 7), 50.0 / 1024, 1e-15);                  /* T = 8 */
	assert_near(p_of_signs(10, 1 << 8), 66.0 / 1024, 1e-15);                  /* T = 9 */
	assert_near(p_of_signs(20, 1 << 19 | 1 << 18 | 1 << 12), 2 * 25397.0 / 1048576, 1e-12); /* T = 20 + 19
	                                                                                           + 13 */
	assert_near(p_of_signs(3, 1 << 2), 1, 1e-15);                             /* T = 3 of 6: the middle */
	assert_near(p_of((const double[]){0, 0}, 2), 1, 0);
	assert_near(p_of(NULL, 0), 1, 0);
	assert_near(p_of((const double[]){0, 3, 1, 2, 4, 5, 0}, 7), 2.0 / 32, 1e-15); /* zeros are left out */
	assert_near(p_of((const double[]){INFINITY, 1, INFINITY, 2, 3}, 5), 2.0 / 32, 1e-15);
	assert_true(isnan(p_of((const double[]){1, NAN}, 2)));
}

/* Ties: against all signs, one by one. */
static void test_signed_rank_with_ties(void **state)
{
	(void)state;
	const double size[] = {1, 2, 2, 2, 3, 5, 5, 8, 8}, rank[] = {1, 3, 3, 3, 5, 6.5, 6.5, 8.5, 8.5};
	for (unsigned signs = 0; signs < 512; signs += 7) {
		double x[9], plus = 0;
		int as_far = 0;
		for (int i = 0; i < 9; i++) {
			x[i] = signs >> i & 1 ? size[i] : -size[i];
			plus += x[i] > 0 ? rank[i] : 0;
		}
		for (unsigned other = 0; other < 512; other++) {
			double sum = 0;
			for (int i = 0; i < 9; i++)
				sum += other >> i & 1 ? rank[i] : 0;
			as_far += fabs(sum - 22.5) >= fabs(plus - 22.5);
		}
		assert_near(p_of(x, 9), as_far / 512.0, 1e-14);
	}
}

/* Around the change from counting to the normal approximation both agree. */
static void test_signed_rank_of_many(void **state)
{
	(void)state;
	double x[201];
	for (int i = 0; i < 201; i++)
		x[i] = (i % 5 < 2 ? -1 : 1) * (1 + (200 - i) / 2); /* the last is among the smallest */
	double counted = p_of(x, 200), approximate = p_of(x, 201);
	assert_true(counted > 0.0005 && counted < 0.05);
	assert_near(approximate, counted, 0.02 * counted);
}

/* Holm's own procedure by hand: 0.01 * 4, 0.02 * 3, then 0.03 * 2 = 0.06 and 0.04 * 1, raised to 0.06. */
static void test_holm(void **state)
{
	(void)state;
	const double p[] = {0.04, 0.01, NAN, 0.03, 0.02}, want[] = {0.06, 0.04, NAN, 0.06, 0.06};
	double got[5];
	berth_holm(p, 5, got);
	for (int i = 0; i < 5; i++)
		assert_true(isnan(want[i]) ? isnan(got[i]) : fabs(got[i] - want[i]) <= 1e-15);
	berth_holm((const double[]){0.5, 0.5, 0.004}, 3, got);
	assert_near(got[0], 1, 0);
	assert_near(got[1], 1, 0);
	assert_near(got[2], 0.012, 1e-15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand),
	                                   cmocka_unit_test(test_bootstrap_covers),
	                                   cmocka_unit_test(test_signed_rank),
	                                   cmocka_unit_test(test_signed_rank_with_ties),
	                                   cmocka_unit_test(test_signed_rank_of_many),
	                                   cmocka_unit_test(test_holm)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
