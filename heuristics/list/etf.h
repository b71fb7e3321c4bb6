/* Earliest task first, plain or with favourite children. */
#pragma once

#include "partial.h"
#include "search.h"

typedef enum etf_key {
	ETF_START, /* the pair that can start first, as published, for equal devices */
	ETF_END    /* the pair that can end first, for unequal ones */
} etf_key;
enum { ETF_KEYS = 2 };

/* Fill an empty partial schedule. Again and again the pair of a ready operator and a device is placed that
 * comes first by the key, where the operator's colocation group fits. No insertion. Ties: the device of the
 * operator's favourite parent, then one that is not awake for another, then the lower topological index, then
 * the lower device. A device that has refused an operator is asked again only when all have.
 *   op_child  [n_ops] favourite child of each operator, -1: none. At most one parent has an operator for its
 *             favourite child. NULL: none at all.
 *   n_steps   pairs that were put into a heap; may be NULL
 * The device that an operator ran on last stays awake for its favourite child, until that is placed or its
 * input could be elsewhere. Others start there no earlier than their inputs could be on every device; then
 * they are urgent.
 * tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O((edges + ops * log ops) * devs), and the pairs that
 * an awake device holds back, for each time. */
berth_status etf_schedule(const berth_problem *p, etf_key key, const int32_t *op_child, berth_partial *part,
                          int64_t *n_steps, berth_arena *tmp, berth_err *err);

/* Offer a schedule by each key, the second one where there is time. Fails: BERTH_ENOMEM. */
berth_status etf_offer(berth_search *s, const int32_t *op_child, berth_arena *tmp, berth_err *err);
