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
	berth_interval a = berth_bootstrap(x, 20, berth_median, &tmp), b = berth_bootstrap(x, 20, berth_median, &tmp);
	assert_near(a.middle, 9.5, 0);
	assert_true(a.low < a.middle && a.middle < a.high);
	assert_true(a.low > 3 && a.high < 16);
	assert_true(a.low == b.low && a.high == b.high);
	berth_interval one = berth_bootstrap(x + 3, 1, berth_iqm, &tmp);
	assert_true(one.low == 3 && one.high == 3);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_bootstrap_covers)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
