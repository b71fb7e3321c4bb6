/* Element types and sizes; the tensors of a file (onnx.proto: TensorProto, SparseTensorProto), the
 * attributes of a node, and the names of files beside a model that its tensors are in. */
#include "onnx_model.h"

#include "file.h"

#include <stdarg.h>

int64_t onnx_times(int64_t a, int64_t b)
{
	if (a == 0 || b == 0)
		return 0;
	return a > ONNX_MAX_ELEMENTS / b ? ONNX_MAX_ELEMENTS + 1 : a * b;
}

int64_t onnx_count(int32_t rank, const int64_t *dim)
{
	int64_t n = 1;
	if (rank < 0)
		return ONNX_UNKNOWN;
	for (int32_t i = 0; i < rank; i++) {
		if (dim[i] < 0)
			return ONNX_UNKNOWN;
		n = onnx_times(n, dim[i]);
	}
	return n;
}

int onnx_elem_bits(int32_t elem)
{
	static const unsigned char bits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
	                                     64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
	return elem >= 0 && elem < (int32_t)sizeof bits ? bits[elem] : 0;
}

bool onnx_elem_is_real(int32_t elem)
{
	return elem == ONNX_FLOAT || elem == ONNX_FLOAT16 || elem == ONNX_DOUBLE ||
	       (elem >= 14 && elem <= 20) || elem == 23 || elem == 24;
}

bool onnx_elem_is_quantised(int32_t elem)
{
	return (elem >= ONNX_UINT8 && elem <= ONNX_INT16) || elem == 21 || elem == 22 || elem == 25 ||
	       elem == 26;
}

int64_t onnx_elem_bytes(int32_t elem, int64_t count)
{
	return (count * onnx_elem_bits(elem) + 7) / 8;
}

int64_t onnx_value_bytes(const onnx_value *v, bool *known)
{
	int64_t n = 1;
	*known = v->rank >= 0 && (onnx_elem_bits(v->elem) || v->elem == ONNX_STRING);
	if (v->rank < 0)
		return 0;
	for (int32_t i = 0; i < v->rank; i++) {
		*known = *known && v->dim[i] >= 0;
		n = onnx_times(n, v->dim[i] < 0 ? 1 : v->dim[i]);
	}
	return onnx_elem_bytes(v->elem ? v->elem : ONNX_FLOAT, n);
}

const char *onnx_node_label(const onnx_model *m, const onnx_node *n)
{
	for (int32_t o = 0; o < n->n_out && !*n->name; o++)
		if (n->out[o] >= 0)
			return m->value[n->out[o]].name;
	return n->name;
}

