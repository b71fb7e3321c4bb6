/* Shapes, contents and costs, operator by operator. Inside the importer only.
 * The table of operators (onnx_table.c) has one row a type; a row names the functions that know it. */
#ifndef BERTH_ONNX_INFER_H
#define BERTH_ONNX_INFER_H

#include "onnx_model.h"

/* The node being looked at. */
typedef struct onnx_at {
	onnx_model *m;
	const onnx_node *n;
	berth_err *err;
} onnx_at;

/* Set type and shape of the outputs from those of the inputs. What it cannot know it leaves unknown; a
 * contradiction is BERTH_EFORMAT. */
typedef berth_status (*onnx_infer_fn)(const onnx_at *at);
/* Set the content of output 0; called where it has a full shape of at most ONNX_MAX_CONTENT elements. */
typedef berth_status (*onnx_fold_fn)(const onnx_at *at);
/* Multiply-accumulates, *macs left 0 where a shape is unknown. */
typedef berth_status (*onnx_macs_fn)(const onnx_at *at, double *macs);

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

/* Row of a type in the default domain, com.microsoft or ai.onnx.preview.training; NULL: not known. */
const onnx_op *onnx_op_find(const char *domain, const char *type);
/* The table, sorted by type, for tests. */
const onnx_op *onnx_op_table(size_t *n);
/* The same of what only com.microsoft has, or has with another meaning. */
const onnx_op *onnx_microsoft_find(const char *type);
const onnx_op *onnx_microsoft_table(size_t *n);

/* What a node takes, bodies and their trips included. Needs onnx_fold_model. Marks what it folds in bodies;
 * a loop whose trips nobody states is noted in m->loop. Fails: BERTH_ENOMEM. */
typedef struct onnx_work {
	double macs, flops;
	/* each distinct input of a node once, all outputs; at most INT64_MAX */
	int64_t read_bytes, write_bytes;
} onnx_work;
berth_status onnx_node_work(onnx_model *m, onnx_node *n, onnx_work *w, berth_err *err);

/* Is the node known without running: all inputs constant, or all outputs of known content? */
bool onnx_folds(const onnx_model *m, const onnx_node *n);

/* Shapes and small contents of all values, in topological order; constants are marked, folded nodes too.
 * Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status onnx_infer_model(onnx_model *m, berth_err *err);
/* Graph inputs that are weights become constants (onnx.h has the rule). *n_found = their number. Needs
 * shapes. */
berth_status onnx_find_weights(onnx_model *m, int32_t *n_found, berth_err *err);
/* Mark constants and folded nodes, and the parameters that constants are made of. */
berth_status onnx_fold_model(onnx_model *m, berth_err *err);

/* The same of one list, in the order given. */
berth_status onnx_infer_nodes(onnx_model *m, onnx_node *node, size_t n_nodes, berth_err *err);
/* What inference left open is taken from the file's own declaration. */
berth_status onnx_complete(onnx_model *m, onnx_value *v, berth_err *err);

/* ---- bodies (onnx_body.c) ---- */

/* NULL: none of that attribute's name. */
const onnx_body *onnx_body_find(const onnx_node *n, const char *name);
/* Give the body's input k a type and a shape; what they leave open is taken from its declaration. */
berth_status onnx_bind(const onnx_at *at, const onnx_body *b, size_t k, int32_t elem, const onnx_dims *d);
/* The branch that an If with a known condition takes; NULL: either. */
const onnx_body *onnx_if_taken(const onnx_at *at);
/* How often the bodies run; *known = false: nobody says, 1. */
int64_t onnx_trips(const onnx_at *at, bool *known);
/* Remember a loop whose trips are assumed. */
berth_status onnx_note_loop(onnx_model *m, const onnx_node *n, berth_err *err);

/* ---- for the functions of the table ---- */

const onnx_value *onnx_in(const onnx_at *at, int32_t i);  /* NULL: left out */
onnx_value *onnx_out(const onnx_at *at, int32_t o);       /* NULL: left out */
int32_t onnx_in_elem(const onnx_at *at, int32_t i);       /* ONNX_NONE where left out */
onnx_dims onnx_in_dims(const onnx_at *at, int32_t i);     /* rank ONNX_UNKNOWN where left out */
const int64_t *onnx_in_ints(const onnx_at *at, int32_t i, int32_t *n); /* content, NULL: not known */
const double *onnx_in_reals(const onnx_at *at, int32_t i, int32_t *n);
/* Content of integers or floats as double at index k; false: not known. */
bool onnx_in_number(const onnx_at *at, int32_t i, int32_t k, double *x);

/* Type and shape of output o (nothing where it is left out). Fails: BERTH_EFORMAT (too large),
 * BERTH_ENOMEM. */
berth_status onnx_set(const onnx_at *at, int32_t o, int32_t elem, const onnx_dims *d);
/* Output 0 with the shape (and, elem ONNX_NONE, the type) of input 0. */
berth_status onnx_set_like(const onnx_at *at, int32_t o, int32_t i, int32_t elem);
/* A shape of rank unknown dimensions. */
onnx_dims onnx_open_dims(int32_t rank);
onnx_dims onnx_vector(int64_t n);

/* axis from -rank .. rank-1 to 0 .. rank-1 (where from: error text). */
berth_status onnx_axis(const onnx_at *at, int64_t axis, int32_t rank, int32_t *out);
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
/* Shape of x convolved by a weight [out channels, in channels / group, kernel...]; of x under the windows of
 * the node's attributes. */
