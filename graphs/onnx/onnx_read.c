/* The outermost messages of onnx.proto (ModelProto, GraphProto) to an onnx_model: what they declare
 * (ValueInfoProto, AttributeProto, initializers), and what names mean where they stand. Bodies of If, Loop
 * and Scan see the names around them. Functions see only their inputs. */
#include "onnx_model.h"

/* ---- fields and values ---- */

berth_status onnx_each_field(onnx_model *m, void *ctx, protobuf w, onnx_field_fn visit)
{
	protobuf_field f;
	bool more;
	for (;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, m->err));
		if (!more)
			return BERTH_OK;
		BERTH_TRY(visit(m, ctx, &w, &f));
	}
}

berth_status onnx_each_field_inside(onnx_model *m, void *ctx, const protobuf *w, const protobuf_field *f,
                                    const char *what, onnx_field_fn visit)
{
	BERTH_TRY(protobuf_expect(w, f, PROTOBUF_BYTES, what, m->err));
	return onnx_each_field(m, ctx, protobuf_inside(w, f), visit);
}

berth_status onnx_read_text(const onnx_model *m, const protobuf *w, const protobuf_field *f, const char *what,
                            const char **out)
{
	return protobuf_text(w, f, what, m->tmp, out, m->err);
}

/* ---- names ---- */

static berth_status new_named(onnx_model *m, onnx_scope *s, const char *name, int32_t *v)
{
	const char *full = name;
	onnx_scope *f = s;
	while (f && !f->prefix)
		f = f->outer;
	if (f) {
		full = berth_arena_printf(m->tmp, "%s/%s", f->prefix, name);
		BERTH_TRY(berth_got(full, m->err));
	}
	/* A value without a place in m->values. */
	if (m->n_values == INT32_MAX / 4)
		return berth_fail(m->err, BERTH_EFORMAT, "%s: more than %d values", m->file, INT32_MAX / 4);
	BERTH_TRY(BERTH_GROW(m->tmp, m->value, m->n_values, &m->cap_value, m->err));
	m->value[m->n_values] = (onnx_value){
		.name = full, .producer = -1, .input = -1, .rank = ONNX_UNKNOWN, .said_rank = ONNX_UNKNOWN};
	*v = (int32_t)m->n_values++;
	return berth_strmap_add(s ? &s->names : &m->values, name, *v, NULL, m->err);
}

berth_status onnx_define(onnx_model *m, onnx_scope *s, const char *name, int32_t *v)
{
	*v = *name ? berth_strmap_get(&s->names, name) : -1;
	return *v >= 0 || !*name ? BERTH_OK : new_named(m, s, name, v);
}

berth_status onnx_capture(onnx_model *m, onnx_scope *s, const char *name, int32_t v)
{
	if (!s->node)
		return BERTH_OK;
	BERTH_TRY(BERTH_PUSH(m->tmp, s->node->in, s->node->n_all, s->cap_in, m->err, v));
	return name ? berth_strmap_add(&s->names, name, v, NULL, m->err) : BERTH_OK;
}

berth_status onnx_resolve_name(onnx_model *m, onnx_scope *s, const char *name, int32_t *v)
{
	onnx_scope *at = s;
	*v = -1;
	if (!*name)
		return BERTH_OK;
	for (; at; at = at->outer) {
		*v = berth_strmap_get(&at->names, name);
		if (*v >= 0 || !at->node)
			break;
	}
	if (*v < 0 && !at)
		*v = berth_strmap_get(&m->values, name);
	if (*v < 0)
		BERTH_TRY(new_named(m, at, name, v));
	if (*v == ONNX_LEFT_OUT) {
		*v = -1;
		return BERTH_OK;
	}
	for (onnx_scope *u = s; u != at; u = u->outer)
		BERTH_TRY(onnx_capture(m, u, name, *v));
	return BERTH_OK;
}

