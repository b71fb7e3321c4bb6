/* What finding blocks takes: each step labels operators, and what it does not label the next one does. */
#pragma once

#include "granularity.h"
#include "text.h"

typedef struct block_finder {
	const berth_graph *g;
	berth_arena *mem, *tmp;
	berth_err *err;
	/* [n_ops] the operator that one of a training step was made from, by its name; itself otherwise */
	int32_t *op_root;
	int32_t n_models;       /* that share the graph */
	int32_t *op_model;      /* [n_ops] 1 .. n_models where there are several; 0: of none */
	size_t *op_skip;        /* [n_ops] bytes of a name that tell the model */
	int32_t *op_label;      /* [n_ops] -1: none yet */
	const char **name;      /* [n_labels] */
	/* [n_labels] bytes of the names of its operators that tell the layer; 0: none do */
	size_t *name_len;
	bool *layer;            /* [n_labels] it is a layer, not what stands between layers */
	int32_t n_labels;
	size_t cap, cap_len, cap_layer;
} block_finder;

/* The label of a new layer, or of a part of one. name is borrowed. */
berth_status block_label(block_finder *f, const char *name, size_t name_len, int32_t *label);

/* The next part of a name from *at on: text[*at .. *end). Returns false behind the last. *last: nothing
 * follows it. */
bool block_scope(const char *text, size_t *at, size_t *end, bool *last);

/* Fill n_models, op_model and op_skip. */
berth_status blocks_find_models(block_finder *f);

/* Label the operators whose names tell their layer. */
berth_status blocks_by_name(block_finder *f);

/* Label the operators of pieces that repeat. */
berth_status blocks_by_repeats(block_finder *f);

/* What ONNX Runtime makes one operator of. Fails: BERTH_ENOMEM. O(edges * rules). */
berth_status blocks_of_kernels(block_finder *f, berth_granularity *out);

/* Cut layers into parts. All operators have labels. */
berth_status blocks_into_parts(block_finder *f);
