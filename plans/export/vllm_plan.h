/* A language model in the stages of vLLM's pipeline, for its exporter. Inside of plans/export.
 *
 * A stage is a run of neighbouring layers on one GPU. What comes before the first layer (the embedding) is
 * computed beside it, what comes behind the last one (norm and output) beside that. So units are what can be
 * placed: layers, the first and the last with these. */
#pragma once

#include "exporters.h"

typedef struct vllm_plan {
	const berth_export_source *x;
	const char *path;       /* of the folder or the file, as vLLM is told it */
	int64_t context, batch; /* tokens of a sequence, sequences */
	const char *layer_name; /* "blk", "model.layers" */
	int32_t n_units;
	int32_t *op_unit;    /* [n_ops] */
	bool *in_layer;      /* [n_ops] false: before the first layer, or behind the last */
	int64_t *unit_bytes; /* [n_units] weights and cache; a shared weight once in each */
	/* of the GPUs in the order of their numbers */
	int32_t n_gpus;
	int32_t *gpu;      /* [n_gpus] devices */
	const char **word; /* [n_gpus] what CUDA calls them: "0" */
	double share;      /* of a GPU's memory that vLLM may take: --gpu-memory-utilization */
	berth_err *err;
} vllm_plan;

/* What vLLM holds on a device, bytes. */
typedef struct vllm_memory {
	int64_t weights, cache, buffers; /* cache: of batch sequences of context tokens */
	int64_t room;                    /* that it may take; -1: no limit */
} vllm_memory;

/* The units and GPUs of x, which needs no placement. All lives in tmp. Fails: BERTH_EUNSUPPORTED (no layers,
 * words that vLLM has no option for), BERTH_EINVAL (a GPU whose word is no number of CUDA), as the model's
 * reader, BERTH_ENOMEM. O(ops + edges). */
berth_status vllm_open(const berth_export_source *x, berth_arena *tmp, vllm_plan *out, berth_err *err);

/* model_words of the exporter. */
berth_status vllm_words(const berth_content *from, const berth_read_options *read, berth_arena *mem,
                        struct berth_gguf_options *out, const char **path, berth_err *err);

/* The place in p->gpu of a device; -1: it is none. */
int32_t vllm_gpu(const vllm_plan *p, int32_t dev);

/* memory [n_devs] of a placement op_dev [n_ops], by a simulation: its peaks less weights and cache are the
 * buffers. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status vllm_weigh(const vllm_plan *p, const int32_t *op_dev, berth_arena *tmp, vllm_memory *memory);

/* The first device that holds more than it may; -1: all fit. */
int32_t vllm_full(const vllm_plan *p, const vllm_memory *memory);

/* GPUs that plans are found for, the first: by dynamic programming over sets of them. */
enum { VLLM_MOST_GPUS = 8 };

/* The plan that takes the least time, one operator after the other, and fits by vllm_weigh. *bound: seconds
 * that no plan of stages is below; NAN: there are more than VLLM_MOST_GPUS, or a weight is shared in another
 * way than by embedding and output. Fails: BERTH_EINFEASIBLE, BERTH_ENOMEM. */
berth_status vllm_best(const vllm_plan *p, berth_arena *tmp, int32_t *op_dev, double *bound);

/* The plan of stages with the fewest operators elsewhere than in x's placement, and of equal ones the
 * shortest times; in the room of the GPUs, where that can be. Fails: BERTH_EUNSUPPORTED (no GPU can run a
 * layer), BERTH_ENOMEM. */
berth_status vllm_nearest(const vllm_plan *p, berth_arena *tmp, int32_t *op_dev);

/* What vLLM does when it is told nothing: the first GPU, where the model fits there; else as many layers on
 * each GPU, those that are left over on the ones before the last. *known false: there is no GPU. */
berth_status vllm_usual(const vllm_plan *p, berth_arena *tmp, int32_t *op_dev, bool *known);
