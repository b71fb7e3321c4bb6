/* In whose kernel an operator ran that has none of its own: ONNX Runtime has fused it. */
#ifndef BERTH_FUSED_HOST_H
#define BERTH_FUSED_HOST_H

#include "ort_model.h"

typedef struct fused_hosts {
	const ort_model *m;
	int32_t *value_op;   /* [n_values] the operator that makes it; -1: none */
	int32_t *user;       /* [n_ops] the first operator that takes what it makes; -1: none */
	const char **kernel; /* [n_ops] type of its own kernel; NULL: none. Filled by the caller. */
} fused_hosts;

/* Everything lives in mem. Fails: BERTH_ENOMEM. */
berth_status fused_hosts_new(const ort_model *m, berth_arena *mem, fused_hosts *out, berth_err *err);

/* -1: there is none: it was folded away. */
int32_t fused_host(const fused_hosts *f, int32_t op);

#endif
