/* A copy of an ONNX model with fields added to its nodes, made of pieces of the file and of what is new. A
 * message that holds a change gets a new head, which is known when all inside is. */
#include "onnx_edit.h"

/* A tag and a length take at most 20 bytes. Nodes of the main graph are 2 messages deep in the model. */
enum { MAX_DEPTH = 64, HEAD = 20, NODE_DEPTH = 2 };

typedef struct editing {
	const onnx_edit *e;
	berth_arena *mem;
	onnx_edited out;
	size_t total; /* bytes of all pieces */
	int depth;
} editing;

/* An editor of the message w; node: the node of the main graph that it is inside of, -1: none. */
typedef berth_status edit_fn(editing *x, protobuf w, int32_t node, berth_err *err);

/* ---- pieces ---- */

static size_t put_varint(char *to, uint64_t x)
{
	size_t n = 0;
	do {
		to[n++] = (char)((x & 127) | (x > 127 ? 128 : 0));
		x >>= 7;
	} while (x);
	return n;
}

void onnx_put_number(berth_strbuf *b, uint32_t field, uint64_t value)
{
	char buf[HEAD];
	size_t n = put_varint(buf, (uint64_t)field << 3);
	n += put_varint(buf + n, value);
	berth_strbuf_add(b, buf, n);
}

void onnx_put_head(berth_strbuf *b, uint32_t field, size_t size)
{
	char buf[HEAD];
	size_t n = put_varint(buf, (uint64_t)field << 3 | PROTOBUF_BYTES);
	n += put_varint(buf + n, size);
	berth_strbuf_add(b, buf, n);
}

void onnx_put_bytes(berth_strbuf *b, uint32_t field, const void *data, size_t size)
{
	onnx_put_head(b, field, size);
	berth_strbuf_add(b, data, size);
}

void onnx_put_text(berth_strbuf *b, uint32_t field, const char *text)
{
	onnx_put_bytes(b, field, text, strlen(text));
}

void onnx_put_message(berth_strbuf *b, uint32_t field, const berth_strbuf *message)
{
	b->failed |= message->failed;
	onnx_put_bytes(b, field, message->text, message->len);
}

static berth_status add_piece(editing *x, const void *data, size_t size, berth_err *err)
{
	onnx_edited *o = &x->out;
	BERTH_TRY(BERTH_PUSH(x->mem, o->piece, o->n_pieces, &o->cap_pieces, err,
	                     (berth_file_piece){data, size}));
	x->total += size;
	return BERTH_OK;
}

/* The file from one place to another, as it stands. */
static berth_status keep(editing *x, const protobuf *w, size_t from, size_t to, berth_err *err)
{
	return from < to ? add_piece(x, w->data + from, to - from, err) : BERTH_OK;
}

/* The message that field f of w holds, edited, with its new head. */
static berth_status edit_inside(editing *x, const protobuf *w, const protobuf_field *f, edit_fn *edit,
                                int32_t node, berth_err *err)
{
	size_t slot = x->out.n_pieces;
	char *head;
	if (x->depth == MAX_DEPTH)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: messages nest deeper than %d", w->file,
		                  f->tag_at, MAX_DEPTH);
	BERTH_TRY_NEW(x->mem, HEAD, err, head);
	BERTH_TRY(add_piece(x, head, 0, err));
	size_t before = x->total;
	x->depth++;
	BERTH_TRY(edit(x, protobuf_inside(w, f), node, err));
	x->depth--;
	size_t n = put_varint(head, (uint64_t)f->number << 3 | PROTOBUF_BYTES);
	n += put_varint(head + n, x->total - before);
	x->out.piece[slot].size = n;
	x->total += n;
	return BERTH_OK;
}

/* ---- messages ---- */

/* What becomes of a field: it is edited, replaced by a text, or both NULL and it goes. */
typedef struct change {
	bool any; /* else it stays */
	edit_fn *edit;
	int32_t node;
	const char *text; /* [size] */
	size_t size;
} change;

typedef berth_status change_fn(editing *x, const protobuf *w, const protobuf_field *f, int32_t node,
                               change *out,
                               berth_err *err);

/* A message field by field: what is not changed stays as it stands. */
static berth_status edit_fields(editing *x, protobuf w, int32_t node, change_fn *choose, berth_err *err)
{
	size_t kept = w.at;
	protobuf_field f;
	for (bool more;;) {
		change c = {0};
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			return keep(x, &w, kept, w.end, err);
		BERTH_TRY(choose(x, &w, &f, node, &c, err));
		if (!c.any)
			continue;
		BERTH_TRY(keep(x, &w, kept, f.tag_at, err));
		if (c.edit)
			BERTH_TRY(edit_inside(x, &w, &f, c.edit, c.node, err));
		if (c.size)
			BERTH_TRY(add_piece(x, c.text, c.size, err));
		kept = w.at;
	}
}

