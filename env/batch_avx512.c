/* The batched evaluator's kernels for AVX-512; see batch_kernel.inc. */
#include "batch_plan.h"

#include <immintrin.h>

#define FN static inline __attribute__((always_inline))
typedef int32_t lanes_narrow __attribute__((vector_size(64)));
typedef int64_t lanes_wide __attribute__((vector_size(64)));

/* ---- 16 lanes of 32 bits ---- */

FN __m512i load_narrow(const int32_t *p) { return _mm512_loadu_si512(p); }
FN void store_narrow(int32_t *p, __m512i x) { _mm512_storeu_si512(p, x); }
FN __m512i fill_narrow(int32_t x) { return _mm512_set1_epi32(x); }
FN __m512i dev_narrow(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)); }
FN __m512i add_narrow(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
FN __m512i sub_narrow(__m512i a, __m512i b) { return _mm512_sub_epi32(a, b); }
FN __m512i both_narrow(__m512i a, __m512i b) { return _mm512_and_si512(a, b); }
FN __m512i max_narrow(__m512i a, __m512i b) { return _mm512_max_epi32(a, b); }
FN __m512i either_narrow(__m512i a, __m512i b) { return _mm512_or_si512(a, b); }
FN __m512i shl_narrow(__m512i a, int32_t n) { return (__m512i)((lanes_narrow)a << n); }
FN __mmask16 is_narrow(__m512i d, int32_t k) { return _mm512_cmpeq_epi32_mask(d, _mm512_set1_epi32(k)); }
FN __mmask16 same_narrow(__m512i a, __m512i b) { return _mm512_cmpeq_epi32_mask(a, b); }
FN bool any_narrow(__mmask16 m) { return m != 0; }
FN __mmask16 bit_narrow(__m512i d, int32_t b) { return _mm512_test_epi32_mask(d, _mm512_set1_epi32(1 << b)); }
FN __m512i pick_narrow(__mmask16 m, __m512i a, __m512i b) { return _mm512_mask_blend_epi32(m, b, a); }

/* Up to 16 entries are one permutation of a register, 32 one of two; longer tables are gathered. */
FN __m512i row_narrow(const int32_t *row, __m512i d, int32_t shift)
{
	if (shift == 2)
		return _mm512_castps_si512(_mm512_permutevar_ps(_mm512_castsi512_ps(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)row))), d));
	if (shift <= 4)
		return _mm512_permutexvar_epi32(d, _mm512_loadu_si512(row));
	return _mm512_i32gather_epi32(d, row, 4);
}

FN __m512i pair_narrow(const int32_t *table, __m512i index, int32_t shift)
{
	if (shift == 2)
		return _mm512_permutexvar_epi32(index, _mm512_loadu_si512(table));
	if (shift == 3) {
		__m512i low = _mm512_permutex2var_epi32(_mm512_loadu_si512(table), index, _mm512_loadu_si512(table + 16));
		__m512i high = _mm512_permutex2var_epi32(_mm512_loadu_si512(table + 32), index, _mm512_loadu_si512(table + 48));
		return pick_narrow(bit_narrow(index, 5), high, low);
	}
	return _mm512_i32gather_epi32(index, table, 4);
}

#define BATCH(name) name##_narrow
#define BATCH_TIME int32_t
#define BATCH_TIMES step_time32
#define BATCH_PAIRS class_pair32
#define BATCH_VECTOR __m512i
#define BATCH_MASK __mmask16
#define BATCH_WIDTH 16
#define BATCH_VECTORS 2
#define BATCH_VECTORS_CHANNELS 2
#define BATCH_VECTORS_MEMORY 1
#include "batch_kernel.inc"
#include "batch_memory.inc"
#include "batch_undefine.inc"

/* ---- 8 lanes of 64 bits ---- */

FN __m512i load_wide(const int64_t *p) { return _mm512_loadu_si512(p); }
FN void store_wide(int64_t *p, __m512i x) { _mm512_storeu_si512(p, x); }
FN __m512i fill_wide(int64_t x) { return _mm512_set1_epi64(x); }
FN __m512i dev_wide(const uint8_t *p) { return _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)p)); }
FN __m512i add_wide(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
FN __m512i max_wide(__m512i a, __m512i b) { return _mm512_max_epi64(a, b); }
FN __m512i either_wide(__m512i a, __m512i b) { return _mm512_or_si512(a, b); }
FN __m512i shl_wide(__m512i a, int32_t n) { return (__m512i)((lanes_wide)a << n); }
FN __mmask8 is_wide(__m512i d, int32_t k) { return _mm512_cmpeq_epi64_mask(d, _mm512_set1_epi64(k)); }
FN bool any_wide(__mmask8 m) { return m != 0; }
FN __mmask8 bit_wide(__m512i d, int32_t b) { return _mm512_test_epi64_mask(d, _mm512_set1_epi64(1 << b)); }
FN __m512i pick_wide(__mmask8 m, __m512i a, __m512i b) { return _mm512_mask_blend_epi64(m, b, a); }

FN __m512i row_wide(const int64_t *row, __m512i d, int32_t shift)
{
	return shift <= 3 ? _mm512_permutexvar_epi64(d, _mm512_loadu_si512(row)) : _mm512_i64gather_epi64(d, row, 8);
}

FN __m512i pair_wide(const int64_t *table, __m512i index, int32_t shift)
{
	if (shift == 2)
		return _mm512_permutex2var_epi64(_mm512_loadu_si512(table), index, _mm512_loadu_si512(table + 8));
	return _mm512_i64gather_epi64(index, table, 8);
}

#define BATCH(name) name##_wide
#define BATCH_TIME int64_t
#define BATCH_TIMES step_time64
#define BATCH_PAIRS class_pair64
#define BATCH_VECTOR __m512i
#define BATCH_MASK __mmask8
#define BATCH_WIDTH 8
#define BATCH_VECTORS 4
#define BATCH_VECTORS_CHANNELS 2
#include "batch_kernel.inc"
#include "batch_undefine.inc"

const batch_kernels batch_kernels_avx512 = {latency_narrow, latency_wide, channels_narrow, channels_wide, memory};
