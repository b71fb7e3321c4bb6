/* Is a tensor what it should be? Elements are compared as numbers, whatever their type: the largest
 * difference, relative to the largest number. */
#include "ort_compare.h"

#include "onnx_model.h"

enum { COMPLEX64 = 14, COMPLEX128 = 15 }; /* the importer has no use for them */

double ort_number(const void *data, int32_t elem, size_t i)
{
	switch (elem) {
	case ONNX_FLOAT: return (double)((const float *)data)[i];
	case ONNX_DOUBLE: return ((const double *)data)[i];
	case ONNX_FLOAT16: return onnx_half(((const uint16_t *)data)[i]);
	case ONNX_BFLOAT16: return protobuf_float((uint32_t)((const uint16_t *)data)[i] << 16);
	case ONNX_INT8: return ((const int8_t *)data)[i];
	case ONNX_INT16: return ((const int16_t *)data)[i];
	case ONNX_INT32: return ((const int32_t *)data)[i];
	case ONNX_INT64: return (double)((const int64_t *)data)[i];
	case ONNX_UINT16: return ((const uint16_t *)data)[i];
	case ONNX_UINT32: return ((const uint32_t *)data)[i];
	case ONNX_UINT64: return (double)((const uint64_t *)data)[i];
	case ONNX_UINT8:
	case ONNX_BOOL: return ((const uint8_t *)data)[i];
	default: return NAN;
	}
}

static double apart(double want, double got)
{
	if (isfinite(want) && isfinite(got))
		return fabs(want - got);
	return (isnan(want) && isnan(got)) || want == got ? 0 : INFINITY;
}

double ort_difference(const void *want, const void *got, int32_t elem, size_t n)
{
	double largest = 0, worst = 0;
	if (elem == COMPLEX64 || elem == COMPLEX128)
		return ort_difference(want, got, elem == COMPLEX64 ? ONNX_FLOAT : ONNX_DOUBLE, 2 * n);
	for (size_t i = 0; i < n; i++) {
		double x = ort_number(want, elem, i);
		if (isfinite(x))
			largest = fmax(largest, fabs(x));
		worst = fmax(worst, apart(x, ort_number(got, elem, i)));
	}
	return worst == 0 ? 0 : worst / (largest > 0 ? largest : 1);
}

double ort_tolerance(int32_t elem)
{
	return elem == ONNX_BFLOAT16  ? 8e-2
	       : elem == ONNX_FLOAT16 ? 1e-2
	                              : 1e-3; /* ten units in the last place, or more */
}
