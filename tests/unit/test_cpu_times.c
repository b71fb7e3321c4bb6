/* Times on CPUs: what is known of a core, more work is never quicker, limits of the hardware. */
#include "op_times.h"
#include "rng.h"
#include "support.h"

#include <math.h>

static const berth_time_device core = {
	.peak_flops = 120e9, .bandwidth = 20e9, .units = 1, .cache_bytes = 32 << 20};

static berth_time_query product(double m, double n, double k)
{
	return (berth_time_query){.class = BERTH_TIME_LINEAR,
	                          .flops = 2 * m * n * k,
	                          .bytes = 4 * (m * n + m * k + n * k),
	                          .item_bytes = 4,
	                          .b = 1,
	                          .m = m,
	                          .n = n,
	                          .k = k};
}

static berth_time_query conv(double in, double out, double side, double kernel, double groups)
{
	return (berth_time_query){.class = BERTH_TIME_CONV,
	                          .flops = 2 * in / groups * out * side * side * kernel * kernel,
	                          .bytes = 4 * side * side * (in + out),
	                          .images = 1,
	                          .in = in,
	                          .out = out,
	                          .height = side,
	                          .width = side,
	                          .kernel_height = kernel,
	                          .kernel_width = kernel,
	                          .groups = groups,
	                          .stride = 1,
	                          .dilation = 1};
}

static double on_core(berth_time_query q)
{
	return berth_time_on_cpu(&q, &core).seconds;
}

static void assert_within(double x, double measured, double most)
{
	if (fabs(x / measured - 1) > most)
		fail_msg("%g s, but measured were %g s", x, measured);
}

/* ONNX Runtime on a core of Zen 4. */
static void test_as_measured(void **state)
{
	(void)state;
	assert_within(on_core(product(197, 768, 3072)), 9.24e-3, 0.1);
	assert_within(on_core(product(128, 768, 768)), 1.49e-3, 0.1);
	assert_within(on_core(product(1, 1000, 512)), 29e-6, 0.35);
	assert_within(on_core(conv(512, 512, 28, 3, 1)), 36.2e-3, 0.1);
	assert_within(on_core(conv(64, 256, 56, 1, 1)), 1.05e-3, 0.15);
	assert_within(on_core(conv(144, 144, 56, 3, 144)), 302e-6, 0.3);
}

/* Any of an operator's numbers, made larger, with the flops and bytes that go with it. */
static void test_order_and_limits(void **state)
{
	(void)state;
	berth_rng rng = berth_rng_seed(7, 1);
	for (int i = 0; i < 20000; i++) {
		berth_time_device d = core;
		d.units = 1 + (double)(berth_rng_below(&rng, 64));
		d.peak_flops *= d.units;
		double x[4], *grown = &x[berth_rng_below(&rng, 3)];
		for (int k = 0; k < 4; k++)
			x[k] = (double)(1 + berth_rng_below(&rng, 1u << (1 + berth_rng_below(&rng, 11))));
		bool multiply = i % 2;
		berth_time_query less = multiply ? product(x[0], x[1], x[2]) : conv(x[0], x[1], x[2], 3, 1);
		*grown += x[3];
		berth_time_query more = multiply ? product(x[0], x[1], x[2]) : conv(x[0], x[1], x[2], 3, 1);
		double a = berth_time_on_cpu(&less, &d).seconds, b = berth_time_on_cpu(&more, &d).seconds;
		assert_true(a <= b);
		assert_true(a >= less.flops / d.peak_flops);
		assert_true(a >= (less.bytes - d.cache_bytes / 2) / d.bandwidth);
	}
}

/* Sixteen cores are up to sixteen times as quick, and slower where there is little to do. */
static void test_cores(void **state)
{
	(void)state;
	berth_time_device many = core;
	many.units = 16;
	many.peak_flops *= 16;
	berth_time_query large = product(1024, 1024, 1024), small = product(2, 2, 2);
	double gain = on_core(large) / berth_time_on_cpu(&large, &many).seconds;
	assert_true(gain > 14 && gain <= 16);
	assert_true(berth_time_on_cpu(&small, &many).seconds > on_core(small));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_measured),
		cmocka_unit_test(test_order_and_limits),
		cmocka_unit_test(test_cores),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
