/* A simulator that learns from measured runs: times of operators and figures of links are re-fitted until
 * the segments of real runs last what they were predicted to. One calibration belongs to one graph on one
 * system.
 *
 * What a run tells. A segment begins when its device is free and its tensors are there; what passes between
 * that moment and its start is the hand-off: of a link, where the last tensor to come was made on another
 * device, else of the device itself, and then part of the segment's own time. Cuts: where a tensor leaves a
 * segment for another device the engine pays on top of the operators (a call, a change of layout, a fusion
 * that cannot be made), at the end of the segment that makes it and at the beginning of the one that takes
 * it. Times and cuts together: a segment lasts the sum of its operators' times and of its cuts. That is a
 * system of linear equations, one for each segment of each run, far fewer than its unknowns, and solved with
 * what is known beforehand (ridge.h). The time of an operator is its profiled one times a factor that has a
 * part common to the device, one to the type on the device, one to the operator on all devices and one of
 * its own; a cut costs a constant and a share of the tensor's bytes, common to all, to the type of the
 * producer or consumer, and of the tensor's own, on top of what the graph says already. Each part is near
 * its mean (1 for the device, 0 for the others) unless the runs say otherwise, the more special the nearer.
 * Units are the mean operator time and the mean bytes of a tensor, so that no figure here belongs to a
 * machine or a model. The noise of a segment grows with the root of its time, as that of a sum does. The
 * execution model knows no cost of segments, so that both ends of a cut are put on the tensor's transfer
 * (cut_s). Links: latency + bytes / bandwidth through the hand-offs, by the median of the slopes between
 * pairs (Theil 1950, Sen 1968). */
#ifndef BERTH_CALIBRATE_H
#define BERTH_CALIBRATE_H

#include "measured.h"
#include "problem.h"

typedef enum berth_cut_side { BERTH_CUT_OUT, BERTH_CUT_IN } berth_cut_side;

/* One end of a cut tensor. */
typedef struct berth_cut_end {
	int32_t tensor, type; /* type of the producer (out), of the first consumer in the segment (in); -1:
	                         none */
	berth_cut_side side;
} berth_cut_end;

/* One observed segment: operators as a range, and the median time over the samples. */
typedef struct berth_observed {
	int32_t dev, n_ops;
	const int32_t *op;
	double seconds;
	size_t first_end;       /* into end: tensors that come from other devices or go there */
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
	double *cut_s[2]; /* [n_tensors] fitted cost of a cut at either end, on a device of mean speed */
	double unit_s, unit_bytes; /* mean time of an operator, mean bytes of a tensor */
	double *slowness;       /* [n_devs] of a device, 1 being the mean */
	berth_observed *seen;
	berth_cut_end *end;
	berth_handoff *handoff;
	size_t n_seen, cap_seen, n_ends, cap_end, n_handoffs, cap_handoff;
	int32_t n_runs;         /* measurements taken in */
} berth_calibration;

/* Start from times [n_ops][n_devs] (copied). Everything lives in mem. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_new(const berth_graph *g, const berth_system *s, const double *time_s,
                                   berth_arena *mem, berth_calibration *out, berth_err *err);

/* Take in a measurement of a placement (its segments must stay where they are). Samples with more strain
 * than max_strain are left out (0: none are). tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_add(berth_calibration *c, const berth_measurement *m, double max_strain,
                                   berth_arena *tmp, berth_err *err);

/* Fit times and cuts to all that was taken in. The mean absolute relative error of the segments' times,
 * before and after, weighted by time, comes out (NULL: not asked for). tmp is scratch. Fails: BERTH_ENOMEM.
 * O(operators seen) a step of ridge.h. */
berth_status berth_calibration_fit(berth_calibration *c, berth_arena *tmp, double *before, double *after,
                                   berth_err *err);

/* Put the times and the cuts into a copy of the graph. Arrays live in mem, the rest is the graph's. Fails:
 * BERTH_ENOMEM. */
berth_status berth_calibration_graph(const berth_calibration *c, const berth_system *s, berth_arena *mem,
                                     berth_graph *out, berth_err *err);

/* Put fitted links into a copy of the system: latency and bandwidth where a link has at least 8 hand-offs.
 * The copy's link arrays live in mem. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_links(const berth_calibration *c, berth_arena *mem, berth_arena *tmp,
                                     berth_system *out, berth_err *err);

/* Exponential average: pull times towards a measurement by the share `rate` in (0, 1]: first all of a device
 * by what its segments have in common (a device that is slowed down is so for operators too that it does not
 * run now), then those of each segment by what is left. */
berth_status berth_calibration_follow(berth_calibration *c, const berth_measurement *m, double rate,
                                      berth_arena *tmp, berth_err *err);

#endif
