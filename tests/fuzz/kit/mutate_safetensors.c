/* Safetensors files: a length, a header of JSON, numbers. The digest is the target's care. */
#include "mutate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 8 };

static const char *const words[] = {
	"dtype", "shape",  "data_offsets", "__metadata__", "F32",          "I64", "U8",
	"F16",   "sha256", "format",       "version",      "berth-policy", NULL};

static uint64_t header_length(const mutate_bytes *b)
{
	uint64_t n = 0;
	if (b->n >= HEAD)
		memcpy(&n, b->data, HEAD);
	return b->n >= HEAD && n <= b->n - HEAD ? n : 0;
}

/* The header was text[..end) and is text[..end + more). */
static void change_header(mutate_bytes *b, uint64_t n, mutate_rng *r)
{
	size_t size = (size_t)n, room = b->max - b->n + size;
	uint8_t *text = malloc(room + 1);
	if (!text || !room) {
		free(text);
		return;
	}
	memcpy(text, b->data + HEAD, size);
	uint64_t len = mutate_json(text, size, room, mutate_draw(r), words);
	if (mutate_splice(b, HEAD, HEAD + size, text, (size_t)len))
		memcpy(b->data, &len, HEAD);
	free(text);
}

/* Bytes of the tensor whose description begins at text; 0: not to be told. */
static uint64_t bytes_of(const char *text, const char *end)
{
	uint64_t n = strncmp(text, "I64", 3) == 0 ? 8 : strncmp(text, "F32", 3) == 0 ? 4 : 1;
	const char *shape = text;
	while (shape + 9 < end && strncmp(shape, "\"shape\":[", 9) != 0)
		shape++;
	if (shape + 9 >= end)
		return 0;
	for (shape += 9; shape < end && *shape != ']';) {
		char *next;
		n *= strtoull(shape, &next, 10);
		if (next == shape)
			return 0;
		shape = next + (*next == ',');
	}
	return n;
}

/* Offsets as the shapes have it, one tensor behind the other, and as much data. */
static void lay_out(mutate_bytes *b)
{
	uint64_t n = header_length(b), at = 0;
	char *text = n && n < 1 << 16 ? malloc((size_t)n + 1) : NULL;
	if (!text)
		return;
	memcpy(text, b->data + HEAD, (size_t)n);
	text[n] = '\0';
	mutate_bytes copy = *b;
	size_t shift = 0;
	for (char *p = text; (p = strstr(p, "\"dtype\":\""));) {
		char *offsets = strstr(p, "\"data_offsets\":["), *end = offsets ? strchr(offsets, ']') : NULL,
		     buf[48];
		uint64_t bytes = end ? bytes_of(p + 9, end) : 0;
		if (!end || bytes > b->max)
			break;
		offsets += 16;
		int len = snprintf(buf, sizeof buf, "%" PRIu64 ",%" PRIu64, at, at + bytes);
		size_t from = HEAD + (size_t)(offsets - text) + shift,
		       to = HEAD + (size_t)(end - text) + shift;
		if (!mutate_splice(&copy, from, to, buf, (size_t)len))
			break;
		shift += (size_t)len - (size_t)(end - offsets);
		at += bytes;
		p = end;
	}
	n += shift;
	memcpy(copy.data, &n, HEAD);
	size_t all = HEAD + (size_t)n + (size_t)at;
	if (all <= copy.max) {
		if (all > copy.n)
			memset(copy.data + copy.n, 0, all - copy.n);
		copy.n = all;
	}
	*b = copy;
	free(text);
}

static void change_data(mutate_bytes *b, uint64_t n, mutate_rng *r)
{
	static const uint32_t odd[] = {0x7f800000, 0x7fc00000, 0, 0x80000000,
	                               0x3f800000, 0x7f7fffff, 1, 0xffffffff};
	size_t from = HEAD + (size_t)n, words_there = (b->n - from) / 4;
	if (!words_there)
		return;
	uint32_t x = odd[mutate_below(r, sizeof odd / sizeof *odd)];
	memcpy(b->data + from + 4 * mutate_below(r, words_there), &x, sizeof x);
}

size_t mutate_safetensors(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	mutate_bytes b = {data, size, max};
	mutate_rng r = mutate_seed(seed);
	uint64_t n = header_length(&b);
	size_t what = mutate_below(&r, 10);
	if (!n || what == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (what < 3)
		change_data(&b, n, &r);
	else
		change_header(&b, n, &r);
	if (mutate_below(&r, 2))
		lay_out(&b);
	return b.n;
}
