/* The batched evaluator's kernels for any processor, in the compiler's vectors of 16 bytes; see batch_kernel.inc. */
#include "batch_plan.h"

#include <string.h>

#define FN static inline __attribute__((always_inline, unused))

/* Operations on vectors V of W lanes of T, named by S. */
#define OPERATIONS(S, V, T, W)                                                                     \
	typedef T V __attribute__((vector_size(16)));                                              \
	FN V load_##S(const T *p)                                                                  \
	{                                                                                          \
		V x;                                                                               \
		memcpy(&x, p, sizeof x);                                                           \
		return x;                                                                          \
	}                                                                                          \
	FN void store_##S(T *p, V x) { memcpy(p, &x, sizeof x); }                                  \
	FN V fill_##S(T x) { return x - (V){0}; }                                                  \
	FN V dev_##S(const uint8_t *p)                                                             \
	{                                                                                          \
		uint8_t x __attribute__((vector_size(W)));                                         \
		memcpy(&x, p, sizeof x);                                                           \
		return __builtin_convertvector(x, V);                                              \
	}                                                                                          \
	FN V add_##S(V a, V b) { return a + b; }                                                   \
	FN V sub_##S(V a, V b) { return a - b; }                                                   \
	FN V both_##S(V a, V b) { return a & b; }                                                  \
	FN V either_##S(V a, V b) { return a | b; }                                                \
	FN V shl_##S(V a, int32_t n) { return a << n; }                                            \
	FN V is_##S(V d, int32_t k) { return (V)(d == (T)k); }                                     \
	FN V same_##S(V a, V b) { return (V)(a == b); }                                            \
	FN bool any_##S(V m)                                                                       \
	{                                                                                          \
		T all = 0;                                                                         \
		for (int l = 0; l < (W); l++)                                                      \
			all |= m[l];                                                               \
		return all != 0;                                                                   \
	}                                                                                          \
	FN V bit_##S(V d, int32_t b) { return (V)((d & fill_##S((T)1 << b)) != 0); }                  \
	FN V pick_##S(V m, V a, V b) { return (a & m) | (b & ~m); }                                \
	FN V max_##S(V a, V b) { return pick_##S((V)(a > b), a, b); }                              \
	FN V row_##S(const T *row, V d, int32_t shift)                                             \
	{                                                                                          \
		V x;                                                                               \
		(void)shift;                                                                       \
		for (int l = 0; l < (W); l++)                                                      \
			x[l] = row[d[l]];                                                          \
		return x;                                                                          \
	}                                                                                          \
	FN V pair_##S(const T *table, V index, int32_t shift) { return row_##S(table, index, shift); }

OPERATIONS(narrow, lanes32, int32_t, 4)
OPERATIONS(wide, lanes64, int64_t, 2)

#define BATCH(name) name##_narrow
#define BATCH_TIME int32_t
#define BATCH_TIMES step_time32
#define BATCH_PAIRS class_pair32
#define BATCH_VECTOR lanes32
#define BATCH_MASK lanes32
#define BATCH_WIDTH 4
#define BATCH_VECTORS 2
#define BATCH_VECTORS_CHANNELS 1
#define BATCH_VECTORS_MEMORY 1
#include "batch_kernel.inc"
#include "batch_memory.inc"
#include "batch_undefine.inc"

#define BATCH(name) name##_wide
#define BATCH_TIME int64_t
#define BATCH_TIMES step_time64
#define BATCH_PAIRS class_pair64
#define BATCH_VECTOR lanes64
#define BATCH_MASK lanes64
#define BATCH_WIDTH 2
#define BATCH_VECTORS 8
#define BATCH_VECTORS_CHANNELS 1
#include "batch_kernel.inc"
#include "batch_undefine.inc"

const batch_kernels batch_kernels_baseline = {latency_narrow, latency_wide, channels_narrow, channels_wide, memory};
