/* Packed tensors: hops take what the formula says where that is less, and numbers are as far off as stated.
 */
#include "rng.h"
#include "small_problem.h"
#include "support.h"
#include "system_change.h"

#include <math.h>

#define GRAPH(bytes)                                                                                         \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"x\","                 \
	"\"time_s\":{\"*\":1}},{\"name\":\"y\",\"time_s\":{\"*\":1}}],\"edges\":[{\"from\":\"x\",\"to\":"    \
	"\"y\","                                                                                             \
	"\"bytes\":" bytes "}]}"
static const char machine[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":["
	"{\"name\":\"a\",\"mem_bandwidth\":1e9,\"op_overhead_s\":1e-5},"
	"{\"name\":\"b\",\"mem_bandwidth\":5e9,\"op_overhead_s\":2e-5}],"
	"\"links\":[{\"from\":\"a\",\"to\":\"b\",\"latency_s\":1e-3,\"bandwidth\":1e6,\"both_ways\":true}]}";

/* 1 ms, a quarter of the bytes at 1 MB/s, 30 us, and five quarters of them through both memories. */
static void test_hops(void **state)
{
	(void)state;
	small_problem w;
	berth_problem p;
	berth_err err;
	small_problem_make(&w, GRAPH("100000"), machine);
	assert_int_equal(berth_transfer_ns(&w.p, 0, 0, 1), 101000000);
	assert_false(berth_hop_packed(&w.s, 0, 100000));
	assert_ok(berth_system_pack(&w.s, 4, &w.mem, &err), &err);
	assert_ok(berth_problem_new(&w.g, &w.s, &w.mem, &w.tmp, &p, &err), &err);
	assert_int_equal(berth_transfer_ns(&p, 0, 0, 1), 1000000 + 25000000 + 30000 + 125000 + 25000);
	assert_int_equal(berth_transfer_ns(&p, 0, 1, 0), berth_transfer_ns(&p, 0, 0, 1));
	assert_true(berth_hop_packed(&w.s, 0, 100000));
	assert_false(berth_hop_packed(&w.s, 0, 10)); /* starting two kernels takes longer than 7.5 bytes */
	assert_false(berth_hop_packed(&w.s, 0, 0));
	assert_near(berth_hop_s(&w.s, 0, 10), 1e-3 + 1e-5, 1e-15);
	small_problem_free(&w);
}

/* The number as 16 bits with 10 of fraction have it, exponents aside. */
static double half(double x)
{
	int exponent;
	double fraction = frexp(x, &exponent);
	return ldexp(nearbyint(ldexp(fraction, 11)), exponent - 11);
}

static void test_errors(void **state)
{
	(void)state;
	berth_rng rng = berth_rng_seed(1, BERTH_STREAM_RANDOM);
	double worst[3] = {0};
	for (int t = 0; t < 200; t++) {
		double x[200], largest = 0;
		for (int i = 0; i < 200; i++) {
			x[i] = berth_rng_normal(&rng) * exp(3 * berth_rng_normal(&rng));
			largest = fmax(largest, fabs(x[i]));
		}
		for (int i = 0; i < 200; i++)
			for (int k = 0; k < 3; k++) {
				double steps = k == 1 ? 127 : 7;
				double packed = k == 0 ? half(x[i])
				                       : nearbyint(x[i] / largest * steps) / steps * largest;
				double off = fabs(packed - x[i]) / (k == 0 ? fabs(x[i]) : largest);
				assert_true(off <= berth_packed_error(2 << k) * (1 + 1e-9));
				worst[k] = fmax(worst[k], off);
			}
	}
	for (int k = 0; k < 3; k++)
		assert_true(worst[k] > 0.95 * berth_packed_error(2 << k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_hops), cmocka_unit_test(test_errors)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
