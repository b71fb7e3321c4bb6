/* The size of a step, then a byte for each number. */
#include "quantised.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t quantised_bytes(size_t n)
{
	return sizeof(float) + n;
}

void quantised_put(const float *x, size_t n, void *out)
{
	int8_t *to = (int8_t *)out + sizeof(float);
	float most = 0, step;
	bool finite = true;
	for (size_t i = 0; i < n; i++) {
		finite = finite && isfinite(x[i]);
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	}
	step = finite ? most / 127 : NAN;
	memcpy(out, &step, sizeof step);
	for (size_t i = 0; i < n; i++) /* a denormal step is rounded so much that 127 of it may be too few */
		to[i] = finite && step > 0 ? (int8_t)lrintf(fmaxf(-127, fminf(127, x[i] / step))) : 0;
}

void quantised_get(const void *in, size_t n, float *x)
{
	const int8_t *from = (const int8_t *)in + sizeof(float);
	float step;
	memcpy(&step, in, sizeof step);
	for (size_t i = 0; i < n; i++)
		x[i] = step * (float)from[i];
}
