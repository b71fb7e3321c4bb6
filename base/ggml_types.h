/* How ggml stores numbers: the types of GGUF files, for files and for models of the zoo. */
#pragma once

#include "precision.h"

/* Blocks of so many elements in so many bytes. */
typedef struct ggml_type {
	const char *name;
	int32_t elements, bytes;
} ggml_type;

/* The type of that number in a file, or NULL. */
const ggml_type *ggml_type_of(uint32_t id);

/* The type of that name in small letters ("q4_k"), or NULL. */
const ggml_type *ggml_type_named(const char *name);

/* Words for a type of matrices, largest first, and for one of cached keys and values, NULL at the end. In
 * front of them `as` stands for what the model says itself. */
#define GGML_WEIGHT_WORDS(as) \
	{as, "f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_1", "q4_k", \
	 "q4_0", "iq4_nl", "mxfp4", "iq4_xs", "q3_k", "iq3_xxs", "q2_k", "iq2_xs", NULL}
#define GGML_CACHE_WORDS(as) \
	{as, "f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl", NULL}

/* What a matrix of that type is multiplied in: blocks of more than 5 bits a number count as 8. */
berth_precision ggml_precision(const ggml_type *type);

/* Bytes of so many rows of `elements`, each of whole blocks. */
double ggml_bytes(const ggml_type *type, int64_t elements, double rows);
