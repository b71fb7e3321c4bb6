/* See second_node.h. The wire format is written by field numbers of onnx.proto. */
#include "second_node.h"

#include "onnx_edit.h"

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

/* ---- attributes ---- */

/* TensorProto of a tensor that the library holds. */
static plugin_status put_tensor(reader *r, void *value, berth_strbuf *attr)
{
	const plugin_place *api = r->api;
	berth_strbuf tensor = {.mem = &r->mem};
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
		onnx_put_number(&tensor, 1, (uint64_t)dim[i]);
	onnx_put_number(&tensor, 2, (uint64_t)elem);
	onnx_put_bytes(&tensor, 9, data, size);
	onnx_put_message(attr, 5, &tensor);
	onnx_put_number(attr, 20, 4);
	return NULL;
}

static void put_numbers(berth_strbuf *attr, int type, const unsigned char *data, size_t size)
{
	bool is_float = type == ATTR_FLOAT || type == ATTR_FLOATS;
	size_t width = is_float ? 4 : 8;
	uint32_t field = type == ATTR_FLOAT ? 2 : type == ATTR_INT ? 3 : type == ATTR_FLOATS ? 7 : 8;
	for (size_t at = 0; at + width <= size; at += width) {
		uint64_t x = 0;
		memcpy(&x, data + at, width);
		if (is_float) {
			unsigned char tag = (unsigned char)(field << 3 | 5);
			berth_strbuf_add(attr, &tag, 1);
			berth_strbuf_add(attr, data + at, width);
		} else {
			onnx_put_number(attr, field, x);
		}
	}
	onnx_put_number(attr, 20,
	                type == ATTR_FLOAT    ? 1
	                : type == ATTR_INT    ? 2
	                : type == ATTR_FLOATS ? 6
	                                      : 7);
}

static plugin_status put_plain(reader *r, const void *a, int type, berth_strbuf *attr)
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
		onnx_put_bytes(attr, 4, data, size);
		onnx_put_number(attr, 20, 3);
	} else {
		put_numbers(attr, type, data, size);
	}
	return NULL;
}

static plugin_status put_attribute(reader *r, const void *a, berth_strbuf *node)
{
	berth_strbuf attr = {.mem = &r->mem};
	const char *name;
	int type = 0;
	void *value = NULL;
	TRY(CALL(r->api, ATTRIBUTE_NAME, plugin_status, (const void *, const char **), a, &name));
	TRY(CALL(r->api, ATTRIBUTE_TYPE, plugin_status, (const void *, int *), a, &type));
	onnx_put_text(&attr, 1, name);
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
	onnx_put_message(node, 5, &attr);
	return NULL;
}

static plugin_status put_attributes(reader *r, berth_strbuf *node)
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
static plugin_status put_input(reader *r, const void *value, const char *name, berth_strbuf *graph)
{
	berth_strbuf tensor = {.mem = &r->mem}, type = {.mem = &r->mem}, info = {.mem = &r->mem};
	const void *type_info = NULL, *tensor_info = NULL;
	int elem = 0;
	TRY(CALL(r->api, VALUE_TYPE, plugin_status, (const void *, const void **), value, &type_info));
	TRY(CALL(r->api, CAST_TO_TENSOR_INFO, plugin_status, (const void *, const void **), type_info,
	         &tensor_info));
	if (!tensor_info)
		return refuse(r, "an input that is no tensor");
	TRY(CALL(r->api, GET_ELEMENT_TYPE, plugin_status, (const void *, int *), tensor_info, &elem));
	onnx_put_number(&tensor, 1, (uint64_t)elem);
	onnx_put_message(&type, 1, &tensor);
	onnx_put_text(&info, 1, name);
	onnx_put_message(&info, 2, &type);
	onnx_put_message(graph, 11, &info);
	return NULL;
}

static plugin_status put_node(reader *r, const char *domain, berth_strbuf *graph)
{
	second_node *n = r->out;
	const void *in[SECOND_MAX_TENSORS], *made[SECOND_MAX_TENSORS];
	berth_strbuf node = {.mem = &r->mem};
	char name[SECOND_NAME];
	const char *type;
	TRY(read_tensors(r, NODE_INPUT_COUNT, NODE_INPUTS, in, &n->n_in, n->has_in));
	TRY(read_tensors(r, NODE_OUTPUT_COUNT, NODE_OUTPUTS, made, &n->n_out, n->has_out));
	TRY(CALL(r->api, NODE_TYPE, plugin_status, (const void *, const char **), r->node, &type));
	for (int32_t i = 0; i < n->n_in; i++) {
		second_tensor_name('i', i, name);
		onnx_put_text(&node, 1, n->has_in[i] ? name : "");
		if (n->has_in[i])
			TRY(put_input(r, in[i], name, graph));
	}
	for (int32_t i = 0; i < n->n_out; i++) {
		second_tensor_name('o', i, name);
		onnx_put_text(&node, 2, n->has_out[i] ? name : "");
		if (!n->has_out[i])
			continue;
		berth_strbuf info = {.mem = &r->mem};
		onnx_put_text(&info, 1, name);
		onnx_put_message(graph, 12, &info);
	}
	onnx_put_text(&node, 4, type);
	onnx_put_text(&node, 7, domain);
	TRY(put_attributes(r, &node));
	onnx_put_message(graph, 1, &node);
	return NULL;
}

static void put_opset(reader *r, const char *domain, int version, berth_strbuf *model)
{
	berth_strbuf opset = {.mem = &r->mem};
	onnx_put_text(&opset, 1, domain);
	onnx_put_number(&opset, 2, (uint64_t)version);
	onnx_put_message(model, 8, &opset);
}

static plugin_status put_model(reader *r, berth_strbuf *model)
{
	berth_strbuf graph = {.mem = &r->mem};
	const char *domain;
	int since = 1;
	TRY(CALL(r->api, NODE_DOMAIN, plugin_status, (const void *, const char **), r->node, &domain));
	TRY(CALL(r->api, NODE_SINCE, plugin_status, (const void *, int *), r->node, &since));
	TRY(put_node(r, domain, &graph));
	onnx_put_text(&graph, 2, "node");
	onnx_put_number(model, 1, 8);
	onnx_put_message(model, 7, &graph);
	put_opset(r, domain, since, model);
	if (*domain)
		put_opset(r, "", 17, model);
	return model->failed ? refuse(r, "out of memory") : NULL;
}

static plugin_status keep(reader *r, const berth_strbuf *model)
{
	second_node *n = r->out;
	const char *name;
	TRY(CALL(r->api, NODE_NAME, plugin_status, (const void *, const char **), r->node, &name));
	n->name = strdup(name);
	n->model = malloc(model->len);
	n->size = model->len;
	if (!n->name || !n->model)
		return refuse(r, "out of memory");
	memcpy(n->model, model->text, model->len);
	return NULL;
}

plugin_status second_node_read(const plugin_place *api, const void *node, second_node *out)
{
	reader r = {.api = api, .node = node, .out = out};
	berth_strbuf model = {.mem = &r.mem};
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
