/* Weights. A constant that one operator takes is cut in the file: its pieces are initializers (or, where the
 * file leaves weights out, inputs) of their own. What several take stays, and a Slice node takes a part of
 * it: so a parameter is counted once, whatever is cut. Contents outside of the file stay there: a part that
 * stands together is told by its place, others are copied to a new file. */
#include "pieces_state.h"

#include "onnx_edit.h"

/* Where a tensor's bytes are. */
typedef struct content {
	enum { MISSING, INSIDE, OUTSIDE, LISTED } where; /* LISTED: as numbers, one by one */
	size_t at;                                       /* in the file */
	const char *location;                            /* outside, [n_location] */
	size_t n_location;
	int64_t offset;
} content;

/* StringStringEntryProto: key (1), value (2). */
static void look_entry(protobuf w, content *c)
{
	protobuf_field f, key = {0}, value = {0};
	bool more;
	while (protobuf_next(&w, &f, &more, NULL) == BERTH_OK && more) {
		key = f.number == 1 && f.type == PROTOBUF_BYTES ? f : key;
		value = f.number == 2 && f.type == PROTOBUF_BYTES ? f : value;
	}
	size_t n = key.end - key.at;
	if (n == 8 && memcmp(w.data + key.at, "location", n) == 0) {
		c->location = (const char *)w.data + value.at;
		c->n_location = value.end - value.at;
	} else if (n == 6 && memcmp(w.data + key.at, "offset", n) == 0) {
		uint64_t offset = 0; /* the walker has seen that it is a number */
		berth_text_whole((const char *)w.data + value.at, value.end - value.at, INT64_MAX, &offset);
		c->offset = (int64_t)offset;
	}
}

/* TensorProto: float_data (4), int32_data (5), string_data (6), int64_data (7), raw_data (9), double_data
 * (10), uint64_data (11), external_data (13), data_location (14). */
static content find_content(const pieces_state *x, const onnx_tensor *t)
{
	protobuf w = {x->m.file, x->m.data, t->at, t->end};
	content c = {.where = MISSING};
	protobuf_field f;
	bool more, outside = false;
	while (protobuf_next(&w, &f, &more, NULL) == BERTH_OK && more) {
		bool fixed = (f.number == 4 && t->elem == ONNX_FLOAT) ||
		             (f.number == 10 && t->elem == ONNX_DOUBLE);
		bool list = (f.number >= 4 && f.number <= 7) || f.number == 10 || f.number == 11;
		bool whole = f.type == PROTOBUF_BYTES && f.end - f.at == (uint64_t)t->bytes;
		if (f.number == 14 && f.type == PROTOBUF_VARINT)
			outside = f.value == 1;
		else if (f.number == 13 && f.type == PROTOBUF_BYTES)
			look_entry(protobuf_inside(&w, &f), &c);
		else if ((f.number == 9 || fixed) && whole && c.where == MISSING) {
			c.where = INSIDE;
			c.at = f.at;
		} else if ((list || f.number == 9) && (f.type != PROTOBUF_BYTES || f.end > f.at))
			c.where = LISTED;
	}
	if (outside)
		c.where = OUTSIDE;
	return c;
}

/* The tensor that the file has for it, as an initializer or a Constant. */
static const onnx_tensor *tensor_of(const pieces_state *x, int32_t v)
{
	const onnx_value *s = &x->m.value[v];
	bool here = s->producer < 0 || strcmp(x->m.node[s->producer].type, "Constant") == 0;
	return here && s->tensor && !s->tensor->sparse ? s->tensor : NULL;
}

/* Elements before and behind the dimension. */
static void count_around(const onnx_value *s, int32_t dim, int64_t *before, int64_t *behind)
{
	*before = onnx_count(dim, s->dim);
	*behind = onnx_count(s->rank - dim - 1, s->dim + dim + 1);
}

const char pieces_needs_data[] = "its weight would need a new file for its data (--data FILE)";

