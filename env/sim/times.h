/* Measured figures put into graphs and systems, and orders out of simulations. */
#ifndef BERTH_TIMES_H
#define BERTH_TIMES_H

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

#endif
