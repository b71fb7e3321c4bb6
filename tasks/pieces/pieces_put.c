/* Nodes and other fields of the new file; of a value whose dimensions are given, that it has these sizes.
 * Field numbers are those of onnx.proto. */
#include "pieces_state.h"

#include "onnx_edit.h"

#include <stdarg.h>

enum { ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };

berth_status pieces_name(pieces_state *x, pieces_names *taken, const char **out, berth_err *err,
                         const char *fmt, ...)
{
	char *base;
	int32_t found;
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	berth_status st = BERTH_NEW(x->mem, base, n < 0 ? 1 : n + 1, err);
	if (st == BERTH_OK && n > 0)
		vsnprintf(base, (size_t)n + 1, fmt, again);
	va_end(again);
	BERTH_TRY(st);
	*out = base;
	for (int32_t i = 2;; i++) {
		bool old = berth_strmap_get(taken->old, *out) >= 0;
		if (!old)
			BERTH_TRY(berth_strmap_add(&taken->added, *out, x->n_names + 1, &found, err));
		if (!old && found == x->n_names + 1) {
			x->n_names++;
			return BERTH_OK;
		}
		*out = berth_arena_printf(x->mem, "%s#%d", base, (int)i);
		BERTH_TRY(berth_got(*out, err));
	}
}

void pieces_put_text(berth_strbuf *b, uint32_t field, const char *text)
{
	onnx_put_bytes(b, field, text, strlen(text));
}

void pieces_put_message(berth_strbuf *b, uint32_t field, const berth_strbuf *message)
{
	b->failed |= message->failed;
	onnx_put_bytes(b, field, message->text, message->len);
}

berth_status pieces_field(pieces_state *x, uint32_t number, const berth_strbuf *message,
                          berth_file_piece *out, berth_err *err)
{
	berth_strbuf b = {.mem = x->mem};
	const char *data;
	pieces_put_message(&b, number, message);
	BERTH_TRY(berth_strbuf_done(&b, &data, &out->size, err));
	out->data = data;
	return BERTH_OK;
}

static void put_attr(pieces_state *x, berth_strbuf *node, const pieces_attr *a)
{
	berth_strbuf b = {.mem = x->mem};
	pieces_put_text(&b, 1, a->name);
	if (a->n < 0)
		onnx_put_number(&b, 3, (uint64_t)a->ints[0]);
	for (int32_t i = 0; i < a->n; i++)
		onnx_put_number(&b, 8, (uint64_t)a->ints[i]);
	onnx_put_number(&b, 20, a->n < 0 ? ATTRIBUTE_INT : ATTRIBUTE_INTS);
	pieces_put_message(node, 5, &b);
}

static berth_status add_node(pieces_state *x, const berth_strbuf *message, berth_err *err)
{
	berth_file_piece p;
	BERTH_TRY(pieces_field(x, 1, message, &p, err));
	return BERTH_PUSH(x->mem, x->node, x->n_nodes, &x->cap_node, err, (pieces_node){-1, p.data, p.size});
}

berth_status pieces_put_node(pieces_state *x, const char *type, const char *name, const char *const *in,
                             int32_t n_in, const char *out, const pieces_attr *attr, int32_t n_attrs,
                             berth_err *err)
{
	berth_strbuf b = {.mem = x->mem};
	const char *node;
	BERTH_TRY(pieces_name(x, &x->nodes, &node, err, "%s", name));
	for (int32_t k = 0; k < n_in; k++)
		pieces_put_text(&b, 1, in[k]);
	pieces_put_text(&b, 2, out);
	pieces_put_text(&b, 3, node);
	pieces_put_text(&b, 4, type);
	for (int32_t i = 0; i < n_attrs; i++)
		put_attr(x, &b, &attr[i]);
	return add_node(x, &b, err);
}

static bool is_named(const protobuf *w, const protobuf_field *field, const char *name)
{
	protobuf in = protobuf_inside(w, field);
	protobuf_field f;
	bool more;
	while (protobuf_next(&in, &f, &more, NULL) == BERTH_OK && more)
		if (f.number == 1 && f.type == PROTOBUF_BYTES)
			return f.end - f.at == strlen(name) &&
			       memcmp(w->data + f.at, name, f.end - f.at) == 0;
	return false;
}

/* Inputs (1), outputs (2) and the name (3) are new, and attributes (5) that are given anew. */
static bool is_replaced(const protobuf *w, const protobuf_field *f, const pieces_attr *attr, int32_t n_attrs,
                 const char *drop)
{
	if (f->number != 5 || f->type != PROTOBUF_BYTES)
		return f->number <= 3;
	for (int32_t i = 0; i < n_attrs; i++)
		if (is_named(w, f, attr[i].name))
			return true;
	return drop && is_named(w, f, drop);
}