/* Why the tensor's content cannot be cut along dim; dim -1: along any. */
static const char *content_why(const pieces_state *x, int32_t v, int32_t dim)
{
	const onnx_tensor *t = tensor_of(x, v);
	int64_t before, behind;
	if (!t)
		return NULL;
	content c = find_content(x, t);
	if (t->elem == ONNX_STRING || onnx_elem_bits(t->elem) % 8 || t->rank != x->m.value[v].rank)
		return "its weight has elements of no whole bytes";
	if (c.where == LISTED)
		return "its weight is a list of numbers in the file, not raw";
	if (c.where == OUTSIDE && !c.location)
		return "its weight stands in a file that is not named";
	if (c.where != OUTSIDE || dim < 0 || x->opt->outside)
		return NULL;
	count_around(&x->m.value[v], dim, &before, &behind);
	return before > 1 ? pieces_needs_data : NULL;
}

bool pieces_tensor_stands(const pieces_state *x, int32_t v)
{
	const onnx_value *s = &x->m.value[v];
	return x->s->uses[v] == 1 && (s->weight_input || tensor_of(x, v)) && !content_why(x, v, -1);
}

const char *pieces_tensor_why(const pieces_state *x, int32_t v, int32_t dim)
{
	const onnx_value *s = &x->m.value[v];
	if (pieces_tensor_stands(x, v))
		return content_why(x, v, dim);
	if (s->rank < 2 || !s->n_roots)
		return NULL;
	if (x->s->uses[v] > 1)
		return "its weight is shared: pieces would each need all of it";
	return content_why(x, v, dim) ? content_why(x, v, dim) : "its weight is made by other nodes";
}

/* ---- writing ---- */

/* ValueInfoProto as an input (11) of the graph: name (1), type (2) of a tensor (1): elem_type (1), shape (2)
 * with dims (1) of dim_value (1). */
static berth_status put_input(pieces_state *x, const char *name, int32_t elem, int32_t rank,
                              const int64_t *dim, berth_err *err)
{
	berth_strbuf dims = {.mem = x->mem}, tensor = {.mem = x->mem}, type = {.mem = x->mem},
		     info = {.mem = x->mem};
	for (int32_t i = 0; i < rank; i++) {
		berth_strbuf one = {.mem = x->mem};
		onnx_put_number(&one, 1, (uint64_t)dim[i]);
		pieces_put_message(&dims, 1, &one);
	}
	onnx_put_number(&tensor, 1, (uint64_t)elem);
	pieces_put_message(&tensor, 2, &dims);
	pieces_put_message(&type, 1, &tensor);
	pieces_put_text(&info, 1, name);
	pieces_put_message(&info, 2, &type);
	BERTH_TRY(BERTH_GROW(x->mem, x->input, x->n_inputs, &x->cap_input, err));
	return pieces_field(x, 11, &info, &x->input[x->n_inputs++], err);
}

static berth_status add_piece(pieces_state *x, const void *data, size_t size, berth_err *err)
{
	return BERTH_PUSH(x->mem, x->weight, x->n_weights, &x->cap_weight, err,
	                  (berth_file_piece){data, size});
}

/* An initializer (5): what the buffer holds, and raw_data behind it. raw NULL: none. */
static berth_status put_tensor(pieces_state *x, berth_strbuf *message, const void *raw, size_t n_raw,
                               berth_err *err)
{
	berth_strbuf head = {.mem = x->mem};
	const char *text;
	size_t len;
	if (raw)
		onnx_put_head(message, 9, n_raw);
	onnx_put_head(&head, 5, message->len + (raw ? n_raw : 0));
	berth_strbuf_add(&head, message->text, message->len);
	head.failed |= message->failed;
	BERTH_TRY(berth_strbuf_done(&head, &text, &len, err));
	BERTH_TRY(add_piece(x, text, len, err));
	return raw ? add_piece(x, raw, n_raw, err) : BERTH_OK;
}

/* TensorProto: dims (1), data_type (2), name (8). */
static void put_kind(berth_strbuf *b, const char *name, int32_t elem, int32_t rank, const int64_t *dim)
{
	for (int32_t i = 0; i < rank; i++)
		onnx_put_number(b, 1, (uint64_t)dim[i]);
	onnx_put_number(b, 2, (uint64_t)elem);
	pieces_put_text(b, 8, name);
}

static void put_entry(berth_strbuf *b, const char *key, const char *value, size_t n)
{
	berth_strbuf entry = {.mem = b->mem};
	pieces_put_text(&entry, 1, key);
	onnx_put_bytes(&entry, 2, value, n);
	pieces_put_message(b, 13, &entry);
}

