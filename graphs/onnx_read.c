/* From the messages of onnx.proto (ModelProto, GraphProto, NodeProto, AttributeProto, ValueInfoProto) to an onnx_model.
 * Bodies of If, Loop and Scan are looked into only for what they take from outside and for the parameters they hold. */
#include "onnx_model.h"

#include <string.h>

/* A visitor of the fields of a message. */
typedef berth_status (*field_fn)(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err);

static berth_status each_field(onnx_model *m, void *ctx, onnx_wire w, field_fn visit, berth_err *err)
{
	onnx_field f;
	bool more;
	for (;;) {
		BERTH_TRY(onnx_wire_next(&w, &f, &more, err));
		if (!more)
			return BERTH_OK;
		BERTH_TRY(visit(m, ctx, &w, &f, err));
	}
}

static berth_status each_field_inside(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, const char *what, field_fn visit, berth_err *err)
{
	BERTH_TRY(onnx_wire_expect(w, f, ONNX_BYTES, what, err));
	return each_field(m, ctx, onnx_wire_inside(w, f), visit, err);
}

/* Index of the value of that name, made on first sight; "" is -1. name may lie in scratch. */
static berth_status intern_value(onnx_model *m, const char *name, int32_t *v, berth_err *err)
{
	*v = *name ? berth_strmap_get(&m->values, name) : -1;
	if (*v >= 0 || !*name)
		return BERTH_OK;
	if (m->n_values == INT32_MAX / 4)
		return berth_fail(err, BERTH_EFORMAT, "%s: more than %d values", m->file, INT32_MAX / 4);
	BERTH_TRY(BERTH_GROW(m->tmp, m->value, m->n_values, &m->cap_value, err));
	m->value[m->n_values] = (onnx_value){.name = name, .producer = -1, .input = -1, .rank = ONNX_UNKNOWN, .said_rank = ONNX_UNKNOWN};
	return berth_strmap_add(&m->values, name, (int32_t)m->n_values++, v, err);
}

/* The value named by a text field. A name known already leaves nothing in the arena. */
static berth_status read_value_name(onnx_model *m, const onnx_wire *w, const onnx_field *f, const char *what, int32_t *v, berth_err *err)
{
	const char *name;
	berth_arena_mark mark = berth_arena_get_mark(m->tmp);
	BERTH_TRY(onnx_wire_text(w, f, what, m->tmp, &name, err));
	*v = *name ? berth_strmap_get(&m->values, name) : -1;
	if (*v >= 0 || !*name) {
		berth_arena_reset(m->tmp, mark);
		return BERTH_OK;
	}
	return intern_value(m, name, v, err);
}

/* ---- declared types: ValueInfoProto ---- */

typedef struct said {
	int32_t value, elem, rank;
	int64_t dim[ONNX_MAX_RANK]; /* ONNX_UNKNOWN, or -2 - symbol */
} said;

static berth_status intern_symbol(onnx_model *m, const char *name, int64_t *dim, berth_err *err)
{
	int32_t index = berth_strmap_get(&m->symbols, name);
	if (index < 0) {
		size_t cap = m->cap_symbol, same = cap, flag = cap;
		BERTH_TRY(BERTH_GROW(m->tmp, m->symbol_value, m->n_symbols, &same, err));
		BERTH_TRY(BERTH_GROW(m->tmp, m->symbol_of_input, m->n_symbols, &flag, err));
		BERTH_TRY(BERTH_GROW(m->tmp, m->symbol, m->n_symbols, &m->cap_symbol, err));
		m->symbol[m->n_symbols] = name;
		BERTH_TRY(berth_strmap_add(&m->symbols, name, (int32_t)m->n_symbols++, &index, err));
	}
	*dim = -2 - (int64_t)index;
	return BERTH_OK;
}