berth_status onnx_conv_shape(const onnx_at *at, const onnx_dims *x, const onnx_dims *weight, onnx_dims *out);
berth_status onnx_pool_shape(const onnx_at *at, const onnx_dims *x, onnx_dims *out);
/* "[1,3,?]" for messages. */
const char *onnx_dims_text(char buf[128], const onnx_dims *d);

/* ---- rows: onnx_elementwise.c, onnx_move.c, onnx_nn.c, onnx_misc.c ---- */
#define ONNX_INFER(name) berth_status onnx_infer_##name(const onnx_at *at)
#define ONNX_FOLD(name) berth_status onnx_fold_##name(const onnx_at *at)
#define ONNX_MACS(name) berth_status onnx_macs_##name(const onnx_at *at, double *macs)

ONNX_INFER(same);
ONNX_INFER(bool_same);
ONNX_INFER(binary);
ONNX_INFER(compare);
ONNX_INFER(variadic);
ONNX_INFER(where);
ONNX_INFER(cast);
ONNX_INFER(cast_like);
ONNX_INFER(dtype_same);
ONNX_INFER(reduce);
ONNX_INFER(arg);
ONNX_INFER(prelu);
ONNX_INFER(quantize);
ONNX_INFER(dequantize);
ONNX_INFER(dynamic_quantize); ONNX_INFER(dropout);

ONNX_INFER(reshape);
ONNX_INFER(flatten);
ONNX_INFER(squeeze);
ONNX_INFER(unsqueeze);
ONNX_INFER(transpose);
ONNX_INFER(expand);
ONNX_INFER(tile);
ONNX_INFER(concat);
ONNX_INFER(split);
ONNX_INFER(slice);
ONNX_INFER(gather);
ONNX_INFER(gather_elements);
ONNX_INFER(gather_nd);
ONNX_INFER(pad);
ONNX_INFER(shape);
ONNX_INFER(size);
ONNX_INFER(constant);
ONNX_INFER(constant_of_shape);
ONNX_INFER(range);
ONNX_INFER(one_hot);
ONNX_INFER(resize);
ONNX_INFER(upsample);
ONNX_INFER(topk);
ONNX_INFER(nonzero);
ONNX_INFER(depth_to_space);
ONNX_INFER(space_to_depth);
ONNX_INFER(compress);
ONNX_INFER(unique); ONNX_INFER(center_crop_pad); ONNX_INFER(col2im);

ONNX_INFER(conv);
ONNX_INFER(conv_transpose);
ONNX_INFER(pool);
ONNX_INFER(global_pool);
ONNX_INFER(max_unpool);
ONNX_INFER(gemm);
ONNX_INFER(matmul);
ONNX_INFER(qlinear_matmul);
ONNX_INFER(matmul_integer);
ONNX_INFER(einsum);
ONNX_INFER(recurrent);
ONNX_INFER(batch_norm);
ONNX_INFER(layer_norm);
ONNX_INFER(qlinear_conv);
ONNX_INFER(conv_integer);
ONNX_INFER(deform_conv);
ONNX_INFER(fused_matmul);
ONNX_INFER(matmul_nbits);
ONNX_INFER(attention);
ONNX_INFER(skip_layer_norm); ONNX_INFER(qlinear_binary); ONNX_INFER(qlinear_same);

ONNX_INFER(random);
ONNX_INFER(multinomial);
ONNX_INFER(nms);
ONNX_INFER(roi_align);
ONNX_INFER(max_roi_pool);
ONNX_INFER(grid_sample);
ONNX_INFER(affine_grid);
ONNX_INFER(window);
ONNX_INFER(dft);
ONNX_INFER(stft);
ONNX_INFER(mel);
ONNX_INFER(det);
ONNX_INFER(loss);
ONNX_INFER(cross_entropy);

ONNX_INFER(if); ONNX_INFER(loop); ONNX_INFER(scan);

ONNX_INFER(number);
ONNX_INFER(yes_or_no);
ONNX_INFER(sequence_empty);
ONNX_INFER(sequence_construct);
ONNX_INFER(sequence_insert);
ONNX_INFER(split_to_sequence);
ONNX_INFER(concat_from_sequence);
ONNX_INFER(sequence_map);
ONNX_INFER(tf_idf);
ONNX_INFER(string_normalizer);
ONNX_INFER(string_split); ONNX_INFER(image_decoder); ONNX_INFER(optimiser);

ONNX_FOLD(copy);
ONNX_FOLD(unary);
ONNX_FOLD(binary);
ONNX_FOLD(where);
ONNX_FOLD(cast);
ONNX_FOLD(reduce);
ONNX_FOLD(transpose);
ONNX_FOLD(expand);
ONNX_FOLD(tile);
ONNX_FOLD(concat);
ONNX_FOLD(slice);
ONNX_FOLD(gather);
ONNX_FOLD(shape);
ONNX_FOLD(size);
ONNX_FOLD(constant);
ONNX_FOLD(constant_of_shape); ONNX_FOLD(range); ONNX_FOLD(split); ONNX_FOLD(nonzero);

ONNX_MACS(conv);
ONNX_MACS(conv_transpose);
ONNX_MACS(gemm);
ONNX_MACS(matmul);
ONNX_MACS(einsum);
ONNX_MACS(recurrent);
ONNX_MACS(qlinear_conv);
ONNX_MACS(qlinear_matmul);
ONNX_MACS(fused_matmul);
ONNX_MACS(matmul_nbits);
ONNX_MACS(attention);
ONNX_MACS(deform_conv);

#endif
