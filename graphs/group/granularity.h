/* The granularity of a plan: which operators stand on one device as a whole. People and engines plan by
 * layers of a model, or by parts of layers, not by single operators.
 *
 *   op      Every operator may have a device of its own.
 *   layer   The repeated unit of the model: a layer of a transformer, a residual block.
 *   block   A part of a layer: attention, the feed-forward network, an expert, all experts. Where a layer has
 *           no parts, it is one block.
 *   kernel  What ONNX Runtime makes one operator of: a convolution with its activation, the parts of a
 *           normalisation (kernels.c).
 *
 * Layers are told by names. A scope is a part of a name that others follow, with '.', '/' or ':' between. A
 * layer is the outermost scope that is a number and has a sister of another number ("layers.3", "layer1.0");
 * where there is none, the outermost one that ends in a number ("block5"). Where fewer than half of the
 * operators have such a name, a number needs no sister (a model of one layer). Else layers are what repeats:
 * a graph is cut where one tensor alone goes on, not counting those that are used all along (masks), and
 * equal pieces that follow each other are layers, if half of the operators are in such.
 * Operators before the first layer are one block, and so are those behind each layer that belong to none.
 * Operators of a training step go with the operator they were made from.
 *
 * Parts of layers are told by names too where these tell of experts, or go on with a second number ("block5"
 * of "stage2"). What is left of a layer is cut behind operators that join several tensors, where nothing else
 * goes on: behind the residual addition of attention.
 *
 * Several models in one graph (graph_union.h of tasks/copies) have blocks of their own each.
 *
 * Blocks are numbered in program order: by their first operator in topological order. */
#pragma once

#include "graph.h"
#include "sandbox.h"

typedef enum berth_grain {
	BERTH_GRAIN_OP,
	BERTH_GRAIN_BLOCK,
	BERTH_GRAIN_LAYER,
	BERTH_GRAIN_KERNEL,
	BERTH_N_GRAINS
} berth_grain;

/* "op", "block", "layer", "kernel". */
const char *berth_grain_name(berth_grain grain);

typedef struct berth_granularity {
	int32_t n_blocks;
	const char *called;      /* what a block is; NULL: an operator */
	int32_t *op_block;       /* [n_ops] */
	const char **block_name; /* [n_blocks] */
} berth_granularity;

/* The blocks of g. With BERTH_GRAIN_OP every operator is one. The result lives in mem and borrows names of g;
 * tmp is scratch, reset at exit. Fails: BERTH_EINVAL (the graph has no layers that are told by names or
 * repeat), BERTH_ENOMEM. O(ops + edges, hashed names). */
berth_status berth_granularity_find(const berth_graph *g, berth_grain grain, berth_arena *mem,
                                    berth_arena *tmp, berth_granularity *out, berth_err *err);

/* How many kernels of g a placement parts, and of the first one two operators that stand apart (-1: none).
 * mem and tmp are scratch. Fails: BERTH_ENOMEM. */
berth_status berth_kernels_cut(const berth_graph *g, const int32_t *op_dev, berth_arena *mem,
                               berth_arena *tmp, int32_t *n, int32_t pair[2], berth_err *err);

/* The blocks that a file names (docs/formats.md, berth-blocks). An operator that it does not name is a block
 * of its own. sandbox: where it is read; NULL: here. Fails: BERTH_EFORMAT (with its place), BERTH_EIO,
 * BERTH_ENOMEM. */
berth_status berth_granularity_read(const char *path, const berth_sandbox *sandbox, const berth_graph *g,
                                    berth_arena *mem, berth_arena *tmp, berth_granularity *out,
                                    berth_err *err);
/* The same of text[size]; file is shown in messages. */
berth_status berth_granularity_parse(const char *file, const char *text, size_t size, const berth_graph *g,
                                     berth_arena *mem, berth_arena *tmp, berth_granularity *out,
                                     berth_err *err);

/* The blocks that a word asks for, one of those above, or a file of berth-blocks, whose name has a '.' or
 * a '/'. Fails: as above; BERTH_EINVAL (no such word, naming the nearest). */
berth_status berth_granularity_named(const char *name, const berth_sandbox *sandbox, const berth_graph *g,
                                     berth_arena *mem, berth_arena *tmp, berth_granularity *out,
                                     berth_err *err);

/* g with the rules of a granularity: operators of a block are a colocation group, joined with the groups
 * that g has, and of the borders between blocks that follow each other at most max_cuts lie between
 * different devices (-1: any number). *out shares all other arrays with g; its own live in mem. Fails:
 * BERTH_ENOMEM. */
berth_status berth_granularity_apply(const berth_graph *g, const berth_granularity *x, int32_t max_cuts,
                                     berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_err *err);
