/* What the description of a machine leaves out or misspells, so that the answer comes out too good without a
 * word. A figure that is left out costs nothing: a device without peak_flops computes in no time. */
#pragma once

#include "catalogue.h"
#include "graph.h"
#include "system.h"

/* One line for each thing that is missing, with the devices (or links) and the key:
 *   - a device without peak_flops or mem_bandwidth, or without both (then it runs what has measured times; a
 *     graph that has none for it is told of);
 *   - a device whose op_overhead_s is 0, and one without memory_bytes whose memory pool
 *     has no bytes either;
 *   - a link whose latency_s is 0;
 *   - a figure that is off by a power of 1000 from all that was built (slips.c), with what was meant;
 *   - a type of operators in efficiency or runs that no set of operators knows.
 * Only what counts is told: by the system's cost model and, with a graph, by its operators. A device on which
 * all of them have measured times needs no figures of the roofline.
 *   g     the graph that is to be placed; NULL: any
 *   dev   [n_devs] devices that are told of; NULL: all
 *   text  out [*n], in mem
 *   tmp   scratch, another arena than mem, reset at exit
 * Fails: BERTH_ENOMEM. O(ops * devices) where something is missing, else O(devices + links + types). */
berth_status berth_system_warnings(const berth_system *s, const berth_graph *g, const bool *dev,
                                   berth_arena *mem, berth_arena *tmp, const char ***text, int32_t *n,
                                   berth_err *err);

/* Figures of a system that are off by a power of 1000 from anything that was built, and what was probably
 * meant: 24 bytes of memory for 24 GB. */
/* What devices and links of the catalogue have of a figure, from the least to the most; of what it does not
 * tell (overheads, energy of transfers) what is met. usual: their middle. */
typedef struct berth_built {
	double least, usual, most;
} berth_built;

/* Of the figure f of devices of a class (BERTH_CLASS_NONE: any), in precision p where it is a peak. most 0:
 * nothing is known of such a figure. O(rows). */
berth_built berth_built_range(const berth_catalogue *c, const berth_system_figure *f,
                              berth_device_class class, berth_precision p);

/* Is x so far outside of the range that a slip of a unit is nearer than a device of today, and does some
 * power of 1000 bring it back? *meant: by the one that comes nearest to the usual. A figure that stands for
 * no cost or no limit (1e15 bytes, 1e-12 s, and so on) is none, and neither is 0. */
bool berth_slip(const berth_system_figure *f, const berth_built *range, double x, double *meant);
