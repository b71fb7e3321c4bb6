/* Times of single operators, and of handing tensors from worker to worker. threads: open workers of
 * exec_threads. */
#ifndef BERTH_ORT_OP_TIMES_H
#define BERTH_ORT_OP_TIMES_H

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

#endif
