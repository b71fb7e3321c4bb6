/* Rows of the table: operators that work element by element, with or without broadcasting, and reductions. */
#include "onnx_infer.h"

#include <string.h>

ONNX_INFER(same)
{
	return onnx_set_like(at, 0, 0, ONNX_NONE);
}

ONNX_INFER(bool_same)
{
	return onnx_set_like(at, 0, 0, ONNX_BOOL);
}

/* Before opset 7, b was fitted to a at a given axis: the result is like a. */
static berth_status broadcast_two(const onnx_at *at, int32_t elem)
{
	onnx_dims a = onnx_in_dims(at, 0), b = onnx_in_dims(at, 1);
	if (at->m->opset >= 7 || *at->n->domain)
		BERTH_TRY(onnx_broadcast(at, &a, &b));
	return onnx_set(at, 0, elem, &a);
}

ONNX_INFER(binary)
{
	int32_t elem = onnx_in_elem(at, 0);
	return broadcast_two(at, elem ? elem : onnx_in_elem(at, 1));
}

ONNX_INFER(compare)
{
	return broadcast_two(at, ONNX_BOOL);
}

ONNX_INFER(variadic)
{
	onnx_dims d = onnx_in_dims(at, 0);
	for (int32_t i = 1; i < at->n->n_in; i++) {
		onnx_dims b = onnx_in_dims(at, i);
		BERTH_TRY(onnx_broadcast(at, &d, &b));
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(where)
{
	onnx_dims d = onnx_in_dims(at, 0), b = onnx_in_dims(at, 1), c = onnx_in_dims(at, 2);
	BERTH_TRY(onnx_broadcast(at, &d, &b));
	BERTH_TRY(onnx_broadcast(at, &d, &c));
	return onnx_set(at, 0, onnx_in_elem(at, 1), &d);
}

/* The slope goes to the shape of x, never the other way. */
ONNX_INFER(prelu)
{
	return onnx_set_like(at, 0, 0, ONNX_NONE);
}

static int32_t elem_attr(const onnx_at *at, const char *name, int32_t missing)
{
	int64_t x = onnx_attr_int(at->n, name, missing);
	return x < 0 || x > 1000 ? ONNX_NONE : (int32_t)x;
}

ONNX_INFER(cast)
{
	return onnx_set_like(at, 0, 0, elem_attr(at, "to", ONNX_NONE));
}

ONNX_INFER(cast_like)
{
	return onnx_set_like(at, 0, 0, onnx_in_elem(at, 1));
}

ONNX_INFER(dtype_same)
{
	return onnx_set_like(at, 0, 0, elem_attr(at, "dtype", ONNX_NONE));
}

ONNX_INFER(dropout)
{
	BERTH_TRY(onnx_set_like(at, 1, 0, at->m->opset >= 10 ? ONNX_BOOL : ONNX_NONE));
	return onnx_set_like(at, 0, 0, ONNX_NONE);
}

ONNX_INFER(quantize)
{
	int32_t zero = onnx_in_elem(at, 2);
	return onnx_set_like(at, 0, 0,
	                     zero                               ? zero
	                     : elem_attr(at, "output_dtype", 0) ? elem_attr(at, "output_dtype", 0)
	                                                        : ONNX_UINT8);
}

ONNX_INFER(dequantize)
{
	int32_t scale = onnx_in_elem(at, 1);
	return onnx_set_like(at, 0, 0,
	                     elem_attr(at, "output_dtype", 0) ? elem_attr(at, "output_dtype", 0)
	                     : scale                          ? scale
	                                                      : ONNX_FLOAT);
}

ONNX_INFER(dynamic_quantize)
{
	onnx_dims scalar = {.rank = 0};
	BERTH_TRY(onnx_set_like(at, 0, 0, ONNX_UINT8));
	BERTH_TRY(onnx_set(at, 1, ONNX_FLOAT, &scalar));
	return onnx_set(at, 2, ONNX_UINT8, &scalar);
}

/* ---- reductions ---- */

/* d without the axes that are on (kept as 1 where keep). */
static onnx_dims reduced(const onnx_dims *d, const bool on[], bool keep)
{
	onnx_dims r;
	r.rank = 0;
	for (int32_t i = 0; i < d->rank; i++)
		if (!on[i] || keep)
			r.d[r.rank++] = on[i] ? 1 : d->d[i];
	return r;
}

ONNX_INFER(reduce)
{
	bool on[ONNX_MAX_RANK], known, keep = onnx_attr_int(at->n, "keepdims", 1) != 0;
	onnx_dims d = onnx_in_dims(at, 0);
	int32_t n;
	if (d.rank < 0)
		return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
	BERTH_TRY(onnx_axes(at, "axes", 1, d.rank, on, &n, &known));
	if (!known)
		d = onnx_open_dims(keep ? d.rank : ONNX_UNKNOWN);
	else if (n > 0 || !onnx_attr_int(at->n, "noop_with_empty_axes", 0)) {
		if (n <= 0)
			memset(on, 1, sizeof on);
		d = reduced(&d, on, keep);
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* ArgMax, ArgMin. */
ONNX_INFER(arg)
{
	bool on[ONNX_MAX_RANK] = {false};
	onnx_dims d = onnx_in_dims(at, 0);
	int32_t axis;
	if (d.rank > 0) {
		BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", 0), d.rank, &axis));
		on[axis] = true;
		d = reduced(&d, on, onnx_attr_int(at->n, "keepdims", 1) != 0);
	}
	return onnx_set(at, 0, ONNX_INT64, &d);
}