berth_status onnx_fail(const onnx_model *m, const onnx_node *n, const char *fmt, ...)
{
	char text[300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return berth_fail(m->err, BERTH_EFORMAT, "%.200s: node '%.100s' (%.40s) at byte %zu: %s", m->file,
	                  onnx_node_label(m, n), n->type, n->at, text);
}

berth_status onnx_bad(const onnx_model *m, size_t at, const char *fmt, ...)
{
	char text[300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return berth_fail(m->err, BERTH_EFORMAT, "%s: byte %zu: %s", m->file, at, text);
}

/* ---- files beside the model: told to whoever writes files, never opened here ---- */

static bool is_key(const protobuf *w, const protobuf_field *f, const char *key)
{
	return f->type == PROTOBUF_BYTES && f->end - f->at == strlen(key) &&
	       memcmp(w->data + f->at, key, strlen(key)) == 0;
}

/* Once for all tensors that are in it. */
static berth_status add(const onnx_model *m, const protobuf *w, const protobuf_field *f)
{
	onnx_external *x = m->external;
	berth_arena_mark mark = berth_arena_get_mark(m->tmp);
	const char *name;
	BERTH_TRY(protobuf_text(w, f, "location of a tensor", m->tmp, &name, m->err));
	if (berth_strmap_get(&x->seen, name) >= 0) {
		berth_arena_reset(m->tmp, mark);
		return BERTH_OK;
	}
	BERTH_TRY(berth_strmap_add(&x->seen, name, (int32_t)x->n, NULL, m->err));
	return BERTH_PUSH(m->tmp, x->name, x->n, &x->cap, m->err, name);
}

/* Where a tensor stands in its file, and how long it is there: -1 where it is not told. */
static berth_status read_place(const onnx_model *m, const protobuf *w, const protobuf_field *key,
                               const protobuf_field *value, int64_t *length)
{
	const char *text = (const char *)w->data + value->at;
	size_t n = value->type == PROTOBUF_BYTES ? value->end - value->at : 0;
	bool is_length = is_key(w, key, "length");
	uint64_t x;
	if (!is_length && !is_key(w, key, "offset"))
		return BERTH_OK;
	if (!berth_text_whole(text, n, INT64_MAX, &x))
		return onnx_bad(m, value->at,
		                "%s of a tensor in another file is '%.*s'; expected a whole number",
		                is_length ? "length" : "offset", n < 40 ? (int)n : 40, text);
	if (is_length)
		*length = (int64_t)x;
	return BERTH_OK;
}

/* Take note of the file that an entry of external_data names. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
static berth_status read_external(const onnx_model *m, const protobuf *w, const protobuf_field *f,
                                  int64_t *length)
{
	bool more;
	protobuf_field entry, key = {0}, value = {0};
	BERTH_TRY(protobuf_expect(w, f, PROTOBUF_BYTES, "external_data of a tensor", m->err));
	for (protobuf in = protobuf_inside(w, f);;) {
		BERTH_TRY(protobuf_next(&in, &entry, &more, m->err));
		if (!more)
			break;
		if (entry.number == 1)
			key = entry;
		if (entry.number == 2)
			value = entry;
	}
	BERTH_TRY(read_place(m, w, &key, &value, length));
	return is_key(w, &key, "location") && value.number ? add(m, w, &value) : BERTH_OK;
}

/* ---- reading ---- */

/* Dimensions of a tensor: none negative, and together not beyond the limit. */
static berth_status keep_dims(const onnx_model *m, const int64_t *dim, size_t rank, onnx_tensor *t)
{
	int64_t *copy;
	if (rank > ONNX_MAX_RANK)
		return onnx_bad(m, t->at, "a tensor of %zu dimensions; expected at most %d", rank,
		                ONNX_MAX_RANK);
	for (size_t i = 0; i < rank; i++)
		if (dim[i] < 0 || dim[i] > ONNX_MAX_ELEMENTS)
			return onnx_bad(m, t->at, "dimension %zu of a tensor is %lld; expected 0 to 2^48", i,
			                (long long)dim[i]);
	t->rank = (int32_t)rank;
	t->count = onnx_count(t->rank, dim);
	if (t->count > ONNX_MAX_ELEMENTS)
		return onnx_bad(m, t->at, "a tensor of more than 2^48 elements");
	BERTH_TRY_NEW(m->tmp, rank, m->err, copy);
	memcpy(copy, dim, rank * sizeof *dim);
	t->dim = copy;
	return BERTH_OK;
}

static berth_status read_dense(const onnx_model *m, protobuf w, onnx_tensor *t)
{
	int64_t dim[ONNX_MAX_RANK];
	size_t rank = 0, raw = 0;
	int64_t length = -1;
	protobuf_field f;
	bool more;
	for (;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, m->err));
		if (!more)
			break;
		if (f.number == 1) {
			BERTH_TRY(protobuf_varints(&w, &f, "dims of a tensor", dim, ONNX_MAX_RANK, &rank,
			                            m->err));
		} else if (f.number == 2) {
			BERTH_TRY(protobuf_expect(&w, &f, PROTOBUF_VARINT, "data_type of a tensor", m->err));
			t->elem = f.value > 1000 ? ONNX_NONE : (int32_t)f.value;
		} else if (f.number == 8) {
			BERTH_TRY(protobuf_text(&w, &f, "name of a tensor", m->tmp, &t->name, m->err));
		} else if (f.number == 9) {
			BERTH_TRY(protobuf_expect(&w, &f, PROTOBUF_BYTES, "raw_data of a tensor", m->err));
			raw = f.end - f.at;
		} else if (f.number == 13) {
			BERTH_TRY(read_external(m, &w, &f, &length));
		}
	}
	BERTH_TRY(keep_dims(m, dim, rank, t));
	t->bytes = onnx_elem_bytes(t->elem, t->count);
	if (raw && onnx_elem_bits(t->elem) && raw != (uint64_t)t->bytes)
		return onnx_bad(m, t->at,
		                "tensor '%.80s' holds %zu bytes of raw_data; its type and shape make %lld",
		                t->name, raw, (long long)t->bytes);
	if (length >= 0 && onnx_elem_bits(t->elem) && length != t->bytes)
		return onnx_bad(m, t->at,
		                "tensor '%.80s' has %lld bytes in another file; its type and shape make %lld",
		                t->name, (long long)length, (long long)t->bytes);
	return BERTH_OK;
}

