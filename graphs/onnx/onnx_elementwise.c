/* Rows of the table: operators that work element by element, with or without broadcasting, and reductions. */
#include "onnx_infer.h"

ONNX_INFER(same)
{
	(void)at, (void)d;
	return BERTH_OK;
}

ONNX_INFER(bool_same)
{
	(void)at;
	d->elem = ONNX_BOOL;
	return BERTH_OK;
}

/* Before opset 7, b was fitted to a at a given axis: the result is like a. */
ONNX_INFER(binary)
{
	onnx_dims b = onnx_in_dims(at, 1);
	d->elem = d->elem ? d->elem : b.elem;
	return at->m->opset >= 7 || *at->n->domain ? onnx_broadcast(at, d, &b) : BERTH_OK;
}

ONNX_INFER(compare)
{
	BERTH_TRY(onnx_infer_binary(at, d));
	d->elem = ONNX_BOOL;
	return BERTH_OK;
}

ONNX_INFER(variadic)
{
	for (int32_t i = 1; i < at->n->n_in; i++) {
		onnx_dims b = onnx_in_dims(at, i);
		BERTH_TRY(onnx_broadcast(at, d, &b));
	}
	return BERTH_OK;
}

ONNX_INFER(where)
{
	onnx_dims b = onnx_in_dims(at, 1), c = onnx_in_dims(at, 2);
	BERTH_TRY(onnx_broadcast(at, d, &b));
	BERTH_TRY(onnx_broadcast(at, d, &c));
	d->elem = b.elem;
	return BERTH_OK;
}

/* A type is told as "to" or, of those that make numbers like their input, as "dtype". */
ONNX_INFER(cast)
{
	int32_t to = onnx_attr_elem(at, onnx_attr_find(at->n, "to") ? "to" : "dtype", ONNX_NONE);
	d->elem = to ? to : d->elem;
	return BERTH_OK;
}

ONNX_INFER(cast_like)
{
	int32_t to = onnx_in_elem(at, 1);
	d->elem = to ? to : d->elem;
	return BERTH_OK;
}

ONNX_INFER(dropout)
{
	(void)d;
	return onnx_set_like(at, 1, 0, at->m->opset >= 10 ? ONNX_BOOL : ONNX_NONE);
}

ONNX_INFER(quantize)
{
	int32_t zero = onnx_in_elem(at, 2), said = onnx_attr_elem(at, "output_dtype", ONNX_NONE);
	d->elem = zero ? zero : said ? said : ONNX_UINT8;
	return BERTH_OK;
}

ONNX_INFER(dequantize)
{
	int32_t scale = onnx_in_elem(at, 1), said = onnx_attr_elem(at, "output_dtype", ONNX_NONE);
	d->elem = said ? said : scale ? scale : ONNX_FLOAT;
	return BERTH_OK;
}

ONNX_INFER(dynamic_quantize)
{
	d->elem = ONNX_UINT8;
	BERTH_TRY(onnx_set(at, 1, &(onnx_dims){.elem = ONNX_FLOAT}));
	return onnx_set(at, 2, &(onnx_dims){.elem = ONNX_UINT8});
}

/* ---- reductions ---- */

/* Without the axes that are on (kept as 1 where keep). */
static void reduce_axes(onnx_dims *d, const bool on[], bool keep)
{
	int32_t rank = 0;
	for (int32_t i = 0; i < d->rank; i++)
		if (!on[i] || keep)
			d->d[rank++] = on[i] ? 1 : d->d[i];
	d->rank = rank;
}

ONNX_INFER(reduce)
{
	bool on[ONNX_MAX_RANK], known, keep = onnx_attr_int(at->n, "keepdims", 1) != 0;
	int32_t n;
	if (d->rank < 0)
		return BERTH_OK;
	BERTH_TRY(onnx_axes(at, "axes", 1, d->rank, on, &n, &known));
	if (!known) {
		onnx_open(d, keep ? d->rank : ONNX_UNKNOWN);
	} else if (n > 0 || !onnx_attr_int(at->n, "noop_with_empty_axes", 0)) {
		if (n <= 0)
			memset(on, 1, sizeof on);
		reduce_axes(d, on, keep);
	}
	return BERTH_OK;
}

/* ArgMax, ArgMin. */
ONNX_INFER(arg)
{
	bool on[ONNX_MAX_RANK] = {false};
	int32_t axis;
	d->elem = ONNX_INT64;
	if (d->rank > 0) {
		BERTH_TRY(onnx_axis_attr(at, 0, d->rank, &axis));
		on[axis] = true;
		reduce_axes(d, on, onnx_attr_int(at->n, "keepdims", 1) != 0);
	}
	return BERTH_OK;
}