berth_status onnx_read_value_name(onnx_model *m, onnx_scope *s, const protobuf *w, const protobuf_field *f,
                                  const char *what, int32_t *v)
{
	const char *name;
	berth_arena_mark mark = berth_arena_get_mark(m->tmp);
	BERTH_TRY(onnx_read_text(m, w, f, what, &name));
	*v = *name && !s ? berth_strmap_get(&m->values, name) : -1;
	if (*v >= 0 || !*name) {
		berth_arena_reset(m->tmp, mark);
		return BERTH_OK;
	}
	return onnx_resolve_name(m, s, name, v);
}

/* ---- declared types: ValueInfoProto ---- */

typedef struct said {
	onnx_scope *scope;
	int32_t value, elem, rank, depth;
	int64_t dim[ONNX_MAX_RANK]; /* ONNX_UNKNOWN, or -2 - symbol */
} said;

berth_status onnx_intern_symbol(onnx_model *m, const char *name, int64_t *dim)
{
	int32_t index = berth_strmap_get(&m->symbols, name);
	if (index < 0) {
		size_t cap = m->cap_symbol, same = cap, flag = cap, how = cap;
		BERTH_TRY(BERTH_GROW(m->tmp, m->symbol_value, m->n_symbols, &same, m->err));
		BERTH_TRY(BERTH_GROW(m->tmp, m->symbol_of_input, m->n_symbols, &flag, m->err));
		BERTH_TRY(BERTH_GROW(m->tmp, m->symbol_how, m->n_symbols, &how, m->err));
		BERTH_TRY(BERTH_GROW(m->tmp, m->symbol, m->n_symbols, &m->cap_symbol, m->err));
		m->symbol[m->n_symbols] = name;
		BERTH_TRY(berth_strmap_add(&m->symbols, name, (int32_t)m->n_symbols++, &index, m->err));
	}
	*dim = -2 - (int64_t)index;
	return BERTH_OK;
}

ONNX_FIELD(on_dim)
{
	int64_t *dim = ctx;
	if (f->number == 1) {
		BERTH_TRY(protobuf_expect(w, f, PROTOBUF_VARINT, "dim_value of a shape", m->err));
		if ((int64_t)f->value > ONNX_MAX_ELEMENTS)
			return onnx_bad(m, f->tag_at, "a dimension of %lld; expected at most 2^48",
			                (long long)f->value);
		*dim = (int64_t)f->value < 0 ? ONNX_UNKNOWN : (int64_t)f->value; /* some exporters write -1
		                                                                    for an open dimension */
	} else if (f->number == 2) {
		const char *name;
		BERTH_TRY(onnx_read_text(m, w, f, "dim_param of a shape", &name));
		if (*name)
			BERTH_TRY(onnx_intern_symbol(m, name, dim));
	}
	return BERTH_OK;
}

ONNX_FIELD(on_shape)
{
	said *s = ctx;
	if (f->number != 1)
		return BERTH_OK;
	if (s->rank == ONNX_MAX_RANK)
		return onnx_bad(m, f->tag_at, "a shape of more than %d dimensions", ONNX_MAX_RANK);
	s->dim[s->rank] = ONNX_UNKNOWN;
	return onnx_each_field_inside(m, &s->dim[s->rank++], w, f, "a dimension", on_dim);
}

ONNX_FIELD(on_tensor_type)
{
	said *s = ctx;
	if (f->number == 1) {
		BERTH_TRY(protobuf_expect(w, f, PROTOBUF_VARINT, "elem_type of a tensor type", m->err));
		s->elem = f->value > 1000 ? ONNX_NONE : (int32_t)f->value;
	} else if (f->number == 2) {
		s->rank = 0;
		return onnx_each_field_inside(m, s, w, f, "shape of a tensor type", on_shape);
	}
	return BERTH_OK;
}

/* Sequences and optional values: as one of what they hold. */
ONNX_FIELD(on_type);

