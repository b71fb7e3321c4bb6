/* Operator times after a measured step: what a short run of the whole graph on a device tells of them. */
#ifndef BERTH_STEP_TIMES_H
#define BERTH_STEP_TIMES_H

#include "sim.h"

/* A copy of p's graph whose operators take as much longer or shorter on a device as a measured step says.
 *   dev_step_s  [n_devs] seconds of the graph, all of it on that device alone; NAN: not measured, its times
 *               stay
 * Sums are exact but for rounding to whole nanoseconds, and for what memory pools slow down. The new arrays
 * live in mem, the rest is the graph's; tmp is scratch, another arena, reset at exit. Fails: BERTH_EINVAL
 * (a device with a measured step on which the graph does not run, or takes no time), BERTH_EFORMAT (more
 * names of devices than a graph holds), BERTH_ENOMEM. O(ops * devs), and a simulation a device. */
berth_status berth_graph_step_times(const berth_problem *p, const double *dev_step_s, berth_arena *mem,
                                    berth_arena *tmp, berth_graph *out, berth_err *err);

#endif
