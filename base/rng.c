/* PCG32 seeding and derived distributions: numbers below a limit without bias, and
 * standard normal ones. */
#include "rng.h"

#include <math.h>

berth_rng berth_rng_seed(uint64_t seed, uint64_t stream)
{
	berth_rng r = {0, (stream << 1) | 1u};
	berth_rng_next(&r);
	r.state += seed;
	berth_rng_next(&r);
	return r;
}

uint32_t berth_rng_below(berth_rng *r, uint32_t n)
{
	/* Reject the first 2^32 mod n values, so that the rest divides evenly. */
	uint32_t threshold = (0u - n) % n;
	for (;;) {
		uint32_t x = berth_rng_next(r);
		if (x >= threshold)
			return x % n;
	}
}

double berth_rng_normal(berth_rng *r)
{
	double u = 1.0 - berth_rng_unit(r), v = berth_rng_unit(r);
	return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
