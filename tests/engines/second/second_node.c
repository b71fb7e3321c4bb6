/* See second_node.h. The wire format is written by field numbers of onnx.proto. */
#include "second_node.h"

#include "ort_splice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 16 };

typedef struct reader {
	const plugin_place *api;
	const void *node;
	berth_arena mem;
	second_node *out;
} reader;

static plugin_status refuse(const reader *r, const char *why)
{
	return CALL(r->api, CREATE_STATUS, plugin_status, (int, const char *), 1, why);
}

void second_tensor_name(char kind, int32_t i, char name[SECOND_NAME])
{
	snprintf(name, SECOND_NAME, "%c%d", kind, (int)i);
}

static void put_message(ort_bytes *to, uint32_t field, const ort_bytes *message)
{
	to->failed |= message->failed;
	ort_put_field(to, field, message->data, message->len);
}

/* ---- attributes ---- */

/* TensorProto of a tensor that the library holds. */
static plugin_status put_tensor(reader *r, void *value, ort_bytes *attr)
{
	const plugin_place *api = r->api;
	ort_bytes tensor = {.mem = &r->mem};
	void *info = NULL, *data = NULL;
	int elem = 0;
	size_t rank = 0, size = 0;
	int64_t dim[MAX_RANK];
	TRY(CALL(api, GET_TYPE_AND_SHAPE, plugin_status, (const void *, void **), value, &info));
	TRY(CALL(api, GET_ELEMENT_TYPE, plugin_status, (const void *, int *), info, &elem));
	TRY(CALL(api, GET_RANK, plugin_status, (const void *, size_t *), info, &rank));
	if (rank > MAX_RANK)
		return refuse(r, "a tensor of too many dimensions");
	TRY(CALL(api, GET_DIMENSIONS, plugin_status, (const void *, int64_t *, size_t), info, dim, rank));
	CALL(api, RELEASE_TYPE_AND_SHAPE, void, (void *), info);
	TRY(CALL(api, TENSOR_BYTES, plugin_status, (const void *, size_t *), value, &size));
	TRY(CALL(api, GET_TENSOR_DATA, plugin_status, (void *, void **), value, &data));
	for (size_t i = 0; i < rank; i++)
		ort_put_varint(&tensor, 1, (uint64_t)dim[i]);
	ort_put_varint(&tensor, 2, (uint64_t)elem);
	ort_put_field(&tensor, 9, data, size);
	put_message(attr, 5, &tensor);
	ort_put_varint(attr, 20, 4);
	return NULL;
}

static void put_numbers(ort_bytes *attr, int type, const unsigned char *data, size_t size)
{
	bool is_float = type == ATTR_FLOAT || type == ATTR_FLOATS;
	size_t width = is_float ? 4 : 8;
	uint32_t field = type == ATTR_FLOAT ? 2 : type == ATTR_INT ? 3 : type == ATTR_FLOATS ? 7 : 8;
	for (size_t at = 0; at + width <= size; at += width) {
		uint64_t x = 0;
		memcpy(&x, data + at, width);
		if (is_float) {
			unsigned char tag = (unsigned char)(field << 3 | 5);
			ort_put(attr, &tag, 1);
			ort_put(attr, data + at, width);
		} else {
			ort_put_varint(attr, field, x);
		}
	}
	ort_put_varint(attr, 20, type == ATTR_FLOAT ? 1 : type == ATTR_INT ? 2 : type == ATTR_FLOATS ? 6 : 7);
}

