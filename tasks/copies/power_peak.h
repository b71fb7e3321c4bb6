/* The most that a machine draws at once. */
#ifndef BERTH_POWER_PEAK_H
#define BERTH_POWER_PEAK_H

#include "sim.h"

/* Watts above idling, of the last run of sim with op_dev [n_ops]: each running operator draws its slot's part
 * of what its device draws above idling. NAN where a device has no watts. tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM. O(ops log ops). */
berth_status berth_peak_watts(const berth_problem *p, const berth_sim *sim, const int32_t *op_dev,
                              berth_arena *tmp, double *out, berth_err *err);

#endif
