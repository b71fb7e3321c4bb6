/* What the description of a machine leaves out or misspells, so that the answer comes out too good without a
 * word. A figure that is left out costs nothing: a device without peak_flops computes in no time. */
#pragma once

#include "graph.h"
#include "system.h"

/* One line for each thing that is missing, with the devices (or links) and the key:
 *   - a device without peak_flops or mem_bandwidth, or without both (then it runs what has measured times; a
 *     graph that has none for it is told of);
 *   - a device whose op_overhead_s is 0, and one without memory_bytes whose memory pool
 *     has no bytes either;
 *   - a link whose latency_s is 0;
 *   - a figure that is off by a power of 1000 from all that was built (slips.h), with what was meant;
 *   - a type of operators in efficiency or runs that no set of operators knows.
 * Only what counts is told: by the system's cost model and, with a graph, by its operators. A device on which
 * all of them have measured times needs no figures of the roofline.
 *   g     the graph that is to be placed; NULL: any
 *   text  out [*n], in mem
 *   tmp   scratch, another arena than mem, reset at exit
 * Fails: BERTH_ENOMEM. O(ops * devices) where something is missing, else O(devices + links + types). */
berth_status berth_system_warnings(const berth_system *s, const berth_graph *g, berth_arena *mem,
                                   berth_arena *tmp, const char ***text, int32_t *n, berth_err *err);
