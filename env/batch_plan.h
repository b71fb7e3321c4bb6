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

/* With channels. A tensor is pushed when its producer ends: to each device that it goes to, hop by hop, and on to its consumers. */
typedef struct batch_push {
	int32_t class, use_end; /* byte class; one past its uses, which begin where those of the tensor before end */
} batch_push;

typedef struct batch_use {
	int32_t op, slot; /* the consumer; where the time that its inputs are there is kept, from its first input to its start */
	bool first;       /* nothing stands in the slot yet */
} batch_use;

typedef struct batch_hop {
	int32_t channel;
	int64_t time_ns;
} batch_hop;

/* For memory. Bytes are counted in units of 2^unit_shift, each size rounded up. */
typedef struct batch_held {
	int32_t op;     /* the producer */
	int32_t units;
	int32_t slot;   /* where the devices that hold the tensor are kept, a bit each; -1: the tensor has one use */
	bool last;      /* of all its uses */
} batch_held;

typedef struct batch_step_memory {
	int32_t always, made, work; /* parameters and state; tensors and outputs; workspace while it runs */
	int32_t freed;              /* inputs that it uses alone: what its device held of them is free at its end */
	int32_t held_end;           /* one past its inputs in held, as in batch_step */
	int32_t new_off, new_end;   /* into new_slot: its tensors of several uses */
} batch_step_memory;

typedef struct batch_plan {
	int32_t n_ops, n_devs, dev_shift, n_slots;
	int32_t *step_op;        /* [n_ops] the order */
	batch_step *step;        /* [n_ops] */
	batch_in *in;            /* [n_edges] by step */
	int32_t *step_time32, *class_pair32; /* [n_ops][row], [n_classes][to][from]; one pair of tables is set */
	int64_t *step_time64, *class_pair64;

	/* with channels; else NULL */
	int32_t n_channels, n_ready_slots;
	int32_t *step_push_end;  /* [n_ops] one past its tensors in push */
	int32_t *step_ready;     /* [n_ops] slot of the time that its inputs are there; -1: none */
	batch_push *push;        /* [n_tensors] by step */
	batch_use *use;          /* [n_edges] by tensor of push */
	int32_t *pair_hop_off;   /* [n_classes][to][from] + 1 into hop */
	batch_hop *hop;

	/* for memory; else NULL */
	int32_t unit_shift, n_held_slots;
	batch_step_memory *memory; /* [n_ops] */
	batch_held *held;        /* [n_edges] by step */
	int32_t *new_slot;
	int32_t n_shared;        /* shared parameters */
	int32_t *shared_units, *shared_off, *shared_op;
} batch_plan;

/* end: [n_slots][lanes]; clock: [n_devs][lanes] (more than 8 devices). With channels: ready [n_ready_slots][lanes], clock [n_channels][lanes].
 * Memory: seen [n_held_slots][lanes]; peak: units [n_devs][lanes]. */
typedef struct batch_kernels {
	void (*narrow)(const batch_plan *plan, const uint8_t *dev, int32_t *end, int32_t *clock, int64_t *latency);
	void (*wide)(const batch_plan *plan, const uint8_t *dev, int64_t *end, int64_t *clock, int64_t *latency);
	void (*channels_narrow)(const batch_plan *plan, const uint8_t *dev, int32_t *ready, int32_t *clock, int64_t *latency);
	void (*channels_wide)(const batch_plan *plan, const uint8_t *dev, int64_t *ready, int64_t *clock, int64_t *latency);
	void (*memory)(const batch_plan *plan, const uint8_t *dev, int32_t *seen, int32_t *peak);
} batch_kernels;

extern const batch_kernels batch_kernels_baseline, batch_kernels_avx2, batch_kernels_avx512;

/* Numbers that are given out and come back: the lowest ones that are not in use, the last back first. */
typedef struct batch_slots {
	int32_t *unused, n_unused, n;
} batch_slots;

static inline int32_t batch_slot_take(batch_slots *s)
{
	return s->n_unused ? s->unused[--s->n_unused] : s->n++;
}

static inline void batch_slot_give(batch_slots *s, int32_t slot)
{
	s->unused[s->n_unused++] = slot;
}

/* Fill the parts of the plan for channels and for memory; step, in and dev_shift are set. In mem. Fail: BERTH_ENOMEM. */
berth_status batch_plan_channels(batch_plan *q, const berth_problem *p, berth_arena *mem, berth_err *err);
berth_status batch_plan_memory(batch_plan *q, const berth_problem *p, berth_arena *mem, berth_err *err);

/* The kernels of isa; NULL where they cannot be used. One file for x86, one for the rest. */
const batch_kernels *batch_kernels_of(berth_isa isa);

#endif
