/* A simulator whose times of operators and links were measured: as profiled, then re-fitted to runs. */
#pragma once

#include "calibrate.h"
#include "profile.h"
#include "sim.h"

typedef struct berth_fitted_sim {
	berth_system s; /* with measured links */
	berth_graph g;  /* with measured times; once it was fitted also with costs of cuts */
	berth_problem p;
	berth_sim *sim;
} berth_fitted_sim;

/* Graph g on system s with the times and links of a profile. Arrays live in mem; tmp is scratch. *out must
 * not be moved, as its problem points into it. Fails: as berth_problem_new. */
berth_status berth_fitted_sim_profiled(const berth_profile *profile, const berth_graph *g,
                                       const berth_system *s, berth_arena *mem, berth_arena *tmp,
                                       berth_fitted_sim *out, berth_err *err);

/* The same with the present times and cuts of a calibration, on its own system. */
berth_status berth_fitted_sim_calibrated(const berth_calibration *c, berth_arena *mem, berth_arena *tmp,
                                         berth_fitted_sim *out, berth_err *err);

/* Fit times, cuts and links to all runs that the calibration has taken in, and make the simulator of that.
 * before and after are those of berth_calibration_fit. The calibration's own system cannot be out->s. */
berth_status berth_fitted_sim_refit(berth_calibration *c, berth_arena *mem, berth_arena *tmp, double *before,
                                    double *after, berth_fitted_sim *out, berth_err *err);

/* Predicted latency of a placement, in seconds. order as in berth_sim_run. */
double berth_fitted_sim_latency_s(const berth_fitted_sim *f, const int32_t *op_dev, const int32_t *order);
