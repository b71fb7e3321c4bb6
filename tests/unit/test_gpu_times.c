/* The time model of GPUs: more work is never quicker, nothing is quicker than the hardware can, and what GPUs
 * are known for shows. */
#include "catalogue.h"
#include "gpu_times.h"
#include "rng.h"
#include "support.h"

#include <math.h>

enum { N_SIZES = 6 };

/* A query of a class by six sizes of at least 1; more of any is more work. */
static berth_time_query query_of(berth_time_class class, const double *x, bool alone)
{
	berth_time_query q = {.class = class, .item_bytes = class == BERTH_TIME_HALF ? 2 : 4, .alone = alone};
	double points, b = class == BERTH_TIME_BMM ? x[0] : 1;
	switch (class) {
	case BERTH_TIME_CONV:
		q.images = x[0], q.in = x[1], q.out = x[2], q.height = x[3], q.width = x[4];
		q.kernel_height = q.kernel_width = x[5];
		q.groups = q.stride = q.dilation = 1;
		points = x[3] * x[4];
		q.flops = 2 * x[0] * x[1] * x[2] * points * x[5] * x[5];
		q.bytes = 4 * (x[0] * points * (x[1] + x[2]) + x[1] * x[2] * x[5] * x[5]);
		break;
	case BERTH_TIME_ELEMENTWISE:
	case BERTH_TIME_NORM:
	case BERTH_TIME_SOFTMAX:
		q.rows = x[0] * x[1], q.width = x[2];
		q.flops = q.rows * q.width;
		q.bytes = 8 * q.rows * q.width;
		break;
	default:
		q.b = x[0], q.m = x[1], q.n = x[2], q.k = x[3];
		q.flops = 2 * q.b * q.m * q.n * q.k;
		q.bytes = q.item_bytes * (q.b * q.m * q.n + q.b * q.m * q.k + b * q.k * q.n);
	}
	return q;
}

static berth_time_device device_of(const berth_device_row *row)
{
	return (berth_time_device){.peak_flops = row->peak[BERTH_F32],
	                           .bandwidth = row->mem_bandwidth,
	                           .units = row->units,
	                           .lanes = row->lanes,
	                           .cache_bytes = row->cache_bytes,
	                           .watts = row->watts,
	                           .process_nm = row->process_nm,
	                           .overhead_s = 5e-6};
}

static berth_time_device named(const berth_catalogue *c, berth_arena *mem, const char *name)
{
	const berth_device_row *row;
	berth_err err = {0};
	assert_ok(berth_device_find(c, name, mem, &row, &err), &err);
	return device_of(row);
}

static double seconds(const berth_time_query *q, const berth_time_device *d)
{
	return berth_time_on_gpu(q, d).seconds;
}

static void draw_sizes(berth_rng *rng, berth_time_class class, double x[N_SIZES])
{
	for (int k = 0; k < N_SIZES; k++) {
		uint32_t most = class == BERTH_TIME_CONV ? (k == 5 ? 3 : 7) : 11;
		x[k] = 1 + berth_rng_below(rng, 1u << berth_rng_below(rng, most));
	}
}

/* Sizes drawn in octaves; then one of them grows, by 1 or by more. */
static void test_more_is_never_quicker(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_catalogue c;
	berth_err err = {0};
	assert_ok(berth_catalogue_read(&mem, &c, &err), &err);
	berth_rng rng = berth_rng_seed(1, 0);
	for (int i = 0; i < 40000; i++) {
		const berth_device_row *row = &c.device[berth_rng_below(&rng, (uint32_t)c.n_devices)];
		berth_time_class class = (berth_time_class)(i % BERTH_N_TIME_CLASSES);
		berth_time_device d = device_of(row);
		if (!(d.peak_flops > 0 && d.bandwidth > 0 && d.units > 0 && d.lanes > 0))
			continue;
		double x[N_SIZES];
		draw_sizes(&rng, class, x);
		berth_time_query q = query_of(class, x, i & 1);
		double before = seconds(&q, &d);
		int grown = (int)berth_rng_below(&rng, N_SIZES);
		x[grown] += 1 + berth_rng_below(&rng, 1u << berth_rng_below(&rng, 8));
		q = query_of(class, x, i & 1);
		double after = seconds(&q, &d);
		if (!(after >= before && before > 0))
			fail_msg("%s, class %d: size %d to %g: %.17g s to %.17g s", row->name, (int)class,
			         grown, x[grown], before, after);
	}
	berth_arena_free(&mem);
}

