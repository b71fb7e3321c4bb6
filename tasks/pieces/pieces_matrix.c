/* Gemm and MatMul: by rows, by columns, by matrices of a batch, and by the inner dimension with a sum. */
#include "pieces_rule.h"

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
