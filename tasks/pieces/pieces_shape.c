/* Operators that move elements: a piece can be made wherever the dimension survives. */
#include "pieces_rule.h"

/* The elements keep their order. Where the dimensions before output dimension d and before input dimension e
 * have equally many elements, [a, b) of the output is [a * num / den, b * num / den) of the input for each of
 * them, num / den = input length / output length in lowest terms, and a and b multiples of den. So heads come
 * out of a hidden dimension, and go back into one. */
const char *pieces_rule_reshape(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *x = pieces_input(at, 0), *y = pieces_output(at);
	int64_t before = 1, here = 1;
	int32_t e = -1;
	if (onnx_count(x->rank, x->dim) != onnx_count(y->rank, y->dim))
		return "its shapes do not fit together";
	for (int32_t d = 0; d < s->dim; d++) {
		if (pieces_is_open(at, y, d))
			return "a dimension before this one is not fixed";
		before = onnx_times(before, y->dim[d]);
	}
	for (int32_t d = 0; d < x->rank && here <= before; d++) {
		if (here == before)
			e = d;
		if (pieces_is_open(at, x, d))
			break;
		here = onnx_times(here, x->dim[d]);
	}
	if (e < 0 || x->dim[e] < 1 || pieces_is_open(at, x, e))
		return "the dimension does not survive it";
	int64_t g = berth_common_divisor(x->dim[e], s->length);
	s->in[0].dim = e;
	s->in[0].num = x->dim[e] / g;
	s->in[0].den = s->unit = s->length / g;
	if (strcmp(at->n->type, "Reshape") == 0) {
		if (at->m->opset < 5)
			return "below opset 5 its shape is an attribute";
		for (int32_t d = 0; d < y->rank; d++)
			if (pieces_is_open(at, y, d))
				return "its output has a dimension that is not fixed";
		s->edit = PIECES_SHAPE;
	}
	return NULL;
}

/* Without axes every dimension of length 1 goes: one that a piece alone has, too. */
const char *pieces_rule_squeeze(const pieces_at *at, pieces_spec *s)
{
	int64_t axes[ONNX_MAX_RANK];
	int32_t n;
	if (!pieces_ints(at, "axes", at->m->opset < 13 ? -1 : 1, axes, &n) || n < 0)
		return "its axes are not known";
	return pieces_rule_reshape(at, s);
}

const char *pieces_rule_transpose(const pieces_at *at, pieces_spec *s)
{
	int32_t rank = pieces_output(at)->rank, n;
	int64_t perm[ONNX_MAX_RANK];
	if (!pieces_ints(at, "perm", -1, perm, &n) || (n >= 0 && n != rank))
		return "its order is not known";
	for (int32_t d = 0; d < n; d++)
		for (int32_t e = 0; e <= d; e++)
			if (perm[d] < 0 || perm[d] >= rank || (e < d && perm[d] == perm[e]))
				return "its order is none";
	s->in[0].dim = n < 0 ? rank - 1 - s->dim : (int32_t)perm[s->dim];
	return NULL;
}

const char *pieces_rule_concat(const pieces_at *at, pieces_spec *s)
{
	int32_t axis = pieces_axis(at, "axis", 1, pieces_output(at)->rank);
	if (axis < 0 || s->dim == axis)
		return "along this dimension it puts its inputs one behind the other";
	for (int32_t k = 0; k < at->n->n_in; k++)
		s->in[k].dim = s->dim;
	return NULL;
}

/* Is d among the axes? -1: they are not known. */
static int is_among_axes(const pieces_at *at, int32_t slot, int32_t d, int32_t all)
{
	int32_t rank = pieces_output(at)->rank, n;
	int64_t axes[ONNX_MAX_RANK];
	if (!pieces_ints(at, "axes", slot, axes, &n))
		return -1;
	for (int32_t i = 0; i < n; i++)
		if (axes[i] == d || axes[i] + rank == d)
			return 1;
	return n < 0 && d < all;
}

const char *pieces_rule_slice(const pieces_at *at, pieces_spec *s)
{
	int64_t starts[ONNX_MAX_RANK];
	int32_t n;
	if (!pieces_ints(at, "starts", at->m->opset < 10 ? -1 : 1, starts, &n) || n < 0)
		return "what it takes is not known";
	if (is_among_axes(at, at->m->opset < 10 ? -1 : 3, s->dim, n) != 0)
		return "it is a part of this dimension";
	s->in[0].dim = s->dim;
	return NULL;
}

const char *pieces_rule_pad(const pieces_at *at, pieces_spec *s)
{
	int32_t rank = pieces_output(at)->rank, n;
	int64_t pads[ONNX_MAX_RANK];
	if (pieces_input(at, 3) || !pieces_ints(at, "pads", at->m->opset < 11 ? -1 : 1, pads, &n) ||
	    n != 2 * rank)
		return "its pads are not known";
	if (pads[s->dim] || pads[rank + s->dim])
		return "this dimension is padded";
	s->in[0].dim = s->dim;
	return NULL;
}

/* By lines of the table: each piece has some of them. */
static const char *lines_of_table(const pieces_at *at, pieces_spec *s, int32_t axis)
{
	const onnx_value *x = pieces_input(at, 0), *i = pieces_input(at, 1);
	if (axis != 0 || i->rank < 1 || i->elem != ONNX_INT64)
		return "its lines are not the table's first dimension, named by int64";
	if (at->m->opset < 12)
		return "below opset 12 Min and Max take no whole numbers";
	if (at->m->opset < 16 && x->elem == ONNX_BFLOAT16)
		return "below opset 16 Where takes no bfloat16";
	s->length = x->dim[0];
	s->in[0].dim = 0;
	s->edit = PIECES_LINES;
	return NULL;
}

/* Lines of the table that the indices name: by index, or by a dimension of the table. */
const char *pieces_rule_gather(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *x = pieces_input(at, 0), *i = pieces_input(at, 1);
	int32_t axis = pieces_axis(at, "axis", 0, x->rank);
	if (axis < 0)
		return "its axis is not known";
	if (s->dim == PIECES_INNER)
		return lines_of_table(at, s, axis);
	if (s->dim >= axis && s->dim < axis + i->rank)
		s->in[1].dim = s->dim - axis;
	else
		s->in[0].dim = s->dim < axis ? s->dim : s->dim - i->rank + 1;
	return NULL;
}

const char *pieces_rule_expand(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *x = pieces_input(at, 0), *y = pieces_output(at);
	if (x->rank > y->rank)
		return "its shapes do not fit together";
	for (int32_t d = 0; d < y->rank; d++) {
		int32_t e = d - (y->rank - x->rank);
		if (pieces_is_open(at, y, d))
			return "its output has a dimension that is not fixed";
		if (e >= 0 && x->dim[e] != 1 && x->dim[e] != y->dim[d])
			return "its shapes do not fit together";
	}
	pieces_same(at, s, 0);
	s->edit = PIECES_SHAPE;
	return NULL;
}

const char *pieces_rule_tile(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *x = pieces_input(at, 0);
	if (at->m->opset < 6 || x->dim[s->dim] != s->length || s->length < 2)
		return "it repeats this dimension";
	s->in[0].dim = s->dim;
	return NULL;
}