ONNX_FIELD(on_holder)
{
	said *s = ctx;
	if (f->number != 1)
		return BERTH_OK;
	if (++s->depth > ONNX_MAX_DEPTH)
		return onnx_bad(m, f->tag_at, "types nest deeper than %d", ONNX_MAX_DEPTH);
	BERTH_TRY(onnx_each_field_inside(m, s, w, f, "a type", on_type));
	s->depth--;
	return BERTH_OK;
}

ONNX_FIELD(on_type)
{
	switch (f->number) {
	case 1: case 8: return onnx_each_field_inside(m, ctx, w, f, "a tensor type", on_tensor_type);
	case 4:
	case 9:
		return onnx_each_field_inside(m, ctx, w, f, "a type that holds others", on_holder);
	default: return BERTH_OK;
	}
}

ONNX_FIELD(on_value_info)
{
	said *s = ctx;
	if (f->number == 1)
		return onnx_read_value_name(m, s->scope, w, f, "name of a value", &s->value);
	return f->number == 2 ? onnx_each_field_inside(m, s, w, f, "type of a value", on_type)
	                      : BERTH_OK;
}

berth_status onnx_read_value_info(onnx_model *m, onnx_scope *scope, const protobuf *w,
                                  const protobuf_field *f,
                                  const char *what, int32_t *value)
{
	said s = {.scope = scope, .value = -1, .rank = ONNX_UNKNOWN};
	BERTH_TRY(onnx_each_field_inside(m, &s, w, f, what, on_value_info));
	if (s.value < 0)
		return onnx_bad(m, f->tag_at, "%s without a name", what);
	onnx_value *v = &m->value[s.value];
	*value = s.value;
	v->said_elem = s.elem;
	v->said_rank = s.rank;
	BERTH_TRY_NEW(m->tmp, s.rank < 0 ? 0 : s.rank, m->err, v->said_dim);
	if (s.rank > 0)
		memcpy(v->said_dim, s.dim, (size_t)s.rank * sizeof *s.dim);
	return BERTH_OK;
}

/* ---- attributes and initializers ---- */

ONNX_FIELD(on_attr)
{
	onnx_attr *a = ctx;
	switch (f->number) {
	case 1: return onnx_read_text(m, w, f, "name of an attribute", &a->name);
	case 2:
		BERTH_TRY(protobuf_expect(w, f, PROTOBUF_FIXED32, "f of an attribute", m->err));
		a->is.f = protobuf_float((uint32_t)f->value);
		a->kind = ONNX_ATTR_FLOAT;
		return BERTH_OK;
	case 3:
		BERTH_TRY(protobuf_expect(w, f, PROTOBUF_VARINT, "i of an attribute", m->err));
		a->is.i = (int64_t)f->value;
		a->kind = ONNX_ATTR_INT;
		return BERTH_OK;
	case 4:
		BERTH_TRY(protobuf_expect(w, f, PROTOBUF_BYTES, "s of an attribute", m->err));
		a->is.text_at = f->at;
		a->text_len = f->end - f->at > UINT32_MAX ? 0 : (uint32_t)(f->end - f->at);
		a->kind = ONNX_ATTR_TEXT;
		return BERTH_OK;
	case 21: return onnx_read_text(m, w, f, "ref_attr_name of an attribute", &a->ref);
	case 5: case 22:
		BERTH_TRY(protobuf_expect(w, f, PROTOBUF_BYTES, "tensor of an attribute", m->err));
		BERTH_TRY_NEW(m->tmp, 1, m->err, a->tensor);
		return onnx_read_tensor(m, protobuf_inside(w, f), f->number == 22, a->tensor);
	default: return BERTH_OK;
	}
}

berth_status onnx_read_attr(onnx_model *m, onnx_attr *a, const protobuf *w, const protobuf_field *f)
{
	*a = (onnx_attr){.name = "", .at = f->at, .end = f->end};
	return onnx_each_field_inside(m, a, w, f, "an attribute", on_attr);
}