static berth_status read_sparse(const onnx_model *m, protobuf w, onnx_tensor *t)
{
	int64_t dim[ONNX_MAX_RANK], bytes = 0;
	size_t rank = 0;
	protobuf_field f;
	bool more;
	for (;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, m->err));
		if (!more)
			break;
		if (f.number == 1 || f.number == 2) {
			onnx_tensor part;
			BERTH_TRY(protobuf_expect(&w, &f, PROTOBUF_BYTES, "a part of a sparse tensor",
			                          m->err));
			BERTH_TRY(onnx_read_tensor(m, protobuf_inside(&w, &f), false, &part));
			bytes = part.bytes;
			t->bytes += bytes;
			if (f.number == 1) {
				t->name = part.name;
				t->elem = part.elem;
			}
		} else if (f.number == 3) {
			BERTH_TRY(protobuf_varints(&w, &f, "dims of a sparse tensor", dim, ONNX_MAX_RANK,
			                            &rank, m->err));
		}
	}
	if (t->bytes > ONNX_MAX_ELEMENTS)
		return onnx_bad(m, t->at, "a sparse tensor of more than 2^48 bytes");
	return keep_dims(m, dim, rank, t);
}

berth_status onnx_read_tensor(const onnx_model *m, protobuf w, bool sparse, onnx_tensor *t)
{
	*t = (onnx_tensor){.name = "", .at = w.at, .end = w.end, .sparse = sparse};
	return sparse ? read_sparse(m, w, t) : read_dense(m, w, t);
}

/* ---- content ---- */

double onnx_half(uint32_t h)
{
	uint32_t sign = h >> 15, exponent = h >> 10 & 31, fraction = h & 1023;
	double x = exponent == 0    ? fraction * 0x1p-24
	           : exponent == 31 ? protobuf_float(fraction ? 0x7fc00000u : 0x7f800000u)
	                            : protobuf_float((exponent + 112) << 23 | fraction << 13);
	return sign ? -x : x;
}

/* Element of a float type of 16, 32 or 64 bits. */
static double real_of(int32_t elem, uint64_t bits)
{
	switch (elem) {
	case ONNX_FLOAT: return protobuf_float((uint32_t)bits);
	case ONNX_DOUBLE: return protobuf_double(bits);
	case ONNX_FLOAT16: return onnx_half((uint32_t)bits & 0xffff);
	default: return protobuf_float((uint32_t)(bits << 16)); /* bfloat16 */
	}
}

/* Integer of a type, sign extended. */
static int64_t int_of(int32_t elem, uint64_t bits)
{
	switch (elem) {
	case ONNX_INT8: return (int8_t)bits;
	case ONNX_INT16: return (int16_t)bits;
	case ONNX_INT32: return (int32_t)bits;
	default: return (int64_t)bits;
	}
}

static bool decodable(int32_t elem)
{
	return elem == ONNX_FLOAT || elem == ONNX_DOUBLE || elem == ONNX_FLOAT16 || elem == ONNX_BFLOAT16 ||
	       elem == ONNX_BOOL || (elem >= ONNX_UINT8 && elem <= ONNX_INT64) || elem == ONNX_UINT32 ||
	       elem == ONNX_UINT64;
}

typedef struct content {
	int64_t *ints;
	double *reals;
	size_t n, cap;
} content;

/* One of the typed fields: float_data 4, int32_data 5 (also 8 and 16 bits and halves), int64_data 7,
 * double_data 10, uint64_data 11. */
static berth_status read_typed(const protobuf *w, const onnx_tensor *t, const protobuf_field *f, content *c,
                               berth_err *err)
{
	if (f->number == 4 && t->elem == ONNX_FLOAT)
		return protobuf_floats(w, f, "float_data of a tensor", c->reals, c->cap, &c->n, err);
	if (f->number == 10 && t->elem == ONNX_DOUBLE)
		return protobuf_doubles(w, f, "double_data of a tensor", c->reals, c->cap, &c->n, err);
	if (f->number != 5 && f->number != 7 && f->number != 11)
		return BERTH_OK;
	int64_t bits[ONNX_MAX_CONTENT];
	size_t start = c->n;
	BERTH_TRY(protobuf_varints(w, f, "integer data of a tensor", bits, c->cap, &c->n, err));
	for (size_t i = start; i < c->n && i < c->cap; i++) {
		if (c->reals)
			c->reals[i] = real_of(t->elem, (uint64_t)bits[i]);
		else
			c->ints[i] = int_of(t->elem, (uint64_t)bits[i]);
	}
	return BERTH_OK;
}

