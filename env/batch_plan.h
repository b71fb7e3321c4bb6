/* What the batched evaluator's kernels read; see batch.h. Tables are rows of 2^dev_shift (times) and 4^dev_shift (pairs) entries, with a vector's room
 * behind the last. */
#ifndef BERTH_BATCH_PLAN_H
#define BERTH_BATCH_PLAN_H

#include "batch.h"

enum { BATCH_LEAST_SHIFT = 2, BATCH_MOST_FIXED_SHIFT = 3 }; /* up to 8 devices have kernels that keep all clocks in registers */

typedef struct batch_step {
	int32_t op, slot; /* slot: where its end is kept; free again after the last step that reads it */
	int32_t in_end;   /* one past its inputs; they begin where those of the step before end */
} batch_step;

typedef struct batch_in {
	int32_t op, slot, class; /* the producer, where its end is, the byte class */
} batch_in;

typedef struct batch_plan {
	int32_t n_ops, n_devs, dev_shift, n_slots;
	int32_t *step_op;        /* [n_ops] the order */
	batch_step *step;        /* [n_ops] */
	batch_in *in;            /* [n_edges] by step */
	int32_t *step_time32, *class_pair32; /* [n_ops][row], [n_classes][to][from]; one pair of tables is set */
	int64_t *step_time64, *class_pair64;
} batch_plan;

/* end: [n_slots][lanes]; clock: [n_devs][lanes] (more than 8 devices); both aligned to 64 bytes. */
typedef struct batch_kernels {
	void (*narrow)(const batch_plan *plan, const uint8_t *dev, int32_t *end, int32_t *clock, int64_t *latency);
	void (*wide)(const batch_plan *plan, const uint8_t *dev, int64_t *end, int64_t *clock, int64_t *latency);
} batch_kernels;

extern const batch_kernels batch_kernels_baseline, batch_kernels_avx2, batch_kernels_avx512;

/* The kernels of isa; NULL where they cannot be used. One file for x86, one for the rest. */
const batch_kernels *batch_kernels_of(berth_isa isa);

#endif
