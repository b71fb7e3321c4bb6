/* Prices of devices' time in a list schedule; see priced.c. */
#ifndef BERTH_PRICED_H
#define BERTH_PRICED_H

#include "problem.h"

/* What is charged for each operator on each legal device above where it is charged least, in ns: by prices
 * [n_devs + n_pools] of the load dual (bounds_load.h), times the number of devices, times weight.
 *   above    out [n_ops][n_devs]
 *   cost_ns  out [n_ops][n_devs] operators' times with it; NULL: not wanted
 * Other cells stay as they are. O(ops * devs). */
void berth_priced_charge(const berth_problem *p, const double *price, double weight, int64_t *above,
                         int64_t *cost_ns);

#endif
