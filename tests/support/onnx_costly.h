/* ONNX files for tests of limits and for berth-bench: made to be expensive, and as exporters write them. */
#pragma once

#include <stddef.h>

enum { ONNX_COSTLY_KINDS = 12 };

/* Starts as {0}; free data at the end. */
typedef struct onnx_file {
	unsigned char *data;
	size_t n, cap;
} onnx_file;

const char *onnx_costly_name(int kind);
/* A file with a graph of `size` bytes. Returns how many of its nodes have 48 to 255 bytes and may take 400
 * bytes of memory more each. */
size_t onnx_write_costly(onnx_file *file, int kind, size_t size);

/* n nodes, the weights beside the file; format of nodes' names: of layer, type and node, "%u %s %u". */
void onnx_write_exported(onnx_file *file, unsigned n, const char *format);
