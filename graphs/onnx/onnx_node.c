/* Nodes (NodeProto) and what holds nodes inside of nodes: bodies of If, Loop and Scan (GraphProto in an
 * attribute) and functions (FunctionProto). A body stays in its node; the call of a function is replaced
 * by the function's nodes. */
#include "onnx_infer.h"

/* ---- lists of a node ---- */

/* A node being read. */
typedef struct reading {
	onnx_scope *scope;
	onnx_node n;
	const char *overload, *attr; /* of a function; the attribute looked into for a body */
	size_t cap_in;
	int32_t most_in, most_out, most_attrs; /* lengths of its lists, by the first pass */
} reading;

/* First pass over a node: the lengths of its lists. */
ONNX_FIELD(on_node_count)
{
	onnx_node *n = ctx;
	(void)m, (void)w;
	n->n_in += f->number == 1;
	n->n_out += f->number == 2;
	n->n_attrs += f->number == 5;
	return BERTH_OK;
}

/* Does the field go beyond the list that it belongs to? */
static bool is_one_more(const reading *r, const protobuf_field *f)
{
	const onnx_node *n = &r->n;
	return (f->number == 1 && n->n_in == r->most_in) || (f->number == 2 && n->n_out == r->most_out) ||
	       (f->number == 5 && n->n_attrs == r->most_attrs);
}

ONNX_FIELD(on_node)
{
	reading *r = ctx;
	onnx_node *n = &r->n;
	if (is_one_more(r, f))
		return onnx_bad(m, f->tag_at, "the file changed while it was read");
	switch (f->number) {
	case 1: return onnx_read_value_name(m, r->scope, w, f, "input of a node", &n->in[n->n_in++]);
	case 2: return onnx_read_value_name(m, r->scope, w, f, "output of a node", &n->out[n->n_out++]);
	case 3: return onnx_read_text(m, w, f, "name of a node", &n->name);
	case 4: return onnx_read_text(m, w, f, "op_type of a node", &n->type);
	case 5: return onnx_read_attr(m, &n->attr[n->n_attrs++], w, f);
	case 7: return onnx_read_text(m, w, f, "domain of a node", &n->domain);
	case 8: return onnx_read_text(m, w, f, "overload of a node", &r->overload);
	default: return BERTH_OK;
	}
}

static berth_status read_lists(onnx_model *m, reading *r, const protobuf *w, const protobuf_field *f)
{
	onnx_node *n = &r->n;
	BERTH_TRY(onnx_each_field_inside(m, n, w, f, "a node", on_node_count));
	if (n->n_attrs > ONNX_MAX_ATTRS)
		return onnx_bad(m, f->tag_at, "a node of %d attributes; expected at most %d",  n->n_attrs,
		                ONNX_MAX_ATTRS);
	BERTH_TRY_NEW(m->tmp, n->n_in, m->err, n->in);
	BERTH_TRY_NEW(m->tmp, n->n_out, m->err, n->out);
	if (n->n_attrs)
		BERTH_TRY_NEW(m->tmp, n->n_attrs, m->err, n->attr);
	r->cap_in = (size_t)n->n_in;
	r->most_in = n->n_in;
	r->most_out = n->n_out;
	r->most_attrs = n->n_attrs;
	n->n_in = n->n_out = n->n_attrs = 0;
	BERTH_TRY(onnx_each_field_inside(m, r, w, f, "a node", on_node));
	n->n_all = n->n_in;
	return BERTH_OK;
}

/* Inside a function: attributes that stand for those of the call; what neither the call nor the function
 * says goes away. */
static void refer_attrs(const onnx_scope *s, onnx_node *n)
{
	int32_t kept = 0;
	while (s && !s->call)
		s = s->outer;
	for (int32_t i = 0; i < n->n_attrs; i++) {
		onnx_attr a = n->attr[i];
		const onnx_attr *from = a.ref && s ? onnx_attr_find(s->call, a.ref) : NULL;
		for (size_t k = 0; a.ref && s && !from && k < s->n_missing; k++)
			from = strcmp(s->missing[k].name, a.ref) == 0 ? &s->missing[k] : NULL;
		if (a.ref && !from)
			continue;
		n->attr[kept] = from ? *from : a;
		n->attr[kept].ref = NULL;
		n->attr[kept++].name = a.name;
	}
	n->n_attrs = kept;
}

