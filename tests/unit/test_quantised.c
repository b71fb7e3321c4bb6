/* Floats as bytes with a scale. */
#include "quantised.h"
#include "rng.h"
#include "support.h"

#include <math.h>

enum { N = 1000 };

static void test_numbers_are_off_by_half_a_step(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		berth_rng r = berth_rng_seed(seed, 0);
		float x[N], back[N], most = 0;
		unsigned char small[N + sizeof(float)];
		double worst = 0;
		assert_int_equal(quantised_bytes(N), sizeof small);
		for (int i = 0; i < N; i++) {
			x[i] = (float)(berth_rng_unit(&r) * 2 - 1) * (float)seed;
			most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
		}
		quantised_put(x, N, small);
		quantised_get(small, N, back);
		for (int i = 0; i < N; i++)
			worst = fmax(worst, fabs((double)back[i] - (double)x[i]) / (double)most);
		assert_true(worst <= 1.0 / 254 * (1 + 1e-5));
		assert_true(worst > 0.9 / 254);
	}
}

static void test_zeros_and_what_is_no_number(void **state)
{
	float x[3] = {0, 0, 0}, back[3] = {1, 1, 1};
	unsigned char small[3 + sizeof(float)];
	(void)state;
	quantised_put(x, 3, small);
	quantised_get(small, 3, back);
	for (int i = 0; i < 3; i++)
		assert_true(back[i] == 0);
	x[1] = INFINITY;
	quantised_put(x, 3, small);
	quantised_get(small, 3, back);
	for (int i = 0; i < 3; i++)
		assert_true(isnan(back[i]));
}

/* The largest is 190 units of the smallest step there is: 127 steps of one unit, not -66. */
static void test_denormals_keep_their_sign(void **state)
{
	const float x[3] = {190 * 0x1p-149f, -190 * 0x1p-149f, 0};
	float back[3];
	unsigned char small[3 + sizeof(float)];
	(void)state;
	quantised_put(x, 3, small);
	quantised_get(small, 3, back);
	assert_true(back[0] == 127 * 0x1p-149f);
	assert_true(back[1] == -127 * 0x1p-149f);
	assert_true(back[2] == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_are_off_by_half_a_step),
	                                   cmocka_unit_test(test_zeros_and_what_is_no_number),
	                                   cmocka_unit_test(test_denormals_keep_their_sign)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
