/* The bytes of a GGUF file (the format of ggml, versions 2 and 3, little-endian): a header, keys with typed
 * values, then a record for each tensor. Walked in place; nothing behind the last record is touched. Every
 * length is checked against what is left of the file before it is believed, and read once: the file may
 * change meanwhile. */
#pragma once

#include "decoder_model.h"

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

typedef struct gguf_file {
	const char *name;   /* shown in messages */
	const unsigned char *data;
	size_t size, at;
	uint64_t n_tensors, n_keys;
	size_t keys_at;     /* where the first key stands */
	berth_err *err;
} gguf_file;

typedef struct gguf_key {
	text_span name;
	gguf_kind kind;
	size_t at;          /* of the value */
	text_span string;   /* a string's value */
	uint64_t of, n;     /* an array's kind and count */
} gguf_key;

/* Does data begin as a GGUF file does? */
bool gguf_is(const char *data, size_t size);

/* All of these fail with BERTH_EFORMAT: "NAME: byte N: what was found; what was expected". */
berth_status gguf_fail(const gguf_file *f, size_t at, const char *fmt, ...)
	BERTH_PRINTF(3, 4);

/* Read the header; f stands before the first key. f->name, data and size are set by the caller. */
berth_status gguf_open(gguf_file *f);
/* The next of f->n_keys keys. */
berth_status gguf_next_key(gguf_file *f, gguf_key *key);
/* The next of f->n_tensors records, behind the keys. */
berth_status gguf_next_tensor(gguf_file *f, decoder_tensor *t);

/* Keys of a model, behind "ARCHITECTURE.". */
#define GGUF_KEY_LIST(X) \
	X(LAYERS, "block_count") X(HIDDEN, "embedding_length") X(CONTEXT, "context_length") \
	X(HEADS, "attention.head_count") X(KV_HEADS, "attention.head_count_kv") \
	X(KEY, "attention.key_length") X(VALUE, "attention.value_length") \
	X(KEY_MLA, "attention.key_length_mla") X(VALUE_MLA, "attention.value_length_mla") \
	X(LATENT, "attention.kv_lora_rank") X(EXPERTS, "expert_count") X(TOP, "expert_used_count") \
	X(WINDOW, "attention.sliding_window") X(WINDOW_PATTERN, "attention.sliding_window_pattern") \
	X(NEXTN, "nextn_predict_layers") X(FFN, "feed_forward_length")
typedef enum gguf_meta_key {
#define GGUF_META_KEY(key, name) GGUF_##key,
	GGUF_KEY_LIST(GGUF_META_KEY)
#undef GGUF_META_KEY
	GGUF_META_KEYS
} gguf_meta_key;

/* Metadata of the first file of a model. */
typedef struct gguf_meta {
	const gguf_file *file;
	decoder_arch arch;
	bool given[GGUF_META_KEYS];
	gguf_key key[GGUF_META_KEYS];
	int64_t n_files; /* parts of the model; 1: not split */
} gguf_meta;

/* Read the keys; f stands before the first key and is left behind the last. Fails: BERTH_EFORMAT. */
berth_status gguf_read_meta(gguf_file *f, gguf_meta *m);

/* The value of key for a layer (the same for all where it is no array); otherwise where the file has none,
 * -1: it must have one. */
berth_status gguf_meta_whole(const gguf_meta *m, gguf_meta_key key, int32_t layer, int64_t otherwise,
                             int64_t *out);
