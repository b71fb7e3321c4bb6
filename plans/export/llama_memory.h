/* Memory that llama.cpp takes for a plan: weights, cache, and buffers to compute in.
 *
 * Weights are counted as the file has them, each with the device that it lies on. The cache holds as many
 * tokens as the context, in layers with a window those of the window and of one batch more, up to a multiple
 * of 256. The buffers are those of the graph that llama.cpp reserves: the largest batch (512 tokens, -ub) at
 * the end of a full context, with flash attention, as version 0.7.0 orders it. An operator follows its
 * weight. One whose weight is on the CPU runs on the first device all the same, with a copy of the weight
 * (32 tokens and more). With several devices, everything on them and nothing moved alone, inputs are held
 * four times.
 *
 * The buffers are an estimate: backends may change the order of a graph, and fuse operators; other versions
 * have other graphs. docs/export.md tells how far off it was. */
#ifndef BERTH_LLAMA_MEMORY_H
#define BERTH_LLAMA_MEMORY_H

#include "llama_plan.h"

typedef struct llama_memory {
	int64_t weights, cache, compute; /* bytes */
} llama_memory;

/* memory [plan->n_devs + 1]: of the devices of plan->dev, and of the CPU. *told: the buffers can be told
 * (they cannot where keys and values are compressed; they are 0 then). tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(layers * free blocks). */
berth_status llama_memory_of(const llama_plan *plan, const berth_gguf_list *file, berth_arena *tmp,
                             llama_memory *memory, bool *told, berth_err *err);

#endif
