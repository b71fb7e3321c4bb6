/* See edit_tensors.h. */
#include "edit_tensors.h"

#include "fuzz.h"

#include <string.h>

enum { MAX_ITEMS = 80, MAX_EDITS = 12, MAX_COUNT = 1 << 16 };

typedef struct editor {
	const uint8_t *script;
	size_t size, at;
	berth_arena *mem;
	safetensors_tensor t[MAX_ITEMS];
	safetensors_note note[MAX_ITEMS];
	int32_t n_t, n_note;
} editor;

/* The next byte of the script; 0 behind its end. */
static uint8_t next(editor *e)
{
	return e->at < e->size ? e->script[e->at++] : 0;
}

static int32_t below(editor *e, int32_t n)
{
	return n > 0 ? next(e) % n : 0;
}

static int64_t whole(editor *e)
{
	int64_t x = 0;
	uint8_t how = next(e);
	if (how < 128)
		return how;
	for (int i = 0; i < 8 && how & 1 << (i % 7); i++)
		x |= (int64_t)((uint64_t)next(e) << 8 * i);
	return how & 64 ? -x : x;
}

static const char *text(editor *e)
{
	static const char *const odd[] = {"",
	                                  "0",
	                                  "-1",
	                                  "1e308",
	                                  "nan",
	                                  "inf",
	                                  "1e-9",
	                                  "4",
	                                  "4096",
	                                  "0.5",
	                                  "1e400",
	                                  "2 ",
	                                  "0x10",
	                                  "latency",
	                                  "1",
	                                  "18446744073709551615",
	                                  "energy+2*latency",
	                                  "throughput>=5",
	                                  "berth-policy"};
	uint8_t n = next(e);
	if (n < sizeof odd / sizeof *odd)
		return odd[n];
	n %= 24;
	if (n > e->size - e->at)
		n = (uint8_t)(e->size - e->at);
	const char *s = (const char *)e->script + e->at;
	e->at += n;
	return fuzz_text((const uint8_t *)s, n, e->mem);
}

static size_t width(safetensors_dtype type)
{
	return type == SAFETENSORS_F32 ? 4 : type == SAFETENSORS_I64 ? 8 : 1;
}

/* Numbers as many as the shape has now, old ones first. */
static void fit(editor *e, safetensors_tensor *t, size_t old_bytes)
{
	size_t n = safetensors_count(t) * width(t->dtype);
	char *data = berth_arena_alloc(e->mem, n, 1);
	must(data != NULL);
	if (n && old_bytes)
		memcpy(data, t->data, n < old_bytes ? n : old_bytes);
	t->data = data;
}

static void reshape(editor *e, safetensors_tensor *t)
{
	safetensors_tensor old = *t;
	size_t bytes = safetensors_count(t) * width(t->dtype);
	if (next(e) % 2) {
		t->n_dims = below(e, SAFETENSORS_MAX_DIMS + 1);
		for (int32_t k = old.n_dims; k < t->n_dims; k++)
			t->shape[k] = 1;
	} else if (t->n_dims) {
		t->shape[below(e, t->n_dims)] = next(e);
	}
	size_t n = 1;
	for (int32_t k = 0; k < t->n_dims; k++)
		n = n > MAX_COUNT ? n : n * (size_t)t->shape[k];
	if (n > MAX_COUNT)
		*t = old;
	else
		fit(e, t, bytes);
}

static void set_number(editor *e, safetensors_tensor *t)
{
	static const uint32_t odd[] = {0x7f800000, 0x7fc00000, 0x80000000, 0x7f7fffff,
	                               0xff7fffff, 1,          0x3f800000, 0};
	size_t n = safetensors_count(t), i, each = width(t->dtype);
	int64_t x = whole(e);
	if (!n)
		return;
	uint8_t *data = berth_arena_alloc(e->mem, n, each);
	must(data != NULL);
	memcpy(data, t->data, n * each);
	t->data = data;
	i = ((size_t)next(e) << 8 | next(e)) % n;
	if (t->dtype == SAFETENSORS_F32) {
		uint32_t bits = odd[(uint64_t)x % 8];
		bool all = next(e) % 8 == 7;
		for (size_t k = all ? 0 : i; k < (all ? n : i + 1); k++)
			memcpy(data + k * each, &bits, each);
	} else {
		memcpy(data + i * each, &x, each);
	}
}

static void edit_tensor(editor *e, int kind)
{
	if (!e->n_t)
		return;
	int32_t i = below(e, e->n_t), k = below(e, e->n_t);
	safetensors_tensor *t = &e->t[i], kept;
	size_t bytes = safetensors_count(t) * width(t->dtype);
	switch (kind) {
	case 0:
		*t = e->t[--e->n_t];
		break;
	case 1:
		t->name = text(e);
		break;
	case 2:
	case 3:
		reshape(e, t);
		break;
	case 4:
		t->dtype = (safetensors_dtype)below(e, 3);
		fit(e, t, bytes);
		break;
	case 5: /* two names change places */
		kept = *t;
		t->name = e->t[k].name;
		e->t[k].name = kept.name;
		break;
	case 6:
		if (e->n_t < MAX_ITEMS) {
			e->t[e->n_t] = *t;
			e->t[e->n_t++].name = text(e);
		}
		break;
	default:
		set_number(e, t);
	}
}

static void edit_note(editor *e, int kind)
{
	if (!e->n_note)
		return;
	safetensors_note *n = &e->note[below(e, e->n_note)];
	if (kind == 0)
		*n = e->note[--e->n_note];
	else if (kind == 1)
		n->key = text(e);
	else
		n->value = text(e);
}

const void *edit_tensors(const safetensors_file *from, const uint8_t *script, size_t size, berth_arena *mem,
                         size_t *out_size)
{
	editor e = {
		.script = script, .size = size, .mem = mem, .n_t = from->n_tensors, .n_note = from->n_notes};
	void *data;
	must(e.n_t <= MAX_ITEMS && e.n_note <= MAX_ITEMS);
	memcpy(e.t, from->tensor, (size_t)e.n_t * sizeof *e.t);
	memcpy(e.note, from->note, (size_t)e.n_note * sizeof *e.note);
	for (int n = 0; n < MAX_EDITS && e.at < e.size; n++) {
		int kind = next(&e) % 16;
		if (kind < 11)
			edit_tensor(&e, kind);
		else
			edit_note(&e, kind - 11);
	}
	const safetensors_file file = {
		.n_tensors = e.n_t, .n_notes = e.n_note, .tensor = e.t, .note = e.note};
	berth_status st = safetensors_encode(&file, mem, &data, out_size, NULL);
	must(st == BERTH_OK || st == BERTH_EINVAL);
	return st == BERTH_OK ? data : NULL;
}