static berth_status put_outside(pieces_state *x, const content *c, pieces_copy part, berth_strbuf *b,
                                berth_err *err)
{
	char offset[32], length[32];
	bool moves = part.rows > 1;
	snprintf(offset, sizeof offset, "%lld", (long long)(moves ? x->copied : part.at));
	snprintf(length, sizeof length, "%lld", (long long)(part.rows * part.bytes));
	if (moves)
		put_entry(b, "location", x->opt->outside, strlen(x->opt->outside));
	else
		put_entry(b, "location", c->location, c->n_location);
	put_entry(b, "offset", offset, strlen(offset));
	put_entry(b, "length", length, strlen(length));
	onnx_put_number(b, 14, 1);
	if (moves) {
		part.from = berth_arena_strndup(x->mem, c->location, c->n_location);
		BERTH_TRY(berth_got(part.from, err));
		BERTH_TRY(BERTH_PUSH(x->mem, x->out->copy, x->out->n_copies, &x->cap_copy, err, part));
		x->copied += part.rows * part.bytes;
	}
	return put_tensor(x, b, NULL, 0, err);
}

/* The blocks, one behind the other; as they stand in the file where there is one. */
static berth_status gather_rows(pieces_state *x, const pieces_copy *part, const void **out, berth_err *err)
{
	char *to;
	*out = x->m.data + part->at;
	if (part->rows == 1)
		return BERTH_OK;
	BERTH_TRY_NEW(x->mem, part->rows * part->bytes, err, to);
	for (int64_t i = 0; i < part->rows; i++)
		memcpy(to + i * part->bytes, x->m.data + part->at + i * part->stride, (size_t)part->bytes);
	*out = to;
	return BERTH_OK;
}

berth_status pieces_tensor_part(pieces_state *x, int32_t v, int32_t dim, int64_t from, int64_t to,
                                const char *name, berth_err *err)
{
	const onnx_value *s = &x->m.value[v];
	const onnx_tensor *t = tensor_of(x, v);
	int64_t *dims, before, behind;
	const void *raw;
	berth_strbuf b = {.mem = x->mem};
	BERTH_TRY_NEW(x->mem, s->rank, err, dims);
	BERTH_COPY(dims, s->dim, s->rank);
	dims[dim] = to - from;
	if (!t || s->input >= 0)
		BERTH_TRY(put_input(x, name, s->elem, s->rank, dims, err));
	if (!t)
		return BERTH_OK;
	content c = find_content(x, t);
	count_around(s, dim, &before, &behind);
	int64_t line = behind * (onnx_elem_bits(t->elem) / 8);
	pieces_copy part = {NULL, (c.where == INSIDE ? (int64_t)c.at : c.offset) + from * line, before,
	                    (to - from) * line, s->dim[dim] * line};
	put_kind(&b, name, t->elem, s->rank, dims);
	if (c.where == OUTSIDE)
		return put_outside(x, &c, part, &b, err);
	if (c.where != INSIDE)
		return put_tensor(x, &b, NULL, 0, err);
	BERTH_TRY(gather_rows(x, &part, &raw, err));
	return put_tensor(x, &b, raw, (size_t)(part.rows * part.bytes), err);
}

/* A vector of n elements that were made here. */
static berth_status put_made(pieces_state *x, const char *name, int32_t elem, int64_t n, const void *raw,
                             berth_err *err)
{
	berth_strbuf b = {.mem = x->mem};
	if (x->m.ir_version < 4)
		BERTH_TRY(put_input(x, name, elem, 1, &n, err));
	put_kind(&b, name, elem, 1, &n);
	return put_tensor(x, &b, raw, (size_t)(n * onnx_elem_bits(elem) / 8), err);
}

berth_status pieces_ints_put(pieces_state *x, const char *name, const int64_t *ints, int32_t n,
                             berth_err *err)
{
	unsigned char *raw;
	BERTH_TRY_NEW(x->mem, n * 8, err, raw);
	for (int32_t i = 0; i < 8 * n; i++)
		raw[i] = (unsigned char)((uint64_t)ints[i / 8] >> (8 * (i % 8)));
	return put_made(x, name, ONNX_INT64, n, raw, err);
}

berth_status pieces_zero_put(pieces_state *x, const char *name, int32_t elem, berth_err *err)
{
	static const char zero[16] = {0};
	return put_made(x, name, elem, 1, zero, err);
}