static berth_status on_dim(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	int64_t *dim = ctx;
	if (f->number == 1) {
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_VARINT, "dim_value of a shape", err));
		if ((int64_t)f->value > ONNX_MAX_ELEMENTS)
			return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: a dimension of %lld; expected at most 2^48", m->file, f->tag_at,
			                  (long long)f->value);
		*dim = (int64_t)f->value < 0 ? ONNX_UNKNOWN : (int64_t)f->value; /* some exporters write -1 for an open dimension */
	} else if (f->number == 2) {
		const char *name;
		BERTH_TRY(onnx_wire_text(w, f, "dim_param of a shape", m->tmp, &name, err));
		if (*name)
			BERTH_TRY(intern_symbol(m, name, dim, err));
	}
	return BERTH_OK;
}

static berth_status on_shape(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	said *s = ctx;
	if (f->number != 1)
		return BERTH_OK;
	if (s->rank == ONNX_MAX_RANK)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: a shape of more than %d dimensions", m->file, f->tag_at, ONNX_MAX_RANK);
	s->dim[s->rank] = ONNX_UNKNOWN;
	return each_field_inside(m, &s->dim[s->rank++], w, f, "a dimension", on_dim, err);
}

static berth_status on_tensor_type(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	said *s = ctx;
	if (f->number == 1) {
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_VARINT, "elem_type of a tensor type", err));
		s->elem = f->value > 1000 ? ONNX_NONE : (int32_t)f->value;
	} else if (f->number == 2) {
		s->rank = 0;
		return each_field_inside(m, s, w, f, "shape of a tensor type", on_shape, err);
	}
	return BERTH_OK;
}

static berth_status on_type(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	return f->number == 1 || f->number == 8 ? each_field_inside(m, ctx, w, f, "a tensor type", on_tensor_type, err) : BERTH_OK;
}

static berth_status on_value_info(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	said *s = ctx;
	if (f->number == 1)
		return read_value_name(m, w, f, "name of a value", &s->value, err);
	return f->number == 2 ? each_field_inside(m, s, w, f, "type of a value", on_type, err) : BERTH_OK;
}

