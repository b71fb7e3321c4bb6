/* Times of operators that were never measured, from those that were. Per device: a line through all measured
 * operators, time = overhead + flops / speed + bytes / bandwidth (least squares of relative errors, no
 * figure below 0), times the median ratio of its type. Error bars: the 10th and the 90th percentile of the
 * ratios measured / predicted, of the type where it has at least five measured operators, else of all. */
#ifndef BERTH_PREDICT_H
#define BERTH_PREDICT_H

#include "graph.h"

/* Fill in what is missing, for one device.
 *   seconds   [n_ops] measured times; NAN where there is none; predicted ones are put there
 *   low, high [n_ops] error bars of the predicted ones
 * Nothing is predicted where fewer than 3 operators were measured (*n_predicted = 0). Fails: BERTH_ENOMEM.
 * O(ops log ops). */
berth_status berth_predict_times(const berth_graph *g, double *seconds, double *low, double *high,
                                 int32_t *n_predicted, berth_arena *tmp, berth_err *err);

#endif
