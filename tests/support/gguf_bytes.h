/* Headers of GGUF files for tests, in memory: published models by their sizes, whole or with few layers,
 * without weights. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {                  /* what a recipe's layers have */
       RECIPE_BIAS = 1, /* biases of queries, keys and values */
       RECIPE_QK_NORM = 2,
       RECIPE_POST_NORMS = 4, /* norms behind attention and feed-forward network */
       RECIPE_TIED = 8,       /* no output matrix */
       RECIPE_FUSED = 16,     /* one matrix for queries, keys and values, one for gate and up */
       RECIPE_LOOSE = 32,     /* experts in tensors of their own */
       RECIPE_SHARED_ROUTER = 64,
       RECIPE_ABSORBED = 128, /* attn_k_b and attn_v_b instead of attn_kv_b */
       RECIPE_ALL_BIAS = 256, /* biases everywhere, sinks, and the norm behind attention in the place of
	                         ffn_norm */
       RECIPE_PLAIN_UP = 512  /* no gate */
};

typedef struct gguf_recipe {
	const char *name, *arch;
	double params, active;    /* published, 0: not stated; active ones of a token */
	int layers, hidden, heads, kv_heads, key, value, ffn, vocab;
	int experts, top, expert_ffn, shared_ffn, dense_layers;
	int q_latent, kv_latent, rotated;
	int window;
	unsigned has;
	uint32_t type, output_type; /* of matrices */
} gguf_recipe;

/* All recipes, ended by one without a name. */
extern const gguf_recipe gguf_recipes[];
const gguf_recipe *gguf_recipe_find(const char *name);

typedef struct gguf_bytes {
	unsigned char *p;
	size_t n, cap;
	size_t keys_at, tensors_at;  /* first key, first tensor */
	uint64_t n_keys, n_tensors;
	double tensor_bytes, elements; /* what the tensors have */
} gguf_bytes;

void gguf_begin(gguf_bytes *b);
void gguf_put(gguf_bytes *b, const void *data, size_t n);
void gguf_put_u32(gguf_bytes *b, uint32_t x);
void gguf_put_u64(gguf_bytes *b, uint64_t x);
void gguf_put_text(gguf_bytes *b, const char *text);
void gguf_key_u32(gguf_bytes *b, const char *name, uint32_t x);
void gguf_key_text(gguf_bytes *b, const char *name, const char *text);
/* n strings "tN", as vocabularies are stored. */
void gguf_key_tokens(gguf_bytes *b, const char *name, int n);
/* Up to three dimensions, 0 ends them. */
void gguf_put_tensor(gguf_bytes *b, const char *name, uint32_t type, int64_t d0, int64_t d1, int64_t d2);
/* Set the counts in the header. */
void gguf_end(gguf_bytes *b);

/* The keys, and the tensors of layers [first, last) (with what stands outside of layers if outside) of a
 * recipe. */
void gguf_put_keys(gguf_bytes *b, const gguf_recipe *r, int layers);
void gguf_put_tensors(gguf_bytes *b, const gguf_recipe *r, int first, int last, int outside);
/* A whole header with so many layers; 0: all. The caller frees b->p. */
void gguf_write(gguf_bytes *b, const gguf_recipe *r, int layers);
