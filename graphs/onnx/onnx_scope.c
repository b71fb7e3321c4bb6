/* Places of a model that have names of their own: bodies of If, Loop and Scan (GraphProto in an attribute),
 * which see the names around them, and functions (FunctionProto), which see only their inputs. A body stays
 * in its node; the call of a function is replaced by the function's nodes. */
#include "onnx_read.h"

#include "onnx_infer.h"

#include <string.h>

/* ---- names ---- */

static berth_status new_named(onnx_model *m, onnx_scope *s, const char *name, int32_t *v, berth_err *err)
{
	int32_t found;
	const char *full = name;
	onnx_scope *f = s;
	while (f && !f->prefix)
		f = f->outer;
	if (f) {
		full = berth_arena_printf(m->tmp, "%s/%s", f->prefix, name);
		if (!full)
			return berth_nomem(err);
	}
	BERTH_TRY(onnx_new_value(m, full, v, err));
	return berth_strmap_add(s ? &s->names : &m->values, name, *v, &found, err);
}

berth_status onnx_define(onnx_model *m, onnx_scope *s, const char *name, int32_t *v, berth_err *err)
{
	*v = *name ? berth_strmap_get(&s->names, name) : -1;
	return *v >= 0 || !*name ? BERTH_OK : new_named(m, s, name, v, err);
}

/* Value v is used in the body s: an input of its node. */
static berth_status capture(onnx_model *m, onnx_scope *s, const char *name, int32_t v, berth_err *err)
{
	int32_t found;
	if (!s->node)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(m->tmp, s->node->in, s->node->n_all, s->cap_in, err));
	s->node->in[s->node->n_all++] = v;
	return name ? berth_strmap_add(&s->names, name, v, &found, err) : BERTH_OK;
}

berth_status onnx_resolve_name(onnx_model *m, onnx_scope *s, const char *name, int32_t *v, berth_err *err)
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
		BERTH_TRY(new_named(m, at, name, v, err));
	if (*v == ONNX_LEFT_OUT) {
		*v = -1;
		return BERTH_OK;
	}
	for (onnx_scope *u = s; u != at; u = u->outer)
		BERTH_TRY(capture(m, u, name, *v, err));
	return BERTH_OK;
}

/* ---- bodies ---- */

typedef struct body_reading {
	onnx_scope *scope;
	onnx_body *body;
} body_reading;

static berth_status define_field(onnx_model *m, onnx_scope *s, const onnx_wire *w, const onnx_field *f,
                                 berth_err *err)
{
	const char *name;
	int32_t v;
	BERTH_TRY(onnx_wire_text(w, f, "a name inside a body", m->tmp, &name, err));
	return onnx_define(m, s, name, &v, err);
}

static berth_status on_body_node_output(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                        berth_err *err)
{
	return f->number == 2 ? define_field(m, ctx, w, f, err) : BERTH_OK;
}

static berth_status on_value_name(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                  berth_err *err)
{
	return f->number == 1 ? define_field(m, ctx, w, f, err) : BERTH_OK;
}

static berth_status read_body_input(onnx_model *m, body_reading *b, const onnx_wire *w, const onnx_field *f,
                                    berth_err *err)
{
	int32_t v;
	BERTH_TRY(onnx_each_field_inside(m, b->scope, w, f, "an input", on_value_name, err));
	BERTH_TRY(onnx_read_value_info(m, b->scope, w, f, "an input of a body", &v, err));
	BERTH_TRY(BERTH_GROW(m->tmp, b->body->in, b->body->n_in, &b->body->cap_in, err));
	b->body->in[b->body->n_in++] = v;
	return BERTH_OK;
}

/* An initializer of a body is an input of every node around it, as if it stood outside. */
static berth_status read_body_initializer(onnx_model *m, onnx_scope *s, const onnx_wire *w,
                                          const onnx_field *f, berth_err *err)
{
	int32_t v;
	BERTH_TRY(onnx_read_initializer(m, s, w, f, &v, err));
	for (; s; s = s->outer)
		BERTH_TRY(capture(m, s, NULL, v, err));
	return BERTH_OK;
}

/* First pass over a body: what it defines. */
static berth_status on_body_definition(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                       berth_err *err)
{
	body_reading *b = ctx;
	switch (f->number) {
	case 1: return onnx_each_field_inside(m, b->scope, w, f, "a node", on_body_node_output, err);
	case 5: case 15: return read_body_initializer(m, b->scope, w, f, err);
	case 11: return read_body_input(m, b, w, f, err);
	default: return BERTH_OK;
	}
}

