/* A decoded ONNX model: nodes, and the values (tensors) that flow between them. For engines, which run
 * the model whose operators the graph has. Everything lives in one scratch arena; contents of tensors
 * stay in the file and are decoded when a shape depends on them. */
#pragma once

#include "graph_format.h"
#include "protobuf.h"
#include "text.h"

enum { ONNX_UNKNOWN = -1 }; /* a rank or a dimension */

/* TensorProto.DataType */
typedef enum onnx_elem {
	ONNX_NONE = 0,
	ONNX_FLOAT = 1,
	ONNX_UINT8 = 2,
	ONNX_INT8 = 3,
	ONNX_UINT16 = 4,
	ONNX_INT16 = 5,
	ONNX_INT32 = 6,
	ONNX_INT64 = 7,
	ONNX_STRING = 8,
	ONNX_BOOL = 9,
	ONNX_FLOAT16 = 10,
	ONNX_DOUBLE = 11,
	ONNX_UINT32 = 12,
	ONNX_UINT64 = 13,
	ONNX_BFLOAT16 = 16
} onnx_elem;

/* A TensorProto or SparseTensorProto: what it is, and where its message stands in the file. */
typedef struct onnx_tensor {
	const char *name;
	int32_t elem, rank;
	const int64_t *dim;
	int64_t count, bytes; /* elements, and bytes that storing them takes */
	bool sparse;
	size_t at, end;
} onnx_tensor;

/* An AttributeProto; lists stay in the file. */
typedef struct onnx_attr {
	const char *name;
	enum { ONNX_ATTR_OTHER, ONNX_ATTR_INT, ONNX_ATTR_FLOAT, ONNX_ATTR_TEXT } kind;
	uint32_t text_len;
	union {
		int64_t i;
		double f;
		size_t text_at;
	} is;
	const char *ref; /* inside a function: the attribute of the call that stands for it; NULL: none */
	onnx_tensor *tensor;
	size_t at, end;
} onnx_attr;

typedef struct onnx_node {
	const char *name, *type, *domain; /* "" where the file has none; the default domain is "" */
	/* [n_all] values, -1: left out; from n_in on what bodies take from outside, and their
	 * initializers */
	int32_t *in;
	int32_t *out;                     /* [n_out] values, -1: left out */
	onnx_attr *attr;
	struct onnx_body *body;           /* [n_bodies] of If, Loop, Scan and their kin */
	int32_t n_in, n_all, n_out, n_attrs, n_bodies;
	bool folded, lent; /* lent: op is that of com.microsoft, whose domain the node lacks */
	int64_t trips; /* how often a body runs: by an option (0: none), later what is counted with */
	const struct onnx_op *op;         /* row of the table of operators; NULL: not known */
	size_t at;
} onnx_node;

typedef struct onnx_nodes {
	onnx_node *node;
	size_t n, cap;
} onnx_nodes;

/* A graph inside a node. Its values stand among those of the model; no node of the main graph makes them. */
typedef struct onnx_body {
	const char *name; /* of the attribute */
	onnx_nodes nodes; /* in file order, which is topological */
	int32_t *in, *out; /* values */
	size_t n_in, n_out, cap_in, cap_out;
} onnx_body;

/* A FunctionProto: an operator that the model itself defines. */
typedef struct onnx_function {
	size_t at, end;
} onnx_function;

typedef struct onnx_value {
	const char *name;
	int32_t producer;           /* node; -1: none */
	int32_t input;              /* position among the graph inputs; -1: none */
	const onnx_tensor *tensor;  /* content of an initializer or a Constant */
	int32_t elem, rank;         /* what is known by now; ranks and dimensions may be ONNX_UNKNOWN */
	const int64_t *dim;
	int32_t said_elem, said_rank; /* what the file declares; a dimension <= -2 is the symbol -2 - dim */
	int64_t *said_dim;
	const int64_t *ints;        /* content [elements] of integers and booleans, or NULL */
	const double *reals;        /* content of floats, or NULL */
	bool symbolic;              /* an input with a dimension that the file leaves open */
	bool constant, weight_input, quantised_bias, is_output, used;
	int32_t seen;               /* stamp of the last node that counted it */
	int32_t n_roots;            /* parameters that a constant is made of: */
	const int32_t *root;        /* into param */
} onnx_value;

/* A parameter: an initializer, a graph input that is a weight, or a constant that folding made. */
typedef struct onnx_param {
	int32_t value;
	int64_t bytes, elements;
	int32_t users, last_user; /* operators, and the last node that counted itself */
	int32_t seen;             /* stamp of the last folded node that took it in */
} onnx_param;

