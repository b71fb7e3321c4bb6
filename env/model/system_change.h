/* Another machine: figures changed, devices and links added and removed, tensors packed, memory made
 * short. */
#pragma once

#include "graph.h"
#include "rng.h"
#include "system.h"

/* ---- figures ---- */

/* Apply "NAME.KEY=VALUE" in place.
 *   NAME    a device; one link, FROM->TO or FROM:TO; a channel that links share, which means all of them; or
 *           a memory pool, pool.NAME
 *   KEY     a number of the system format. Of devices: peak_flops, mem_bandwidth, op_overhead_s,
 *           memory_bytes, memory_margin, slots, idle_w, busy_w, price_h. Of links: latency_s,
 *           bandwidth, joules_per_byte, collective_latency_s, collective_bandwidth. Of memory pools:
 *           bandwidth, bytes
 *   VALUE   the new figure, in SI units or with a unit behind it (units.h: 16GB, 80GB/s, 10us, 10TFLOP/s),
 *           or a factor with x behind it; a factor leaves unlimited memory unlimited
 *   tmp     scratch, reset at exit
 * Check s afterwards: watts are two figures, and pools bound those of their members.
 * Fails: BERTH_EINVAL (unknown name or key, naming the nearest; a figure out of range or a factor of one that
 * is not given), BERTH_ENOMEM. s is not to be used then. */
berth_status berth_system_set(berth_system *s, const char *what, berth_arena *tmp, berth_err *err);

/* A copy of s, in mem, whose figures can be set without touching those of s. Names, efficiencies and the ends
 * of links are shared. Fails: BERTH_ENOMEM. */
berth_status berth_system_clone(const berth_system *s, berth_arena *mem, berth_system *out, berth_err *err);

/* ---- devices and links ---- */

/* Apply changes to a copy of s, one after the other, with commas between them. "" is none. A change is one of
 *
 *   NAME.KEY=VALUE        a figure, as above
 *   -DEVICE               without the device, and without its links
 *   -FROM->TO             without that link; -A:B: without those of both ways
 *   -SHARED               without the links that share that channel
 *   +NEW=like:DEVICE      one more device, of the same kind, with links to where DEVICE has some. A shared
 *                         channel that only links of DEVICE use gets a copy, NEW.SHARED
 *   +FROM->TO=VALUE       one more link; +A:B: both ways. VALUE is a bandwidth, with a unit or in bytes/s,
 * and behind an @ perhaps a latency (12GB/s@5us); or like:LINK
 *
 * The result lives in mem. tmp is scratch, another arena, reset at exit. Fails: BERTH_EINVAL (a change that
 * is none; an unknown name, naming the nearest; what results is no system), BERTH_ENOMEM. out is untouched
 * then. */
berth_status berth_system_change(const berth_system *s, const char *changes, berth_arena *mem,
                                 berth_arena *tmp, berth_system *out, berth_err *err);

/* ---- tensors that travel packed: numbers of 32 bits as 16, 8 or 4 bits where that is quicker ---- */

/* From now on tensors may go packed to 1 / factor of their bytes over all links of s. The sender reads the
 * tensor and writes the packed one, the receiver the other way round, at their mem_bandwidth, before and
 * after the hop; both take their op_overhead_s. factor: 2, 4 or 8. The figures are made of those that s has
 * now. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_system_pack(berth_system *s, int factor, berth_arena *mem, berth_err *err);

/* The most by which a packed number is off. 2: of 32 bits as 16 (10 of fraction, rounded to nearest), as a
 * part of the number. 4, 8: whole steps from -127 or -7 to 127 or 7 of a tensor's largest number, as a part
 * of that largest one: half a step. */
double berth_packed_error(int factor);

/* ---- machines short of memory, for training ---- */

/* Bytes that g takes on one device when its operators run one after another in topological order. Parameters
 * and state stay, as do outputs of the graph; tensors stay until their last use, a workspace while its
 * operator runs. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(ops + edges). */
berth_status berth_graph_need(const berth_graph *g, berth_arena *tmp, int64_t *bytes, berth_err *err);

/* Set the memory of all devices of s. In all it is between 1.1 and 3 times what g needs, log-uniform. Shares
 * are as before, equal ones where there was no limit, each times e^x with x normal of deviation 0.3. Devices
 * of a memory pool with a limit have theirs in common: the pool gets it, and each of them the part of the
 * pool that it had before. The arrays of s are written. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_system_tighten(const berth_graph *g, berth_rng *rng, berth_system *s, berth_arena *tmp,
                                  berth_err *err);
