/* Named arrays with text notes in one file, readable by any safetensors reader. First comes the length of
 * the header, in 8 little-endian bytes. The header is JSON: "__metadata__" (text to text), and for each
 * tensor dtype, shape and data_offsets. The data follow, little-endian and without gaps.
 *
 * Files of berth carry the note "sha256": the SHA-256 of the whole file with these 64 digits as '0'. The
 * reader requires it, so a damaged or cut file is found out before a number of it is used. It reads what
 * it writes, and files of others under the same rule: dtypes F32, I64 and U8, up to 8 dimensions. */
#pragma once

#include "arena.h"

typedef enum safetensors_dtype { SAFETENSORS_F32, SAFETENSORS_I64, SAFETENSORS_U8 } safetensors_dtype;

enum { SAFETENSORS_MAX_DIMS = 8, SAFETENSORS_MAX_HEADER = 100000000 };

typedef struct safetensors_tensor {
	const char *name;
	safetensors_dtype dtype;
	int32_t n_dims;                      /* 0: one number */
	int64_t shape[SAFETENSORS_MAX_DIMS];
	/* float[], int64_t[] or uint8_t[], of the product of the shape; NULL, when it is written: get gives
	 * them */
	const void *data;
} safetensors_tensor;

typedef struct safetensors_note {
	const char *key, *value;
} safetensors_note;

typedef struct safetensors_file {
	int32_t n_tensors, n_notes;
	const safetensors_tensor *tensor; /* unique names */
	const safetensors_note *note;     /* unique keys; "sha256" is not among them */
	/* The data of tensor i where it has none of its own, the same each time, until the next call. */
	const void *(*get)(void *ctx, int32_t i);
	void *ctx;
} safetensors_file;

/* Product of the shape. */
size_t safetensors_count(const safetensors_tensor *t);
/* NULL where there is none of that name. */
const safetensors_tensor *safetensors_find(const safetensors_file *f, const char *name);
const char *safetensors_get_note(const safetensors_file *f, const char *key);

/* The bytes of a file, into mem. Widest dtype first, else in the order given; equal content gives equal
 * bytes. Fails: BERTH_EINVAL (names or keys that stand twice, are reserved or no UTF-8; shapes),
 * BERTH_ENOMEM. */
berth_status safetensors_encode(const safetensors_file *f, berth_arena *mem, void **data, size_t *size,
                                berth_err *err);
/* The same into a file, atomically (berth_file_write): the header alone is in memory, and data are asked for
 * twice, for the digest and to be written. Fails: also BERTH_EIO; then the old file stands. */
berth_status safetensors_write(const char *path, const safetensors_file *f, berth_arena *tmp, berth_err *err);

/* Reads data[size]; file names it in messages. All of out is owned by mem, nothing points into data.
 * Fails: BERTH_EFORMAT, BERTH_ENOMEM. O(size). */
berth_status safetensors_decode(const char *file, const void *data, size_t size, berth_arena *mem,
                                safetensors_file *out, berth_err *err);

/* Puts the right digest into the "sha256" note of data[size]; false, and nothing changed, where it has no
 * such note. */
bool safetensors_seal(void *data, size_t size);
