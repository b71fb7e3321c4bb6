/* The outermost messages of onnx.proto (ModelProto, GraphProto) to an onnx_model. */
#include "onnx_read.h"

#include <string.h>

static berth_status read_input(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	int32_t v;
	BERTH_TRY(onnx_read_value_info(m, NULL, w, f, "an input of the graph", &v, err));
	if (m->value[v].input >= 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: the graph has two inputs '%.80s'",
		                  m->file, f->tag_at, m->value[v].name);
	BERTH_TRY(BERTH_GROW(m->tmp, m->input, m->n_inputs, &m->cap_input, err));
	m->value[v].input = (int32_t)m->n_inputs;
	m->input[m->n_inputs++] = v;
	return BERTH_OK;
}

static berth_status read_output(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	int32_t v;
	BERTH_TRY(onnx_read_value_info(m, NULL, w, f, "an output of the graph", &v, err));
	if (m->value[v].is_output)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(m->tmp, m->output, m->n_outputs, &m->cap_output, err));
	m->value[v].is_output = true;
	m->output[m->n_outputs++] = v;
	return BERTH_OK;
}

static berth_status on_graph(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                             berth_err *err)
{
	int32_t v;
	(void)ctx;
	switch (f->number) {
	case 1: return onnx_read_node(m, NULL, w, f, err);
	case 2: return onnx_wire_text(w, f, "name of the graph", m->tmp, &m->name, err);
	case 5: case 15: return onnx_read_initializer(m, NULL, w, f, &v, err);
	case 11: return read_input(m, w, f, err);
	case 12: return read_output(m, w, f, err);
	case 13: return onnx_read_value_info(m, NULL, w, f, "a value_info", &v, err);
	default: return BERTH_OK;
	}
}

typedef struct opset {
	const char *domain;
	int64_t version;
} opset;

static berth_status on_opset(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                             berth_err *err)
{
	opset *o = ctx;
	if (f->number == 1)
		return onnx_wire_text(w, f, "domain of an opset", m->tmp, &o->domain, err);
	if (f->number == 2) {
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_VARINT, "version of an opset", err));
		o->version = (int64_t)f->value;
	}
	return BERTH_OK;
}

static berth_status read_opset(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	opset o = {"", 0};
	BERTH_TRY(onnx_each_field_inside(m, &o, w, f, "opset_import", on_opset, err));
	m->has_opset = true;
	if (!*o.domain || strcmp(o.domain, "ai.onnx") == 0)
		m->opset = o.version;
	return BERTH_OK;
}

/* Room for the lists of the main graph, so that they need not grow: the old storage of a list that grows
 * stays. */
static berth_status on_graph_count(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                   berth_err *err)
{
	size_t *n = ctx;
	(void)m, (void)w, (void)err;
	n[0] += f->number == 1;
	n[1] += f->number == 5 || f->number == 15;
	n[2] += f->number == 11;
	return BERTH_OK;
}

static berth_status reserve(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	size_t n[3] = {0};
	BERTH_TRY(onnx_each_field_inside(m, n, w, f, "the graph", on_graph_count, err));
	if (m->node || m->value)
		return BERTH_OK; /* a second graph in one file */
	m->cap_node = n[0];
	m->cap_tensor = m->cap_tensor_value = n[1];
	m->cap_value = n[0] + n[1] + n[2];
	BERTH_TRY(berth_strmap_reserve(&m->values, m->cap_value, err));
	BERTH_TRY(BERTH_NEW(m->tmp, m->node, m->cap_node, err));
	BERTH_TRY(BERTH_NEW(m->tmp, m->tensor, m->cap_tensor, err));
	BERTH_TRY(BERTH_NEW(m->tmp, m->tensor_value, m->cap_tensor_value, err));
	return BERTH_NEW(m->tmp, m->value, m->cap_value, err);
}

static berth_status on_model(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                             berth_err *err)
{
	bool *has_graph = ctx;
	switch (f->number) {
	case 1:
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_VARINT, "ir_version", err));
		m->ir_version = (int64_t)f->value;
		return BERTH_OK;
	case 7:
		*has_graph = true;
		BERTH_TRY(reserve(m, w, f, err));
		return onnx_each_field_inside(m, NULL, w, f, "the graph", on_graph, err);
	case 8: return read_opset(m, w, f, err);
	default: return BERTH_OK;
	}
}

/* Functions stand behind the graph that calls them. */
static berth_status on_model_functions(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                       berth_err *err)
{
	(void)ctx;
	return f->number == 25 ? onnx_list_function(m, w, f, err) : BERTH_OK;
}

berth_status onnx_read_model(onnx_model *m, berth_err *err)
{
	bool has_graph = false;
	berth_strmap_init(&m->values, m->tmp);
	berth_strmap_init(&m->symbols, m->tmp);
	berth_strmap_init(&m->warned, m->tmp);
	berth_strmap_init(&m->functions, m->tmp);
	BERTH_TRY(BERTH_NEW(m->tmp, m->external, 1, err));
	berth_strmap_init(&m->external->seen, m->tmp);
	m->name = "";
	if (m->size == 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: the file is empty; expected an ONNX model",
		                  m->file);
	BERTH_TRY(
		onnx_each_field(m, NULL, (onnx_wire){m->file, m->data, 0, m->size}, on_model_functions, err));
	BERTH_TRY(onnx_each_field(m, &has_graph, (onnx_wire){m->file, m->data, 0, m->size}, on_model, err));
	if (!has_graph)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: no graph in the file; expected an ONNX model (field 7)", m->file);
	if (!m->has_opset && (m->ir_version >= 3 || m->ir_version <= 0))
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: no opset_import; expected one from IR version 3 on (is the file cut off?)",
			m->file);
	if (m->opset <= 0)
		m->opset = 1; /* a file older than opsets, or without operators of the default domain */
	return BERTH_OK;
}
