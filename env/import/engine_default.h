/* What engines do when they are told nothing about devices, where that is known. */
#ifndef BERTH_ENGINE_DEFAULT_H
#define BERTH_ENGINE_DEFAULT_H

#include "problem.h"

typedef struct berth_engine_default {
	const char *name; /* "ort" */
	/* op_dev [n_ops]. *why NULL, or why it is not known; static. tmp is scratch, reset at exit. Fails:
	 * BERTH_ENOMEM. */
	berth_status (*place)(const berth_problem *p, berth_arena *tmp, int32_t *op_dev, const char **why,
	                      berth_err *err);
} berth_engine_default;

/* Fails: BERTH_EINVAL naming the known ones. */
berth_status berth_engine_default_find(const char *name, const berth_engine_default **out, berth_err *err);

/* Whole layers of a GGUF model over the GPUs by the memory that they have, the last layers and the output
 * first where it is not enough for all: what llama.cpp does without options, and its --fit with a model that
 * has no experts. Weights and cache count, compute buffers do not. */
berth_status llama_default(const berth_problem *p, berth_arena *tmp, int32_t *op_dev, const char **why,
                           berth_err *err);

#endif
