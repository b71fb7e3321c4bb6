/* A node of a graph as an ONNX model of its own, for a session that runs it on the CPU. */
#pragma once

#include "plugin_api.h"

enum { SECOND_MAX_TENSORS = 64, SECOND_NAME = 16 };

typedef struct second_node {
	char *name;
	unsigned char *model;
	size_t size;
	int32_t n_in, n_out;
	bool has_in[SECOND_MAX_TENSORS], has_out[SECOND_MAX_TENSORS];
} second_node;

/* Inputs of the model are called i0, i1 ..., outputs o0, o1 ...; those that the node lacks are left out.
 * second_node_free frees it. Fails: attributes that are no numbers, text or tensors of numbers, too many
 * tensors, out of memory. */
plugin_status second_node_read(const plugin_place *api, const void *node, second_node *out);
void second_node_free(second_node *n);

/* "i3": what the tensor is called. */
void second_tensor_name(char kind, int32_t i, char name[SECOND_NAME]);
