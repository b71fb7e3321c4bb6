/* A decoded ONNX model: nodes, and the values (tensors) that flow between them. For engines, which run
 * the model whose operators the graph has. Everything lives in one scratch arena; contents of tensors
 * stay in the file and are decoded when a shape depends on them. */
#ifndef BERTH_ONNX_DECODE_H
#define BERTH_ONNX_DECODE_H

#include "graph_format.h"
#include "onnx_wire.h"
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
	bool folded;
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

/* The files beside the model that tensors are in. */
typedef struct onnx_external {
	berth_strmap seen;
	const char **name; /* [n] as the model writes them */
	size_t n, cap;
} onnx_external;

typedef struct onnx_model {
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
	int32_t *tensor_value;     /* [n_tensors] the value of an initializer */
	const char **symbol;       /* symbolic dimensions */
	int64_t *symbol_value;
	bool *symbol_of_input;
	int32_t *order;            /* [n_nodes] topological, lowest first */
	const char **warning;
	const onnx_node **loop;    /* whose trips nobody states */
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

#endif
