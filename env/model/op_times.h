/* Seconds of an operator on a device: as measured, by the model of times (gpu_times.h) or by the roofline,
 * with what they are from and how far off they may be. The formulas stand in docs/execution-model.md. */
#pragma once

#include "gpu_times.h"
#include "graph.h"
#include "problem_tables.h"
#include "system.h"

typedef enum berth_time_from {
	BERTH_TIME_NONE,       /* it cannot run there */
	BERTH_TIME_MEASURED,   /* the graph states it */
	BERTH_TIME_CALIBRATED, /* predicted, and multiplied by a scale of the device */
	BERTH_TIME_MODEL,
	BERTH_TIME_ROOFLINE,
	BERTH_N_TIMES_FROM
} berth_time_from;

typedef struct berth_op_prediction {
	double seconds; /* NAN: it cannot run there */
	double error;   /* mean of |predicted / measured - 1| that is to be expected; 0 of measured ones */
	berth_time_from from;
} berth_op_prediction;

/* What a type of operators is on a device, looked up once. */
typedef struct berth_type_on_dev {
	bool runs;
	double efficiency, scale;
	berth_time_class rows; /* of its operators whose shape is rows and width */
	bool largest;          /* of a window: max pooling */
	bool joined;           /* the operator is a kernel of several, which follow each other */
} berth_type_on_dev;

/* What an operator that no device can run asks for besides, behind a text; "" where it has no precision. */
const char *berth_op_asks_peak(const berth_graph *g, int32_t op, char text[64]);

/* "measured", "calibrated", ...; "none". */
const char *berth_time_from_name(berth_time_from from);

/* Was op measured on dev? Then *seconds is set; NAN: it cannot run. The device's name goes before its kind,
 * and that before "*". */
bool berth_op_measured(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev, double *seconds);

/* type NULL: none. O(types that the device names). */
berth_type_on_dev berth_type_look_up(const berth_system *s, int32_t dev, const char *type);

/* O(times of op). */
berth_op_prediction berth_op_predict(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev,
                                     const berth_type_on_dev *type);

/* Are a and b predicted alike on every device, by what the graph states? O(1). */
bool berth_op_alike(const berth_graph *g, int32_t a, int32_t b);

/* By the model of CPUs, whose numbers are fitted to ONNX Runtime on one Zen 4 core; those of several cores
 * are assumed. Seconds of an operator and what they are expected to be off by. d: peak of all cores,
 * bandwidth and units (cores) are more than 0. Never less than flops / peak_flops of products and
 * convolutions, nor than what the bytes beyond half of the cache take; more of b, m, n, k, images, channels,
 * points, kernel, rows, width, flops or bytes is never quicker. About 50 ns. */
berth_time_estimate berth_time_on_cpu(const berth_time_query *q, const berth_time_device *d);

/* How far a comparison of two placements may be off, as far as times are predicted. */
/* Expected error of the ratio of two placements' times, a and b [n_ops], as a share: what a device's times
 * are off by is common to all of its operators, and that of unlike devices independent, so what both
 * placements have on a device cancels. 0 where all times are measured, or the two are the same. Operators
 * that cannot run are not counted. O(ops * types that a device names). */
double berth_ratio_error(const berth_problem *p, const int32_t *a, const int32_t *b);

/* What the times of the operators that op_dev [n_ops] has on dev are from: "model", or several, as in
 * "measured, roofline"; NULL: none is there. The text is static. O(ops). */
const char *berth_times_from(const berth_problem *p, const int32_t *op_dev, int32_t dev);
