/* See onnx_bytes.h. */
#include "onnx_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void put_raw(bytes *b, const void *data, size_t n)
{
	if (n > sizeof b->data - b->n)
		abort();
	if (n)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

void put_varint(bytes *b, uint64_t x)
{
	do {
		unsigned char c = (unsigned char)((x & 0x7f) | (x > 0x7f ? 0x80 : 0));
		put_raw(b, &c, 1);
		x >>= 7;
	} while (x);
}

void put_tag(bytes *b, uint32_t field, uint32_t wire)
{
	put_varint(b, (uint64_t)field << 3 | wire);
}

void put_number(bytes *b, uint32_t field, uint64_t x)
{
	put_tag(b, field, 0);
	put_varint(b, x);
}

void put_float(bytes *b, uint32_t field, float x)
{
	put_tag(b, field, 5);
	put_raw(b, &x, 4);
}

static void put_part(bytes *b, uint32_t field, const void *data, size_t n)
{
	put_tag(b, field, 2);
	put_varint(b, n);
	put_raw(b, data, n);
}

void put_text(bytes *b, uint32_t field, const char *text)
{
	put_part(b, field, text, strlen(text));
}

void put_message(bytes *b, uint32_t field, const bytes *inner)
{
	put_part(b, field, inner->data, inner->n);
}

/* Length of the part of list up to the next comma. */
static size_t part_of(const char *list)
{
	return strcspn(list, ",");
}

static void put_names(bytes *b, uint32_t field, const char *list)
{
	while (*list) {
		size_t n = part_of(list);
		put_part(b, field, list, n);
		list += n + (list[n] == ',');
	}
}

static int is_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-';
}

void put_value(bytes *graph, uint32_t field, const char *name, int elem, const char *shape)
{
	bytes value = {0}, type = {0}, tensor = {0}, dims = {0};
	put_text(&value, 1, name);
	put_number(&tensor, 1, (uint64_t)elem);
	for (const char *p = shape; p && *p;) {
		bytes dim = {0};
		size_t n = part_of(p);
		if (is_number(*p))
			put_number(&dim, 1, (uint64_t)strtoll(p, NULL, 10));
		else
			put_part(&dim, 2, p, n);
		put_message(&dims, 1, &dim);
		p += n + (p[n] == ',');
	}
	if (shape)
		put_message(&tensor, 2, &dims);
	put_message(&type, 1, &tensor);
	put_message(&value, 2, &type);
	put_message(graph, field, &value);
}

void put_weight(bytes *graph, const char *name, int elem, const char *shape)
{
	bytes t = {0};
	for (const char *p = shape; *p;) {
		size_t n = part_of(p);
		put_number(&t, 1, (uint64_t)strtoll(p, NULL, 10));
		p += n + (p[n] == ',');
	}
	put_number(&t, 2, (uint64_t)elem);
	put_text(&t, 8, name);
	put_message(graph, 5, &t);
}

void put_ints(bytes *graph, const char *name, const int64_t *x, int n)
{
	bytes t = {0}, data = {0};
	if (n >= 0)
		put_number(&t, 1, (uint64_t)n);
	put_number(&t, 2, 7);
	for (int i = 0; i < (n < 0 ? 1 : n); i++)
		put_varint(&data, (uint64_t)x[i]);
	put_message(&t, 7, &data);
	put_text(&t, 8, name);
	put_message(graph, 5, &t);
}

void attr_int(bytes *attrs, const char *name, int64_t x)
{
	bytes a = {0};
	put_text(&a, 1, name);
	put_number(&a, 3, (uint64_t)x);
	put_number(&a, 20, 2);
	put_message(attrs, 5, &a);
}

void attr_ints(bytes *attrs, const char *name, const int64_t *x, int n)
{
	bytes a = {0};
	put_text(&a, 1, name);
	for (int i = 0; i < n; i++)
		put_number(&a, 8, (uint64_t)x[i]);
	put_number(&a, 20, 7);
	put_message(attrs, 5, &a);
}

void attr_text(bytes *attrs, const char *name, const char *text)
{
	bytes a = {0};
	put_text(&a, 1, name);
	put_text(&a, 4, text);
	put_number(&a, 20, 3);
	put_message(attrs, 5, &a);
}

void attr_graph(bytes *attrs, const char *name, const bytes *body)
{
	bytes a = {0};
	put_text(&a, 1, name);
	put_message(&a, 6, body);
	put_number(&a, 20, 5);
	put_message(attrs, 5, &a);
}

void put_node(bytes *graph, const char *type, const char *name, const char *in, const char *out,
              const bytes *attrs)
{
	bytes n = {0};
	put_names(&n, 1, in);
	put_names(&n, 2, out);
	if (*name)
		put_text(&n, 3, name);
	put_text(&n, 4, type);
	if (attrs)
		put_raw(&n, attrs->data, attrs->n);
	put_message(graph, 1, &n);
}

void put_model(bytes *file, const bytes *graph, int opset)
{
	bytes set = {0};
	put_number(file, 1, 8);
	put_message(file, 7, graph);
	put_number(&set, 2, (uint64_t)opset);
	put_message(file, 8, &set);
}
