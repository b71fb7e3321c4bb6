/* Mutators that keep the structure of an input, so that more of what they make is read to its end. Each makes
 * one to four changes of data[size] in place, within max bytes, and returns the new size. The same seed makes
 * the same changes. Where an input has no structure, its bytes are changed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer's own changes of bytes. The program that replays inputs has a plain stand-in. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* ---- draws (xorshift: Marsaglia 2003) ---- */

typedef struct mutate_rng {
	uint32_t x;
} mutate_rng;

mutate_rng mutate_seed(unsigned seed);
uint32_t mutate_draw(mutate_rng *r);
/* 0 to n - 1; 0 where n is 0. */
size_t mutate_below(mutate_rng *r, size_t n);
/* A number that limits are near to: 0, 1, 2^k, 2^k - 1, a small one. */
uint64_t mutate_number(mutate_rng *r);

/* ---- bytes ---- */

/* An input that is changed: n bytes of room for max. */
typedef struct mutate_bytes {
	uint8_t *data;
	size_t n, max;
} mutate_bytes;

/* Put len bytes in the place of [from, to). False, and nothing changed, where there is no such place or no
 * room. text may point into data. */
bool mutate_splice(mutate_bytes *b, size_t from, size_t to, const void *text, size_t len);

/* ---- formats ---- */

/* JSON: numbers, words and values are replaced, members and elements dropped, copied, swapped and wrapped.
 * words [.. NULL]: names of keys and texts that the reader knows. */
size_t mutate_json(uint8_t *data, size_t size, size_t max, unsigned seed, const char *const *words);
/* Lines, those that begin with { or [ of JSON: changed as such, dropped, copied, swapped, cut. */
size_t mutate_lines(uint8_t *data, size_t size, size_t max, unsigned seed, const char *const *words);
/* Texts of words, numbers and signs: DOT, STG, XML, changes of systems. */
size_t mutate_words(uint8_t *data, size_t size, size_t max, unsigned seed, const char *const *words);
/* Models in protocol buffers: fields are dropped, copied, swapped, moved to messages of the same kind and
 * resized, and all lengths kept right. */
size_t mutate_onnx(uint8_t *data, size_t size, size_t max, unsigned seed);
/* Keys and tensors of a header are dropped, copied and changed, and the counts kept right. */
size_t mutate_gguf(uint8_t *data, size_t size, size_t max, unsigned seed);
/* The header as JSON, its length kept right; numbers of the data; offsets laid out anew. */
size_t mutate_safetensors(uint8_t *data, size_t size, size_t max, unsigned seed);
