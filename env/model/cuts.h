/* Cuts: borders between blocks that follow each other in program order and lie on different devices. */
#ifndef BERTH_CUTS_H
#define BERTH_CUTS_H

#include "problem_tables.h"

/* The chain of p, from the blocks of its graph. Colocation groups are known. tmp is scratch, not reset.
 * Fails: BERTH_ENOMEM. */
berth_status berth_cuts_compile(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err);

/* The operators of p in the order of the chain: order [n_ops]; chain [n_ops]: where each stands in it. Fails:
 * BERTH_ENOMEM. */
berth_status berth_cuts_operators(const berth_problem *p, int32_t *order, int32_t *op_chain, berth_arena *tmp,
                                  berth_err *err);

/* Cuts of op_dev [n_ops]; 0 without a limit. O(chain). */
int64_t berth_cuts(const berth_problem *p, const int32_t *op_dev);

/* How many there are above the limit; 0 without one. */
int64_t berth_cuts_above(const berth_problem *p, const int32_t *op_dev);

/* Cuts that no placement of legal devices has fewer of; -1 without a limit. It is exact where every group
 * comes once. O(chain * devs). */
int64_t berth_cuts_least(const berth_problem *p);

#endif
