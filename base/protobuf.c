/* Walker over the protocol-buffer wire format. Every read is checked against the end of its
 * message. */
#include "protobuf.h"

#include "file.h"
#include "text.h"

static const char *const type_word[] = {"a varint", "a 64-bit value",     "a length-delimited value",
                                        "a group",  "the end of a group", "a 32-bit value"};

static berth_status read_varint(protobuf *w, uint64_t *out, berth_err *err)
{
	uint64_t x = 0;
	size_t start = w->at;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (w->at == w->end)
			return berth_fail(err, BERTH_EFORMAT,
			                  "%s: byte %zu: expected a varint, found the end of %s", w->file,
			                  start, start == w->at ? "the data" : "the data inside it");
		uint64_t byte = w->data[w->at++];
		if (shift == 63 && byte > 1)
			break;
		x |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = x;
			return BERTH_OK;
		}
	}
	return berth_fail(err, BERTH_EFORMAT,
	                  "%s: byte %zu: expected a varint of at most 64 bits, found a longer one", w->file,
	                  start);
}

static berth_status read_fixed(protobuf *w, size_t bytes, uint64_t *out, berth_err *err)
{
	if (w->end - w->at < bytes)
		return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: expected %zu more bytes, found %zu",
		                  w->file, w->at, bytes, w->end - w->at);
	*out = berth_file_little(w->data + w->at, bytes);
	w->at += bytes;
	return BERTH_OK;
}

static berth_status read_length(protobuf *w, protobuf_field *f, berth_err *err)
{
	size_t at = w->at;
	uint64_t length;
	BERTH_TRY(read_varint(w, &length, err));
	if (length > w->end - w->at)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: byte %zu: field %u of %llu bytes, but only %zu are left (is the file cut off?)",
			w->file, at, f->number, (unsigned long long)length, w->end - w->at);
	f->at = w->at;
	f->end = w->at += (size_t)length;
	return BERTH_OK;
}

berth_status protobuf_next(protobuf *w, protobuf_field *f, bool *more, berth_err *err)
{
	*more = w->at < w->end;
	if (!*more)
		return BERTH_OK;
	uint64_t tag;
	*f = (protobuf_field){.tag_at = w->at};
	BERTH_TRY(read_varint(w, &tag, err));
	uint64_t number = tag >> 3, type = tag & 7;
	if (number == 0 || number >= 1u << 29)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: byte %zu: field number %llu; expected 1 to 2^29 - 1 (is this an ONNX model?)",
			w->file, f->tag_at, (unsigned long long)number);
	f->number = (uint32_t)number;
	f->type = (protobuf_type)type;
	switch (type) {
	case PROTOBUF_VARINT: return read_varint(w, &f->value, err);
	case PROTOBUF_FIXED64: return read_fixed(w, 8, &f->value, err);
	case PROTOBUF_FIXED32: return read_fixed(w, 4, &f->value, err);
	case PROTOBUF_BYTES: return read_length(w, f, err);
	default:
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: byte %zu: field %u has wire type %d; expected 0, 1, 2 or 5 (is this "
		                  "an ONNX model?)",
		                  w->file, f->tag_at, f->number, (int)type);
	}
}

berth_status protobuf_expect(const protobuf *w, const protobuf_field *f, protobuf_type type, const char *what,
                              berth_err *err)
{
	if (f->type == type)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "%s: byte %zu: %s (field %u): expected %s, found %s", w->file,
	                  f->tag_at, what, f->number, type_word[type], type_word[f->type]);
}

protobuf protobuf_inside(const protobuf *w, const protobuf_field *f)
{
	return (protobuf){w->file, w->data, f->at, f->end};
}

berth_status protobuf_text(const protobuf *w, const protobuf_field *f, const char *what, berth_arena *mem,
                            const char **out, berth_err *err)
{
	BERTH_TRY(protobuf_expect(w, f, PROTOBUF_BYTES, what, err));
	const char *text = (const char *)w->data + f->at;
	size_t n = f->end - f->at;
	if (!berth_text_is_utf8(text, n) || memchr(text, 0, n))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: byte %zu: %s: expected UTF-8 text without zero bytes", w->file, f->at,
		                  what);
	*out = berth_arena_strndup(mem, text, n);
	return *out ? BERTH_OK : berth_nomem(err);
}

berth_status protobuf_varints(const protobuf *w, const protobuf_field *f, const char *what, int64_t out[],
                               size_t cap, size_t *n, berth_err *err)
{
	if (f->type == PROTOBUF_VARINT) {
		if (*n < cap)
			out[*n] = (int64_t)f->value;
		++*n;
		return BERTH_OK;
	}
	BERTH_TRY(protobuf_expect(w, f, PROTOBUF_BYTES, what, err));
	for (protobuf in = protobuf_inside(w, f); in.at < in.end; ++*n) {
		uint64_t x = 0;
		BERTH_TRY(read_varint(&in, &x, err));
		if (*n < cap)
			out[*n] = (int64_t)x;
	}
	return BERTH_OK;
}

static double decode(uint64_t bits, size_t bytes)
{
	return bytes == 4 ? protobuf_float((uint32_t)bits) : protobuf_double(bits);
}

/* Numbers of a fixed width; a packed block is counted by its length, decoded only as far as out reaches. */
static berth_status fixed(const protobuf *w, const protobuf_field *f, const char *what, size_t bytes,
                          double out[], size_t cap, size_t *n, berth_err *err)
{
	protobuf_type single = bytes == 4 ? PROTOBUF_FIXED32 : PROTOBUF_FIXED64;
	if (f->type == single) {
		if (*n < cap)
			out[*n] = decode(f->value, bytes);
		++*n;
		return BERTH_OK;
	}
	BERTH_TRY(protobuf_expect(w, f, PROTOBUF_BYTES, what, err));
	size_t count = (f->end - f->at) / bytes;
	if ((f->end - f->at) % bytes)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: byte %zu: %s: %zu bytes; expected a multiple of %zu", w->file, f->at,
		                  what, f->end - f->at, bytes);
	for (size_t i = 0; i < count && *n + i < cap; i++)
		out[*n + i] = decode(berth_file_little(w->data + f->at + i * bytes, bytes), bytes);
	*n += count;
	return BERTH_OK;
}

berth_status protobuf_floats(const protobuf *w, const protobuf_field *f, const char *what, double out[],
                              size_t cap, size_t *n, berth_err *err)
{
	return fixed(w, f, what, 4, out, cap, n, err);
}

berth_status protobuf_doubles(const protobuf *w, const protobuf_field *f, const char *what, double out[],
                               size_t cap, size_t *n, berth_err *err)
{
	return fixed(w, f, what, 8, out, cap, n, err);
}

double protobuf_float(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return (double)x;
}

double protobuf_double(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}
