/* A placement in one session across execution providers. ONNX Runtime orders the nodes and runs one after the
 * other; it puts copies between providers that do not share memory. */
#ifndef BERTH_ORT_SPREAD_H
#define BERTH_ORT_SPREAD_H

#include "spread_label.h"

/* A kernel, or an operator that ran in another's. Times are parts of the run. */
typedef struct spread_kernel {
	int32_t op;       /* -1: it belongs to no operator (a copy, a layout that is changed) */
	int32_t in;       /* the operator in whose kernel this one ran (fused); -1: its own */
	int32_t dev;      /* where it ran */
	const char *type; /* what the library calls it */
	double from, to;
} spread_kernel;

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
	const char **in_name, **out_name;
	ort_value **in, **out; /* [m->n_inputs], [n_outputs] */
	void **out_data;
	spread_kernel *kernel; /* [n_kernels] by their starts; then those that ran in others' */
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

#endif