static berth_status read_value_info(onnx_model *m, const onnx_wire *w, const onnx_field *f, const char *what, int32_t *value, berth_err *err)
{
	said s = {.value = -1, .rank = ONNX_UNKNOWN};
	BERTH_TRY(each_field_inside(m, &s, w, f, what, on_value_info, err));
	if (s.value < 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: %s without a name", m->file, f->tag_at, what);
	onnx_value *v = &m->value[s.value];
	*value = s.value;
	v->said_elem = s.elem;
	v->said_rank = s.rank;
	BERTH_TRY(BERTH_NEW(m->tmp, v->said_dim, s.rank < 0 ? 0 : s.rank, err));
	if (s.rank > 0)
		memcpy(v->said_dim, s.dim, (size_t)s.rank * sizeof *s.dim);
	return BERTH_OK;
}

/* ---- bodies ---- */

typedef struct scope {
	berth_strmap names; /* defined in this body */
	struct scope *outer;
} scope;

typedef struct body {
	onnx_node *node; /* the node of the main graph */
	scope *in;
	int depth;
	size_t cap; /* of node->in */
} body;

static berth_status read_body(onnx_model *m, body *b, const onnx_wire *w, const onnx_field *f, berth_err *err);

static berth_status define(onnx_model *m, scope *s, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	const char *name;
	int32_t found;
	BERTH_TRY(onnx_wire_text(w, f, "a name inside a body", m->tmp, &name, err));
	return berth_strmap_add(&s->names, name, 0, &found, err);
}

static berth_status on_body_input(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	return f->number == 1 ? define(m, ((body *)ctx)->in, w, f, err) : BERTH_OK;
}

static berth_status on_body_node_output(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	return f->number == 2 ? define(m, ((body *)ctx)->in, w, f, err) : BERTH_OK;
}

static berth_status define_tensor(onnx_model *m, body *b, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	onnx_tensor t;
	int32_t found;
	BERTH_TRY(onnx_wire_expect(w, f, ONNX_BYTES, "an initializer", err));
	BERTH_TRY(onnx_read_tensor(m, onnx_wire_inside(w, f), f->number == 15, &t, err));
	if (onnx_elem_is_real(t.elem) || onnx_elem_is_quantised(t.elem)) {
		b->node->body_bytes = onnx_times(b->node->body_bytes + t.bytes, 1);
		b->node->body_elements = onnx_times(b->node->body_elements + t.count, 1);
	}
	return berth_strmap_add(&b->in->names, t.name, 0, &found, err);
}

/* First pass over a body: what it defines. */
static berth_status on_body_definition(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	switch (f->number) {
	case 1: return each_field_inside(m, ctx, w, f, "a node", on_body_node_output, err);
	case 5: case 15: return define_tensor(m, ctx, w, f, err);
	case 11: return each_field_inside(m, ctx, w, f, "an input", on_body_input, err);
	default: return BERTH_OK;
	}
}

/* A name used in a body that no body around it defines comes from the main graph: an input of the node. */
static berth_status capture(onnx_model *m, body *b, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	const char *name;
	int32_t v, found;
	BERTH_TRY(onnx_wire_text(w, f, "a name inside a body", m->tmp, &name, err));
	scope *last = b->in;
	for (scope *s = b->in; s; last = s, s = s->outer)
		if (!*name || berth_strmap_get(&s->names, name) >= 0)
			return BERTH_OK;
	BERTH_TRY(intern_value(m, name, &v, err));
	BERTH_TRY(BERTH_GROW(m->tmp, b->node->in, b->node->n_all, &b->cap, err));
	b->node->in[b->node->n_all++] = v;
	return berth_strmap_add(&last->names, name, 0, &found, err);
}

static berth_status on_body_attr(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	return f->number == 6 || f->number == 11 ? read_body(m, ctx, w, f, err) : BERTH_OK;
}

static berth_status on_body_node(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	if (f->number == 1)
		return capture(m, ctx, w, f, err);
	return f->number == 5 ? each_field_inside(m, ctx, w, f, "an attribute", on_body_attr, err) : BERTH_OK;
}

static berth_status on_body_output(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	return f->number == 1 ? capture(m, ctx, w, f, err) : BERTH_OK;
}

/* Second pass: what it uses. */
static berth_status on_body_use(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	if (f->number == 1)
		return each_field_inside(m, ctx, w, f, "a node", on_body_node, err);
	return f->number == 12 ? each_field_inside(m, ctx, w, f, "an output", on_body_output, err) : BERTH_OK;
}

static berth_status read_body(onnx_model *m, body *b, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	if (b->depth == ONNX_MAX_DEPTH)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: bodies nest deeper than %d", m->file, f->tag_at, ONNX_MAX_DEPTH);
	scope inner = {.outer = b->in};
	scope *outer = b->in;
	berth_strmap_init(&inner.names, m->tmp);
	b->in = &inner;
	b->depth++;
	BERTH_TRY(each_field_inside(m, b, w, f, "a body", on_body_definition, err));
	BERTH_TRY(each_field_inside(m, b, w, f, "a body", on_body_use, err));
	b->depth--;
	b->in = outer;
	return BERTH_OK;
}

/* ---- nodes ---- */

static berth_status on_attr(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	onnx_attr *a = ctx;
	switch (f->number) {
	case 1: return onnx_wire_text(w, f, "name of an attribute", m->tmp, &a->name, err);
	case 2:
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_FIXED32, "f of an attribute", err));
		a->f = onnx_wire_float((uint32_t)f->value);
		a->has_f = true;
		return BERTH_OK;
	case 3:
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_VARINT, "i of an attribute", err));
		a->i = (int64_t)f->value;
		a->has_i = true;
		return BERTH_OK;
	case 4:
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_BYTES, "s of an attribute", err));
		a->s_at = f->at;
		a->s_end = f->end;
		a->has_s = true;
		return BERTH_OK;
	case 5: case 22:
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_BYTES, "tensor of an attribute", err));
		BERTH_TRY(BERTH_NEW(m->tmp, a->tensor, 1, err));
		return onnx_read_tensor(m, onnx_wire_inside(w, f), f->number == 22, a->tensor, err);
	default: return BERTH_OK;
	}
}

