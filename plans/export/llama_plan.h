/* A plan in the words of llama.cpp: what its loader can be told, and what not.
 *
 * The loader puts whole layers, weights and cache, on devices: the first layers on the CPU, then runs of
 * layers, a device once. The output counts as one layer more, the embedding stands on the CPU. Beside that
 * any tensor can be told to lie elsewhere. The operator that uses it follows it. The cache stays with the
 * layer, and operators without weights run beside their neighbours. */
#ifndef BERTH_LLAMA_PLAN_H
#define BERTH_LLAMA_PLAN_H

#include "gguf.h"
#include "graph.h"

enum { LLAMA_CPU = -1, LLAMA_FREE = -2 }; /* devices below 0: the CPU; wherever llama.cpp likes */

typedef struct llama_plan {
	int32_t n_layers;         /* of the graph */
	int32_t *unit_dev;        /* [n_layers + 1] where whole layers go, the last is the output: a device or
	                             LLAMA_CPU */
	int32_t n_offloaded;      /* units on devices, behind those on the CPU */
	int32_t n_devs;           /* devices that hold anything */
	int32_t *dev, *dev_units; /* [n_devs] in the order of their layers; units of each, perhaps 0 */
	int32_t *tensor_dev; /* [n_tensors] where a tensor has to be: a device, LLAMA_CPU or LLAMA_FREE */
	bool *told;          /* [n_tensors] it lies elsewhere than its unit, and so has to be told */
} llama_plan;

/* The plan op_dev [n_ops] of a GGUF model's graph. is_cpu [n_devs] tells which device is llama.cpp's CPU; all
 * such are one. mem holds out, tmp is scratch, another arena, reset at exit. Fails: BERTH_EUNSUPPORTED naming
 * the layer or the operator that llama.cpp cannot be told to place so, BERTH_EFORMAT (the graph has more
 * layers than file, which changed between its readings), BERTH_ENOMEM. O(ops + edges +
 * tensors). */
berth_status llama_plan_make(const berth_graph *g, const berth_gguf_list *file, const int32_t *op_dev,
                             const char *const *dev_name, const bool *is_cpu, berth_arena *mem,
                             berth_arena *tmp, llama_plan *out, berth_err *err);

/* Is an operator without weights, of that name within its layer, a part of attention that stays beside the
 * cache? */
bool llama_attends(const char *rest);

/* The way back: op_dev [n_ops] of plan, the CPU as cpu_dev. Operators without weights run beside the
 * last of what they take; attention where the layer's cache is. O(ops + tensors). Fails: BERTH_ENOMEM. */
berth_status llama_plan_ops(const berth_graph *g, const berth_gguf_list *file, const llama_plan *plan,
                            int32_t cpu_dev, berth_arena *tmp, int32_t *op_dev, berth_err *err);

#endif
