/* The groups of a coarsening as a graph of their own, for methods that can only do small ones. */
#pragma once

#include "coarsen.h"
#include "problem.h"

/* Operators g0, g1, ... are the groups, in their order. A group's time on a device is the sum of its
 * operators' times. A group is forbidden where one of its operators is. Bytes are sums; of workspaces the
 * largest counts. Tensors are those that leave their group, once each. Shared parameters stay shared.
 *   mem   holds the graph and its names
 *   tmp   scratch, reset at exit
 * Fails: BERTH_EUNSUPPORTED (colocation makes the groups' graph cyclic; separation groups), BERTH_ENOMEM. */
berth_status berth_quotient_new(const berth_problem *p, const berth_coarsening *c, berth_arena *mem,
                                berth_arena *tmp, berth_graph *out, berth_err *err);

/* An order of the operators of p that runs groups in the order given: by group, inside by topological index.
 *   group_order   [n_groups]
 *   order         out [n_ops]
 *   tmp           scratch, reset at exit
 * Fails: BERTH_ENOMEM. */
berth_status berth_quotient_order(const berth_problem *p, const berth_coarsening *c,
                                  const int32_t *group_order, int32_t *order, berth_arena *tmp,
                                  berth_err *err);
