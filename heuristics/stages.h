/* Placements of few cuts: blocks in program order are divided into stages, each on a device of its own. They
 * come from a dynamic program, as pipelines are made (after Tarnawski et al., "Efficient Algorithms for
 * Device Placement of DNN Graph Operators", NeurIPS 2020, for a chain), and from moves of the borders between
 * stages. */
#pragma once

#include "search.h"

/* Offer to a search whose problem has blocks the best stages that are found.
 *   op_dev       [n_ops] in: what is wanted, or NULL. Stages near to it are tried, too. Out: the best found
 *   evaluations  for moves of borders, at most, and within the budget
 * The dynamic program knows times, transfers at borders and an estimate of memory. Up to 12 of its answers
 * are evaluated, which is counted, not limited. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_stages_offer(berth_search *s, int32_t *op_dev, int64_t evaluations, berth_arena *tmp,
                                berth_err *err);