/* Append a node that is complete to the scope's list. */
static berth_status append_node(onnx_model *m, const onnx_scope *s, onnx_node *n)
{
	n->op = onnx_op_find(n->domain, n->type);
	if (!n->op && !*n->domain)
		n->lent = (n->op = onnx_microsoft_find(n->type)) != NULL;
	if (s && s->to) {
		return BERTH_PUSH(m->tmp, s->to->node, s->to->n, &s->to->cap, m->err, *n);
	}
	if (m->n_nodes == INT32_MAX / 4)
		return berth_fail(m->err, BERTH_EFORMAT, "%s: more than %d nodes", m->file, INT32_MAX / 4);
	BERTH_TRY(BERTH_GROW(m->tmp, m->node, m->n_nodes, &m->cap_node, m->err));
	m->node[m->n_nodes] = *n;
	/* Outputs of node number index: nobody else produces them. */
	int32_t index = (int32_t)m->n_nodes++;
	for (int32_t o = 0; o < n->n_out; o++) {
		if (n->out[o] < 0)
			continue;
		onnx_value *v = &m->value[n->out[o]];
		if (v->producer >= 0)
			return onnx_fail(m, n, "output '%.80s' is made already by node '%.80s'; expected one "
			                 "producer", v->name, onnx_node_label(m, &m->node[v->producer]));
		v->producer = index;
	}
	return BERTH_OK;
}

/* ---- bodies ---- */

typedef struct body_reading {
	onnx_scope *scope;
	onnx_body *body;
} body_reading;

static berth_status define_field(onnx_model *m, onnx_scope *s, const protobuf *w, const protobuf_field *f)
{
	const char *name;
	int32_t v;
	BERTH_TRY(onnx_read_text(m, w, f, "a name inside a body", &name));
	return onnx_define(m, s, name, &v);
}

ONNX_FIELD(on_body_node_output)
{
	return f->number == 2 ? define_field(m, ctx, w, f) : BERTH_OK;
}

ONNX_FIELD(on_value_name)
{
	return f->number == 1 ? define_field(m, ctx, w, f) : BERTH_OK;
}

static berth_status read_body_input(onnx_model *m, body_reading *b, const protobuf *w,
                                    const protobuf_field *f)
{
	int32_t v;
	BERTH_TRY(onnx_each_field_inside(m, b->scope, w, f, "an input", on_value_name));
	BERTH_TRY(onnx_read_value_info(m, b->scope, w, f, "an input of a body", &v));
	return BERTH_PUSH(m->tmp, b->body->in, b->body->n_in, &b->body->cap_in, m->err, v);
}

/* An initializer of a body is an input of every node around it, as if it stood outside. */
static berth_status read_body_initializer(onnx_model *m, onnx_scope *s, const protobuf *w,
                                          const protobuf_field *f)
{
	int32_t v;
	BERTH_TRY(onnx_read_initializer(m, s, w, f, &v));
	for (; s; s = s->outer)
		BERTH_TRY(onnx_capture(m, s, NULL, v));
	return BERTH_OK;
}

/* First pass over a body: what it defines. */
ONNX_FIELD(on_body_definition)
{
	body_reading *b = ctx;
	switch (f->number) {
	case 1: return onnx_each_field_inside(m, b->scope, w, f, "a node", on_body_node_output);
	case 5: case 15: return read_body_initializer(m, b->scope, w, f);
	case 11: return read_body_input(m, b, w, f);
	default: return BERTH_OK;
	}
}

ONNX_FIELD(on_body_output)
{
	body_reading *b = ctx;
	const char *name;
	int32_t v;
	if (f->number != 1)
		return BERTH_OK;
	BERTH_TRY(onnx_read_text(m, w, f, "an output of a body", &name));
	BERTH_TRY(onnx_resolve_name(m, b->scope, name, &v));
	return BERTH_PUSH(m->tmp, b->body->out, b->body->n_out, &b->body->cap_out, m->err, v);
}

/* Second pass: its nodes, and what it hands out. */
ONNX_FIELD(on_body_use)
{
	body_reading *b = ctx;
	if (f->number == 1)
		return onnx_read_node(m, b->scope, w, f);
	return f->number == 12 ? onnx_each_field_inside(m, b, w, f, "an output", on_body_output)
	                       : BERTH_OK;
}

static berth_status check_depth(const onnx_model *m, const onnx_scope *s, size_t at)
{
	if (s->depth <= ONNX_MAX_DEPTH)
		return BERTH_OK;
	return onnx_bad(m, at, "bodies and functions nest deeper than %d", ONNX_MAX_DEPTH);
}

