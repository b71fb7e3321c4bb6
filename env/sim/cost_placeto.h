/* The cost model "placeto" (R. Addanki et al., "Placeto", NeurIPS 2019, the event simulator of its authors):
 * a device runs one operator at a time, earliest ready first, and rests for a fixed gap after each (5.7 us;
 * op_gap_s of the system). What leaves a device goes over its one output bus, one tensor at a time, earliest
 * requested first, and once for all other devices together: they have it when the transfer ends. A transfer
 * takes the routed time of the execution model, to the farthest of the devices that take the tensor (the
 * authors' machine: links of 25 us and 7,600 bytes a us). Ties: operators by topological index, tensors by
 * index.
 *
 * Throughput: the largest load of a device (operators and gaps) or a bus. Memory: parameters and state,
 * shared parameters once a device. Energy is not defined; slots, contention and order rules say nothing. */
#ifndef BERTH_COST_PLACETO_H
#define BERTH_COST_PLACETO_H

#include "problem.h"

typedef struct berth_placeto berth_placeto;

/* Scratch of one thread, in mem. Fails: BERTH_ENOMEM. */
berth_status berth_placeto_new(const berth_problem *p, berth_arena *mem, berth_placeto **out, berth_err *err);

/* Run op_dev [n_ops], where every operator can run: the latency, the largest load; starts and ends [n_ops];
 * peaks [n_devs]. O((ops + edges) log). */
void berth_placeto_run(berth_placeto *s, const int32_t *op_dev, int64_t *latency_ns, int64_t *load_ns,
                       int64_t *start_ns, int64_t *end_ns, int64_t *peak_bytes);

/* Lower bound of the latency: the longest path by least times, without transfers and gaps. */
berth_status berth_placeto_path(const berth_problem *p, berth_arena *tmp, int64_t *ns, berth_err *err);

#endif
