/* When each operator ran inside its segment, from one run of a placement with ONNX Runtime's profiler on. The
 * profiler costs time, so that its run counts for nothing else. */
#ifndef BERTH_ORT_OPERATORS_H
#define BERTH_ORT_OPERATORS_H

#include "ort_plan.h"

/* A kernel, or an operator that ran in another's. Seconds from the start of the run. */
typedef struct ort_operator_time {
	int32_t segment, op;  /* op -1: a kernel that belongs to no operator (a layout that is changed) */
	int32_t in;           /* the operator in whose kernel this one ran (fused); -1: it has its own */
	const char *kind;     /* what the kernel is called */
	double start_s, end_s;
} ort_operator_time;

/* A plan of its own is made, run twice and timed the second time. Kernels are fitted into the times of their
 * segment, as the profiler's do not know of a device's rest. Operators that were folded away have no entry.
 * times [*n] live in mem. Fails: as ort_plan_new and ort_plan_run; BERTH_EIO (no room for the profiler's
 * files). */
berth_status ort_operator_times(ort_model *m, const ort_device *dev, const int32_t *placement,
                                const int32_t *order, ort_clock clock, void *threads, berth_arena *mem,
                                ort_operator_time **times, int32_t *n, berth_err *err);

#endif
