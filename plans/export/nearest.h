/* The plan of whole blocks nearest to another plan: for targets that plan by layers. */
#pragma once

#include "exporters.h"
#include "granularity.h"
#include "problem_tables.h"

/* *first: the first block whose operators stand on several devices; -1: none. tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM. O(ops). */
berth_status berth_nearest_split(const int32_t *op_dev, const berth_granularity *blocks, int32_t n_ops,
                                 berth_arena *tmp, int32_t *first, berth_err *err);

/* Each block of x's plan goes as a whole to the device that has the largest part of its time (without a
 * problem: of its operators) and can run all of it. Ties go to the lower device. Then blocks move on so that
 * it fits, if that can be (berth_nearest_fit).
 *   op_dev  out [n_ops]
 *   moved   operators whose device changes
 *   tmp     scratch, reset at exit
 * Fails: BERTH_EUNSUPPORTED (no device can run all of a block, which is named), BERTH_ENOMEM. O(ops * devs)
 * and berth_nearest_fit. */
berth_status berth_nearest_blocks(const berth_export_source *x, const berth_granularity *blocks,
                                  berth_arena *tmp, int32_t *op_dev, int32_t *moved, berth_err *err);

/* Plans near to another plan that do not fill devices beyond their memory. */

/* held [n_devs]: bytes of weights and states of the placement op_dev [n_ops], a shared parameter once on each
 * device that has a user of it. O(ops + users). Fails: BERTH_ENOMEM. */
berth_status berth_held_bytes(const berth_graph *g, const int32_t *op_dev, int32_t n_devs, berth_arena *tmp,
                              int64_t *held, berth_err *err);

/* Move whole blocks off devices and pools whose simulated peak is above their memory, until it fits. Of the
 * blocks that make enough room the one whose move parts it from the fewest operators' places in `plan`
 * [n_ops], else the one with the fewest such operators a byte; to where there is room for what it holds. A
 * block moves once. Ties go to the lower block, then the lower device.
 *   op_dev  [n_ops] in and out: each block on one device. As it was where nothing fits
 *   fits    no device and no pool is above its memory
 *   tmp     scratch, reset at exit
 * Fails: BERTH_ENOMEM. At most n_blocks simulations, and as many times O(n_blocks * devs). */
berth_status berth_nearest_fit(const berth_problem *p, const int32_t *plan, const berth_granularity *blocks,
                               berth_arena *tmp, int32_t *op_dev, bool *fits, berth_err *err);
