/* Measured figures put into graphs and systems, and orders out of simulations. */
#pragma once

#include "sim.h"

/* A copy of g whose operators have times for all devices of s.
 *   time_s   [n_ops][n_devs] seconds; NAN: cannot run there
 * Times for other names stay; those for a kind of s give way. The new arrays live in mem, the rest is g's.
 * Fails: BERTH_EFORMAT (more names of devices than a graph holds), BERTH_ENOMEM. */
berth_status berth_graph_with_times(const berth_graph *g, const berth_system *s, const double *time_s,
                                    berth_arena *mem, berth_graph *out, berth_err *err);

/* The operators in the order of their starts in a simulation of op_dev, by the system's rule or by the keys
 * that sim uses. Given to an engine, it runs as the simulator does.
 *   sim     scratch of p
 *   order   out [n_ops], topological also where op_dev does not run */
void berth_start_order(const berth_problem *p, berth_sim *sim, const int32_t *op_dev, int32_t *order);

/* Operator times after a measured step: what a short run of the whole graph on a device tells of them. */

/* A copy of p's graph whose operators take as much longer or shorter on a device as a measured step says.
 *   dev_step_s  [n_devs] seconds of the graph, all of it on that device alone; NAN: not measured, its times
 *               stay
 * Sums are exact but for rounding to whole nanoseconds, and for what memory pools slow down. The new arrays
 * live in mem, the rest is the graph's; tmp is scratch, another arena, reset at exit. Fails: BERTH_EINVAL
 * (a device with a measured step on which the graph does not run, or takes no time), BERTH_EFORMAT (more
 * names of devices than a graph holds), BERTH_ENOMEM. O(ops * devs), and a simulation a device. */
berth_status berth_graph_step_times(const berth_problem *p, const double *dev_step_s, berth_arena *mem,
                                    berth_arena *tmp, berth_graph *out, berth_err *err);
