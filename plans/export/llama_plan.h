/* A plan in the words of llama.cpp: what its loader can be told, and what not.
 *
 * The loader puts whole layers, weights and cache, on devices: the first layers on the CPU, then runs of
 * layers, a device once. The output counts as one layer more, the embedding stands on the CPU. Beside that
 * any tensor can be told to lie elsewhere. The operator that uses it follows it. The cache stays with the
 * layer, and operators without weights run beside their neighbours. */
#pragma once

#include "exporters.h"
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

/* Is a device llama.cpp's CPU? All such are one. By the word that the user gave, else by a name or kind that
 * begins with "cpu", or "disk": what the CPU's memory does not hold is read from there. */
bool llama_is_disk(const berth_export_source *x, int32_t dev);
bool llama_on_cpu(const berth_export_source *x, int32_t dev);

/* The tensor of that name; -1: the file has none. O(tensors). */
int32_t llama_tensor(const berth_gguf_list *file, const char *name);
/* Tensors of a file by layers: those of layer l (-1: of none) are tensor[off[l + 1]] up to tensor[off[l +
 * 2]], in the order of the file. */
typedef struct llama_index {
	int32_t *layer;    /* [n_tensors] */
	const char **rest; /* [n_tensors] the name within the layer */
	int32_t *off, *tensor;
} llama_index;

/* All lives in mem. Tensors of layers that the file has not are in none of the lists. Fails: BERTH_ENOMEM. */
berth_status llama_index_new(const berth_gguf_list *file, berth_arena *mem, llama_index *out, berth_err *err);

/* Is a tensor of that name within its layer one of experts? */
bool llama_is_expert(const char *rest);

/* From plan->unit_dev: every tensor goes with its unit, the embedding to the CPU, and none is told. */
void llama_plan_follow(llama_plan *plan, const berth_gguf_list *file, const llama_index *ix);

/* The plan of x, of a GGUF model. mem holds out, tmp is scratch, another arena, reset at exit. Fails:
 * BERTH_EUNSUPPORTED naming the layer or the operator that llama.cpp cannot be told to place so,
 * BERTH_EFORMAT (the graph has more layers than file, which changed between its readings), BERTH_ENOMEM.
 * O(ops + edges + tensors). */
berth_status llama_plan_make(const berth_export_source *x, const berth_gguf_list *file, berth_arena *mem,
                             berth_arena *tmp, llama_plan *out, berth_err *err);

/* The way back: op_dev [n_ops] of plan, the CPU as cpu_dev. Operators without weights run beside the
 * last of what they take; attention where the layer's cache is. O(ops + tensors). Fails: BERTH_ENOMEM. */
berth_status llama_plan_ops(const berth_graph *g, const berth_gguf_list *file, const llama_plan *plan,
                            int32_t cpu_dev, berth_arena *tmp, int32_t *op_dev, berth_err *err);

/* The command line of llama.cpp for a plan, and patterns for its tensors.
 *
 * Patterns are of llama.cpp's option -ot: "REGEX=BUFFER,...", searched anywhere in a tensor's name, the first
 * that is found counts, and commas part them. Ours are anchored and have no comma. Each is held against all
 * names of the file with the regular expressions of this system: every tensor that is told matches just the
 * one pattern of its device, and no other tensor matches any. */

/* What llama.cpp calls the devices. */
typedef struct llama_names {
	const char **device; /* [n_devs of the system] as in -dev: "CUDA0", "RPC1"; NULL: not used */
	const char **buffer; /* [n_devs of the system] as in -ot: "CUDA0", "RPC1[host:50052]" */
	const char *rpc;     /* "host:port,host:port"; NULL: none */
} llama_names;

/* From the words that the user gave, x->theirs ("CUDA0", "CPU", "RPC[host:port]"). Devices that x->op_dev
 * uses need one; CPUs (llama_on_cpu) are "CPU" without. Fails: BERTH_EINVAL naming the device and what is
 * expected, BERTH_ENOMEM. */
berth_status llama_names_read(const berth_export_source *x, berth_arena *mem, llama_names *out,
                              berth_err *err);

/* The whole line, quoted for a shell, without an end of line; in mem. model: its path. tmp is scratch,
 * another arena, reset at exit. Fails: BERTH_EUNSUPPORTED (a name that no pattern can hold), BERTH_ENOMEM. */
berth_status llama_line(const char *model, const llama_plan *plan, const berth_gguf_list *file,
                        const llama_names *names, berth_arena *mem, berth_arena *tmp, const char **line,
                        berth_err *err);

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