static berth_status on_body_output(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                   berth_err *err)
{
	body_reading *b = ctx;
	const char *name;
	int32_t v;
	if (f->number != 1)
		return BERTH_OK;
	BERTH_TRY(onnx_wire_text(w, f, "an output of a body", m->tmp, &name, err));
	BERTH_TRY(onnx_resolve_name(m, b->scope, name, &v, err));
	BERTH_TRY(BERTH_GROW(m->tmp, b->body->out, b->body->n_out, &b->body->cap_out, err));
	b->body->out[b->body->n_out++] = v;
	return BERTH_OK;
}

/* Second pass: its nodes, and what it hands out. */
static berth_status on_body_use(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                berth_err *err)
{
	body_reading *b = ctx;
	if (f->number == 1)
		return onnx_read_node(m, b->scope, w, f, err);
	return f->number == 12 ? onnx_each_field_inside(m, b, w, f, "an output", on_body_output, err)
	                       : BERTH_OK;
}

static berth_status check_depth(const onnx_model *m, const onnx_scope *s, size_t at, berth_err *err)
{
	if (s->depth <= ONNX_MAX_DEPTH)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: bodies and functions nest deeper than %d",
	                  m->file, at, ONNX_MAX_DEPTH);
}

berth_status onnx_read_body(onnx_model *m, onnx_scope *outer, onnx_node *n, size_t *cap_in, const char *name,
                            const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	onnx_body body = {.name = name};
	onnx_scope s = {.outer = outer, .node = n, .cap_in = cap_in, .depth = outer ? outer->depth + 1 : 1};
	body_reading b = {&s, &body};
	size_t cap = (size_t)n->n_bodies;
	BERTH_TRY(check_depth(m, &s, f->tag_at, err));
	s.to = &body.nodes;
	berth_strmap_init(&s.names, m->tmp);
	BERTH_TRY(onnx_each_field_inside(m, &b, w, f, "a body", on_body_definition, err));
	BERTH_TRY(onnx_each_field_inside(m, &b, w, f, "a body", on_body_use, err));
	BERTH_TRY(BERTH_GROW(m->tmp, n->body, n->n_bodies, &cap, err));
	n->body[n->n_bodies++] = body;
	return BERTH_OK;
}

/* ---- functions ---- */

enum { MAX_INLINED_BYTES = 1 << 22 }; /* and four times the file */

typedef struct key {
	const char *name, *domain, *overload;
} key;

static berth_status on_function_key(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                    berth_err *err)
{
	key *k = ctx;
	switch (f->number) {
	case 1: return onnx_wire_text(w, f, "name of a function", m->tmp, &k->name, err);
	case 10: return onnx_wire_text(w, f, "domain of a function", m->tmp, &k->domain, err);
	case 13: return onnx_wire_text(w, f, "overload of a function", m->tmp, &k->overload, err);
	default: return BERTH_OK;
	}
}

berth_status onnx_list_function(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	key k = {"", "", ""};
	int32_t found;
	BERTH_TRY(onnx_each_field_inside(m, &k, w, f, "a function", on_function_key, err));
	const char *text = berth_arena_printf(m->tmp, "%s:%s:%s", strcmp(k.domain, "ai.onnx") ? k.domain : "",
	                                      k.name, k.overload);
	if (!text)
		return berth_nomem(err);
	BERTH_TRY(BERTH_GROW(m->tmp, m->function, m->n_functions, &m->cap_function, err));
	m->function[m->n_functions] = (onnx_function){f->at, f->end};
	BERTH_TRY(berth_strmap_add(&m->functions, text, (int32_t)m->n_functions, &found, err));
	if (found != (int32_t)m->n_functions)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: byte %zu: function '%.80s' of domain '%.80s' stands twice", m->file,
		                  f->tag_at, k.name, k.domain);
	m->n_functions++;
	return BERTH_OK;
}

berth_status onnx_find_function(onnx_model *m, const onnx_node *n, const char *overload,
                                const onnx_function **out, berth_err *err)
{
	*out = NULL;
	if (!m->n_functions || onnx_op_find(n->domain, n->type))
		return BERTH_OK; /* an operator that is known is taken as such */
	berth_arena_mark mark = berth_arena_get_mark(m->tmp);
	const char *text = berth_arena_printf(m->tmp, "%s:%s:%s", n->domain, n->type, overload);
	if (!text)
		return berth_nomem(err);
	int32_t index = berth_strmap_get(&m->functions, text);
	berth_arena_reset(m->tmp, mark);
	*out = index < 0 ? NULL : &m->function[index];
	return BERTH_OK;
}

