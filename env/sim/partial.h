/* A partial schedule: some operators have a device and a time, the rest have none yet. List schedulers and
 * sequential policies build on it.
 *
 * Times are those of the execution model without contention and without memory pools: a tensor is on another
 * device its routed time after its producer ends. A device has `slots` timelines; idle gaps are kept, so that
 * an operator can be put between others (insertion). Memory is an upper bound of what a device will have held
 * at once, if nothing were ever freed. One partial schedule belongs to one thread; nothing is allocated after
 * berth_partial_new. */
#pragma once

#include "problem.h"

typedef struct berth_partial berth_partial;

/* An empty schedule of p, in mem. Fails: BERTH_ENOMEM. */
berth_status berth_partial_new(const berth_problem *p, berth_arena *mem, berth_partial **out, berth_err *err);

/* Empty again. O(colocation groups + ops + tensors * devs / 64 + slots). */
void berth_partial_reset(berth_partial *part);

/* ---- devices and memory; in any order of colocation groups ---- */

/* Decide the device of a colocation group that has none yet, and count its memory. O(edges of the colocation
 * group). */
void berth_partial_bind(berth_partial *part, int32_t coloc, int32_t dev);

/* Device of the operator's colocation group; -1: not decided. */
int32_t berth_partial_dev(const berth_partial *part, int32_t op);

/* Upper bound of the bytes that dev holds at any time with the colocation groups bound so far. It counts
 * parameters, state, outputs and tensors of its groups; copies of tensors received from bound groups, each
 * once; and the largest workspace as often as operators can run at once. 0 where the problem's memory is
 * free. */
int64_t berth_partial_bytes(const berth_partial *part, int32_t dev);

/* The sum of these over all devices of dev's memory pool; 0 where it is in none. O(devs). */
int64_t berth_partial_pool_bytes(const berth_partial *part, int32_t dev);

/* dev_limit_bytes - berth_partial_bytes, or what is left in the device's memory pool where that is less;
 * below 0 where too much is bound; INT64_MAX: unlimited. */
int64_t berth_partial_room(const berth_partial *part, int32_t dev);

/* What berth_partial_fits asks of memory. The bound above counts what is freed in time too, so a schedule
 * which it refuses may fit. Therefore only a share of the tensors is counted. 1, as at first: the bound
 * itself. 0: parameters, state and outputs alone, which no schedule escapes. Below 0: nothing. */
void berth_partial_limit_memory(berth_partial *part, double share);

/* Would dev's upper bound stay within its memory with this colocation group too, whatever the share, and that
 * of its memory pool? Copies that bound groups elsewhere need of it are theirs. O(edges of the colocation
 * group). */
bool berth_partial_holds(berth_partial *part, int32_t coloc, int32_t dev);

/* Does dev fit by memory as far as it is asked for, and by separation: no operator of the colocation group's
 * separation groups is bound to dev? */
bool berth_partial_fits(berth_partial *part, int32_t coloc, int32_t dev);

/* Can neither memory nor separation ever refuse a device? */
bool berth_partial_asks_nothing(const berth_partial *part);

/* The legal device with the most room; the lowest of equals. */
int32_t berth_partial_roomiest(const berth_partial *part, int32_t coloc);

/* ---- times; every producer before its consumers ---- */

/* When all inputs of op can be on each device, ready_ns out [n_devs]. All its producers are placed.
 * O(inputs * devs). */
void berth_partial_ready(const berth_partial *part, int32_t op, int64_t *ready_ns);

/* A hint that op will be placed soon: fetches transfer times that are far apart in memory on large graphs.
 * Changes nothing. O(inputs). */
void berth_partial_look_ahead(const berth_partial *part, int32_t op);

/* Earliest start >= ready_ns of op on dev, where it can run. With insertion: in the earliest idle gap that
 * takes it. Without: after all that a slot has. O(gaps after ready_ns). */
int64_t berth_partial_start(const berth_partial *part, int32_t op, int32_t dev, int64_t ready_ns,
                            bool insertion);

/* Put op on dev at a start that berth_partial_start gave. Its colocation group is bound to dev if it was not.
 * Returns the end. */
int64_t berth_partial_place(berth_partial *part, int32_t op, int32_t dev, int64_t start_ns);

/* The device with the earliest finish of op, and the start there. A group that is bound stays on its device.
 * Else legal devices where the group fits are looked at. If there is none, it is the one with most room.
 * Ties: the lowest device. */
int32_t berth_partial_earliest(berth_partial *part, int32_t op, bool insertion, int64_t *start_ns);

/* List scheduling. Of the operators whose producers are placed, the one with the largest key goes next; ties:
 * the lower topological index. It goes to where it ends first, with insertion. Groups bound before keep their
 * device. Nothing is placed yet.
 *   op_key   [n_ops]
 *   tmp      scratch, reset at exit
 * Fails: BERTH_ENOMEM. O(edges * devs + ops log ops + gaps searched). */
berth_status berth_partial_schedule(berth_partial *part, const int64_t *op_key, berth_arena *tmp,
                                    berth_err *err);

/* Start and end of each placed operator [n_ops]; -1: not placed. Latest end so far. */
const int64_t *berth_partial_start_ns(const berth_partial *part);
const int64_t *berth_partial_end_ns(const berth_partial *part);
int64_t berth_partial_length_ns(const berth_partial *part);

/* Device of every operator, out [n_ops]; all colocation groups are bound. */
void berth_partial_devs(const berth_partial *part, int32_t *op_dev);

/* All operators by start time, ties by topological index, order out [n_ops]. It is a topological order, as no
 * operator starts before its producers end. Every operator is placed. O(ops log ops). */
void berth_partial_order(berth_partial *part, int32_t *order);
