/* The batched evaluator's kernels for baseline; see batch_kernel.inc. */
#include "batch_plan.h"

#define LOOP_LOOKUP(table, index, n, out)                          \
	do {                                                       \
		(void)(n);                                         \
		for (int32_t l_ = 0; l_ < BERTH_BATCH_LANES; l_++) \
			(out)[l_] = (table)[(index)[l_]];          \
	} while (0)
#define BATCH_LOOKUP LOOP_LOOKUP
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

const batch_kernels batch_kernels_baseline = {narrow, wide};