static plugin_status put_plain(reader *r, const void *a, int type, ort_bytes *attr)
{
	unsigned char *data;
	size_t size = 0;
	plugin_status first = CALL(r->api, READ_ATTRIBUTE, plugin_status,
	                           (const void *, int, void *, size_t, size_t *), a, type, NULL, 0, &size);
	if (first) /* it tells the size that it wants */
		CALL(r->api, RELEASE_STATUS, void, (void *), first);
	if (!(data = berth_arena_alloc(&r->mem, size + 1, 8)))
		return refuse(r, "out of memory");
	if (size)
		TRY(CALL(r->api, READ_ATTRIBUTE, plugin_status, (const void *, int, void *, size_t, size_t *),
		         a, type, data, size, &size));
	if (type == ATTR_STRING) {
		size -= size && !data[size - 1];
		ort_put_field(attr, 4, data, size);
		ort_put_varint(attr, 20, 3);
	} else {
		put_numbers(attr, type, data, size);
	}
	return NULL;
}

static plugin_status put_attribute(reader *r, const void *a, ort_bytes *node)
{
	ort_bytes attr = {.mem = &r->mem};
	const char *name;
	int type = 0;
	void *value = NULL;
	TRY(CALL(r->api, ATTRIBUTE_NAME, plugin_status, (const void *, const char **), a, &name));
	TRY(CALL(r->api, ATTRIBUTE_TYPE, plugin_status, (const void *, int *), a, &type));
	ort_put_text(&attr, 1, name);
	if (type == ATTR_TENSOR) {
		TRY(CALL(r->api, ATTRIBUTE_TENSOR, plugin_status, (const void *, void **), a, &value));
		plugin_status s = put_tensor(r, value, &attr);
		CALL(r->api, RELEASE_VALUE, void, (void *), value);
		TRY(s);
	} else if (type == ATTR_STRINGS || type == ATTR_GRAPH || !type) {
		return refuse(r, "an attribute of a kind that the second device does not know");
	} else {
		TRY(put_plain(r, a, type, &attr));
	}
	put_message(node, 5, &attr);
	return NULL;
}

static plugin_status put_attributes(reader *r, ort_bytes *node)
{
	const void **list;
	size_t n = 0;
	TRY(CALL(r->api, NODE_ATTRIBUTE_COUNT, plugin_status, (const void *, size_t *), r->node, &n));
	if (!(list = berth_arena_alloc(&r->mem, (n + 1) * sizeof *list, sizeof *list)))
		return refuse(r, "out of memory");
	TRY(CALL(r->api, NODE_ATTRIBUTES, plugin_status, (const void *, const void **, size_t), r->node, list,
	         n));
	for (size_t i = 0; i < n; i++)
		if (list[i])
			TRY(put_attribute(r, list[i], node));
	return NULL;
}

/* ---- inputs and outputs ---- */

static plugin_status read_tensors(reader *r, int count_at, int list_at, const void **list, int32_t *n,
                                  bool *has)
{
	size_t count = 0;
	TRY(CALL(r->api, count_at, plugin_status, (const void *, size_t *), r->node, &count));
	if (count > SECOND_MAX_TENSORS)
		return refuse(r, "a node with too many tensors");
	TRY(CALL(r->api, list_at, plugin_status, (const void *, const void **, size_t), r->node, list,
	         count));
	*n = (int32_t)count;
	for (size_t i = 0; i < count; i++) {
		const char *name = NULL;
		if (list[i])
			TRY(CALL(r->api, VALUE_NAME, plugin_status, (const void *, const char **), list[i],
			         &name));
		has[i] = name && *name;
	}
	return NULL;
}

/* ValueInfoProto of an input: its type, any shape. */
static plugin_status put_input(reader *r, const void *value, const char *name, ort_bytes *graph)
{
	ort_bytes tensor = {.mem = &r->mem}, type = {.mem = &r->mem}, info = {.mem = &r->mem};
	const void *type_info = NULL, *tensor_info = NULL;
	int elem = 0;
	TRY(CALL(r->api, VALUE_TYPE, plugin_status, (const void *, const void **), value, &type_info));
	TRY(CALL(r->api, CAST_TO_TENSOR_INFO, plugin_status, (const void *, const void **), type_info,
	         &tensor_info));
	if (!tensor_info)
		return refuse(r, "an input that is no tensor");
	TRY(CALL(r->api, GET_ELEMENT_TYPE, plugin_status, (const void *, int *), tensor_info, &elem));
	ort_put_varint(&tensor, 1, (uint64_t)elem);
	put_message(&type, 1, &tensor);
	ort_put_text(&info, 1, name);
	put_message(&info, 2, &type);
	put_message(graph, 11, &info);
	return NULL;
}

