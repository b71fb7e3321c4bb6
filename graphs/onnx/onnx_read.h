/* How messages become an onnx_model: what they declare and name (onnx_scope.c), nodes with their bodies and
 * functions (onnx_node.c), the model (onnx_read.c). */
#ifndef BERTH_ONNX_READ_H
#define BERTH_ONNX_READ_H

#include "onnx_model.h"

/* A visitor of the fields of a message. */
typedef berth_status (*onnx_field_fn)(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                      berth_err *err);

berth_status onnx_each_field(onnx_model *m, void *ctx, onnx_wire w, onnx_field_fn visit, berth_err *err);
/* The fields of the message that field f is; what: for the error where it is none. */
berth_status onnx_each_field_inside(onnx_model *m, void *ctx, const onnx_wire *w, const onnx_field *f,
                                    const char *what, onnx_field_fn visit, berth_err *err);

/* What names mean inside a body or a function. The main graph has none (NULL): its names are m->values. */
typedef struct onnx_scope {
	berth_strmap names;       /* to values, ONNX_LEFT_OUT: an input that the call leaves out */
	struct onnx_scope *outer; /* NULL: the main graph */
	onnx_nodes *to;           /* where nodes go; NULL: the main graph's */
	onnx_node *node;          /* whose body this is, NULL: a function; */
	size_t *cap_in;           /* room of its list of inputs */
	const onnx_node *call;    /* of the function, and the attributes that it has without being told */
	const onnx_attr *missing;
	size_t n_missing;
	const char *prefix;       /* of names inside a function */
	int depth;
} onnx_scope;

enum { ONNX_LEFT_OUT = INT32_MAX };

/* ---- onnx_scope.c ---- */

/* The value that name (in the arena) stands for; -1: it is empty, or left out. A name that nobody has
 * defined is a value of the main graph, and an input of every node whose body it is used in; in a function
 * one that nobody makes. */
berth_status onnx_resolve_name(onnx_model *m, onnx_scope *s, const char *name, int32_t *v, berth_err *err);
/* Define a name here: a new value where there is none. */
berth_status onnx_define(onnx_model *m, onnx_scope *s, const char *name, int32_t *v, berth_err *err);
/* Value v is used in the body s: an input of its node. name NULL: it has none there. */
berth_status onnx_capture(onnx_model *m, onnx_scope *s, const char *name, int32_t v, berth_err *err);

/* The value named by a text field. A name of the main graph that is known already leaves nothing in the
 * arena. */
berth_status onnx_read_value_name(onnx_model *m, onnx_scope *s, const onnx_wire *w, const onnx_field *f,
                                  const char *what, int32_t *v, berth_err *err);
/* A ValueInfoProto of the scope; *value is what it speaks of. */
berth_status onnx_read_value_info(onnx_model *m, onnx_scope *s, const onnx_wire *w, const onnx_field *f,
                                  const char *what, int32_t *value, berth_err *err);
berth_status onnx_read_attr(onnx_model *m, onnx_attr *a, const onnx_wire *w, const onnx_field *f,
                            berth_err *err);
berth_status onnx_read_initializer(onnx_model *m, onnx_scope *s, const onnx_wire *w, const onnx_field *f,
                                   int32_t *value, berth_err *err);

/* ---- onnx_node.c ---- */

/* A NodeProto into the scope's list, with its row of the table of operators and its bodies. The call of a
 * function is replaced by the function's nodes. */
berth_status onnx_read_node(onnx_model *m, onnx_scope *s, const onnx_wire *w, const onnx_field *f,
                            berth_err *err);
/* Take note of a FunctionProto. */
berth_status onnx_list_function(onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err);

#endif
