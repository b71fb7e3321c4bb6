/* Is a tensor what it should be? Elements are compared as numbers, whatever their type. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Element i of a tensor of type elem (TensorProto.DataType) as a number. A truth value is its byte. Whatever
 * stands there beside 0 and 1 differs from both. */
double ort_number(const void *data, int32_t elem, size_t i);

/* Largest difference of n elements from those wanted, relative to the largest finite one wanted. NaN equals
 * NaN and an infinity equals itself. Where only one of two elements is such, the difference is INFINITY.
 * Complex numbers are compared part by part. */
double ort_difference(const void *want, const void *got, int32_t elem, size_t n);

/* What rounding to the type, operator after operator, can make of a difference. */
double ort_tolerance(int32_t elem);
