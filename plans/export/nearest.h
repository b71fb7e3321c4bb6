/* The plan of whole blocks nearest to another plan: for targets that plan by layers. */
#ifndef BERTH_NEAREST_H
#define BERTH_NEAREST_H

#include "exporters.h"
#include "granularity.h"

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

#endif
