/* How an operator of a type is cut: for a dimension of its output, which part of each input a piece takes,
 * and which attributes of a piece differ. One function a family of types; the table is in pieces_rule.c. */
#pragma once

#include "onnx_model.h"

enum { PIECES_INNER = -1, PIECES_WHOLE = -1, PIECES_SPATIAL = 8 };

/* What a piece that computes [a, b) of the output takes of an input. */
typedef struct pieces_in {
	int32_t dim;      /* it is cut along this dimension; PIECES_WHOLE: it takes all of it */
	int64_t num, den; /* [a * num / den, b * num / den) */
	bool window;      /* instead: what the window slides over */
	bool first;       /* the first piece alone has it (a bias that is added once) */
} pieces_in;

/* A window that slides along the dimension that is cut. */
typedef struct pieces_window {
	int64_t stride, before, extent;   /* padding before; extent: of the dilated kernel */
	int64_t length;                   /* of the input */
	int32_t at, n;                    /* which of the n spatial dimensions it is */
	int64_t pads[2 * PIECES_SPATIAL]; /* [2 n] of the whole operator */
} pieces_window;

typedef enum pieces_edit {
	PIECES_AS_IS,
	PIECES_PADS,  /* pads by the window, and no auto_pad */
	PIECES_GROUP, /* group is that of the piece's channels */
	PIECES_SHAPE, /* input 1 is a shape, of the piece */
	PIECES_LINES  /* input 1 names lines of input 0, of which the piece has some (pieces_beside.c) */
} pieces_edit;

typedef struct pieces_spec {
	int32_t dim;          /* of the outputs; PIECES_INNER: the pieces' outputs are summed */
	int64_t length, unit; /* of the axis; pieces begin at multiples of unit */
	pieces_in *in;        /* [n_in of the node] */
	pieces_edit edit;
	pieces_window window;
} pieces_spec;

/* The node that a rule is asked about. */
typedef struct pieces_at {
	onnx_model *m;
	const onnx_node *n;
	const uint64_t *open; /* [values] bit d: dimension d is not fixed by the file */
} pieces_at;

/* Fill s for the dimension s->dim (a dimension of output 0, or PIECES_INNER), whose length is set for a
 * dimension; in is zeroed but for dim PIECES_WHOLE, num and den 1, unit 1. NULL, or why it cannot be cut so.
 */
typedef const char *pieces_rule(const pieces_at *at, pieces_spec *s);

/* The rule for the node, along dim. NULL where there is none: *why says so in words. */
pieces_rule *pieces_rule_of(const pieces_at *at, int32_t dim, const char **why);
/* Type number i that there is a rule for; NULL: there are no more. */
const char *pieces_rule_type(size_t i);
/* The dimension that a word stands for: a number, or a word of the node's type. -2: it stands for none. */
int32_t pieces_axis_of(const pieces_at *at, const char *word);
/* The word for a dimension; buf where it is a number. */
const char *pieces_axis_word(const pieces_at *at, int32_t dim, char buf[16]);

/* ---- for the rules ---- */

const onnx_value *pieces_input(const pieces_at *at, int32_t k); /* NULL: left out */
const onnx_value *pieces_output(const pieces_at *at);
bool pieces_is_open(const pieces_at *at, const onnx_value *v, int32_t dim);
/* The attribute, from -rank .. rank - 1 to 0 .. rank - 1; -1: it is beyond. */
int32_t pieces_axis(const pieces_at *at, const char *attr, int64_t missing, int32_t rank);
/* Input k is cut as the output is; where it is broadcast along that dimension, it is taken whole. */
void pieces_same(const pieces_at *at, pieces_spec *s, int32_t k);
/* Integers of the attribute, or of input slot (-1: none); *n -1: not given. false: given, and not known. */
bool pieces_ints(const pieces_at *at, const char *attr, int32_t slot, int64_t out[ONNX_MAX_RANK], int32_t *n);

/* ---- the rules, by kind ---- */
pieces_rule pieces_rule_conv, pieces_rule_conv_transpose, pieces_rule_pool,
	pieces_rule_gemm, pieces_rule_matmul, pieces_rule_reshape, pieces_rule_squeeze, pieces_rule_transpose,
	pieces_rule_concat, pieces_rule_slice, pieces_rule_pad, pieces_rule_gather, pieces_rule_expand,
	pieces_rule_tile;
