/* The order of the operators of a program. Inside the room. */
#ifndef BERTH_CUT_ORDER_H
#define BERTH_CUT_ORDER_H

#include "cut_making.h"

/* Score the program that is placed, by the best of some orders; sets x->score, x->order and x->evaluations:
 *
 *   the system's rule
 *   that of the graph
 *   the longest way to the end first, from where the operators stand, where keys work. A rule by mean times
 *     lets a device go on with its large pieces, while others wait for what it is to send
 *   of a training step with micro-batches those of pipelines: GPipe (Huang et al., NeurIPS 2019, section
 *     2.2), and 1F1B (Narayanan et al., SOSP 2019, section 3.2, with the flush of Narayanan et al., SC 2021,
 *     section 2.2.1), which keeps the activations of fewer micro-batches. A device is a stage.
 *
 * Fails: BERTH_ENOMEM. O((operators + edges) log operators) and the evaluations. */
berth_status cut_order(cut_making *m, berth_err *err);

#endif