/* The GraphProto of attribute name as a body of n. */
static berth_status read_body(onnx_model *m, onnx_scope *outer, onnx_node *n, size_t *cap_in,
                              const char *name, const protobuf *w, const protobuf_field *f)
{
	onnx_body body = {.name = name};
	onnx_scope s = {.outer = outer, .node = n, .cap_in = cap_in, .depth = outer ? outer->depth + 1 : 1};
	body_reading b = {&s, &body};
	size_t cap = (size_t)n->n_bodies;
	BERTH_TRY(check_depth(m, &s, f->tag_at));
	s.to = &body.nodes;
	berth_strmap_init(&s.names, m->tmp);
	BERTH_TRY(onnx_each_field_inside(m, &b, w, f, "a body", on_body_definition));
	BERTH_TRY(onnx_each_field_inside(m, &b, w, f, "a body", on_body_use));
	return BERTH_PUSH(m->tmp, n->body, n->n_bodies, &cap, m->err, body);
}

/* ---- functions ---- */

enum { MAX_INLINED_BYTES = 1 << 22 }; /* and four times the file */

typedef struct key {
	const char *name, *domain, *overload;
} key;

ONNX_FIELD(on_function_key)
{
	key *k = ctx;
	switch (f->number) {
	case 1: return onnx_read_text(m, w, f, "name of a function", &k->name);
	case 10: return onnx_read_text(m, w, f, "domain of a function", &k->domain);
	case 13: return onnx_read_text(m, w, f, "overload of a function", &k->overload);
	default: return BERTH_OK;
	}
}

berth_status onnx_list_function(onnx_model *m, const protobuf *w, const protobuf_field *f)
{
	key k = {"", "", ""};
	int32_t found;
	BERTH_TRY(onnx_each_field_inside(m, &k, w, f, "a function", on_function_key));
	const char *text = berth_arena_printf(m->tmp, "%s:%s:%s", strcmp(k.domain, "ai.onnx") ? k.domain : "",
	                                      k.name, k.overload);
	BERTH_TRY(berth_got(text, m->err));
	BERTH_TRY(BERTH_GROW(m->tmp, m->function, m->n_functions, &m->cap_function, m->err));
	m->function[m->n_functions] = (onnx_function){f->at, f->end};
	BERTH_TRY(berth_strmap_add(&m->functions, text, (int32_t)m->n_functions, &found, m->err));
	if (found != (int32_t)m->n_functions)
		return onnx_bad(m, f->tag_at, "function '%.80s' of domain '%.80s' stands twice",  k.name,
		                k.domain);
	m->n_functions++;
	return BERTH_OK;
}

/* The function that a node calls; NULL: none. */
static berth_status find_function(onnx_model *m, const onnx_node *n, const char *overload,
                                  const onnx_function **out)
{
	*out = NULL;
	if (!m->n_functions || onnx_op_find(n->domain, n->type))
		return BERTH_OK; /* an operator that is known is taken as such */
	BERTH_SCRATCH(m->tmp);
	const char *text = berth_arena_printf(m->tmp, "%s:%s:%s", n->domain, n->type, overload);
	BERTH_TRY(berth_got(text, m->err));
	int32_t index = berth_strmap_get(&m->functions, text);
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

static berth_status bind_output(onnx_model *m, call_reading *c, const char *name, int32_t value)
{
	int32_t found;
	BERTH_TRY(bind(c->scope, name, value, &found, m->err));
	if (found == value || found == ONNX_LEFT_OUT)
		return BERTH_OK;
	onnx_node same = {.name = "",
	                  .type = "Identity",
	                  .domain = "",
	                  .n_in = 1,
	                  .n_all = 1,
	                  .n_out = 1,
	                  .at = c->call->at};
	BERTH_TRY_NEW(m->tmp, 1, m->err, same.in, same.out);
	same.in[0] = found;
	same.out[0] = value;
	return BERTH_PUSH(m->tmp, c->passed.node, c->passed.n, &c->passed.cap, m->err, same);
}

ONNX_FIELD(on_function_input)
{
	call_reading *c = ctx;
	const char *name;
	int32_t found;
	if (f->number != 4)
		return BERTH_OK;
	BERTH_TRY(onnx_read_text(m, w, f, "input of a function", &name));
	int32_t i = c->n_in++, v = i < c->call->n_in ? c->call->in[i] : -1;
	return bind(c->scope, name, v < 0 ? ONNX_LEFT_OUT : v, &found, m->err);
}

ONNX_FIELD(on_function_face)
{
	call_reading *c = ctx;
	if (f->number == 5) {
		const char *name;
		BERTH_TRY(onnx_read_text(m, w, f, "output of a function", &name));
		int32_t o = c->n_out++, v = o < c->call->n_out ? c->call->out[o] : -1;
		return v >= 0 ? bind_output(m, c, name, v) : BERTH_OK;
	}
	if (f->number != 11)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(m->tmp, c->missing, c->scope->n_missing, &c->cap_missing, m->err));
	return onnx_read_attr(m, &c->missing[c->scope->n_missing++], w, f);
}