berth_status onnx_read_initializer(onnx_model *m, onnx_scope *s, const protobuf *w, const protobuf_field *f,
                                   int32_t *value)
{
	BERTH_TRY(protobuf_expect(w, f, PROTOBUF_BYTES, "an initializer", m->err));
	BERTH_TRY(BERTH_GROW(m->tmp, m->tensor, m->n_tensors, &m->cap_tensor, m->err));
	BERTH_TRY(BERTH_GROW(m->tmp, m->tensor_value, m->n_tensors, &m->cap_tensor_value, m->err));
	onnx_tensor *t = &m->tensor[m->n_tensors];
	BERTH_TRY(onnx_read_tensor(m, protobuf_inside(w, f), f->number == 15, t));
	if (!*t->name)
		return onnx_bad(m, f->tag_at, "an initializer without a name");
	BERTH_TRY(s ? onnx_define(m, s, t->name, value)
	            : onnx_resolve_name(m, NULL, t->name, value));
	m->tensor_value[m->n_tensors++] = *value;
	return BERTH_OK;
}

/* ---- the model ---- */

static berth_status read_input(onnx_model *m, const protobuf *w, const protobuf_field *f)
{
	int32_t v;
	BERTH_TRY(onnx_read_value_info(m, NULL, w, f, "an input of the graph", &v));
	if (m->value[v].input >= 0)
		return onnx_bad(m, f->tag_at, "the graph has two inputs '%.80s'", m->value[v].name);
	BERTH_TRY(BERTH_GROW(m->tmp, m->input, m->n_inputs, &m->cap_input, m->err));
	m->value[v].input = (int32_t)m->n_inputs;
	m->input[m->n_inputs++] = v;
	return BERTH_OK;
}

static berth_status read_output(onnx_model *m, const protobuf *w, const protobuf_field *f)
{
	int32_t v;
	BERTH_TRY(onnx_read_value_info(m, NULL, w, f, "an output of the graph", &v));
	if (m->value[v].is_output)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(m->tmp, m->output, m->n_outputs, &m->cap_output, m->err));
	m->value[v].is_output = true;
	m->output[m->n_outputs++] = v;
	return BERTH_OK;
}

ONNX_FIELD(on_graph)
{
	int32_t v;
	(void)ctx;
	switch (f->number) {
	case 1: return onnx_read_node(m, NULL, w, f);
	case 2: return onnx_read_text(m, w, f, "name of the graph", &m->name);
	case 5: case 15: return onnx_read_initializer(m, NULL, w, f, &v);
	case 11: return read_input(m, w, f);
	case 12: return read_output(m, w, f);
	case 13: return onnx_read_value_info(m, NULL, w, f, "a value_info", &v);
	default: return BERTH_OK;
	}
}

typedef struct opset {
	const char *domain;
	int64_t version;
} opset;

ONNX_FIELD(on_opset)
{
	opset *o = ctx;
	if (f->number == 1)
		return onnx_read_text(m, w, f, "domain of an opset", &o->domain);
	if (f->number == 2) {
		BERTH_TRY(protobuf_expect(w, f, PROTOBUF_VARINT, "version of an opset", m->err));
		o->version = (int64_t)f->value;
	}
	return BERTH_OK;
}

static berth_status read_opset(onnx_model *m, const protobuf *w, const protobuf_field *f)
{
	opset o = {"", 0};
	BERTH_TRY(onnx_each_field_inside(m, &o, w, f, "opset_import", on_opset));
	m->has_opset = true;
	if (!*o.domain || strcmp(o.domain, "ai.onnx") == 0)
		m->opset = o.version;
	return BERTH_OK;
}

/* Room for the lists of the main graph, so that they need not grow: the old storage of a list that grows
 * stays. */
