/* Protocol-buffer wire format, read in place: a walk over the fields of one message. Nothing is copied or
 * allocated, and a length-delimited field is skipped by its length, so gigabytes of weights cost nothing.
 * Format: "Protocol Buffers: Encoding" (varint, 64-bit, length-delimited, 32-bit); groups are not used by
 * ONNX and are errors. */
#pragma once

#include "arena.h"

typedef enum protobuf_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2,
	PROTOBUF_FIXED32 = 5
} protobuf_type;

/* The rest of a message: data[at .. end) of the file. Offsets are offsets in the file. */
typedef struct protobuf {
	const char *file;          /* for messages */
	const unsigned char *data; /* the whole file */
	size_t at, end;
} protobuf;

typedef struct protobuf_field {
	uint32_t number;
	protobuf_type type;
	size_t tag_at;   /* where the field starts */
	uint64_t value;  /* of a varint or fixed field */
	size_t at, end;  /* content of a length-delimited field */
} protobuf_field;

/* Next field of the message into *f; *more = false where the message ends. Fails: BERTH_EFORMAT with the
 * byte offset. */
berth_status protobuf_next(protobuf *w, protobuf_field *f, bool *more, berth_err *err);

/* f has the wire type; what names the field in the message. Fails: BERTH_EFORMAT. */
berth_status protobuf_expect(const protobuf *w, const protobuf_field *f, protobuf_type type, const char *what,
                              berth_err *err);

/* The message inside a length-delimited field. */
protobuf protobuf_inside(const protobuf *w, const protobuf_field *f);

/* Copy of a text field: valid UTF-8 without zero bytes. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status protobuf_text(const protobuf *w, const protobuf_field *f, const char *what, berth_arena *mem,
                            const char **out, berth_err *err);

/* Append the numbers of one occurrence of a repeated field (a single value, or packed) to out[cap] at *n,
 * which also counts those beyond cap. Widths: varint, 4 or 8 bytes. Fails: BERTH_EFORMAT. */
berth_status protobuf_varints(const protobuf *w, const protobuf_field *f, const char *what, int64_t out[],
                               size_t cap, size_t *n, berth_err *err);
berth_status protobuf_floats(const protobuf *w, const protobuf_field *f, const char *what, double out[],
                              size_t cap, size_t *n, berth_err *err);
berth_status protobuf_doubles(const protobuf *w, const protobuf_field *f, const char *what, double out[],
                               size_t cap, size_t *n, berth_err *err);

double protobuf_float(uint32_t bits);
double protobuf_double(uint64_t bits);