/* The same GPU with more of one thing: a higher clock, units or lanes of it, bandwidth, watts, cache. */
static berth_time_device grown_device(berth_time_device d, int what, double by)
{
	double *of[] = {NULL, &d.units, &d.lanes, &d.bandwidth, &d.watts, &d.cache_bytes};
	if (what < 3)
		d.peak_flops *= by;
	if (of[what])
		*of[what] *= by;
	return d;
}

/* To 12 digits: the products of a GPU's figures are rounded in either order. */
static void test_a_larger_gpu_is_never_slower(void **state)
{
	(void)state;
	static const char *const word[] = {"clock", "units", "lanes", "bandwidth", "watts", "cache"};
	berth_arena mem = {0};
	berth_catalogue c;
	berth_err err = {0};
	assert_ok(berth_catalogue_read(&mem, &c, &err), &err);
	berth_rng rng = berth_rng_seed(2, 0);
	for (int i = 0; i < 60000; i++) {
		const berth_device_row *row = &c.device[berth_rng_below(&rng, (uint32_t)c.n_devices)];
		berth_time_class class = (berth_time_class)(i % BERTH_N_TIME_CLASSES);
		berth_time_device d = device_of(row);
		if (!(d.peak_flops > 0 && d.bandwidth > 0 && d.units > 0 && d.lanes > 0))
			continue;
		double x[N_SIZES];
		draw_sizes(&rng, class, x);
		berth_time_query q = query_of(class, x, i & 1);
		int what = (int)berth_rng_below(&rng, 6);
		double by = 1 + (1 + berth_rng_below(&rng, 300)) / 100.0;
		berth_time_device more = grown_device(d, what, what == 1 ? ceil(by) : by);
		if (!(seconds(&q, &more) <= seconds(&q, &d) * (1 + 1e-12)))
			fail_msg("%s, class %d: %g times the %s: %.17g s to %.17g s", row->name, (int)class,
			         by, word[what], seconds(&q, &d), seconds(&q, &more));
	}
	/* nor is one of few watts quicker than one of more */
	berth_time_device t4 = named(&c, &mem, "nvidia-t4");
	berth_time_query q = query_of(BERTH_TIME_LINEAR, (double[N_SIZES]){1, 1024, 1024, 1024}, false);
	for (double watts = 40; watts > 2; watts -= 2) {
		berth_time_device less = t4;
		t4.watts = watts + 2, less.watts = watts;
		assert_true(seconds(&q, &less) > seconds(&q, &t4));
	}
	berth_arena_free(&mem);
}

/* Whatever numbers are fitted: those of a GPU that computes and moves a thousand times as much as it says. */
static void holds_for_wild_numbers(const berth_time_query *q, const berth_time_device *d, double flops)
{
	double number[BERTH_N_TIME_NUMBERS] = {0};
	for (int i = 0; i <= BERTH_GPU_AT_2_64; i++)
		number[i] = 1e3;
	number[BERTH_GPU_PEAK] = number[BERTH_GPU_FETCH] = number[BERTH_GPU_RESIDENT] = 1e3;
	number[BERTH_GPU_MEMORY] = number[BERTH_GPU_TRANSFORM] = number[BERTH_GPU_AS_PRODUCT] = 1e3;
	number[BERTH_GPU_WINOGRAD_2] = number[BERTH_GPU_WINOGRAD_4] = number[BERTH_GPU_LONG_ROWS_AT] = 1e3;
	double s = berth_time_formula(number, q, d);
	assert_true(s >= flops / d->peak_flops && s >= (q->bytes - d->cache_bytes) / d->bandwidth);
}