typedef struct llama_memory {
	int64_t weights, cache, compute; /* bytes */
} llama_memory;

/* memory [plan->n_devs + 1]: of the devices of plan->dev, and of the CPU. *told: the buffers can be told
 * (they cannot where keys and values are compressed; they are 0 then). tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(layers * free blocks). */
berth_status llama_memory_of(const llama_plan *plan, const berth_gguf_list *file, berth_arena *tmp,
                             llama_memory *memory, bool *told, berth_err *err);

/* Bytes of the cache of a layer. */
int64_t llama_cache_bytes(const berth_gguf_list *file, int32_t layer);

/* Bytes that the buffers of a device have at least that computes a layer, or the output: what its widest
 * operator takes and makes. */
int64_t llama_least_buffers(const berth_gguf_list *file, bool output);

/* Where llama.cpp puts a model by itself: its option --fit (on by default), with the context told.
 *
 * 1. Everything on the devices, layers shared out in the ratio of their free memory. That is kept where each
 *    device has a margin of 1 GiB left.
 * 2. Else devices are filled from the last to the first with as many of the last layers as leave the margin.
 *    The output counts as a layer. What is left over stays on the CPU. Of a mixture of experts the experts
 *    stay on the CPU.
 * 3. Where all but the experts fits, devices are filled anew from the first to the last with whole layers in
 *    the place of layers without experts. Of one more layer a part may go to each device: attention and
 *    products up, with the gate if that fits as well; else attention alone. Its rest goes to the next device,
 *    behind the last one to the CPU.
 *
 * Memory is that of llama_memory.c. The rule is that of version 0.7.0 as its program tells it. */

typedef struct llama_machine {
	int32_t n_devs;            /* without the CPU; 0: everything stays on it */
	const int32_t *dev;        /* [n_devs] in the order that llama.cpp has them */
	const int64_t *free_bytes; /* [n_devs] */
} llama_machine;

/* The plan of file on m, in mem. *known: its memory can be told. tmp is scratch, another
 * arena, reset at exit. Fails: BERTH_ENOMEM. O(devs * log(layers)) times llama_memory_of. */
berth_status llama_fit(const berth_gguf_list *file, const llama_machine *m, berth_arena *mem,
                       berth_arena *tmp, llama_plan *out, bool *known, berth_err *err);

/* The best plan that llama.cpp can be told in whole layers. */

/* The first layers on the CPU, then runs of neighbours, a device once, in any order, the output as the last
 * unit; of a mixture the experts of the first layers of a run on the CPU where it does not fit whole. Its
 * value is the time of the operators one after the other, with the copies between. An exact choice by dynamic
 * programming over sets of devices and layers: the best of dense models where buffers are alike of runs that
 * begin and end alike. Memory is that of llama_memory_of: where the winner does not fit, more is held back
 * for its buffers, and the choice is made again.
 *   x       with a problem
 *   op_dev  out [n_ops], another array than x->op_dev
 *   bound   out, seconds: no such plan is below it. It counts of buffers what the widest operator takes.
 *           NAN: there are too many kinds of devices (more than 10 unlike ones); the last were left out
 *   tmp     scratch, reset at exit
 * Fails: BERTH_EINFEASIBLE (no such plan fits), BERTH_ENOMEM. O(sets * layers * kinds * (kinds + layers)). */
berth_status llama_best(const berth_export_source *x, const berth_gguf_list *file, berth_arena *tmp,
                        int32_t *op_dev, double *bound, berth_err *err);

/* The plan nearest to another one that llama.cpp can be told. */

/* Layers go to the CPU first, then in runs to devices, each once, such that the fewest operators stand
 * elsewhere than their layer, and of equal ones the shortest times: an exact choice, by dynamic programming
 * over layers and sets of devices. Where that fills a device beyond its memory, each has as many layers as in
 * the plan, in the order of their mean layers. A layer that stood on one device stays whole. Of one on
 * several only attention and what is alone without weights moves. A matrix that embedding and output share
 * goes where the output is.
 *   x       with a problem: times and memory count
 *   op_dev  out [n_ops], another array than x->op_dev
 *   tmp     scratch, reset at exit
 * Fails: BERTH_EUNSUPPORTED (layers on more than 8 devices; no order that the devices can run), BERTH_ENOMEM.
 * O(ops * devs + layers * 2^devs * devs^2). */
berth_status llama_nearest(const berth_export_source *x, const berth_gguf_list *file, berth_arena *tmp,
                           int32_t *op_dev, berth_err *err);
