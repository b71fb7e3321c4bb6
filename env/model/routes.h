/* Tables of a problem about what lies between devices: routes for every size of a tensor, memory pools. */
#pragma once

#include "problem_tables.h"

/* Set class_pair_ns, class_pair_route, route_off, route_link and n_routes of p, whose class_link_ns and
 * classes are known. A direct link is always used. Elsewhere the path is that of the least sum of rounded
 * hops; of equals the one with fewest hops, then with the lowest devices, step by step.
 *   by_class   [n_classes] classes in the order in which to look at them; neighbours best take the same
 *              routes
 *   tmp        scratch, not reset
 * Fails: BERTH_ELIMIT (tables beyond 2^31 entries), BERTH_ENOMEM. O(classes * devs * links) where neighbours
 * agree. */
berth_status berth_routes_compile(berth_problem *p, const int32_t *by_class, berth_arena *mem,
                                  berth_arena *tmp, berth_err *err);

/* What operators and hops ask of memory pools, as tables of a problem. */

/* Set the tables of p about pools (problem_tables.h), in mem. Operator times, byte classes, hop times and
 * routes are there. *total_ns is that of all operators, and grows by the most that all traffic together can
 * take at the rates of the pools: slowed pieces can make a run longer by no more. Without pools it does
 * nothing.
 *   tmp   scratch; the caller resets it
 * Fails: BERTH_ENOMEM.
 * O(ops * devs + classes * (links + devs * devs * hops of a route)). */
berth_status berth_pool_tables(berth_problem *p, berth_arena *mem, berth_arena *tmp, double *total_ns,
                               berth_err *err);
