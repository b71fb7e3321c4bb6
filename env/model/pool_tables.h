/* What operators and hops ask of memory pools, as tables of a problem. */
#ifndef BERTH_POOL_TABLES_H
#define BERTH_POOL_TABLES_H

#include "problem_tables.h"

/* Set the tables of p about pools (problem_tables.h), in mem. Operator times, byte classes, hop times and
 * routes are there. *total_ns is that of all operators, and grows by the most that all traffic together can
 * take at the rates of the pools: slowed pieces can make a run longer by no more. Without pools it does
 * nothing.
 *   tmp   scratch; the caller resets it
 * Fails: BERTH_ENOMEM.
 * O(ops * devs + classes * (links + devs * devs * hops of a route)). */
berth_status berth_pool_tables(berth_problem *p, berth_arena *mem, berth_arena *tmp, double *total_ns,
                               berth_err *err);

#endif