static berth_status read_attr(onnx_model *m, onnx_node *n, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	onnx_attr *a = &n->attr[n->n_attrs++];
	*a = (onnx_attr){.name = "", .at = f->at, .end = f->end};
	return each_field_inside(m, a, w, f, "an attribute", on_attr, err);
}

/* First pass over a node: the lengths of its lists. */
static berth_status on_node_count(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	onnx_node *n = ctx;
	(void)m, (void)w, (void)err;
	n->n_in += f->number == 1;
	n->n_out += f->number == 2;
	n->n_attrs += f->number == 5;
	return BERTH_OK;
}

static berth_status on_node(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	onnx_node *n = ctx;
	switch (f->number) {
	case 1: return read_value_name(m, w, f, "input of a node", &n->in[n->n_in++], err);
	case 2: return read_value_name(m, w, f, "output of a node", &n->out[n->n_out++], err);
	case 3: return onnx_wire_text(w, f, "name of a node", m->tmp, &n->name, err);
	case 4: return onnx_wire_text(w, f, "op_type of a node", m->tmp, &n->type, err);
	case 5: return read_attr(m, n, w, f, err);
	case 7: return onnx_wire_text(w, f, "domain of a node", m->tmp, &n->domain, err);
	default: return BERTH_OK;
	}
}

static berth_status on_node_body(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	body *b = ctx;
	if (f->number == 6 || f->number == 11)
		b->node->has_body = true;
	return on_body_attr(m, ctx, w, f, err);
}

static berth_status on_node_bodies(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	return f->number == 5 ? each_field_inside(m, ctx, w, f, "an attribute", on_node_body, err) : BERTH_OK;
}

/* Outputs of node number index: nobody else produces them. */
static berth_status claim_outputs(onnx_model *m, const onnx_node *n, int32_t index, berth_err *err)
{
	for (int32_t o = 0; o < n->n_out; o++) {
		if (n->out[o] < 0)
			continue;
		onnx_value *v = &m->value[n->out[o]];
		if (v->producer >= 0)
			return onnx_fail(m, n, err, "output '%.80s' is made already by node '%.80s'; expected one producer", v->name,
			                 onnx_node_label(m, &m->node[v->producer]));
		v->producer = index;
	}
	return BERTH_OK;
}

static berth_status read_node(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	onnx_node n = {.name = "", .type = "", .domain = "", .at = f->tag_at};
	BERTH_TRY(each_field_inside(m, &n, w, f, "a node", on_node_count, err));
	BERTH_TRY(BERTH_NEW(m->tmp, n.in, n.n_in, err));
	BERTH_TRY(BERTH_NEW(m->tmp, n.out, n.n_out, err));
	BERTH_TRY(BERTH_NEW(m->tmp, n.attr, n.n_attrs, err));
	body b = {.node = &n, .cap = (size_t)n.n_in};
	n.n_in = n.n_out = n.n_attrs = 0;
	BERTH_TRY(each_field_inside(m, &n, w, f, "a node", on_node, err));
	if (!*n.type)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: a node without op_type", m->file, f->tag_at);
	if (strcmp(n.domain, "ai.onnx") == 0)
		n.domain = "";
	n.n_all = n.n_in;
	BERTH_TRY(each_field_inside(m, &b, w, f, "a node", on_node_bodies, err));
	if (m->n_nodes == INT32_MAX / 4)
		return berth_fail(err, BERTH_EFORMAT, "%s: more than %d nodes", m->file, INT32_MAX / 4);
	BERTH_TRY(BERTH_GROW(m->tmp, m->node, m->n_nodes, &m->cap_node, err));
	m->node[m->n_nodes] = n;
	return claim_outputs(m, &n, (int32_t)m->n_nodes++, err);
}

/* ---- graph and model ---- */