/* Where the value of a symbolic dimension is from. */
typedef enum onnx_how {
	ONNX_GUESSED, /* 1, as nobody states it */
	ONNX_STATED,  /* by an option */
	ONNX_FITTED   /* no other value fits the model */
} onnx_how;

enum { ONNX_MOST_FITS = 8 };

/* Symbolic dimensions that only one value fits. */
typedef struct onnx_fits {
	int32_t n, symbol[ONNX_MOST_FITS];
	int64_t value[ONNX_MOST_FITS];
} onnx_fits;

/* The files beside the model that tensors are in. */
typedef struct onnx_external {
	berth_strmap seen;
	const char **name; /* [n] as the model writes them */
	size_t n, cap;
} onnx_external;

typedef struct onnx_model {
	berth_err *err; /* where messages go while it is decoded */
	const char *file;
	const unsigned char *data;
	size_t size;
	berth_arena *tmp;
	int64_t ir_version, opset; /* of the default domain */
	int64_t n_contents;        /* elements computed so far */
	bool has_opset;
	const char *name;
	onnx_node *node;
	onnx_value *value;
	onnx_tensor *tensor;       /* the initializers */
	int32_t *input, *output;   /* values */
	const int64_t **open_dim;  /* [n_inputs] said_dim with its symbols, as the file has it; NULL: none */
	int32_t *tensor_value;     /* [n_tensors] the value of an initializer */
	const char **symbol;       /* symbolic dimensions */
	int64_t *symbol_value;
	bool *symbol_of_input;
	unsigned char *symbol_how; /* onnx_how */
	int32_t *order;            /* [n_nodes] topological, lowest first */
	const char **warning;
	const onnx_node **loop;    /* whose trips nobody states */
	const onnx_node *failed;   /* where inference failed, and its place in order; NULL: nowhere */
	size_t failed_at;
	onnx_fits fits;
	onnx_param *param;
	onnx_function *function;
	onnx_external *external;
	int32_t stamp;             /* of the last node whose values were marked as seen */
	/* nodes that calls of functions became, and bytes of functions gone through for that */
	size_t n_inlined, inlined_bytes;
	size_t n_functions, cap_function;
	size_t n_nodes, n_values, n_tensors, n_inputs, n_outputs, n_symbols, n_warnings, n_params, n_loops;
	size_t cap_node, cap_value, cap_tensor, cap_tensor_value, cap_input, cap_output, cap_symbol,
		cap_warning, cap_param, cap_loop;
	berth_strmap values, symbols, warned, functions; /* functions: "domain:name:overload" */
} onnx_model;

/* Decode data[size]: nodes, values with types and shapes, constants and parameters found, folded nodes
 * marked. Those that are not folded are the operators of the graph, in the same order.
 *   m          file, data, size and tmp are set, the rest is zero
 *   opt        as in onnx.h; may be NULL
 *   n_weights  graph inputs taken for parameters
 * Fails: BERTH_EFORMAT, BERTH_EINVAL (a bad option), BERTH_ENOMEM. */
berth_status onnx_decode(onnx_model *m, const berth_read_options *opt, int32_t *n_weights, berth_err *err);

/* An IEEE half (its 16 bits) as a double. */
double onnx_half(uint32_t bits);