berth_status pieces_put_copy(pieces_state *x, int32_t node, const char *name, const char *const *in,
                             const char *const *out, const pieces_attr *attr, int32_t n_attrs,
                             const char *drop, berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	protobuf w = {x->m.file, x->m.data, n->at, x->m.size};
	berth_strbuf b = {.mem = x->mem};
	protobuf_field f;
	bool more;
	int32_t n_in = n->n_in;
	while (n_in > 0 && !*in[n_in - 1])
		n_in--;
	BERTH_TRY(protobuf_next(&w, &f, &more, err));
	w = protobuf_inside(&w, &f);
	for (int32_t k = 0; k < n_in; k++)
		pieces_put_text(&b, 1, in[k]);
	for (int32_t o = 0; o < n->n_out; o++)
		pieces_put_text(&b, 2, out[o]);
	pieces_put_text(&b, 3, name);
	for (;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			break;
		if (!is_replaced(&w, &f, attr, n_attrs, drop))
			berth_strbuf_add(&b, (const char *)w.data + f.tag_at, w.at - f.tag_at);
	}
	for (int32_t i = 0; i < n_attrs; i++)
		put_attr(x, &b, &attr[i]);
	return add_node(x, &b, err);
}

berth_status pieces_put_old(pieces_state *x, int32_t node, berth_err *err)
{
	protobuf w = {x->m.file, x->m.data, x->m.node[node].at, x->m.size};
	protobuf_field f;
	bool more;
	BERTH_TRY(protobuf_next(&w, &f, &more, err));
	return BERTH_PUSH(x->mem, x->node, x->n_nodes, &x->cap_node, err,
	                  (pieces_node){node, (const char *)w.data + f.tag_at, w.at - f.tag_at});
}

/* ---- dimensions that are given ---- */

/* ValueInfoProto.type (2) .tensor_type (1) .shape (2) .dim (1), which has dim_value (1) or dim_param (2). */
enum { DEPTH = 4 };
static const uint32_t to_dim[DEPTH] = {2, 1, 2, 1};

bool pieces_is_given(const berth_read_options *opt, const char *name)
{
	size_t n = strlen(name);
	for (int32_t i = 0; opt && i < opt->n_dims; i++)
		if (strncmp(opt->dim[i], name, n) == 0 && opt->dim[i][n] == '=')
			return true;
	return false;
}

static berth_status fix_message(pieces_state *x, protobuf w, int depth, berth_strbuf *out, bool *any,
                        berth_err *err);

/* The message that field f holds, fixed. */
static berth_status fix_inside(pieces_state *x, const protobuf *w, const protobuf_field *f, int depth,
                               berth_strbuf *out, bool *any, berth_err *err)
{
	berth_strbuf in = {.mem = x->mem};
	BERTH_TRY(fix_message(x, protobuf_inside(w, f), depth, &in, any, err));
	pieces_put_message(out, f->number, &in);
	return BERTH_OK;
}

static berth_status fix_message(pieces_state *x, protobuf w, int depth, berth_strbuf *out, bool *any,
                                berth_err *err)
{
	protobuf_field f;
	for (bool more;;) {
		int64_t size = 0;
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			return BERTH_OK;
		if (f.type == PROTOBUF_BYTES && depth < DEPTH && f.number == to_dim[depth]) {
			BERTH_TRY(fix_inside(x, &w, &f, depth + 1, out, any, err));
			continue;
		}
		if (f.type == PROTOBUF_BYTES && depth == DEPTH && f.number == 2) {
			/* The given size of the symbol in field f; 0: none is given. */
			char *name = berth_arena_strndup(x->mem, (const char *)w.data + f.at, f.end - f.at);
			BERTH_TRY(berth_got(name, err));
			int32_t s = berth_strmap_get(&x->m.symbols, name);
			size = s >= 0 && pieces_is_given(x->read, name) ? x->m.symbol_value[s] : 0;
		}
		*any = *any || size;
		if (size)
			onnx_put_number(out, 1, (uint64_t)size);
		else
			berth_strbuf_add(out, (const char *)w.data + f.tag_at, w.at - f.tag_at);
	}
}

berth_status pieces_fix(pieces_state *x, const protobuf *w, const protobuf_field *f, berth_file_piece *out,
                        bool *any, berth_err *err)
{
	berth_strbuf b = {.mem = x->mem};
	*any = false;
	if (f->type != PROTOBUF_BYTES || f->number < 11 || f->number > 13 || !x->read || !x->read->n_dims)
		return BERTH_OK;
	BERTH_TRY(fix_message(x, protobuf_inside(w, f), 0, &b, any, err));
	return *any ? pieces_field(x, f->number, &b, out, err) : BERTH_OK;
}
