/* A copy of an ONNX model with fields added to its nodes, made of pieces: parts of the file as they stand,
 * and what is new between them. Everything else stays byte for byte (unknown fields, weights, what external
 * data are called), but for the lengths of the messages around a change. No weight is looked at. */
#pragma once

#include "file.h"
#include "protobuf.h"
#include "text.h"

typedef struct onnx_edit {
	void *ctx;
	/* Is this field of a node (or, at_model, of the model) left out? */
	bool (*drops)(void *ctx, const protobuf *w, const protobuf_field *f, bool at_model);
	/* Fields for the end of the node that f is, which must outlive the pieces. node counts the main
	 * graph; nodes in bodies (of If, Loop, Scan) have the number of the node around them, and come
	 * before it. */
	berth_status (*adds)(void *ctx, int32_t node, bool in_body, const protobuf *w,
	                     const protobuf_field *f,
	                     const char **data, size_t *size, berth_err *err);
	uint64_t ir_version;   /* of the copy, at least; 0: as it is */
	const char *tail;      /* [n_tail] fields for the end of the model */
	size_t n_tail;
} onnx_edit;

typedef struct onnx_edited {
	berth_file_piece *piece; /* [n_pieces] in mem; they point into data and mem */
	size_t n_pieces, cap_pieces;
	int32_t n_nodes;  /* of the main graph */
	bool has_outside; /* a tensor's content stands in another file */
} onnx_edited;

/* file stands in messages. Fails: BERTH_EFORMAT, BERTH_ENOMEM, and as adds does. O(bytes outside of weights).
 */
berth_status onnx_edit_model(const onnx_edit *e, const char *file, const unsigned char *data, size_t size,
                             berth_arena *mem, onnx_edited *out, berth_err *err);

/* Fields of a message: a number, and text or a message. */
void onnx_put_number(berth_strbuf *b, uint32_t field, uint64_t value);
void onnx_put_bytes(berth_strbuf *b, uint32_t field, const void *data, size_t size);
void onnx_put_text(berth_strbuf *b, uint32_t field, const char *text);
/* The message, with its lack of memory. */
void onnx_put_message(berth_strbuf *b, uint32_t field, const berth_strbuf *message);
/* What stands before text or a message of so many bytes. */
void onnx_put_head(berth_strbuf *b, uint32_t field, size_t size);
