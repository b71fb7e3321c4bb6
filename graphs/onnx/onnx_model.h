/* How a model is decoded: limits, and what the importer's files share. Inside the importer, and for what
 * rewrites models (tasks/pieces); what others may use is onnx_decode.h. */
#ifndef BERTH_ONNX_MODEL_H
#define BERTH_ONNX_MODEL_H

#include "onnx_decode.h"

enum {
	ONNX_MAX_RANK = 64,
	ONNX_MAX_CONTENT = 1024,     /* elements of a tensor whose content is looked at */
	/* elements of all contents that are computed, and one more for each 8 bytes of the file. Contents
	 * beyond that are unknown. */
	ONNX_MAX_CONTENTS = 1 << 18,
	ONNX_MAX_ATTRS = 256,        /* of a node */
	ONNX_MAX_DEPTH = 32,         /* bodies and function calls inside each other */
	/* nodes that calls of functions become, and one more for each 128 bytes of the file */
	ONNX_MAX_INLINED = 1 << 13
};
#define ONNX_MAX_ELEMENTS (INT64_C(1) << 48)

/* A shape by value. */
typedef struct onnx_dims {
	int32_t rank; /* ONNX_UNKNOWN: nothing is known, not even the rank */
	int64_t d[ONNX_MAX_RANK];
} onnx_dims;

/* ---- onnx_read.c ---- */

/* Decode data[size] into *m (file, data, size and tmp are set). Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status onnx_read_model(onnx_model *m, berth_err *err);

/* ---- onnx_names.c ---- */

/* Every used value has a producer and every symbolic dimension a value; topological order. Fails:
 * BERTH_EFORMAT, BERTH_EINVAL, BERTH_ENOMEM. */
berth_status onnx_resolve(onnx_model *m, const berth_read_options *opt, berth_err *err);

/* ---- onnx_tensor.c ---- */

/* a * b of sizes >= 0, at most ONNX_MAX_ELEMENTS + 1 (which means: too large). */
int64_t onnx_times(int64_t a, int64_t b);
/* Elements of a full shape (too large: ONNX_MAX_ELEMENTS + 1), or ONNX_UNKNOWN. */
int64_t onnx_count(int32_t rank, const int64_t *dim);
/* Bits of an element; 0: no fixed size or not known. */
int onnx_elem_bits(int32_t elem);
/* Floats, and integers that quantised weights are made of. */
bool onnx_elem_is_real(int32_t elem);
bool onnx_elem_is_quantised(int32_t elem);
int64_t onnx_elem_bytes(int32_t elem, int64_t count);
/* Bytes of a value by what is known of it; *known = false where a part had to be guessed. */
int64_t onnx_value_bytes(const onnx_value *v, bool *known);

/* Read a TensorProto (sparse: a SparseTensorProto). Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status onnx_read_tensor(const onnx_model *m, onnx_wire w, bool sparse, onnx_tensor *t, berth_err *err);
/* Content of a small tensor into *ints or *reals; both NULL where it is large, stripped, external or of
 * another type. */
berth_status onnx_tensor_content(const onnx_model *m, const onnx_tensor *t, const int64_t **ints,
                                 const double **reals, berth_err *err);

/* ---- onnx_external.c ---- */

/* Take note of the file that an entry of external_data names. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status onnx_read_external(const onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err);

/* What a message calls a node: its name, or that of its first output. */
const char *onnx_node_label(const onnx_model *m, const onnx_node *n);
/* "FILE: node 'NAME' (TYPE): " and the message; returns BERTH_EFORMAT. */
berth_status onnx_fail(const onnx_model *m, const onnx_node *n, berth_err *err, const char *fmt, ...)
	BERTH_PRINTF(4, 5);

/* ---- attributes (onnx_attr.c) ---- */

/* NULL where the node has none of that name. */
const onnx_attr *onnx_attr_find(const onnx_node *n, const char *name);
int64_t onnx_attr_int(const onnx_node *n, const char *name, int64_t missing);
double onnx_attr_float(const onnx_node *n, const char *name, double missing);
bool onnx_attr_is(const onnx_model *m, const onnx_node *n, const char *name, const char *text);
/* The text; not closed by a 0. *text NULL where it is missing. */
void onnx_attr_text(const onnx_model *m, const onnx_node *n, const char *name, const char **text,
                    size_t *len);
/* Numbers of a list; *len counts also those beyond cap, -1: no such attribute. */
berth_status onnx_attr_ints(const onnx_model *m, const onnx_node *n, const char *name, int64_t out[],
                            size_t cap, int32_t *len, berth_err *err);
berth_status onnx_attr_floats(const onnx_model *m, const onnx_node *n, const char *name, double out[],
                              size_t cap, int32_t *len, berth_err *err);

#endif
