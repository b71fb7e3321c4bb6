/* The engine's check of outputs: numbers of every type, one unit in the last place, signs, infinities and
 * NaN. */
#include "onnx_model.h"
#include "ort_compare.h"
#include "support.h"

#include <math.h>
#include <stdbool.h>

enum { COMPLEX64 = 14, COMPLEX128 = 15 };

#define TENSOR(type, ...) ((const void *)(const type[]){__VA_ARGS__})

static void test_numbers(void **state)
{
	(void)state;
	const struct { int32_t elem; const void *data; double x[3]; } cases[] = {
		{ONNX_FLOAT, (const float[]){1.5f, -2, 3e38f}, {1.5, -2, (double)3e38f}},
		{ONNX_DOUBLE, (const double[]){1.5, -1e300, 0}, {1.5, -1e300, 0}},
		{ONNX_FLOAT16, (const uint16_t[]){0x3c00, 0xc000, 0x0001}, {1, -2, 0x1p-24}},
		{ONNX_BFLOAT16, (const uint16_t[]){0x3f80, 0xc000, 0x4380}, {1, -2, 256}},
		{ONNX_INT8, (const int8_t[]){1, -1, -128}, {1, -1, -128}},
		{ONNX_UINT8, (const uint8_t[]){1, 255, 128}, {1, 255, 128}},
		{ONNX_INT16, (const int16_t[]){1, -1, 0x1234}, {1, -1, 0x1234}},
		{ONNX_UINT16, (const uint16_t[]){1, 0xffff, 0x1234}, {1, 0xffff, 0x1234}},
		{ONNX_INT32, (const int32_t[]){1, -1, 1 << 30}, {1, -1, 1 << 30}},
		{ONNX_UINT32, (const uint32_t[]){1, UINT32_MAX, 1u << 31}, {1, UINT32_MAX, 0x1p31}},
		{ONNX_INT64, (const int64_t[]){1, -1, INT64_MIN}, {1, -1, -0x1p63}},
		{ONNX_UINT64, (const uint64_t[]){1, UINT64_C(1) << 63, 256}, {1, 0x1p63, 256}},
		{ONNX_BOOL, (const uint8_t[]){0, 1, 0xff}, {0, 1, 255}}, /* the last: nobody wrote there */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t k = 0; k < 3; k++)
			assert_near(ort_number(cases[i].data, cases[i].elem, k), cases[i].x[k], 0);
}

