/* Parts of an ONNX model as a model of their own. The bytes of nodes and weights are copied as they stand
 * in the file. What is around them is written anew, by the field numbers of onnx.proto. */
#pragma once

#include "ort_api.h"

typedef struct ort_bytes {
	berth_arena *mem; /* set by the caller, the rest zero */
	unsigned char *data;
	size_t len, cap;
	bool failed;      /* out of memory */
} ort_bytes;

void ort_put(ort_bytes *b, const void *data, size_t size);
void ort_put_varint(ort_bytes *b, uint32_t field, uint64_t value);
/* A length-delimited field. */
void ort_put_field(ort_bytes *b, uint32_t field, const void *data, size_t size);
void ort_put_text(ort_bytes *b, uint32_t field, const char *text);

/* ValueInfoProto as a field of a graph (11 input, 12 output). shape NULL: the name alone. */
void ort_put_value_info(ort_bytes *graph, uint32_t field, const char *name, const ort_shape *shape);
/* TensorProto as an initializer of a graph. */
void ort_put_initializer(ort_bytes *graph, const char *name, const ort_shape *shape, const void *data);
