/* The bytes of a GGUF file (the format of ggml, versions 2 and 3, little-endian): a header, keys with typed
 * values, then a record for each tensor. Walked in place; nothing behind the last record is touched. Every
 * length is checked against what is left of the file before it is believed, and read once: the file may
 * change meanwhile. */
#pragma once

#include "decoder.h"
#include "ggml_types.h"
#include "gguf.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGUF_RANK = 4 };

typedef enum gguf_kind {
	GGUF_U8,
	GGUF_I8,
	GGUF_U16,
	GGUF_I16,
	GGUF_U32,
	GGUF_I32,
	GGUF_F32,
	GGUF_BOOL,
	GGUF_STRING,
	GGUF_ARRAY,
	GGUF_U64,
	GGUF_I64,
	GGUF_F64,
	GGUF_KINDS
} gguf_kind;

/* Bytes in the file, not ended by 0. */
typedef struct gguf_span {
	const char *text;
	size_t n;
} gguf_span;

typedef struct gguf_file {
	const char *name;   /* shown in messages */
	const unsigned char *data;
	size_t size, at;
	uint64_t n_tensors, n_keys;
	size_t keys_at;     /* where the first key stands */
} gguf_file;

typedef struct gguf_key {
	gguf_span name;
	gguf_kind kind;
	size_t at;          /* of the value */
	gguf_span string;   /* a string's value */
	uint64_t of, n;     /* an array's kind and count */
} gguf_key;

typedef struct gguf_tensor {
	gguf_span name;
	size_t at;          /* of the record */
	int n_dims;         /* 1 to GGUF_RANK */
	int64_t dim[GGUF_RANK]; /* innermost first; 1 from n_dims on */
	const ggml_type *type;
	int64_t bytes;      /* at most 2^53 */
} gguf_tensor;

/* Does data begin as a GGUF file does? */
bool gguf_is(const char *data, size_t size);

/* All of these fail with BERTH_EFORMAT: "NAME: byte N: what was found; what was expected". */
berth_status gguf_fail(const gguf_file *f, size_t at, berth_err *err, const char *fmt, ...)
	BERTH_PRINTF(4, 5);

/* Read the header; f stands before the first key. f->name, data and size are set by the caller. */
berth_status gguf_open(gguf_file *f, berth_err *err);
/* The next of f->n_keys keys. */
berth_status gguf_next_key(gguf_file *f, gguf_key *key, berth_err *err);
/* The next of f->n_tensors records, behind the keys. */
berth_status gguf_next_tensor(gguf_file *f, gguf_tensor *t, berth_err *err);

bool gguf_span_is(gguf_span s, const char *text);

enum { GGUF_MAX_LAYERS = 384, GGUF_MAX_EXPERTS = 1024, GGUF_MAX_WARNINGS = 16 };

/* An architecture whose graph is known. */
typedef struct gguf_arch {
	const char *name;
	/* of so many layers all but the last attend within a window, if the file has one; 0: none does */
	int window_every;
	bool gelu;
} gguf_arch;

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