static edit_fn edit_graph;

/* AttributeProto: a graph (6) or graphs (11). */
static bool is_body(const protobuf_field *f)
{
	return (f->number == 6 || f->number == 11) && f->type == PROTOBUF_BYTES;
}

static berth_status change_attribute(editing *x, const protobuf *w, const protobuf_field *f, int32_t node,
                                     change *out, berth_err *err)
{
	(void)x, (void)w, (void)err;
	*out = (change){.any = is_body(f), .edit = edit_graph, .node = node};
	return BERTH_OK;
}

static berth_status edit_attribute(editing *x, protobuf w, int32_t node, berth_err *err)
{
	return edit_fields(x, w, node, change_attribute, err);
}

/* Does the attribute hold a graph? */
static berth_status holds_graph(protobuf w, bool *out, berth_err *err)
{
	protobuf_field f;
	*out = false;
	for (bool more = true; more && !*out;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		*out = more && is_body(&f);
	}
	return BERTH_OK;
}

/* NodeProto: attributes (5) with bodies, and what is to go. */
static berth_status change_node(editing *x, const protobuf *w, const protobuf_field *f, int32_t node,
                                change *out, berth_err *err)
{
	bool body = false;
	if (f->number == 5 && f->type == PROTOBUF_BYTES)
		BERTH_TRY(holds_graph(protobuf_inside(w, f), &body, err));
	bool drop = x->e->drops(x->e->ctx, w, f, false);
	*out = (change){.any = body || drop, .edit = drop ? NULL : edit_attribute, .node = node};
	return BERTH_OK;
}

/* The node with its new fields. */
static berth_status edit_node(editing *x, protobuf w, int32_t node, berth_err *err)
{
	const protobuf_field whole = {.number = 1, .type = PROTOBUF_BYTES, .tag_at = w.at, .at = w.at,
	                              .end = w.end};
	const char *data;
	size_t size;
	BERTH_TRY(edit_fields(x, w, node, change_node, err));
	BERTH_TRY(x->e->adds(x->e->ctx, node, x->depth > NODE_DEPTH, &w, &whole, &data, &size, err));
	return size ? add_piece(x, data, size, err) : BERTH_OK;
}

/* TensorProto: data_location (14) is 1 where its content stands in another file. */
static berth_status look_outside(editing *x, protobuf w, berth_err *err)
{
	protobuf_field f;
	for (bool more;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			return BERTH_OK;
		x->out.has_outside |= f.number == 14 && f.type == PROTOBUF_VARINT && f.value == 1;
	}
}

/* GraphProto: nodes (1); of initializers (5) it is told whether they stand outside. */
static berth_status change_graph(editing *x, const protobuf *w, const protobuf_field *f, int32_t node,
                                 change *out, berth_err *err)
{
	if (f->number == 5 && f->type == PROTOBUF_BYTES)
		return look_outside(x, protobuf_inside(w, f), err);
	if (f->number != 1 || f->type != PROTOBUF_BYTES)
		return BERTH_OK;
	if (x->out.n_nodes == INT32_MAX)
		return berth_fail(err, BERTH_EFORMAT, "%s: too many nodes", w->file);
	*out = (change){.any = true, .edit = edit_node, .node = node < 0 ? x->out.n_nodes++ : node};
	return BERTH_OK;
}

static berth_status edit_graph(editing *x, protobuf w, int32_t node, berth_err *err)
{
	return edit_fields(x, w, node, change_graph, err);
}

/* ModelProto: its version (1), its graph (7), and what is to go. */
static berth_status change_model(editing *x, const protobuf *w, const protobuf_field *f, int32_t node,
                                 change *out, berth_err *err)
{
	if (f->number == 7 && f->type == PROTOBUF_BYTES)
		*out = (change){.any = true, .edit = edit_graph, .node = node};
	else if (f->number == 1 && f->type == PROTOBUF_VARINT && f->value < x->e->ir_version) {
		uint64_t version = x->e->ir_version;
		berth_strbuf b = {.mem = x->mem};
		onnx_put_number(&b, 1, version);
		out->any = true;
		return berth_strbuf_done(&b, &out->text, &out->size, err);
	} else
		out->any = x->e->drops(x->e->ctx, w, f, true);
	return BERTH_OK;
}

berth_status onnx_edit_model(const onnx_edit *e, const char *file, const unsigned char *data, size_t size,
                             berth_arena *mem, onnx_edited *out, berth_err *err)
{
	editing x = {.e = e, .mem = mem};
	protobuf w = (protobuf){file, data, 0, size};
	BERTH_TRY(edit_fields(&x, w, -1, change_model, err));
	BERTH_TRY(x.e->n_tail ? add_piece(&x, x.e->tail, x.e->n_tail, err) : BERTH_OK);
	*out = x.out;
	return BERTH_OK;
}
