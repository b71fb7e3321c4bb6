/* Shapes, contents and costs, operator by operator. Inside the importer only.
 * The table of operators (onnx_table.c) has one row a type; a row names the functions that know it. */
#pragma once

#include "onnx_model.h"

/* The node being looked at. */
typedef struct onnx_at {
	onnx_model *m;
	const onnx_node *n;
} onnx_at;

/* d comes as type and shape of input 0 and becomes those of output 0; further outputs are set by onnx_set,
 * and output 0 too where d->rank becomes ONNX_SET. What a rule cannot know it leaves unknown; a
 * contradiction is BERTH_EFORMAT. */
typedef berth_status (*onnx_infer_fn)(const onnx_at *at, onnx_dims *d);
enum { ONNX_SET = -2 };
/* Set the content of output 0; called where it has a full shape of at most ONNX_MAX_CONTENT elements. */
typedef berth_status (*onnx_fold_fn)(const onnx_at *at);
/* What a node takes, bodies and their trips included. */
typedef struct onnx_work {
	double macs, flops;
	/* each distinct input of a node once, all outputs; at most INT64_MAX */
	int64_t read_bytes, write_bytes;
	berth_dims dims;
	berth_precision dtype; /* none: of no number that a precision is known for */
} onnx_work;
/* Multiply-accumulates, left 0 where a shape is unknown, and their dims where they are one product. */
typedef berth_status (*onnx_macs_fn)(const onnx_at *at, onnx_work *w);

enum {
	ONNX_CARRIER = 1, /* hands a parameter on from input 0 */
	ONNX_MIXER = 2,   /* may take a parameter as any operand */
	ONNX_RANDOM = 4,  /* not constant even without inputs */
	ONNX_WIDE = 8     /* input 0 is a weight slot from rank 2 on */
};

typedef struct onnx_op {
	const char *type;
	onnx_infer_fn infer;
	onnx_fold_fn fold;     /* NULL: contents are not looked at */
	onnx_macs_fn macs;     /* NULL: one FLOP per output element */
	uint32_t weight_slots; /* bit i: input i is a parameter where it is a graph input */
	unsigned flags;
} onnx_op;

/* Rows by the names of their rules: one that gives a shape alone, contents too, that has weight slots, and
 * that counts multiply-accumulates. */
