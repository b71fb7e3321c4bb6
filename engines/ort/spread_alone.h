/* Times of single operators on a provider, and of tensors that go from one to another. Inputs lie where the
 * provider wants them, outputs stay there, and a run has ended when the device is done. */
#ifndef BERTH_SPREAD_ALONE_H
#define BERTH_SPREAD_ALONE_H

#include "spread_label.h"

/* What a run takes in which next to nothing is computed: the least of some. Fails: BERTH_EFORMAT (the
 * provider runs no Identity), BERTH_ENOMEM. */
berth_status spread_empty_run(ort_lib *lib, const spread_device *dev, int threads, double *seconds,
                              berth_err *err);

/* Run an operator alone, with the tensors that it has in the unsplit model. It runs warmup times unseen, then
 * repeats times into wall_s; empty_s is taken off each. Fails: BERTH_EFORMAT (the provider does not take it),
 * BERTH_ENOMEM. */
berth_status spread_time_op(ort_model *m, const spread_device *dev, int threads, int32_t op, double empty_s,
                            int32_t warmup, int32_t repeats, double *wall_s, berth_err *err);

/* A tensor of `bytes` from one device to the other, the mean of both ways: a row of operators that do
 * nothing, on the two in turn, beside such rows on one of them. Fails: as spread_empty_run. */
berth_status spread_time_hop(ort_lib *lib, const spread_device *from, const spread_device *to, int threads,
                             size_t bytes, int32_t warmup, int32_t repeats, double *wall_s, berth_err *err);

#endif