static plugin_status put_node(reader *r, const char *domain, ort_bytes *graph)
{
	second_node *n = r->out;
	const void *in[SECOND_MAX_TENSORS], *made[SECOND_MAX_TENSORS];
	ort_bytes node = {.mem = &r->mem};
	char name[SECOND_NAME];
	const char *type;
	TRY(read_tensors(r, NODE_INPUT_COUNT, NODE_INPUTS, in, &n->n_in, n->has_in));
	TRY(read_tensors(r, NODE_OUTPUT_COUNT, NODE_OUTPUTS, made, &n->n_out, n->has_out));
	TRY(CALL(r->api, NODE_TYPE, plugin_status, (const void *, const char **), r->node, &type));
	for (int32_t i = 0; i < n->n_in; i++) {
		second_tensor_name('i', i, name);
		ort_put_text(&node, 1, n->has_in[i] ? name : "");
		if (n->has_in[i])
			TRY(put_input(r, in[i], name, graph));
	}
	for (int32_t i = 0; i < n->n_out; i++) {
		second_tensor_name('o', i, name);
		ort_put_text(&node, 2, n->has_out[i] ? name : "");
		if (n->has_out[i])
			ort_put_value_info(graph, 12, name, NULL);
	}
	ort_put_text(&node, 4, type);
	ort_put_text(&node, 7, domain);
	TRY(put_attributes(r, &node));
	put_message(graph, 1, &node);
	return NULL;
}

static void put_opset(reader *r, const char *domain, int version, ort_bytes *model)
{
	ort_bytes opset = {.mem = &r->mem};
	ort_put_text(&opset, 1, domain);
	ort_put_varint(&opset, 2, (uint64_t)version);
	put_message(model, 8, &opset);
}

static plugin_status put_model(reader *r, ort_bytes *model)
{
	ort_bytes graph = {.mem = &r->mem};
	const char *domain;
	int since = 1;
	TRY(CALL(r->api, NODE_DOMAIN, plugin_status, (const void *, const char **), r->node, &domain));
	TRY(CALL(r->api, NODE_SINCE, plugin_status, (const void *, int *), r->node, &since));
	TRY(put_node(r, domain, &graph));
	ort_put_text(&graph, 2, "node");
	ort_put_varint(model, 1, 8);
	put_message(model, 7, &graph);
	put_opset(r, domain, since, model);
	if (*domain)
		put_opset(r, "", 17, model);
	return model->failed ? refuse(r, "out of memory") : NULL;
}

static plugin_status keep(reader *r, const ort_bytes *model)
{
	second_node *n = r->out;
	const char *name;
	TRY(CALL(r->api, NODE_NAME, plugin_status, (const void *, const char **), r->node, &name));
	n->name = strdup(name);
	n->model = malloc(model->len);
	n->size = model->len;
	if (!n->name || !n->model)
		return refuse(r, "out of memory");
	memcpy(n->model, model->data, model->len);
	return NULL;
}

plugin_status second_node_read(const plugin_place *api, const void *node, second_node *out)
{
	reader r = {.api = api, .node = node, .out = out};
	ort_bytes model = {.mem = &r.mem};
	*out = (second_node){0};
	plugin_status s = put_model(&r, &model);
	if (!s)
		s = keep(&r, &model);
	berth_arena_free(&r.mem);
	if (s)
		second_node_free(out);
	return s;
}

void second_node_free(second_node *n)
{
	free(n->name);
	free(n->model);
	*n = (second_node){0};
}
