/* How well the simulator tells real run times and their order, for one graph on one system with one engine.
 *
 * Placements are drawn: each device alone, whole runs of operators in topological order on one device (cut at
 * random places), and operators on random devices. Some of them calibrate the simulator (calibrate.h). They
 * are picked so that their predicted times fill the range evenly, at most half of those that there are. Test
 * placements are picked in the same way by the calibrated predictions, and are others than those. Each
 * placement runs in the order in which the simulator starts its operators.
 *
 * One calibration placement runs once more after every few tests, so that a machine that changes slowly does
 * so for both. The predictions judged are those of the simulator fitted to both runs of the calibration
 * placements. At the end the placement that it predicts fastest runs turn by turn against those that were
 * measured fastest.
 *
 * A sample counts where the machine was quiet: at most max_strain wall seconds for each CPU second of the
 * work. A placement without enough such samples after some tries is flagged and left out. */
#pragma once

#include "fitted_sim.h"
#include "rng.h"

typedef struct berth_fidelity_cfg {
	int32_t calibration, test;  /* placements; defaults 40, 200 */
	double max_strain;          /* default 1.1; 0: no limit */
	uint64_t seed;
	berth_profile_cfg profile;
	void (*progress)(void *ctx, const char *what, int32_t done, int32_t of); /* NULL: none */
	void *progress_ctx;
} berth_fidelity_cfg;

/* Errors of one simulator over the test placements; NAN where there are none. */
typedef struct berth_fidelity_error {
	double mape;                /* mean of |predicted - measured| / measured */
	double bias;                /* mean of (predicted - measured) / measured */
	double tau;                 /* Kendall's, over the pairs whose intervals are disjoint */
	int64_t pairs, all_pairs;
	double regret;              /* measured time of what it predicts fastest / least measured time - 1 */
} berth_fidelity_error;

typedef struct berth_fidelity {
	/* Placements: the first two counted, then those that were flagged, and those that the engine failed
	 * at. */
	int32_t n_calibration, n_test, n_flagged, n_failed;
	const char *failure;        /* what the engine did at the last of these; NULL: none */
	double least_s, most_s;     /* range of the calibrated predictions of the test placements */
	/* As regret, of the calibrated choice, by runs turn by turn against the measured-fastest. NAN: it
	 * could not be run. */
	double turns_regret;
	berth_fidelity_error profiled, calibrated; /* the simulator as profiled, and after calibration */
	double segment_error_before, segment_error_after; /* of the calibration runs */
	double median_strain, median_width; /* of the test runs; the width is interval / median */
	/* Medians of the unsplit model: on one thread, and on as many as the engine likes. */
	double whole_1_s, whole_all_s;
	double best_s;              /* least measured test placement */
	double wall_s;              /* that all of it took */
	int32_t n;                  /* rows of what follows: test placements that counted */
	double *measured_s, *low_s, *high_s, *profiled_s, *calibrated_s;
	berth_graph fitted_graph;   /* times after calibration */
	berth_system fitted_system; /* links after calibration */
} berth_fidelity;

berth_fidelity_cfg berth_fidelity_cfg_default(void);

/* Run it all on an open engine that has the graph. Results live in mem. Fails: as berth_measured_profile;
 * BERTH_EINVAL (fewer than two devices). */
berth_status berth_fidelity_run(berth_measured *m, const berth_fidelity_cfg *cfg, berth_arena *mem,
                                berth_arena *tmp, berth_fidelity *out, berth_err *err);

/* The calibration alone: run cfg->calibration placements and fit the times and links of a profile, and what a
 * cut costs, to them. out gets n_calibration, n_failed, fitted_graph and fitted_system. Else as
 * berth_fidelity_run. */
berth_status berth_fidelity_fit(berth_measured *m, const berth_profile *profile,
                                const berth_fidelity_cfg *cfg, berth_arena *mem, berth_arena *tmp,
                                berth_fidelity *out, berth_err *err);

/* Kendall's tau of predicted against measured, over the pairs whose intervals [low, high] are disjoint.
 * *pairs is their number. NAN where there are none. O(n * n). */
double berth_tau_disjoint(int32_t n, const double *predicted, const double *low, const double *high,
                          int64_t *pairs);