berth_status onnx_tensor_content(const onnx_model *m, const onnx_tensor *t, const int64_t **ints,
                                 const double **reals)
{
	*ints = NULL;
	*reals = NULL;
	if (t->sparse || t->count > ONNX_MAX_CONTENT || (size_t)t->count > t->end - t->at ||
	    !decodable(t->elem))
		return BERTH_OK; /* an element takes a byte at least */
	content c = {.cap = (size_t)t->count};
	if (onnx_elem_is_real(t->elem))
		BERTH_TRY_NEW(m->tmp, c.cap, m->err, c.reals);
	else
		BERTH_TRY_NEW(m->tmp, c.cap, m->err, c.ints);
	protobuf w = {m->file, m->data, t->at, t->end};
	protobuf_field f;
	bool more;
	for (;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, m->err));
		if (!more)
			break;
		if (f.number == 9) {
			size_t bytes = (size_t)onnx_elem_bits(t->elem) / 8;
			for (c.n = 0; c.n < c.cap && (c.n + 1) * bytes <= f.end - f.at; c.n++) {
				uint64_t bits = berth_file_little(m->data + f.at + c.n * bytes, bytes);
				if (c.reals)
					c.reals[c.n] = real_of(t->elem, bits);
				else
					c.ints[c.n] = int_of(t->elem, bits);
			}
		} else
			BERTH_TRY(read_typed(&w, t, &f, &c, m->err));
	}
	if (c.n == c.cap) { /* fewer: the file was stripped of its data, or keeps them elsewhere */
		*ints = c.ints;
		*reals = c.reals;
	}
	return BERTH_OK;
}

/* ---- attributes: lists are decoded out of the file each time they are asked for ---- */

const onnx_attr *onnx_attr_find(const onnx_node *n, const char *name)
{
	for (int32_t i = 0; i < n->n_attrs; i++)
		if (strcmp(n->attr[i].name, name) == 0)
			return &n->attr[i];
	return NULL;
}

int64_t onnx_attr_int(const onnx_node *n, const char *name, int64_t missing)
{
	const onnx_attr *a = onnx_attr_find(n, name);
	return a && a->kind == ONNX_ATTR_INT ? a->is.i : missing;
}

double onnx_attr_float(const onnx_node *n, const char *name, double missing)
{
	const onnx_attr *a = onnx_attr_find(n, name);
	return a && a->kind == ONNX_ATTR_FLOAT ? a->is.f : missing;
}

void onnx_attr_text(const onnx_model *m, const onnx_node *n, const char *name, const char **text, size_t *len)
{
	const onnx_attr *a = onnx_attr_find(n, name);
	*text = a && a->kind == ONNX_ATTR_TEXT ? (const char *)m->data + a->is.text_at : NULL;
	*len = *text ? a->text_len : 0;
}

bool onnx_attr_is(const onnx_model *m, const onnx_node *n, const char *name, const char *text)
{
	const char *found;
	size_t len;
	onnx_attr_text(m, n, name, &found, &len);
	return found && len == strlen(text) && memcmp(found, text, len) == 0;
}

/* Integers (field 8) or floats (7) of an attribute; *len = their count, -1 where the node has none. */
static berth_status read_list(const onnx_model *m, const onnx_node *n, const char *name, uint32_t number,
                              void *out, size_t cap, int32_t *len)
{
	const onnx_attr *a = onnx_attr_find(n, name);
	size_t count = 0;
	*len = -1;
	if (!a)
		return BERTH_OK;
	protobuf w = {m->file, m->data, a->at, a->end};
	protobuf_field f;
	for (bool more;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, m->err));
		if (!more)
			break;
		if (f.number == number)
			BERTH_TRY(number == 8 ? protobuf_varints(&w, &f, "ints of an attribute", out, cap,
			                                          &count, m->err)
			                      : protobuf_floats(&w, &f, "floats of an attribute", out, cap,
			                                         &count, m->err));
	}
	*len = count > INT32_MAX ? INT32_MAX : (int32_t)count;
	return BERTH_OK;
}

berth_status onnx_attr_ints(const onnx_model *m, const onnx_node *n, const char *name, int64_t out[],
                            size_t cap, int32_t *len)
{
	return read_list(m, n, name, 8, out, cap, len);
}

berth_status onnx_attr_floats(const onnx_model *m, const onnx_node *n, const char *name, double out[],
                              size_t cap, int32_t *len)
{
	return read_list(m, n, name, 7, out, cap, len);
}
