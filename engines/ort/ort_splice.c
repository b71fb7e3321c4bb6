/* Writing the protocol-buffer wire format. */
#include "ort_splice.h"

#include <string.h>

static bool reserve(ort_bytes *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 4096;
	if (b->failed || b->len + more <= b->cap)
		return !b->failed;
	while (cap < b->len + more)
		cap *= 2;
	unsigned char *data = berth_arena_alloc(b->mem, cap, 1);
	if (!data) {
		b->failed = true;
		return false;
	}
	if (b->len)
		memcpy(data, b->data, b->len);
	b->data = data;
	b->cap = cap;
	return true;
}

void ort_put(ort_bytes *b, const void *data, size_t size)
{
	if (!size || !reserve(b, size))
		return;
	memcpy(b->data + b->len, data, size);
	b->len += size;
}

static void put_number(ort_bytes *b, uint64_t x)
{
	unsigned char buf[10];
	size_t n = 0;
	do {
		buf[n++] = (unsigned char)((x & 127) | (x > 127 ? 128 : 0));
		x >>= 7;
	} while (x);
	ort_put(b, buf, n);
}

void ort_put_varint(ort_bytes *b, uint32_t field, uint64_t value)
{
	put_number(b, (uint64_t)field << 3);
	put_number(b, value);
}

void ort_put_field(ort_bytes *b, uint32_t field, const void *data, size_t size)
{
	put_number(b, (uint64_t)field << 3 | 2);
	put_number(b, size);
	ort_put(b, data, size);
}

void ort_put_text(ort_bytes *b, uint32_t field, const char *text)
{
	ort_put_field(b, field, text, strlen(text));
}

static void put_message(ort_bytes *b, uint32_t field, const ort_bytes *message)
{
	b->failed |= message->failed;
	ort_put_field(b, field, message->data, message->len);
}

void ort_put_value_info(ort_bytes *graph, uint32_t field, const char *name, const ort_shape *shape)
{
	ort_bytes dims = {.mem = graph->mem}, tensor = {.mem = graph->mem}, type = {.mem = graph->mem},
		  info = {.mem = graph->mem};
	ort_put_text(&info, 1, name);
	for (int32_t i = 0; shape && i < shape->rank; i++) {
		ort_bytes dim = {.mem = graph->mem};
		ort_put_varint(&dim, 1, (uint64_t)shape->dim[i]);
		put_message(&dims, 1, &dim);
	}
	if (shape) {
		ort_put_varint(&tensor, 1, (uint64_t)shape->elem);
		put_message(&tensor, 2, &dims);
		put_message(&type, 1, &tensor);
		put_message(&info, 2, &type);
	}
	put_message(graph, field, &info);
}

void ort_put_initializer(ort_bytes *graph, const char *name, const ort_shape *shape, const void *data)
{
	ort_bytes head = {.mem = graph->mem}, tail = {.mem = graph->mem};
	for (int32_t i = 0; i < shape->rank; i++)
		ort_put_varint(&head, 1, (uint64_t)shape->dim[i]);
	ort_put_varint(&head, 2, (uint64_t)shape->elem);
	ort_put_text(&head, 8, name);
	put_number(&tail, 9 << 3 | 2);
	put_number(&tail, shape->bytes);
	put_number(graph, 5 << 3 | 2);
	put_number(graph, head.len + tail.len + shape->bytes);
	ort_put(graph, head.data, head.len);
	ort_put(graph, tail.data, tail.len);
	ort_put(graph, data, shape->bytes);
	graph->failed |= head.failed || tail.failed;
}