ONNX_FIELD(on_function_node)
{
	return f->number == 7 ? onnx_read_node(m, ctx, w, f) : BERTH_OK;
}

static const char *call_label(const onnx_model *m, const onnx_node *call)
{
	const char *label = onnx_node_label(m, call);
	return *label ? label : call->type;
}

/* Put the nodes of the function in the place of the call. */
static berth_status inline_call(onnx_model *m, onnx_scope *outer, const onnx_node *call,
                                const onnx_function *function)
{
	onnx_scope s = {.outer = outer,
	                .to = outer ? outer->to : NULL,
	                .call = call,
	                .prefix = call_label(m, call),
	                .depth = outer ? outer->depth + 1 : 1};
	call_reading c = {.scope = &s, .call = call};
	protobuf w = {m->file, m->data, function->at, function->end};
	BERTH_TRY(check_depth(m, &s, call->at));
	m->inlined_bytes += function->end - function->at;
	if (m->inlined_bytes > MAX_INLINED_BYTES + 4 * m->size)
		return onnx_bad(m, call->at, "calls of functions repeat more than %zu bytes",
		                (size_t)MAX_INLINED_BYTES + 4 * m->size);
	berth_strmap_init(&s.names, m->tmp);
	BERTH_TRY(onnx_each_field(m, &c, w, on_function_input));
	BERTH_TRY(onnx_each_field(m, &c, w, on_function_face));
	s.missing = c.missing;
	BERTH_TRY(onnx_each_field(m, &s, w, on_function_node));
	for (size_t i = 0; i < c.passed.n; i++)
		BERTH_TRY(append_node(m, &s, &c.passed.node[i]));
	return BERTH_OK;
}

/* ---- nodes ---- */

ONNX_FIELD(on_attr_body)
{
	reading *r = ctx;
	if (f->number == 1)
		return onnx_read_text(m, w, f, "name of an attribute", &r->attr);
	return f->number == 6 || f->number == 11
	               ? read_body(m, r->scope, &r->n, &r->cap_in, r->attr, w, f)
	               : BERTH_OK;
}

ONNX_FIELD(on_attr_has_body)
{
	(void)m, (void)w;
	if (f->number == 6 || f->number == 11)
		*(bool *)ctx = true;
	return BERTH_OK;
}

ONNX_FIELD(on_node_bodies)
{
	reading *r = ctx;
	bool has_body = false;
	if (f->number != 5)
		return BERTH_OK;
	BERTH_TRY(onnx_each_field_inside(m, &has_body, w, f, "an attribute", on_attr_has_body));
	r->attr = "";
	return has_body ? onnx_each_field_inside(m, r, w, f, "an attribute", on_attr_body) : BERTH_OK;
}

static berth_status name_inlined(onnx_model *m, const onnx_scope *s, onnx_node *n)
{
	if (++m->n_inlined > ONNX_MAX_INLINED + m->size / 128)
		return onnx_bad(m, n->at, "calls of functions expand to more than %zu nodes",
		                (size_t)ONNX_MAX_INLINED + m->size / 128);
	if (*n->name)
		n->name = berth_arena_printf(m->tmp, "%s/%s", s->prefix, n->name);
	return n->name ? BERTH_OK : berth_nomem(m->err);
}

berth_status onnx_read_node(onnx_model *m, onnx_scope *s, const protobuf *w, const protobuf_field *f)
{
	reading r = {.scope = s,
	             .n = {.name = "", .type = "", .domain = "", .at = f->tag_at},
	             .overload = "",
	             .attr = ""};
	const onnx_function *function = NULL;
	BERTH_TRY(read_lists(m, &r, w, f));
	if (!*r.n.type)
		return onnx_bad(m, f->tag_at, "a node without op_type");
	if (strcmp(r.n.domain, "ai.onnx") == 0)
		r.n.domain = "";
	refer_attrs(s, &r.n);
	if (s && s->call)
		BERTH_TRY(name_inlined(m, s, &r.n));
	BERTH_TRY(find_function(m, &r.n, r.overload, &function));
	if (function)
		return inline_call(m, s, &r.n, function);
	BERTH_TRY(onnx_each_field_inside(m, &r, w, f, "a node", on_node_bodies));
	return append_node(m, s, &r.n);
}