/* {1, 2} against what is one unit less, what has another sign, and 16 for 2. */
static void test_differences(void **state)
{
	(void)state;
	const struct {
		int32_t elem;
		const void *want, *ulp, *sign, *large;
		double one;
		bool rounding;
	} cases[] = {
		{ONNX_FLOAT, (const float[]){1, 2}, (const float[]){0x1.fffffep-1f, 2},
	         (const float[]){-1, 2}, (const float[]){1, 16}, 0x1p-25, true},
		{ONNX_DOUBLE, (const double[]){1, 2}, (const double[]){0x1.fffffffffffffp-1, 2},
	         (const double[]){-1, 2}, (const double[]){1, 16}, 0x1p-54, true},
		{ONNX_FLOAT16, (const uint16_t[]){0x3c00, 0x4000}, (const uint16_t[]){0x3bff, 0x4000},
	         (const uint16_t[]){0xbc00, 0x4000}, (const uint16_t[]){0x3c00, 0x4c00}, 0x1p-12, true},
		{ONNX_BFLOAT16, (const uint16_t[]){0x3f80, 0x4000}, (const uint16_t[]){0x3f7f, 0x4000},
	         (const uint16_t[]){0xbf80, 0x4000}, (const uint16_t[]){0x3f80, 0x4180}, 0x1p-9, true},
		{ONNX_INT8, (const int8_t[]){1, 2}, (const int8_t[]){0, 2}, (const int8_t[]){-1, 2},
	         (const int8_t[]){1, 16}, 0.5, false},
		{ONNX_INT16, (const int16_t[]){1, 2}, (const int16_t[]){0, 2}, (const int16_t[]){-1, 2},
	         (const int16_t[]){1, 16}, 0.5, false},
		{ONNX_INT32, (const int32_t[]){1, 2}, (const int32_t[]){0, 2}, (const int32_t[]){-1, 2},
	         (const int32_t[]){1, 16}, 0.5, false},
		{ONNX_INT64, (const int64_t[]){1, 2}, (const int64_t[]){0, 2}, (const int64_t[]){-1, 2},
	         (const int64_t[]){1, 16}, 0.5, false},
		{COMPLEX64, (const float[]){0, 1, 2, 0}, (const float[]){0, 0x1.fffffep-1f, 2, 0},
	         (const float[]){0, -1, 2, 0}, (const float[]){0, 1, 16, 0}, 0x1p-25, true},
		{COMPLEX128, (const double[]){0, 1, 2, 0}, (const double[]){0, 0x1.fffffffffffffp-1, 2, 0},
	         (const double[]){0, -1, 2, 0}, (const double[]){0, 1, 16, 0}, 0x1p-54, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int32_t elem = cases[i].elem;
		double d = ort_difference(cases[i].want, cases[i].ulp, elem, 2);
		assert_near(ort_difference(cases[i].want, cases[i].want, elem, 2), 0, 0);
		assert_near(d, cases[i].one, 0);
		assert_int_equal(d <= ort_tolerance(elem), cases[i].rounding);
		assert_near(ort_difference(cases[i].want, cases[i].sign, elem, 2), 1, 0);
		assert_near(ort_difference(cases[i].want, cases[i].large, elem, 2), 7, 0);
	}
}

/* High bytes count in unsigned types too, and so does a truth value. */
static void test_unsigned(void **state)
{
	(void)state;
	assert_near(ort_difference(TENSOR(uint8_t, 4, 200), TENSOR(uint8_t, 4, 100), ONNX_UINT8, 2), 0.5, 0);
	assert_near(ort_difference(TENSOR(uint16_t, 0x0400), TENSOR(uint16_t, 0x0200), ONNX_UINT16, 1), 0.5,
	            0);
	assert_near(
		ort_difference(TENSOR(uint32_t, 0x04000000), TENSOR(uint32_t, 0x02000000), ONNX_UINT32, 1),
		0.5, 0);
	assert_near(ort_difference(TENSOR(uint64_t, UINT64_C(4) << 60), TENSOR(uint64_t, UINT64_C(2) << 60),
	                           ONNX_UINT64, 1),
	            0.5, 0);
	assert_near(ort_difference(TENSOR(uint8_t, 1, 0), TENSOR(uint8_t, 1, 1), ONNX_BOOL, 2), 1, 0);
	assert_true(ort_difference(TENSOR(uint8_t, 1, 0), TENSOR(uint8_t, 1, 0xff), ONNX_BOOL, 2) >
	            ort_tolerance(ONNX_BOOL));
}

/* What is not finite is as it should be, or all is wrong. Rows and columns: 1, infinity, -infinity, NaN. */
static void test_not_finite(void **state)
{
	(void)state;
	const uint16_t half[] = {0x3c00, 0x7c00, 0xfc00, 0x7e00}, brain[] = {0x3f80, 0x7f80, 0xff80, 0x7fc0};
	const float single[] = {1, INFINITY, -INFINITY, NAN};
	const double twice[] = {1, INFINITY, -INFINITY, NAN};
	for (size_t want = 0; want < 4; want++)
		for (size_t got = 0; got < 4; got++) {
			bool same = want == got;
			assert_int_equal(ort_difference(&half[want], &half[got], ONNX_FLOAT16, 1) <= 1e9,
			                 same);
			assert_int_equal(ort_difference(&brain[want], &brain[got], ONNX_BFLOAT16, 1) <= 1e9,
			                 same);
			assert_int_equal(ort_difference(&single[want], &single[got], ONNX_FLOAT, 1) <= 1e9,
			                 same);
			assert_int_equal(ort_difference(&twice[want], &twice[got], ONNX_DOUBLE, 1) <= 1e9,
			                 same);
		}
	/* an infinity that is wanted does not make the others small */
	assert_near(ort_difference(TENSOR(float, INFINITY, 2), TENSOR(float, INFINITY, 1), ONNX_FLOAT, 2),
	            0.5, 0);
	assert_near(ort_difference(TENSOR(float, NAN, 2), TENSOR(float, NAN, 1), ONNX_FLOAT, 2), 0.5, 0);
}

/* Nothing, and zeros. */
static void test_little(void **state)
{
	(void)state;
	assert_near(ort_difference(NULL, NULL, ONNX_FLOAT, 0), 0, 0);
	assert_near(ort_difference(TENSOR(float, 0, 0), TENSOR(float, 0, -0.0f), ONNX_FLOAT, 2), 0, 0);
	assert_near(ort_difference(TENSOR(float, 0, 0), TENSOR(float, 0, 0.25f), ONNX_FLOAT, 2), 0.25, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_differences),
	                                   cmocka_unit_test(test_unsigned), cmocka_unit_test(test_not_finite),
	                                   cmocka_unit_test(test_little)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
