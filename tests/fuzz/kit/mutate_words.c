/* Texts of words, numbers and signs. */
#include "mutate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TOKENS = 500 };

typedef struct token {
	size_t from, to;
} token;

typedef struct tokens {
	mutate_bytes b;
	mutate_rng r;
	token t[MAX_TOKENS];
	size_t n;
	const char *const *words;
	size_t n_words;
} tokens;

static bool in_word(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '.' || c >= 128;
}

static void find_tokens(tokens *x)
{
	x->n = 0;
	for (size_t i = 0; i < x->b.n && x->n < MAX_TOKENS;) {
		size_t end = i + 1;
		while (in_word(x->b.data[i]) && end < x->b.n && in_word(x->b.data[end]))
			end++;
		x->t[x->n++] = (token){i, end};
		i = end;
	}
}

static token any(tokens *x)
{
	return x->t[mutate_below(&x->r, x->n)];
}

static bool put_text(tokens *x, token at, const char *text)
{
	return mutate_splice(&x->b, at.from, at.to, text, strlen(text));
}

static bool put_number(tokens *x)
{
	char text[40];
	token at = any(x);
	for (int i = 0; i < 8 && !(x->b.data[at.from] >= '0' && x->b.data[at.from] <= '9'); i++)
		at = any(x);
	snprintf(text, sizeof text, mutate_below(&x->r, 4) ? "%" PRIu64 : "%" PRIu64 "e9",
	         mutate_number(&x->r));
	return put_text(x, at, text);
}

static bool put_word(tokens *x)
{
	token at = any(x);
	if (!x->n_words)
		return false;
	if (mutate_below(&x->r, 2))
		at.to = at.from;
	return put_text(x, at, x->words[mutate_below(&x->r, x->n_words)]);
}

static bool put_other(tokens *x)
{
	token at = any(x), from = any(x);
	return mutate_splice(&x->b, at.from, at.to, x->b.data + from.from, from.to - from.from);
}

/* A run of tokens: dropped, or copied to another place. */
static bool move_run(tokens *x)
{
	size_t first = mutate_below(&x->r, x->n), last = first + mutate_below(&x->r, 24);
	token at = any(x);
	last = last < x->n ? last : x->n - 1;
	size_t from = x->t[first].from, to = x->t[last].to;
	return mutate_below(&x->r, 3) ? mutate_splice(&x->b, at.from, at.from, x->b.data + from, to - from)
	                              : mutate_splice(&x->b, from, to, "", 0);
}

static bool change_bytes(tokens *x)
{
	x->b.n = LLVMFuzzerMutate(x->b.data, x->b.n, x->b.max);
	return true;
}

size_t mutate_words(uint8_t *data, size_t size, size_t max, unsigned seed, const char *const *words)
{
	static bool (*const change[])(tokens * x) = {put_number,   put_number,  put_word, put_word,
	                                             put_other,    put_other,   move_run, move_run,
	                                             change_bytes, change_bytes};
	tokens x = {.b = {data, size, max}, .r = mutate_seed(seed), .words = words};
	while (words && words[x.n_words])
		x.n_words++;
	for (size_t left = 1 + mutate_below(&x.r, 4); left > 0; left--) {
		find_tokens(&x);
		if (!x.n || mutate_below(&x.r, 3) == 0)
			return LLVMFuzzerMutate(data, x.b.n, max);
		for (int tries = 0; tries < 6; tries++)
			if (change[mutate_below(&x.r, sizeof change / sizeof *change)](&x))
				break;
	}
	return x.b.n;
}