static void test_never_above_the_hardware(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_catalogue c;
	berth_err err = {0};
	assert_ok(berth_catalogue_read(&mem, &c, &err), &err);
	for (int32_t i = 0; i < c.n_devices; i++) {
		berth_time_device d = device_of(&c.device[i]);
		if (!(d.peak_flops > 0 && d.bandwidth > 0 && d.units > 0 && d.lanes > 0))
			continue;
		for (int class = 0; class < BERTH_N_TIME_CLASSES; class ++)
			for (double size = 64; size <= 4096; size *= 8) {
				double x[N_SIZES] = {16, size, size, class == BERTH_TIME_CONV ? 32 : size,
				                     32, 3};
				berth_time_query q = query_of((berth_time_class) class, x, false);
				berth_time_estimate t = berth_time_on_gpu(&q, &d);
				double flops = class == BERTH_TIME_CONV ? q.flops / 4 : q.flops;
				assert_true(t.seconds >= flops / d.peak_flops);
				assert_true(t.seconds >= (q.bytes - d.cache_bytes) / d.bandwidth);
				assert_true(t.error > 0 && t.error < 2);
				holds_for_wild_numbers(&q, &d, flops);
			}
	}
	berth_arena_free(&mem);
}

static void test_what_gpus_are_known_for(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_catalogue c;
	berth_err err = {0};
	assert_ok(berth_catalogue_read(&mem, &c, &err), &err);
	berth_time_device a100 = named(&c, &mem, "nvidia-a100-pcie-40gb"), t4 = named(&c, &mem, "nvidia-t4"),
			  h100 = named(&c, &mem, "nvidia-h100-sxm");
	double large[N_SIZES] = {1, 4096, 4096, 4096}, tile[N_SIZES] = {64, 128, 512, 512},
	       over[N_SIZES] = {64, 129, 512, 512}, vector[N_SIZES] = {1, 1, 4096, 4096};
	berth_time_query q = query_of(BERTH_TIME_LINEAR, large, false);
	assert_true(seconds(&q, &h100) < seconds(&q, &a100));
	/* of 19.5 TFLOP/s about four fifths; a T4 has no power for its 8.1 */
	double reached = q.flops / seconds(&q, &a100) / 19.5e12,
	       on_t4 = q.flops / seconds(&q, &t4) / 8.141e12;
	assert_true(reached > 0.7 && reached < 0.9);
	assert_true(on_t4 > 0.35 && on_t4 < 0.6);
	/* a T4 that is still cool is quicker */
	berth_time_query small = query_of(BERTH_TIME_LINEAR, (double[N_SIZES]){1, 512, 512, 512}, true),
			 warm = small;
	warm.alone = false;
	assert_true(seconds(&small, &t4) < seconds(&warm, &t4));
	/* a row more than a tile has costs most of a tile */
	berth_time_query one = query_of(BERTH_TIME_BMM, tile, false),
			 two = query_of(BERTH_TIME_BMM, over, false);
	assert_true(seconds(&two, &a100) > 1.5 * seconds(&one, &a100));
	/* one row times a matrix: by its bytes */
	q = query_of(BERTH_TIME_LINEAR, vector, false);
	double by_bytes = q.bytes / seconds(&q, &t4) / 320e9;
	assert_true(by_bytes > 0.4 && by_bytes < 1);
	/* 3 x 3 by Winograd: above the peak, as its multiplications are counted without it */
	berth_time_query conv = query_of(BERTH_TIME_CONV, (double[N_SIZES]){64, 512, 512, 28, 28, 3}, false);
	assert_true(conv.flops / seconds(&conv, &a100) > 19.5e12);
	berth_time_query strided = conv;
	strided.stride = 2;
	assert_true(conv.flops / seconds(&strided, &a100) < 19.5e12);
	/* farther from what was timed is less sure */
	berth_time_query huge = query_of(BERTH_TIME_BMM, (double[N_SIZES]){4096, 4096, 4096, 4096}, false);
	assert_true(berth_time_on_gpu(&huge, &a100).error > berth_time_on_gpu(&one, &a100).error);
	assert_true(berth_time_on_gpu(&strided, &a100).error > berth_time_on_gpu(&conv, &a100).error);
	berth_arena_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_is_never_quicker),
		cmocka_unit_test(test_a_larger_gpu_is_never_slower),
		cmocka_unit_test(test_never_above_the_hardware),
		cmocka_unit_test(test_what_gpus_are_known_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
