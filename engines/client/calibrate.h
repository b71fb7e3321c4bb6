/* A simulator that learns from measured runs. Times of operators, costs of cuts and figures of links are
 * fitted until the segments of real runs last what they were predicted to. One calibration belongs to one
 * graph on one system. A segment lasts the sum of its operators' times and of the costs of its cuts. That is
 * one linear equation for each segment of each run. They are solved together with what is known beforehand
 * (statistics.h). A link is a line through its hand-offs (statistics.h). docs/measured.md has it all under
 * "What calibration fits". */
#pragma once

#include "measured.h"
#include "problem.h"
#include "rng.h"

typedef enum berth_cut_side { BERTH_CUT_OUT, BERTH_CUT_IN } berth_cut_side;

/* One end of a cut tensor. */
typedef struct berth_cut_end {
	/* type: of the producer (out), of the first consumer in the segment (in); -1: none. */
	int32_t tensor, type;
	berth_cut_side side;
} berth_cut_end;

/* One observed segment: operators as a range, and the median time over the samples. */
typedef struct berth_observed {
	int32_t dev, n_ops;
	const int32_t *op;
	double seconds;
	size_t first_end;       /* in berth_calibration.end: tensors from other devices or to them */
	int32_t n_ends;
} berth_observed;

typedef struct berth_handoff {
	int32_t link;
	int64_t bytes;
	double seconds;
} berth_handoff;

typedef struct berth_calibration {
	const berth_graph *g;
	const berth_system *s;
	berth_arena *mem;
	double *prior_s;        /* [n_ops][n_devs] times as given; NAN: cannot run */
	double *time_s;         /* [n_ops][n_devs] present estimate */
	double *prior_cut_s;    /* [n_tensors] cost of a cut as the graph has it, at each of the two ends */
	double *cut_s[2];       /* [n_tensors] fitted cost at either end, on a device of mean speed */
	double unit_s, unit_bytes; /* mean time of an operator, mean bytes of a tensor */
	double *slowness;       /* [n_devs] 1 is the mean device's */
	berth_observed *seen;
	berth_cut_end *end;
	berth_handoff *handoff;
	size_t n_seen, cap_seen, n_ends, cap_end, n_handoffs, cap_handoff;
	int32_t n_runs;         /* measurements taken in */
	/* NULL: fits are the likeliest ones. Else each is drawn from what the runs leave open. */
	berth_rng *draw;
} berth_calibration;

/* Start from times [n_ops][n_devs] (copied). Everything lives in mem. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_new(const berth_graph *g, const berth_system *s, const double *time_s,
                                   berth_arena *mem, berth_calibration *out, berth_err *err);

/* Take in a measurement of a placement. Its segments must stay where they are. Samples with more strain than
 * max_strain are left out; 0: none are. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_add(berth_calibration *c, const berth_measurement *m, double max_strain,
                                   berth_arena *tmp, berth_err *err);

/* Fit times and cuts to all that was taken in. before and after get the mean absolute relative error of the
 * segments' times, weighted by time; NULL: not asked for. tmp is scratch. Fails: BERTH_ENOMEM. O(operators
 * seen) a step of that. */
berth_status berth_calibration_fit(berth_calibration *c, berth_arena *tmp, double *before, double *after,
                                   berth_err *err);

/* Put the times and the cuts into a copy of the graph. Arrays live in mem, the rest is the graph's. Fails:
 * BERTH_ENOMEM. */
berth_status berth_calibration_graph(const berth_calibration *c, const berth_system *s, berth_arena *mem,
                                     berth_graph *out, berth_err *err);

/* Put latency and bandwidth of links that have at least 8 hand-offs into a copy of the system. The copy's
 * link arrays live in mem. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_links(const berth_calibration *c, berth_arena *mem, berth_arena *tmp,
                                     berth_system *out, berth_err *err);

/* Exponential average: pull times towards a measurement by the share `rate` in (0, 1]. All times of a device
 * go by what its segments have in common, for a device that is slowed down is so for operators too that it
 * does not run now. The times of each segment go by what is left. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_follow(berth_calibration *c, const berth_measurement *m, double rate,
                                      berth_arena *tmp, berth_err *err);
