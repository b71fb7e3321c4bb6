/* PCG32 (XSH-RR 64/32) random streams: O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically
 * Good Algorithms for Random Number Generation", HMC-CS-2014-0905. A stream belongs to what is computed (an
 * episode, a restart), never to a thread, so results do not depend on the number of threads. */
#pragma once

#include <stdint.h>

typedef struct berth_rng {
	uint64_t state, inc; /* inc is odd: it selects the stream */
} berth_rng;

/* Generator for (seed, stream); equal to pcg32_srandom_r(seed, stream) of the reference. */
berth_rng berth_rng_seed(uint64_t seed, uint64_t stream);

/* Uniform 32 bits. */
static inline uint32_t berth_rng_next(berth_rng *r)
{
	uint64_t old = r->state;
	r->state = old * 6364136223846793005u + r->inc;
	uint32_t x = (uint32_t)(((old >> 18) ^ old) >> 27), rot = (uint32_t)(old >> 59);
	return (x >> rot) | (x << ((32u - rot) & 31u));
}

/* Uniform in [0, n), without bias; n > 0. */
uint32_t berth_rng_below(berth_rng *r, uint32_t n);

/* Uniform in [0, 1), 32 bits of resolution. */
static inline double berth_rng_unit(berth_rng *r)
{
	return (double)berth_rng_next(r) * 0x1p-32;
}

/* Standard normal (Box-Muller, one of the pair). */
double berth_rng_normal(berth_rng *r);

/* First stream number of each purpose; the index of the item is added to it. */
enum {
	BERTH_STREAM_METHOD = 0,
	BERTH_STREAM_INIT = 1,
	BERTH_STREAM_RANDOM = 2,
	BERTH_STREAM_ORDER = 3,
	BERTH_STREAM_WALK = 4
};
#define BERTH_STREAM_ROLLOUT (UINT64_C(1) << 32)
#define BERTH_STREAM_SEARCH (UINT64_C(2) << 32)
#define BERTH_STREAM_TIGHTEN (UINT64_C(4) << 32)
#define BERTH_STREAM_TUNE (UINT64_C(5) << 32)
#define BERTH_STREAM_OBJECTIVE (UINT64_C(6) << 32)
#define BERTH_STREAM_MEASURED (UINT64_C(7) << 32)
