/* A placement in one session across execution providers: labelled nodes and the rules that give labels to
 * providers, runs and what the profiler tells of them, and times of single operators and of tensors that go
 * from one provider to another. ONNX Runtime orders the nodes and runs one after the other; it puts copies
 * between providers that do not share memory. */
#pragma once

#include "kernel_times.h"
#include "ort_model.h"
#include "ort_provider.h"

#define SPREAD_NODE "berth/"

typedef struct spread_device {
	char name[32];
	ort_provider provider;
} spread_device;

/* Key and value of the session option: the label of device d is "d" and its number. The texts live in mem.
 * config [3]. Fails: BERTH_ENOMEM. */
berth_status spread_rules(const spread_device *dev, int32_t n_devs, berth_arena *mem, const char **config,
                          berth_err *err);

/* The providers of a session [n_devs], in the order of the devices. They live in mem. Fails: BERTH_ENOMEM. */
berth_status spread_providers(const spread_device *dev, int32_t n_devs, berth_arena *mem,
                              const ort_provider *const **out, berth_err *err);

/* The metadata field of a node with the label of device d. */
void spread_label(int32_t d, berth_strbuf *node);

/* A placement in one session across execution providers. ONNX Runtime orders the nodes and runs one after the
 * other; it puts copies between providers that do not share memory. */

/* Operators that ran one after the other where the placement says. */
typedef struct spread_piece {
	int32_t dev, n_ops;
	int32_t *op;
	double from, to; /* parts of the run */
} spread_piece;

typedef struct ort_spread {
	ort_model *m;
	const spread_device *dev;
	int32_t n_devs;
	berth_arena mem;
	int32_t *placement; /* [n_ops] what it is for */
	ort_session *session;
	ort_tensors out; /* the graph's outputs, over */
	void **out_data;
	kernel_run *kernel; /* [n_kernels] by their starts; then those that ran in others' */
	int32_t n_kernels;
	spread_piece *piece; /* [n_pieces] each operator stands in one */
	int32_t n_pieces;
	/* [n_elsewhere] Operators whose kernel is that of one on another device: the library fused them
	 * before it looked at devices. */
	int32_t *elsewhere, n_elsewhere;
	int64_t used; /* for forgetting the oldest */
} ort_spread;

/* Make the session, and run it twice with the library's profiler to see what runs where. ort_spread_free
 * frees it. Fails: BERTH_EFORMAT (an operator runs in another provider than the placement says; as
 * ort_session_new), BERTH_EIO (no room for the profiler's file), BERTH_ENOMEM. */
berth_status ort_spread_new(ort_model *m, const spread_device *dev, int32_t n_devs, const int32_t *placement,
                            int threads, ort_spread *out, berth_err *err);
void ort_spread_free(ort_spread *p);

/* Run once, from inputs on the CPU to outputs there. difference: of the outputs, as ort_model_difference.
 * Fails: BERTH_EFORMAT. */
berth_status ort_spread_run(ort_spread *p, double *wall_s, double *difference, berth_err *err);

/* Times of single operators on a provider, and of tensors that go from one to another. Inputs lie where the
 * provider wants them, outputs stay there, and a run has ended when the device is done. */

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
