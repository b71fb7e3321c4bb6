/* How a decoder in files is to run: what words behind the name of a GGUF file or a model folder say. */
#pragma once

#include "arena.h"

typedef struct berth_gguf_options {
	int64_t batch;      /* sequences at once */
	/* tokens: read at once, or in the cache with the one that is made; 0: 4096, or the model's if
	 * that is less */
	int64_t context;
	bool decode;        /* make one token; else read */
	int64_t chunk;      /* tokens read at once, behind the others in the cache; 0: all */
	bool each_expert;   /* an operator for each expert of a layer */
	const char *cache;  /* type of cached numbers: f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl */
	const char *weights; /* type of all matrices, as if the file had it (q4_k ...); "file": its own */
	const char *suffix; /* of the graph's name: the options that are no defaults, as ":key=value" */
} berth_gguf_options;

/* batch 1, context 0, prefill, all experts of a layer in one operator, f16, weights as in the file. */
berth_gguf_options berth_gguf_options_default(void);

/* From words like "batch=8", "context=32768", "mode=decode", "experts=each", "cache=q8_0", "weights=q4_k".
 * Fails: BERTH_EINVAL (an unknown key or value), BERTH_ENOMEM. */
berth_status berth_gguf_options_read(const char *file, const char *const *word, int32_t n, berth_arena *mem,
                                     berth_gguf_options *out, berth_err *err);