enum {
	ONNX_NEWEST_OPSET = 28,      /* whose operators are all known */
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

/* A type and a shape by value. */
typedef struct onnx_dims {
	int32_t rank; /* ONNX_UNKNOWN: nothing is known, not even the rank */
	int32_t elem; /* ONNX_NONE: not known */
	int64_t d[ONNX_MAX_RANK];
} onnx_dims;

/* ---- onnx_read.c ---- */

/* Decode data[size] into *m (file, data, size and tmp are set). Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status onnx_read_model(onnx_model *m);

/* The symbolic dimension of that name (in the arena), a new one where there is none, as *dim. Fails:
 * BERTH_ENOMEM. */
berth_status onnx_intern_symbol(onnx_model *m, const char *name, int64_t *dim);

/* ---- onnx_fit.c ---- */

/* One way to decode *m, whose symbolic dimensions are those of m->fits where it has them. */
typedef berth_status onnx_pass(onnx_model *m, const berth_read_options *opt, int32_t *n_weights);

/* Decode by `pass`. Where shapes contradict each other, sizes that nobody states are tried: one that only one
 * value fits takes it, and the message of what stays wrong names the dimensions that it depends on. As
 * onnx_decode; m->err is set. Cost: at most 64 times that of pass, once where the model fits. */
berth_status onnx_fit(onnx_model *m, const berth_read_options *opt, int32_t *n_weights, onnx_pass *pass);

/* ---- onnx_report.c ---- */

/* What m was, and what had to be assumed, into r; texts in mem. Fails: BERTH_ENOMEM. */
berth_status onnx_report(const onnx_model *m, berth_arena *mem, berth_read_report *r);

/* ---- onnx_names.c ---- */

/* Every used value has a producer and every symbolic dimension a value; topological order. Fails:
 * BERTH_EFORMAT, BERTH_EINVAL, BERTH_ENOMEM. */
berth_status onnx_resolve(onnx_model *m, const berth_read_options *opt);

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
berth_status onnx_read_tensor(const onnx_model *m, protobuf w, bool sparse, onnx_tensor *t);
/* Content of a small tensor into *ints or *reals; both NULL where it is large, stripped, external or of
 * another type. */
berth_status onnx_tensor_content(const onnx_model *m, const onnx_tensor *t, const int64_t **ints,
                                 const double **reals);

/* ---- external data ---- */

/* What a message calls a node: its name, or that of its first output. */
const char *onnx_node_label(const onnx_model *m, const onnx_node *n);
/* "FILE: node 'NAME' (TYPE): " and the message; returns BERTH_EFORMAT. */
berth_status onnx_fail(const onnx_model *m, const onnx_node *n, const char *fmt, ...)
	BERTH_PRINTF(3, 4);
/* "FILE: byte N: " and the message, the same way. */
berth_status onnx_bad(const onnx_model *m, size_t at, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* ---- attributes ---- */

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
                            size_t cap, int32_t *len);
berth_status onnx_attr_floats(const onnx_model *m, const onnx_node *n, const char *name, double out[],
                              size_t cap, int32_t *len);

/* A visitor of the fields of a message; ONNX_FIELD: the head of one. */
typedef berth_status (*onnx_field_fn)(onnx_model *m, void *ctx, const protobuf *w, const protobuf_field *f);
#define ONNX_FIELD(name) \
	static berth_status name(onnx_model *m, void *ctx, const protobuf *w, const protobuf_field *f)

berth_status onnx_each_field(onnx_model *m, void *ctx, protobuf w, onnx_field_fn visit);
/* The fields of the message that field f is; what: for the error where it is none. */
berth_status onnx_each_field_inside(onnx_model *m, void *ctx, const protobuf *w, const protobuf_field *f,
                                    const char *what, onnx_field_fn visit);

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

/* ---- scopes ---- */

/* The value that name (in the arena) stands for; -1: it is empty, or left out. A name that nobody has
 * defined is a value of the main graph, and an input of every node whose body it is used in; in a function
 * one that nobody makes. */
berth_status onnx_resolve_name(onnx_model *m, onnx_scope *s, const char *name, int32_t *v);
/* Define a name here: a new value where there is none. */
berth_status onnx_define(onnx_model *m, onnx_scope *s, const char *name, int32_t *v);
/* Value v is used in the body s: an input of its node. name NULL: it has none there. */
berth_status onnx_capture(onnx_model *m, onnx_scope *s, const char *name, int32_t v);

/* The value named by a text field. A name of the main graph that is known already leaves nothing in the
 * arena. */
berth_status onnx_read_value_name(onnx_model *m, onnx_scope *s, const protobuf *w, const protobuf_field *f,
                                  const char *what, int32_t *v);
/* A ValueInfoProto of the scope; *value is what it speaks of. */
berth_status onnx_read_value_info(onnx_model *m, onnx_scope *s, const protobuf *w, const protobuf_field *f,
                                  const char *what, int32_t *value);
/* protobuf_text into the arena. */
berth_status onnx_read_text(const onnx_model *m, const protobuf *w, const protobuf_field *f, const char *what,
                            const char **out);
berth_status onnx_read_attr(onnx_model *m, onnx_attr *a, const protobuf *w, const protobuf_field *f);
berth_status onnx_read_initializer(onnx_model *m, onnx_scope *s, const protobuf *w, const protobuf_field *f,
                                   int32_t *value);

/* ---- onnx_node.c ---- */

/* A NodeProto into the scope's list, with its row of the table of operators and its bodies. The call of a
 * function is replaced by the function's nodes. */
berth_status onnx_read_node(onnx_model *m, onnx_scope *s, const protobuf *w, const protobuf_field *f);
/* Take note of a FunctionProto. */
berth_status onnx_list_function(onnx_model *m, const protobuf *w, const protobuf_field *f);