#define S(i) (1u << (i))
#define SLOTS(first, last) ((2u << (last)) - (1u << (first)))
#define SHAPE(type, rule) {#type, onnx_infer_##rule, NULL, NULL, 0, 0}
#define FOLDS(type, rule, fold, flags) {#type, onnx_infer_##rule, onnx_fold_##fold, NULL, 0, flags}
#define HOLDS(type, rule, slots, flags) {#type, onnx_infer_##rule, NULL, NULL, slots, flags}
#define COUNTS(type, rule, macs, slots, flags) \
	{#type, onnx_infer_##rule, NULL, onnx_macs_##macs, slots, flags}

/* Row of a type in the default domain, com.microsoft or ai.onnx.preview.training; NULL: not known. */
const onnx_op *onnx_op_find(const char *domain, const char *type);
/* The table, sorted by type, for tests. */
const onnx_op *onnx_op_table(size_t *n);
/* The same of what only com.microsoft has, or has with another meaning. */
const onnx_op *onnx_microsoft_find(const char *type);
const onnx_op *onnx_microsoft_table(size_t *n);

/* Needs onnx_fold_model. Marks what it folds in bodies; a loop whose trips nobody states is noted in m->loop.
 * Fails: BERTH_ENOMEM. */
berth_status onnx_node_work(onnx_model *m, onnx_node *n, onnx_work *w);

/* ---- onnx_shapes.c ---- */

/* The rows of a node that has no product, by its type: what it writes, or what it reads where it reduces or
 * pools; none where no shape is known. */
berth_dims onnx_rows(const onnx_at *at);
/* What it computes in: whole numbers and few bits where these are multiplied, else the type of the first
 * floats that go in or come out. */
berth_precision onnx_precision(const onnx_at *at);

/* Is the node known without running: all inputs constant, or all outputs of known content? */
bool onnx_folds(const onnx_model *m, const onnx_node *n);

/* Shapes and small contents of all values, in topological order; constants are marked, folded nodes too.
 * Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status onnx_infer_model(onnx_model *m);
/* Graph inputs that are weights become constants (onnx.h has the rule). *n_found = their number. Needs
 * shapes. */
berth_status onnx_find_weights(onnx_model *m, int32_t *n_found);
/* Mark constants and folded nodes, and the parameters that constants are made of. */
berth_status onnx_fold_model(onnx_model *m);

/* The same of one list, in the order given. */
berth_status onnx_infer_nodes(onnx_model *m, onnx_node *node, size_t n_nodes);
/* What inference left open is taken from the file's own declaration. */
berth_status onnx_complete(onnx_model *m, onnx_value *v);

/* ---- for the functions of the table ---- */

const onnx_value *onnx_in(const onnx_at *at, int32_t i);  /* NULL: left out */
onnx_value *onnx_out(const onnx_at *at, int32_t o);       /* NULL: left out */
int32_t onnx_in_elem(const onnx_at *at, int32_t i);       /* ONNX_NONE where left out */
onnx_dims onnx_in_dims(const onnx_at *at, int32_t i);     /* rank ONNX_UNKNOWN where left out */
const int64_t *onnx_in_ints(const onnx_at *at, int32_t i, int32_t *n); /* content, NULL: not known */
const double *onnx_in_reals(const onnx_at *at, int32_t i, int32_t *n);
/* Content of integers or floats as double at index k; false: not known. */
bool onnx_in_number(const onnx_at *at, int32_t i, int32_t k, double *x);
/* The first element of input i as a size from 0 to ONNX_MAX_ELEMENTS; ONNX_UNKNOWN: it is none. */
int64_t onnx_in_size(const onnx_at *at, int32_t i);

/* Type and shape of output o (nothing where it is left out). Fails: BERTH_EFORMAT (too large),
 * BERTH_ENOMEM. */
berth_status onnx_set(const onnx_at *at, int32_t o, const onnx_dims *d);
/* Output o with the shape and, elem ONNX_NONE, the type of input i. */
berth_status onnx_set_like(const onnx_at *at, int32_t o, int32_t i, int32_t elem);
/* rank unknown dimensions; the type stays. */
void onnx_open(onnx_dims *d, int32_t rank);
/* Dimension i; ONNX_UNKNOWN where there is none. */
int64_t onnx_dim(const onnx_dims *d, int32_t i);
/* An attribute that tells a type. */
int32_t onnx_attr_elem(const onnx_at *at, const char *name, int32_t missing);

/* "FILE: node ...: " and the message, as onnx_fail. */
#define ONNX_FAIL(at, ...) onnx_fail((at)->m, (at)->n, __VA_ARGS__)

/* axis from -rank .. rank-1 to 0 .. rank-1 (where from: error text). */
berth_status onnx_axis(const onnx_at *at, int64_t axis, int32_t rank, int32_t *out);
/* The same of the attribute "axis". */
berth_status onnx_axis_attr(const onnx_at *at, int64_t missing, int32_t rank, int32_t *out);
/* Small integers of the attribute, or of input slot (slot < 0: attribute only). *n = -1: neither is given;
 * *known = false: given, but not known. */
berth_status onnx_list(const onnx_at *at, const char *attr, int32_t slot, int64_t out[ONNX_MAX_RANK],
                       int32_t *n, bool *known);
/* The same with axes made non-negative and flags set: on[axis]. */
berth_status onnx_axes(const onnx_at *at, const char *attr, int32_t slot, int32_t rank,
                       bool on[ONNX_MAX_RANK], int32_t *n, bool *known);
/* Numpy broadcasting of b into a. */
berth_status onnx_broadcast(const onnx_at *at, onnx_dims *a, const onnx_dims *b);
/* Sum that cannot overflow for sizes, paddings and strides: clamped to +-2^49. */
int64_t onnx_clamp(int64_t x);
/* Product of unknown-or-known sizes; unknown wins. */
int64_t onnx_mul(int64_t a, int64_t b);
/* The last dimension goes behind the first: channels before places. */
void onnx_channels_first(onnx_dims *d);
berth_status onnx_pool_shape(const onnx_at *at, onnx_dims *d);
/* "[1,3,?]" for messages. */
const char *onnx_dims_text(char buf[128], const onnx_dims *d);

/* The first number of a list; missing: there is none. */
int64_t onnx_attr_first(const onnx_at *at, const char *name, int64_t missing);

/* ---- rules: onnx_elementwise.c, onnx_move.c, onnx_nn.c, onnx_misc.c, onnx_work.c,
 * onnx_content.c ---- */

#define ONNX_INFER(name) berth_status onnx_infer_##name(const onnx_at *at, onnx_dims *d)
#define ONNX_FOLD(name) berth_status onnx_fold_##name(const onnx_at *at)
#define ONNX_MACS(name) berth_status onnx_macs_##name(const onnx_at *at, onnx_work *w)

#define ONNX_INFER_RULES(X) \
	X(same) X(bool_same) X(binary) X(compare) X(variadic) X(where) X(cast) X(cast_like) \
	 X(reduce) X(arg) X(quantize) X(dequantize) X(dynamic_quantize) X(dropout) \
	X(reshape) X(flatten) X(squeeze) X(unsqueeze) X(transpose) X(expand) X(tile) X(concat) X(split) \
	X(slice) X(gather) X(gather_elements) X(gather_nd) X(pad) X(shape) X(size) X(constant) \
	X(constant_of_shape) X(range) X(one_hot) X(resize) X(upsample) X(topk) X(nonzero) \
	X(depth_to_space) X(space_to_depth) X(compress) X(unique) X(center_crop_pad) X(col2im) X(conv) \
	X(conv_transpose) X(pool) X(global_pool) X(max_unpool) X(gemm) X(matmul) X(qlinear_matmul) \
	X(matmul_integer) X(einsum) X(recurrent) X(batch_norm) X(layer_norm) X(qlinear_conv) \
	X(conv_integer) X(fused_matmul) X(matmul_nbits) X(attention) X(skip_layer_norm) \
	X(qlinear_binary) X(random) X(multinomial) X(nms) X(roi_align) X(max_roi_pool) X(grid_sample) \
	X(affine_grid) X(window) X(dft) X(stft) X(mel) X(det) X(loss) X(cross_entropy) X(if) X(loop) \
	X(scan) X(yes_or_no) X(sequence_empty) X(sequence_construct) X(sequence_insert) \
	X(split_to_sequence) X(concat_from_sequence) X(sequence_map) X(tf_idf) X(string_normalizer) \
	X(string_split) X(image_decoder) X(optimiser) X(linear_attention) X(causal_conv)
#define ONNX_FOLD_RULES(X) \
	X(copy) X(unary) X(binary) X(where) X(cast) X(reduce) X(transpose) X(expand) X(tile) X(concat) \
	X(slice) X(gather) X(shape) X(size) X(constant) X(constant_of_shape) X(range) X(split) \
	X(nonzero)
#define ONNX_MACS_RULES(X) \
	X(conv) X(conv_transpose) X(gemm) X(matmul) X(einsum) X(recurrent) X(qlinear_conv) \
	X(fused_matmul) X(attention) X(linear_attention) X(causal_conv)

#define ONNX_DECLARE(name) ONNX_INFER(name);
ONNX_INFER_RULES(ONNX_DECLARE)
#undef ONNX_DECLARE
#define ONNX_DECLARE(name) ONNX_FOLD(name);
ONNX_FOLD_RULES(ONNX_DECLARE)
#undef ONNX_DECLARE
#define ONNX_DECLARE(name) ONNX_MACS(name);
ONNX_MACS_RULES(ONNX_DECLARE)
#undef ONNX_DECLARE