static berth_status read_initializer(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	int32_t v;
	BERTH_TRY(onnx_wire_expect(w, f, ONNX_BYTES, "an initializer", err));
	BERTH_TRY(BERTH_GROW(m->tmp, m->tensor, m->n_tensors, &m->cap_tensor, err));
	BERTH_TRY(BERTH_GROW(m->tmp, m->tensor_value, m->n_tensors, &m->cap_tensor_value, err));
	onnx_tensor *t = &m->tensor[m->n_tensors];
	BERTH_TRY(onnx_read_tensor(m, onnx_wire_inside(w, f), f->number == 15, t, err));
	if (!*t->name)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: an initializer without a name", m->file, f->tag_at);
	BERTH_TRY(intern_value(m, t->name, &v, err));
	m->tensor_value[m->n_tensors++] = v;
	return BERTH_OK;
}

static berth_status read_input(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	int32_t v;
	BERTH_TRY(read_value_info(m, w, f, "an input of the graph", &v, err));
	if (m->value[v].input >= 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: the graph has two inputs '%.80s'", m->file, f->tag_at, m->value[v].name);
	BERTH_TRY(BERTH_GROW(m->tmp, m->input, m->n_inputs, &m->cap_input, err));
	m->value[v].input = (int32_t)m->n_inputs;
	m->input[m->n_inputs++] = v;
	return BERTH_OK;
}

static berth_status read_output(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	int32_t v;
	BERTH_TRY(read_value_info(m, w, f, "an output of the graph", &v, err));
	if (m->value[v].is_output)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(m->tmp, m->output, m->n_outputs, &m->cap_output, err));
	m->value[v].is_output = true;
	m->output[m->n_outputs++] = v;
	return BERTH_OK;
}

static berth_status on_graph(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	int32_t v;
	(void)ctx;
	switch (f->number) {
	case 1: return read_node(m, w, f, err);
	case 2: return onnx_wire_text(w, f, "name of the graph", m->tmp, &m->name, err);
	case 5: case 15: return read_initializer(m, w, f, err);
	case 11: return read_input(m, w, f, err);
	case 12: return read_output(m, w, f, err);
	case 13: return read_value_info(m, w, f, "a value_info", &v, err);
	default: return BERTH_OK;
	}
}

typedef struct opset {
	const char *domain;
	int64_t version;
} opset;

static berth_status on_opset(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
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
	BERTH_TRY(each_field_inside(m, &o, w, f, "opset_import", on_opset, err));
	m->has_opset = true;
	if (!*o.domain || strcmp(o.domain, "ai.onnx") == 0)
		m->opset = o.version;
	return BERTH_OK;
}

static berth_status on_model(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	bool *has_graph = ctx;
	switch (f->number) {
	case 1:
		BERTH_TRY(onnx_wire_expect(w, f, ONNX_VARINT, "ir_version", err));
		m->ir_version = (int64_t)f->value;
		return BERTH_OK;
	case 7:
		*has_graph = true;
		return each_field_inside(m, NULL, w, f, "the graph", on_graph, err);
	case 8: return read_opset(m, w, f, err);
	default: return BERTH_OK;
	}
}

berth_status onnx_read_model(onnx_model *m, berth_err *err)
{
	bool has_graph = false;
	berth_strmap_init(&m->values, m->tmp);
	berth_strmap_init(&m->symbols, m->tmp);
	berth_strmap_init(&m->warned, m->tmp);
	m->name = "";
	if (m->size == 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: the file is empty; expected an ONNX model", m->file);
	BERTH_TRY(each_field(m, &has_graph, (onnx_wire){m->file, m->data, 0, m->size}, on_model, err));
	if (!has_graph)
		return berth_fail(err, BERTH_EFORMAT, "%s: no graph in the file; expected an ONNX model (field 7)", m->file);
	if (!m->has_opset && (m->ir_version >= 3 || m->ir_version <= 0))
		return berth_fail(err, BERTH_EFORMAT, "%s: no opset_import; expected one from IR version 3 on (is the file cut off?)", m->file);
	if (m->opset <= 0)
		m->opset = 1; /* a file older than opsets, or without operators of the default domain */
	return BERTH_OK;
}