typedef struct call_reading {
	onnx_scope *scope;
	const onnx_node *call;
	onnx_attr *missing;
	size_t cap_missing;
	int32_t n_in, n_out;
	onnx_nodes passed; /* Identity nodes: outputs that are inputs */
} call_reading;

static berth_status bind(onnx_scope *s, const char *name, int32_t value, int32_t *found, berth_err *err)
{
	return berth_strmap_add(&s->names, name, value, found, err);
}

static berth_status bind_output(onnx_model *m, call_reading *c, const char *name, int32_t value,
                                berth_err *err)
{
	int32_t found;
	BERTH_TRY(bind(c->scope, name, value, &found, err));
	if (found == value || found == ONNX_LEFT_OUT)
		return BERTH_OK;
	onnx_node same = {.name = "",
	                  .type = "Identity",
	                  .domain = "",
	                  .n_in = 1,
	                  .n_all = 1,
	                  .n_out = 1,
	                  .at = c->call->at};
	BERTH_TRY(BERTH_NEW(m->tmp, same.in, 1, err));
	BERTH_TRY(BERTH_NEW(m->tmp, same.out, 1, err));
	same.in[0] = found;
	same.out[0] = value;
	BERTH_TRY(BERTH_GROW(m->tmp, c->passed.node, c->passed.n, &c->passed.cap, err));
	c->passed.node[c->passed.n++] = same;
	return BERTH_OK;
}

static berth_status on_function_input(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                      berth_err *err)
{
	call_reading *c = ctx;
	const char *name;
	int32_t found;
	if (f->number != 4)
		return BERTH_OK;
	BERTH_TRY(onnx_wire_text(w, f, "input of a function", m->tmp, &name, err));
	int32_t i = c->n_in++, v = i < c->call->n_in ? c->call->in[i] : -1;
	return bind(c->scope, name, v < 0 ? ONNX_LEFT_OUT : v, &found, err);
}

static berth_status on_function_face(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                     berth_err *err)
{
	call_reading *c = ctx;
	if (f->number == 5) {
		const char *name;
		BERTH_TRY(onnx_wire_text(w, f, "output of a function", m->tmp, &name, err));
		int32_t o = c->n_out++, v = o < c->call->n_out ? c->call->out[o] : -1;
		return v >= 0 ? bind_output(m, c, name, v, err) : BERTH_OK;
	}
	if (f->number != 11)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(m->tmp, c->missing, c->scope->n_missing, &c->cap_missing, err));
	return onnx_read_attr(m, &c->missing[c->scope->n_missing++], w, f, err);
}

static berth_status on_function_node(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                     berth_err *err)
{
	return f->number == 7 ? onnx_read_node(m, ctx, w, f, err) : BERTH_OK;
}

static const char *call_label(const onnx_model *m, const onnx_node *call)
{
	const char *label = onnx_node_label(m, call);
	return *label ? label : call->type;
}

berth_status onnx_inline_call(onnx_model *m, onnx_scope *outer, const onnx_node *call,
                              const onnx_function *function, berth_err *err)
{
	onnx_scope s = {.outer = outer,
	                .to = outer ? outer->to : NULL,
	                .call = call,
	                .prefix = call_label(m, call),
	                .depth = outer ? outer->depth + 1 : 1};
	call_reading c = {.scope = &s, .call = call};
	onnx_wire w = {m->file, m->data, function->at, function->end};
	BERTH_TRY(check_depth(m, &s, call->at, err));
	m->inlined_bytes += function->end - function->at;
	if (m->inlined_bytes > MAX_INLINED_BYTES + 4 * m->size)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: byte %zu: calls of functions repeat more than %zu bytes", m->file,
		                  call->at, (size_t)MAX_INLINED_BYTES + 4 * m->size);
	berth_strmap_init(&s.names, m->tmp);
	BERTH_TRY(onnx_each_field(m, &c, w, on_function_input, err));
	BERTH_TRY(onnx_each_field(m, &c, w, on_function_face, err));
	s.missing = c.missing;
	BERTH_TRY(onnx_each_field(m, &s, w, on_function_node, err));
	for (size_t i = 0; i < c.passed.n; i++)
		BERTH_TRY(onnx_append_node(m, &s, &c.passed.node[i], err));
	return BERTH_OK;
}
