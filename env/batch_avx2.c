/* The batched evaluator's kernels for avx2; see batch_kernel.inc. */
#include "batch_plan.h"

#include <immintrin.h>

#define LOOP_LOOKUP(table, index, n, out)                          \
	do {                                                       \
		(void)(n);                                         \
		for (int32_t l_ = 0; l_ < BERTH_BATCH_LANES; l_++) \
			(out)[l_] = (table)[(index)[l_]];          \
	} while (0)
/* Eight lanes of a row of up to 16 entries: two permutations and a choice by bit 3 of the index; longer rows are gathered. */
static inline __m256i lookup8(const int32_t *table, __m256i index, int32_t n)
{
	if (n > 16)
		return _mm256_i32gather_epi32(table, index, 4);
	__m256i low = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(const void *)table), index);
	__m256i high = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(table + 8)), index);
	return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), _mm256_castsi256_ps(_mm256_slli_epi32(index, 28))));
}

#define BATCH_LOOKUP(table, index, n, out)                               \
	do {                                                             \
		union {                                                  \
			__m256i half[2];                                 \
			__typeof__(out) whole;                           \
		} i_ = {.whole = (index)};                               \
		i_.half[0] = lookup8((table), i_.half[0], (n));          \
		i_.half[1] = lookup8((table), i_.half[1], (n));          \
		(out) = i_.whole;                                        \
	} while (0)
#define BATCH_KERNEL narrow
#define BATCH_TIME int32_t
#define BATCH_TIMES step_time32
#define BATCH_PAIRS class_pair32
#include "batch_kernel.inc"

#undef BATCH_LOOKUP
#define BATCH_LOOKUP LOOP_LOOKUP
#define BATCH_KERNEL wide
#define BATCH_TIME int64_t
#define BATCH_TIMES step_time64
#define BATCH_PAIRS class_pair64
#include "batch_kernel.inc"

const batch_kernels batch_kernels_avx2 = {narrow, wide};
