/* Compiling a graph on a system: operator times, legal devices, routes, ranks. */
#pragma once

#include "problem_tables.h"

/* Compile. The problem lives in mem and borrows g and s. An operator without a legal device is no error here;
 * berth_problem_feasible tells.
 *   tmp   scratch, reset at exit
 * Fails: BERTH_EFORMAT (a pin to a device that the system lacks; times or bytes overflow), BERTH_ENOMEM,
 * BERTH_ELIMIT (tables beyond 2^31 entries).
 * O(ops * devs + classes * devs * (devs + links)), and more where routes differ. */
berth_status berth_problem_new(const berth_graph *g, const berth_system *s, berth_arena *mem,
                               berth_arena *tmp, berth_problem *out, berth_err *err);

/* Has every operator a legal device, and can the rules be kept together? Fails: BERTH_EINFEASIBLE, naming the
 * first operator without a device and why. */
berth_status berth_problem_feasible(const berth_problem *p, berth_err *err);
