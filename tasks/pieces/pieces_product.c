/* Rules of products: Gemm and MatMul by rows, by columns, by matrices of a batch, and by the inner dimension
 * with a sum; convolutions and pooling. Along a spatial dimension a piece takes what its windows slide over:
 * where windows are larger than their steps, rows of its neighbours too. */
#include "pieces_rule.h"

/* ---- matrices ---- */

const char *pieces_rule_gemm(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *a = pieces_input(at, 0);
	int32_t a_rows = onnx_attr_int(at->n, "transA", 0) ? 1 : 0,
		b_rows = onnx_attr_int(at->n, "transB", 0) ? 1 : 0;
	if (at->m->opset < 7)
		return "below opset 7 operands are broadcast by an attribute";
	if (a->rank != 2 || pieces_input(at, 1)->rank != 2)
		return "its operands are no matrices";
	if (s->dim == PIECES_INNER) {
		if (at->m->opset < 11 && pieces_input(at, 2))
			return "below opset 11 no piece can be without its bias";
		s->length = a->dim[1 - a_rows];
		s->in[0].dim = 1 - a_rows;
		s->in[1].dim = b_rows;
		if (at->n->n_in > 2)
			s->in[2].first = true;
		return NULL;
	}
	if (s->dim == 0)
		s->in[0].dim = a_rows;
	else
		s->in[1].dim = 1 - b_rows;
	pieces_same(at, s, 2);
	return NULL;
}

const char *pieces_rule_matmul(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *a = pieces_input(at, 0), *b = pieces_input(at, 1);
	int32_t rank = pieces_output(at)->rank;
	if (a->rank < 2 || b->rank < 2)
		return "an operand is a vector";
	if (s->dim == PIECES_INNER) {
		s->length = a->dim[a->rank - 1];
		s->in[0].dim = a->rank - 1;
		s->in[1].dim = b->rank - 2;
		return NULL;
	}
	if (s->dim == rank - 2)
		s->in[0].dim = a->rank - 2;
	else if (s->dim == rank - 1)
		s->in[1].dim = b->rank - 1;
	else {
		pieces_same(at, s, 0);
		pieces_same(at, s, 1);
	}
	return NULL;
}

/* ---- windows ---- */

/* The number of a list that is for spatial dimension i of count. */
static bool spatial_number(const pieces_at *at, const char *attr, int32_t i, int32_t count, int64_t missing,
                   int64_t *out)
{
	int64_t list[ONNX_MAX_RANK];
	int32_t n;
	if (!pieces_ints(at, attr, -1, list, &n) || (n >= 0 && n != count))
		return false;
	*out = n < 0 ? missing : list[i];
	return *out > 0;
}

/* Padding of the spatial dimension i, before and behind, as auto_pad or pads tell. */
static const char *find_padding(const pieces_at *at, int32_t i, int32_t n, int64_t stride, int64_t extent,
                           int64_t *before, int64_t *after)
{
	int64_t pads[ONNX_MAX_RANK];
	int32_t len;
	const onnx_value *x = pieces_input(at, 0), *y = pieces_output(at);
	bool upper = onnx_attr_is(at->m, at->n, "auto_pad", "SAME_UPPER"),
	     lower = onnx_attr_is(at->m, at->n, "auto_pad", "SAME_LOWER");
	*before = *after = 0;
	if (upper || lower) {
		int64_t all = (y->dim[2 + i] - 1) * stride + extent - x->dim[2 + i];
		if (pieces_is_open(at, x, 2 + i))
			return "its padding depends on a dimension that is not fixed";
		all = all > 0 ? all : 0;
		*before = upper ? all / 2 : all - all / 2;
		*after = all - *before;
		return NULL;
	}
	if (onnx_attr_is(at->m, at->n, "auto_pad", "VALID"))
		return NULL;
	if (!pieces_ints(at, "pads", -1, pads, &len) || (len >= 0 && len != 2 * n))
		return "its pads are not known";
	if (len < 0)
		return NULL;
	*before = pads[i];
	*after = pads[n + i];
	return *before < 0 || *after < 0 ? "its pads are below 0" : NULL;
}

