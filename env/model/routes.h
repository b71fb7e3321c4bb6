/* Routes between devices for every size of a tensor. */
#ifndef BERTH_ROUTES_H
#define BERTH_ROUTES_H

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

#endif
