/* A simulator that learns from measured runs: times of operators and figures of links are re-fitted until the segments of real runs last what they were
 * predicted to. One calibration belongs to one graph on one system.
 *
 * What a run tells. A segment begins when its device is free and its tensors are there; what passes between that moment and its start is the
 * hand-off: of a link, where the last tensor to come was made on another device, else of the device itself, and then part of the segment's own time.
 * Ends: where a segment begins or ends at another device, the engine pays on top of the operators (a call, a change of layout, a fusion that cannot be
 * made): per tensor a constant and a share of its bytes, least squares over the segments. The execution model knows no such cost of devices, so it is put
 * on the links, both ends of a transfer on its link.
 * Times: a segment is measured as a sum over its operators and its ends. The system of all such sums is solved by the multiplicative algebraic reconstruction technique
 * (Gordon, Bender & Herman 1970): t_i *= (measured / predicted)^relaxation, sweep after sweep. It keeps times positive and, of all solutions, finds
 * the one nearest to the start (in relative entropy), so that what no run tells apart keeps its profiled proportions.
 * Links: latency + bytes / bandwidth through the hand-offs, by the median of the slopes between pairs (Theil 1950, Sen 1968). */
#ifndef BERTH_CALIBRATE_H
#define BERTH_CALIBRATE_H

#include "measured.h"
#include "problem.h"

/* One observed segment: operators as a range, and the median time over the samples. */
typedef struct berth_observed {
	int32_t dev, n_ops;
	const int32_t *op;
	double seconds;
	int32_t n_ends;         /* tensors that come from other devices or go there */
	double end_bytes;
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
	double *time_s;         /* [n_ops][n_devs] present estimate; NAN: cannot run */
	berth_observed *seen;
	berth_handoff *handoff;
	size_t n_seen, cap_seen, n_handoffs, cap_handoff;
	int32_t n_runs;         /* measurements taken in */
	double end_s, end_s_per_byte; /* fitted cost of one end */
} berth_calibration;

/* Start from times [n_ops][n_devs] (copied). Everything lives in mem. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_new(const berth_graph *g, const berth_system *s, const double *time_s, berth_arena *mem, berth_calibration *out, berth_err *err);

/* Take in a measurement of a placement (its segments must stay where they are). Samples with more strain than max_strain are left out (0: none are).
 * tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_calibration_add(berth_calibration *c, const berth_measurement *m, double max_strain, berth_arena *tmp, berth_err *err);

/* Re-fit the times to all that was taken in: sweeps over the segments. The mean absolute relative error of the segments' times, before and after, weighted by
 * time, comes out (NULL: not asked for). O(sweeps * operators seen). */
void berth_calibration_fit(berth_calibration *c, int32_t sweeps, double *before, double *after);

/* Put fitted links into a copy of the system: latency and bandwidth where a link has at least 8 hand-offs, and the cost of ends on all. The copy's link arrays live in mem.
 * Fails: BERTH_ENOMEM. */
berth_status berth_calibration_links(const berth_calibration *c, berth_arena *mem, berth_arena *tmp, berth_system *out, berth_err *err);

/* Exponential average: pull times towards a measurement by the share `rate` in (0, 1]: first all of a device by what its segments have in common (a device that
 * is slowed down is so for operators too that it does not run now), then those of each segment by what is left. */
berth_status berth_calibration_follow(berth_calibration *c, const berth_measurement *m, double rate, berth_arena *tmp, berth_err *err);

#endif