ONNX_FIELD(on_graph_count)
{
	size_t *n = ctx;
	(void)m, (void)w;
	n[0] += f->number == 1;
	n[1] += f->number == 5 || f->number == 15;
	n[2] += f->number == 11;
	return BERTH_OK;
}

static berth_status reserve(onnx_model *m, const protobuf *w, const protobuf_field *f)
{
	size_t n[3] = {0};
	BERTH_TRY(onnx_each_field_inside(m, n, w, f, "the graph", on_graph_count));
	if (m->node || m->value)
		return BERTH_OK; /* a second graph in one file */
	m->cap_node = n[0];
	m->cap_tensor = m->cap_tensor_value = n[1];
	m->cap_value = n[0] + n[1] + n[2];
	BERTH_TRY(berth_strmap_reserve(&m->values, m->cap_value, m->err));
	BERTH_TRY_NEW(m->tmp, m->cap_node, m->err, m->node);
	BERTH_TRY_NEW(m->tmp, m->cap_tensor, m->err, m->tensor);
	BERTH_TRY_NEW(m->tmp, m->cap_tensor_value, m->err, m->tensor_value);
	return BERTH_NEW(m->tmp, m->value, m->cap_value, m->err);
}

ONNX_FIELD(on_model)
{
	bool *has_graph = ctx;
	switch (f->number) {
	case 1:
		BERTH_TRY(protobuf_expect(w, f, PROTOBUF_VARINT, "ir_version", m->err));
		m->ir_version = (int64_t)f->value;
		return BERTH_OK;
	case 7:
		*has_graph = true;
		BERTH_TRY(reserve(m, w, f));
		return onnx_each_field_inside(m, NULL, w, f, "the graph", on_graph);
	case 8: return read_opset(m, w, f);
	default: return BERTH_OK;
	}
}

/* Functions stand behind the graph that calls them. */
ONNX_FIELD(on_model_functions)
{
	(void)ctx;
	return f->number == 25 ? onnx_list_function(m, w, f) : BERTH_OK;
}

berth_status onnx_read_model(onnx_model *m)
{
	bool has_graph = false;
	berth_strmap_init(&m->values, m->tmp);
	berth_strmap_init(&m->symbols, m->tmp);
	berth_strmap_init(&m->warned, m->tmp);
	berth_strmap_init(&m->functions, m->tmp);
	BERTH_TRY_NEW(m->tmp, 1, m->err, m->external);
	berth_strmap_init(&m->external->seen, m->tmp);
	m->name = "";
	if (m->size == 0)
		return berth_fail(m->err, BERTH_EFORMAT, "%s: the file is empty; expected an ONNX model",
		                  m->file);
	BERTH_TRY(
		onnx_each_field(m, NULL, (protobuf){m->file, m->data, 0, m->size}, on_model_functions));
	BERTH_TRY(onnx_each_field(m, &has_graph, (protobuf){m->file, m->data, 0, m->size}, on_model));
	if (!has_graph)
		return berth_fail(m->err, BERTH_EFORMAT,
		                  "%s: no graph in the file; expected an ONNX model (field 7)", m->file);
	if (!m->has_opset && (m->ir_version >= 3 || m->ir_version <= 0))
		return berth_fail(
			m->err, BERTH_EFORMAT,
			"%s: no opset_import; expected one from IR version 3 on (is the file cut off?)",
			m->file);
	/* What a newer opset has changed is not known. */
	if (m->opset <= 0)
		m->opset = 1; /* a file older than opsets, or without operators of the default domain */
	if (m->opset <= ONNX_NEWEST_OPSET)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(m->tmp, m->warning, m->n_warnings, &m->cap_warning, m->err));
	m->warning[m->n_warnings++] = berth_arena_printf(
		m->tmp,
		"opset %lld is newer than %d, the newest that is known: operators are read as those of %d",
		(long long)m->opset, ONNX_NEWEST_OPSET, ONNX_NEWEST_OPSET);
	return berth_got(m->warning[m->n_warnings - 1], m->err);
}
