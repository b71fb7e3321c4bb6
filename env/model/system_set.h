/* One changed figure of a system: "gpu0.mem_bandwidth=2x" asks what a faster machine would bring. */
#ifndef BERTH_SYSTEM_SET_H
#define BERTH_SYSTEM_SET_H

#include "system.h"

/* Apply "NAME.KEY=VALUE" in place.
 *   NAME    a device; one link, FROM->TO or FROM:TO; a channel that links share, which means all of them; or
 *           a memory pool, pool.NAME
 *   KEY     a number of the system format. Of devices: peak_flops, mem_bandwidth, op_overhead_s,
 *           memory_bytes, memory_margin, slots, idle_w, busy_w. Of links: latency_s, bandwidth,
 *           joules_per_byte. Of memory pools: bandwidth, bytes
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

#endif
