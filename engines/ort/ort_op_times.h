/* Times of single operators, and of handing tensors from worker to worker. threads: open workers of
 * exec_threads. */
#pragma once

#include "kernel_times.h"
#include "ort_plan.h"

/* Run an operator alone on its device's worker, with the tensors that it has in the unsplit model. It runs
 * warmup times unseen, then repeats times into wall_s and cpu_s. Fails: BERTH_EFORMAT (it cannot run alone),
 * BERTH_EIO, BERTH_ENOMEM. */
berth_status ort_profile_op(ort_model *m, const ort_device *dev, int32_t op, int32_t device, ort_clock clock,
                            void *threads, int32_t warmup, int32_t repeats, double *wall_s,
                            double *cpu_s, berth_err *err);

/* Seconds from the end of a task that writes `bytes` to the moment at which one on another worker has read
 * them, beyond what it takes on one worker. */
berth_status ort_profile_transfer(int32_t from, int32_t to, size_t bytes, void *threads,
                                  double *seconds, berth_err *err);

/* What these threads take. For a run: from the call to its return, with one task that does nothing. For a
 * segment: from task to task on one worker. */
berth_status ort_profile_overheads(int32_t device, void *threads, double *run_s,
                                   double *task_s, berth_err *err);

/* When each operator ran inside its segment, from one run of a placement with ONNX Runtime's profiler on. The
 * profiler costs time, so that its run counts for nothing else. */

/* A plan of its own is made, run twice and timed the second time. Kernels are fitted into the times of their
 * segment, as the profiler's do not know of a device's rest. Operators that were folded away have no entry.
 * times [*n], in seconds, live in mem. Fails: as ort_plan_new and ort_plan_run; BERTH_EIO (no room for the
 * profiler's files). */
berth_status ort_operator_times(ort_model *m, const ort_device *dev, const int32_t *placement,
                                const int32_t *order, ort_clock clock, void *threads, berth_arena *mem,
                                kernel_run **times, int32_t *n, berth_err *err);
