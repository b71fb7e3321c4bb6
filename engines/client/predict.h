/* Times of operators that were never measured, from those that were.
 *
 * For each device a line goes through all measured operators: time = overhead + flops / speed + bytes /
 * bandwidth. It is fitted by least squares of relative errors, with no figure below 0. A prediction is the
 * line times the median ratio measured / line of the operator's type. Error bars are the 10th and the 90th
 * percentile of these ratios: of the type where it has at least five measured operators, else of all. */
#ifndef BERTH_PREDICT_H
#define BERTH_PREDICT_H

#include "graph.h"

/* Fill in what is missing, for one device.
 *   seconds   [n_ops] measured times. NAN, for none, is replaced by the predicted time
 *   low, high [n_ops] out: error bars of the predicted ones
 * With fewer than 3 measured operators nothing is predicted, and *n_predicted = 0. Fails: BERTH_ENOMEM.
 * O(ops log ops). */
berth_status berth_predict_times(const berth_graph *g, double *seconds, double *low, double *high,
                                 int32_t *n_predicted, berth_arena *tmp, berth_err *err);

#endif
