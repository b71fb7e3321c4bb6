/* The bytes of a GGUF file (the format of ggml, versions 2 and 3, little-endian): a header, keys with typed
 * values, then a record for each tensor. Walked in place; nothing behind the last record is touched. Every
 * length is checked against what is left of the file before it is believed, and read once: the file may
 * change meanwhile. */
#ifndef BERTH_GGUF_WIRE_H
#define BERTH_GGUF_WIRE_H

#include "ggml_types.h"
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

/* A value as a whole number from 0 to 2^31 - 1. It is an integer or a truth value, or element i of an
 * array of such. each != NULL: it may be an array, and *each tells whether it is. */
berth_status gguf_whole(const gguf_file *f, const gguf_key *key, uint64_t i, bool *each, int64_t *out,
                        berth_err *err);
berth_status gguf_string(const gguf_file *f, const gguf_key *key, gguf_span *out, berth_err *err);

bool gguf_span_is(gguf_span s, const char *text);

#endif