static const char *slide_window(const pieces_at *at, pieces_spec *s, bool kernel_of_weight)
{
	const onnx_value *x = pieces_input(at, 0), *w = pieces_input(at, 1);
	int32_t n = x->rank - 2;
	int64_t kernel, dilation, *pads = s->window.pads;
	pieces_window *p = &s->window;
	if (n > PIECES_SPATIAL)
		return "it has too many spatial dimensions";
	p->at = s->dim - 2;
	p->n = n;
	for (int32_t i = 0; i < n; i++) {
		int64_t stride, extent, of_weight = kernel_of_weight ? w->dim[2 + i] : 0;
		if (!spatial_number(at, "strides", i, n, 1, &stride) ||
		    !spatial_number(at, "dilations", i, n, 1, &dilation) ||
		    !spatial_number(at, "kernel_shape", i, n, of_weight, &kernel) ||
		    (kernel_of_weight && kernel != of_weight) || kernel > ONNX_MAX_ELEMENTS / dilation)
			return "its window is not known";
		extent = dilation * (kernel - 1) + 1;
		const char *why = find_padding(at, i, n, stride, extent, &pads[i], &pads[n + i]);
		if (why)
			return why;
		if (i != p->at)
			continue;
		p->stride = stride;
		p->extent = extent;
		p->before = pads[i];
		p->length = x->dim[2 + i];
	}
	s->in[0].dim = s->dim;
	s->in[0].window = true;
	s->edit = PIECES_PADS;
	return NULL;
}

/* Channels of X that belong to a group of output channels go with it. */
static const char *cut_channels(const pieces_at *at, pieces_spec *s, int64_t group)
{
	const onnx_value *x = pieces_input(at, 0);
	s->in[1].dim = 0;
	if (at->n->n_in > 2)
		s->in[2].dim = 0;
	if (group == 1)
		return NULL;
	if (group < 1 || s->length % group || x->dim[1] % group)
		return "its groups do not divide its channels";
	s->unit = s->length / group;
	s->in[0].dim = 1;
	s->in[0].num = x->dim[1] / group;
	s->in[0].den = s->unit;
	s->edit = PIECES_GROUP;
	return NULL;
}

const char *pieces_rule_conv(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *x = pieces_input(at, 0), *w = pieces_input(at, 1);
	int64_t group = onnx_attr_int(at->n, "group", 1);
	if (x->rank < 3 || w->rank != x->rank || pieces_output(at)->rank != x->rank)
		return "its shapes are not those of a convolution";
	if (s->dim == PIECES_INNER) {
		if (group != 1)
			return "it has groups";
		s->length = x->dim[1];
		s->in[0].dim = s->in[1].dim = 1;
		if (at->n->n_in > 2)
			s->in[2].first = true;
		return NULL;
	}
	if (s->dim == 1)
		return cut_channels(at, s, group);
	if (s->dim > 1)
		return slide_window(at, s, true);
	s->in[0].dim = 0;
	return NULL;
}

const char *pieces_rule_conv_transpose(const pieces_at *at, pieces_spec *s)
{
	if (s->dim > 1)
		return "rows of the input overlap in its output";
	if (s->dim == 1) {
		if (onnx_attr_int(at->n, "group", 1) != 1)
			return "it has groups";
		s->in[1].dim = 1;
		if (at->n->n_in > 2)
			s->in[2].dim = 0;
		return NULL;
	}
	s->in[0].dim = 0;
	return NULL;
}

/* Padding of a pool is to be below its kernel, dilated or not. What its last window sees beyond the input is
 * written as padding of the last piece: of a dilated window that may be more. */
static bool pads_may_reach_kernel(const pieces_at *at, int32_t i, int32_t n)
{
	int64_t dilation;
	bool found = onnx_attr_int(at->n, "ceil_mode", 0) ||
	             onnx_attr_is(at->m, at->n, "auto_pad", "SAME_UPPER") ||
	             onnx_attr_is(at->m, at->n, "auto_pad", "SAME_LOWER");
	return found && spatial_number(at, "dilations", i, n, 1, &dilation) && dilation > 1;
}

const char *pieces_rule_pool(const pieces_at *at, pieces_spec *s)
{
	if (at->n->n_out > 1)
		return "its indices count all elements";
	if (pieces_input(at, 0)->rank < 3 || pieces_output(at)->rank != pieces_input(at, 0)->rank)
		return "its shapes are not those of pooling";
	if (s->dim < 2) {
		s->in[0].dim = s->dim;
		return NULL;
	}
	if (onnx_attr_int(at->n, "ceil_mode", 0) && onnx_attr_int(at->n, "count_include_pad", 0))
		return "its last window counts padding that is not there";
	if (pads_may_reach_kernel(at, s->dim - 2, pieces_output(at)->rank - 2))
		return "its padding may be larger than its dilated kernel allows";
	return slide_window(at, s, false);
}
