/* The batched evaluator's kernels for AVX2; see batch_kernel.inc. Masks are vectors of all ones and zeros. */
#include "batch_plan.h"

#include <immintrin.h>

/* ---- 8 lanes of 32 bits ---- */

#define FN static inline __attribute__((always_inline))
FN __m256i load_narrow(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
FN void store_narrow(int32_t *p, __m256i x) { _mm256_storeu_si256((__m256i *)(void *)p, x); }
FN __m256i fill_narrow(int32_t x) { return _mm256_set1_epi32(x); }
FN __m256i dev_narrow(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)); }
FN __m256i add_narrow(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
FN __m256i sub_narrow(__m256i a, __m256i b) { return _mm256_sub_epi32(a, b); }
FN __m256i both_narrow(__m256i a, __m256i b) { return _mm256_and_si256(a, b); }
FN __m256i max_narrow(__m256i a, __m256i b) { return _mm256_max_epi32(a, b); }
FN __m256i either_narrow(__m256i a, __m256i b) { return _mm256_or_si256(a, b); }
FN __m256i shl_narrow(__m256i a, int32_t n) { return _mm256_slli_epi32(a, n); }
FN __m256i is_narrow(__m256i d, int32_t k) { return _mm256_cmpeq_epi32(d, _mm256_set1_epi32(k)); }
FN __m256i same_narrow(__m256i a, __m256i b) { return _mm256_cmpeq_epi32(a, b); }
FN bool any_narrow(__m256i m) { return !_mm256_testz_si256(m, m); }
FN __m256i pick_narrow(__m256i m, __m256i a, __m256i b) { return _mm256_blendv_epi8(b, a, m); }

/* A choice by the sign bit alone needs no full mask. */
FN __m256i by_sign(__m256i m, __m256i a, __m256i b)
{
	return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(b), _mm256_castsi256_ps(a), _mm256_castsi256_ps(m)));
}

FN __m256i bit_narrow(__m256i d, int32_t b)
{
	return is_narrow(_mm256_and_si256(d, _mm256_set1_epi32(1 << b)), 1 << b);
}

FN __m256i row_narrow(const int32_t *row, __m256i d, int32_t shift)
{
	if (shift == 2)
		return _mm256_castps_si256(_mm256_permutevar_ps(_mm256_broadcast_ps((const __m128 *)(const void *)row), d));
	if (shift == 3)
		return _mm256_permutevar8x32_epi32(load_narrow(row), d);
	return _mm256_i32gather_epi32(row, d, 4);
}

/* 16 entries: two permutations and a choice by bit 3 of the index. */
FN __m256i pair_narrow(const int32_t *table, __m256i index, int32_t shift)
{
	if (shift > 2)
		return _mm256_i32gather_epi32(table, index, 4);
	return by_sign(shl_narrow(index, 28), _mm256_permutevar8x32_epi32(load_narrow(table + 8), index), _mm256_permutevar8x32_epi32(load_narrow(table), index));
}

#define BATCH(name) name##_narrow
#define BATCH_TIME int32_t
#define BATCH_TIMES step_time32
#define BATCH_PAIRS class_pair32
#define BATCH_VECTOR __m256i
#define BATCH_MASK __m256i
#define BATCH_WIDTH 8
#define BATCH_VECTORS 2
#define BATCH_VECTORS_CHANNELS 1
#define BATCH_VECTORS_MEMORY 1
#include "batch_kernel.inc"
#include "batch_memory.inc"
#include "batch_undefine.inc"

/* ---- 4 lanes of 64 bits ---- */

FN __m256i load_wide(const int64_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
FN void store_wide(int64_t *p, __m256i x) { _mm256_storeu_si256((__m256i *)(void *)p, x); }
FN __m256i fill_wide(int64_t x) { return _mm256_set1_epi64x(x); }
FN __m256i dev_wide(const uint8_t *p) { return _mm256_cvtepu8_epi64(_mm_loadu_si32(p)); }
FN __m256i add_wide(__m256i a, __m256i b) { return _mm256_add_epi64(a, b); }
FN __m256i max_wide(__m256i a, __m256i b) { return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)); }
FN __m256i either_wide(__m256i a, __m256i b) { return _mm256_or_si256(a, b); }
FN __m256i shl_wide(__m256i a, int32_t n) { return _mm256_slli_epi64(a, n); }
FN __m256i is_wide(__m256i d, int32_t k) { return _mm256_cmpeq_epi64(d, _mm256_set1_epi64x(k)); }
FN __m256i bit_wide(__m256i d, int32_t b) { return is_wide(_mm256_and_si256(d, _mm256_set1_epi64x(1 << b)), 1 << b); }
FN bool any_wide(__m256i m) { return !_mm256_testz_si256(m, m); }
FN __m256i pick_wide(__m256i m, __m256i a, __m256i b) { return _mm256_blendv_epi8(b, a, m); }

FN __m256i row_wide(const int64_t *row, __m256i d, int32_t shift)
{
	(void)shift;
	return _mm256_i64gather_epi64((const long long *)(const void *)row, d, 8);
}

FN __m256i pair_wide(const int64_t *table, __m256i index, int32_t shift)
{
	return row_wide(table, index, shift);
}

#define BATCH(name) name##_wide
#define BATCH_TIME int64_t
#define BATCH_TIMES step_time64
#define BATCH_PAIRS class_pair64
#define BATCH_VECTOR __m256i
#define BATCH_MASK __m256i
#define BATCH_WIDTH 4
#define BATCH_VECTORS 8
#define BATCH_VECTORS_CHANNELS 1
#include "batch_kernel.inc"
#include "batch_undefine.inc"

const batch_kernels batch_kernels_avx2 = {latency_narrow, latency_wide, channels_narrow, channels_wide, memory};
