/* What a GGUF file says about its model, between the walk over its bytes and the graph. */
#ifndef BERTH_GGUF_MODEL_H
#define BERTH_GGUF_MODEL_H

#include "decoder.h"
#include "gguf.h"
#include "gguf_wire.h"

enum { GGUF_MAX_LAYERS = 384, GGUF_MAX_EXPERTS = 1024, GGUF_MAX_WARNINGS = 16 };

/* An architecture whose graph is known. */
typedef struct gguf_arch {
	const char *name;
	/* of so many layers all but the last attend within a window, if the file has one; 0: none does */
	int window_every;
	bool gelu;
} gguf_arch;

/* The row of that name, or NULL. */
const gguf_arch *gguf_arch_find(gguf_span name);

typedef enum gguf_meta_key {
	GGUF_LAYERS,
	GGUF_HIDDEN,
	GGUF_CONTEXT,
	GGUF_HEADS,
	GGUF_KV_HEADS,
	GGUF_KEY,
	GGUF_VALUE,
	GGUF_KEY_MLA,
	GGUF_VALUE_MLA,
	GGUF_LATENT,
	GGUF_EXPERTS,
	GGUF_TOP,
	GGUF_WINDOW,
	GGUF_WINDOW_PATTERN,
	GGUF_NEXTN,
	GGUF_META_KEYS
} gguf_meta_key;

/* Metadata of the first file of a model. */
typedef struct gguf_meta {
	const gguf_file *file;
	const gguf_arch *arch;
	bool given[GGUF_META_KEYS];
	gguf_key key[GGUF_META_KEYS];
	int64_t n_files; /* parts of the model; 1: not split */
} gguf_meta;

/* Read the keys; f stands before the first key and is left behind the last. Fails: BERTH_EFORMAT. */
berth_status gguf_read_meta(gguf_file *f, gguf_meta *m, berth_err *err);

/* The value of key for a layer (the same for all where it is no array); otherwise where the file has none,
 * -1: it must have one. */
berth_status gguf_meta_whole(const gguf_meta *m, gguf_meta_key key, int32_t layer, int64_t otherwise,
                             int64_t *out, berth_err *err);

/* Experts of a layer that stand in tensors of their own: which ones there are. */
typedef struct gguf_loose {
	uint64_t seen[3][GGUF_MAX_EXPERTS / 64]; /* gate, up, down */
	int32_t n_seen[3];
} gguf_loose;

typedef struct gguf_model {
	const gguf_meta *meta;
	int32_t n_layers;      /* that run */
	int32_t n_all;         /* with those that predict further tokens */
	int64_t hidden, experts, top;
	decoder d;             /* d.layer: the layers */
	decoder_layer *layer;  /* [n_layers] */
	gguf_loose **loose;    /* [n_layers] NULL: none */
	int64_t n_tensors, tensor_bytes, n_skipped, skipped_bytes;
	int32_t n_warnings;
	const char *warning[GGUF_MAX_WARNINGS];
	berth_arena *tmp;
} gguf_model;

extern const decoder_names gguf_names;
extern const char *const gguf_step_names[DECODER_STEPS]; /* of operators without weights */

/* Sizes from the metadata into the layers. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status gguf_model_new(const gguf_meta *meta, berth_arena *tmp, gguf_model *m, berth_err *err);
/* Put the tensor where it is used. */
berth_status gguf_model_add(gguf_model *m, const gguf_file *f, const gguf_tensor *t, berth_err *err);
/* All tensors are there: is each one that a layer needs, and of the right shape? */
berth_status gguf_model_check(gguf_model *m, berth_err *err);
/* The bytes that matrices would take as that type. Norms, biases and routers stay as they are, as quantisers
 * leave them. The model was checked. */
void gguf_model_store(gguf_model *m, const ggml_type *type);
/* Tokens of the context, by the options and the file. Fails: BERTH_EFORMAT. */
berth_status gguf_choose_context(const gguf_model *m, const berth_gguf_options *opt, int64_t *out,
                                 berth_err *err);

#endif
