/* Numbers of 32 bits as whole steps from -127 to 127 of the largest one of their tensor: a quarter of the
 * bytes, each number off by 1/254 of the largest at most. */
#pragma once

#include <stddef.h>

size_t quantised_bytes(size_t n);
/* x[n] into out[quantised_bytes(n)], and back. One that is no finite number makes all of them come back as no
 * number, so that it is seen. */
void quantised_put(const float *x, size_t n, void *out);
void quantised_get(const void *in, size_t n, float *x);
