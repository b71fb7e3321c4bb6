/* Many placements of one graph at once, 32 of them, one per lane of vectors: latency with operators started in one fixed topological order on each device, and
 * transfers that never wait. That is the reference simulator with that order given and "contention": false, and equal to it there, to the nanosecond.
 *
 * It does not judge memory, rules, limits or energy, and knows devices with one slot only: a method that searches with it finishes on the reference. */
#ifndef BERTH_BATCH_H
#define BERTH_BATCH_H

#include "problem.h"

enum { BERTH_BATCH_LANES = 32, BERTH_BATCH_MAX_DEVS = 64 };

/* Which instructions; results are the same on all. */
typedef enum { BERTH_ISA_BEST = 0, BERTH_ISA_BASELINE, BERTH_ISA_AVX2, BERTH_ISA_AVX512 } berth_isa;

/* Does this program hold code for it, and can this processor run that? */
bool berth_isa_usable(berth_isa isa);

typedef struct berth_batch berth_batch;

/* Scratch of one thread, in mem.
 *   order   [n_ops] a topological order; NULL: upward rank, ties by topological index
 * Fails: BERTH_ELIMIT where a device has several slots, there are more than BERTH_BATCH_MAX_DEVS, or the system has a cost model of its own (use the
 * reference); BERTH_EINVAL (isa not usable, order not topological), BERTH_ENOMEM. O(n_ops * n_devs + edges) time and memory: with 4 devices and 32-bit
 * times 32 bytes an operator, 12 an edge, and 128 for each operator whose end is still to be read at once. */
berth_status berth_batch_new(const berth_problem *p, const int32_t *order, berth_isa isa, berth_arena *mem, berth_batch **out, berth_err *err);

/* The order it works in, [n_ops]; is time held in 32 bits (proven to suffice: see batch.c)? */
const int32_t *berth_batch_order(const berth_batch *b);
bool berth_batch_narrow(const berth_batch *b);

/* Write a placement into one lane of op_lane_dev [n_ops][BERTH_BATCH_LANES]; every lane must hold devices below n_devs before a run. O(n_ops). */
void berth_batch_set(const berth_batch *b, int32_t lane, const int32_t *op_dev, uint8_t *op_lane_dev);

/* Latency of every lane, nanoseconds; -1 where an operator stands on a device that cannot run it. O((n_ops * n_devs + edges) vector instructions). */
void berth_batch_run(berth_batch *b, const uint8_t *op_lane_dev, int64_t lane_latency_ns[BERTH_BATCH_LANES]);

#endif
