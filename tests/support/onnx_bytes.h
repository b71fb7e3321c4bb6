/* Writing small ONNX models byte by byte, for tests: a protocol-buffer writer and the messages of onnx.proto
 * on top of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct bytes {
	size_t n;
	unsigned char data[1 << 15];
} bytes;

/* Raw pieces; more than the room aborts the test. */
void put_raw(bytes *b, const void *data, size_t n);
void put_varint(bytes *b, uint64_t x);
void put_tag(bytes *b, uint32_t field, uint32_t wire);

/* Fields. */
void put_number(bytes *b, uint32_t field, uint64_t x);
void put_float(bytes *b, uint32_t field, float x);
void put_text(bytes *b, uint32_t field, const char *text);
void put_message(bytes *b, uint32_t field, const bytes *inner);

/* ONNX. Lists of names are separated by commas ("a,,b" leaves one out); shapes are "2,3,batch" (a number or
 * a symbol), NULL: none. */
void put_value(bytes *graph, uint32_t field, const char *name, int elem, const char *shape);
/* Initializer without data. */
void put_weight(bytes *graph, const char *name, int elem, const char *shape);
/* Initializer of int64 numbers, rank 1 (n >= 0) or a scalar (n -1). */
void put_ints(bytes *graph, const char *name, const int64_t *x, int n);
/* Attributes are written into attrs first. */
void attr_int(bytes *attrs, const char *name, int64_t x);
void attr_ints(bytes *attrs, const char *name, const int64_t *x, int n);
void attr_text(bytes *attrs, const char *name, const char *text);
void attr_graph(bytes *attrs, const char *name, const bytes *body);
void put_node(bytes *graph, const char *type, const char *name, const char *in, const char *out,
              const bytes *attrs);
/* The whole file around a graph. */
void put_model(bytes *file, const bytes *graph, int opset);
