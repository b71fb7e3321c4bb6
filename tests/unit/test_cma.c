/* Covariance matrix adaptation finds the least of what it is made for: valleys that are long and turned. */
#include "support.h"

#include "cma.h"

#include <math.h>

enum { N = 6, POP = 12 };

/* Rosenbrock's function: its valley is bent, and its least is 0 at (1, .. 1). */
static double rosenbrock(const double *x)
{
	double sum = 0;
	for (int i = 0; i + 1 < N; i++)
		sum += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
	return sum;
}

static double least_after(int generations, double noise)
{
	berth_arena mem = {0};
	berth_err err;
	cma c;
	double mean[N] = {0}, point[POP * N], value[POP];
	berth_rng rng = berth_rng_seed(1, 2);
	assert_ok(cma_new(N, POP, mean, 0.3, 1, &mem, &c, &err), &err);
	for (int g = 0; g < generations; g++) {
		cma_draw(&c, point);
		for (int k = 0; k < POP; k++)
			value[k] = rosenbrock(point + k * N) + noise * berth_rng_unit(&rng);
		cma_tell(&c, value);
	}
	double least = rosenbrock(c.mean);
	berth_arena_free(&mem);
	return least;
}

static void test_bent_valley(void **state)
{
	(void)state;
	assert_true(least_after(0, 0) == N - 1);
	assert_true(least_after(400, 0) < 1e-8);
}

static void test_noise(void **state)
{
	(void)state;
	assert_true(least_after(300, 0.1) < 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_bent_valley), cmocka_unit_test(test_noise)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
