/* Many placements of one graph at once, 32 of them, one per lane of vectors: latency with operators started in one fixed topological order on each device,
 * and an upper bound of the memory that they take. Transfers either never wait, which is the reference simulator with that order given and
 * "contention": false; or each channel serves them in the order of their producers, which is the reference with that order given and
 * "channel_order": "program". Equal to it in either, to the nanosecond.
 *
 * It does not judge rules, limits or energy, and knows devices with one slot only: a method that searches with it finishes on the reference. */
#ifndef BERTH_BATCH_H
#define BERTH_BATCH_H

#include "problem.h"

enum { BERTH_BATCH_LANES = 32, BERTH_BATCH_MAX_DEVS = 64, BERTH_BATCH_MAX_DEVS_FULL = 8 };

/* Which instructions; results are the same on all. */
typedef enum { BERTH_ISA_BEST = 0, BERTH_ISA_BASELINE, BERTH_ISA_AVX2, BERTH_ISA_AVX512 } berth_isa;

/* Does this program hold code for it, and can this processor run that? */
bool berth_isa_usable(berth_isa isa);

typedef struct berth_batch berth_batch;

typedef struct berth_batch_cfg {
	const int32_t *order; /* [n_ops] topological; NULL: upward rank, ties by topological index */
	berth_isa isa;
	bool channels;        /* transfers wait for their channel, in program order; else they never wait */
	bool memory;          /* berth_batch_memory will be called */
} berth_batch_cfg;

/* Scratch of one thread, in mem. cfg may be all 0.
 * Fails: BERTH_ELIMIT where a device has several slots, there are more than BERTH_BATCH_MAX_DEVS (with channels or memory BERTH_BATCH_MAX_DEVS_FULL), or the
 * system has a cost model of its own (use the reference); BERTH_EINVAL (isa not usable, order not topological), BERTH_ENOMEM. O(n_ops * n_devs + edges)
 * time and memory: with 4 devices and 32-bit times 32 bytes an operator, 12 an edge, and 128 for each operator whose end is still to be read at
 * once; channels and memory add about 80 bytes an operator and 40 an edge. */
berth_status berth_batch_new(const berth_problem *p, const berth_batch_cfg *cfg, berth_arena *mem, berth_batch **out, berth_err *err);

/* The order it works in, [n_ops]; is time held in 32 bits (proven to suffice: see batch.c)? */
const int32_t *berth_batch_order(const berth_batch *b);
bool berth_batch_narrow(const berth_batch *b);

/* Write a placement into one lane of op_lane_dev [n_ops][BERTH_BATCH_LANES]; every lane must hold devices below n_devs before a run. O(n_ops). */
void berth_batch_set(const berth_batch *b, int32_t lane, const int32_t *op_dev, uint8_t *op_lane_dev);

/* Latency of every lane, nanoseconds; -1 where an operator stands on a device that cannot run it. O((n_ops * n_devs + edges) vector instructions), with
 * channels O(edges * n_devs * n_devs). */
void berth_batch_run(berth_batch *b, const uint8_t *op_lane_dev, int64_t lane_latency_ns[BERTH_BATCH_LANES]);

/* Upper bounds of the peak of every device, bytes [n_devs][BERTH_BATCH_LANES]: no run in which each device starts its operators in this order takes more,
 * whatever the channels do. What a device makes for itself alone is counted exactly while it is there where it has one consumer; copies of other devices' tensors count
 * from the beginning to their last use, and what leaves the device counts to the end. Each size is rounded up to 2^unit bytes (of less than 2^-20
 * of the sum of all sizes). Needs cfg.memory. */
void berth_batch_memory(berth_batch *b, const uint8_t *op_lane_dev, int64_t *dev_lane_peak_bytes);

/* The excess of berth_sim_result from such peaks: 0 where the placement is proven to fit. */
void berth_batch_excess(const berth_batch *b, const int64_t *dev_lane_peak_bytes, double lane_excess[BERTH_BATCH_LANES]);

#endif
