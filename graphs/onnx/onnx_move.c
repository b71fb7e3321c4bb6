/* Rows of the table: operators that move elements, or make shapes. */
#include "onnx_infer.h"

#include <math.h>
#include <string.h>

/* ---- reshaping ---- */

/* Fill the one -1 of shape so that it holds count elements (ONNX_UNKNOWN: it stays open). */
static berth_status fill_rest(const onnx_at *at, onnx_dims *shape, int64_t count)
{
	int32_t open = -1;
	int64_t rest = 1;
	for (int32_t i = 0; i < shape->rank; i++) {
		if (shape->d[i] >= 0)
			rest = onnx_mul(rest, shape->d[i]);
		else if (open >= 0)
			return BERTH_OK; /* two: a copied unknown dimension and a real -1 */
		else
			open = i;
	}
	if (count < 0)
		return BERTH_OK;
	if (open < 0 ? rest == count : rest > 0 && count % rest == 0) {
		if (open >= 0)
			shape->d[open] = count / rest;
		return BERTH_OK;
	}
	if (open >= 0 && rest == 0 && count == 0) {
		shape->d[open] = 0;
		return BERTH_OK;
	}
	char text[128];
	return onnx_fail(at->m, at->n, at->err, "%lld elements do not fit the shape %s", (long long)count,
	                 onnx_dims_text(text, shape));
}

ONNX_INFER(reshape)
{
	onnx_dims in = onnx_in_dims(at, 0), to = onnx_in_dims(at, 1), out;
	int32_t n, elem = onnx_in_elem(at, 0);
	bool known, zero_is_zero = onnx_attr_int(at->n, "allowzero", 0) != 0;
	BERTH_TRY(onnx_list(at, "shape", 1, out.d, &n, &known));
	if (n < 0 || !known) {
		out = onnx_open_dims(to.rank == 1 && to.d[0] >= 0 && to.d[0] <= ONNX_MAX_RANK
		                             ? (int32_t)to.d[0]
		                             : ONNX_UNKNOWN);
		return onnx_set(at, 0, elem, &out);
	}
	out.rank = n;
	for (int32_t i = 0; i < n; i++) {
		if (out.d[i] == 0 && !zero_is_zero)
			out.d[i] = in.rank < 0 ? ONNX_UNKNOWN : i < in.rank ? in.d[i] : 1;
		if (out.d[i] < ONNX_UNKNOWN)
			return onnx_fail(at->m, at->n, at->err,
			                 "dimension %lld of the new shape; expected -1 or more",
			                 (long long)out.d[i]);
	}
	BERTH_TRY(fill_rest(at, &out, onnx_count(in.rank, in.d)));
	return onnx_set(at, 0, elem, &out);
}

ONNX_INFER(flatten)
{
	onnx_dims in = onnx_in_dims(at, 0), out = onnx_open_dims(2);
	int64_t axis = onnx_attr_int(at->n, "axis", 1);
	if (in.rank >= 0) {
		if (axis < -in.rank || axis > in.rank)
			return onnx_fail(at->m, at->n, at->err, "axis %lld; expected %d to %d",
			                 (long long)axis, -in.rank, in.rank);
		axis = axis < 0 ? axis + in.rank : axis;
		out.d[0] = onnx_count((int32_t)axis, in.d);
		out.d[1] = onnx_count(in.rank - (int32_t)axis, in.d + axis);
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
}

ONNX_INFER(squeeze)
{
	bool on[ONNX_MAX_RANK], known;
	onnx_dims in = onnx_in_dims(at, 0), out;
	int32_t n;
	out.rank = ONNX_UNKNOWN;
	if (in.rank >= 0) {
		BERTH_TRY(onnx_axes(at, "axes", 1, in.rank, on, &n, &known));
		bool open = !known || (n < 0 && onnx_count(in.rank, in.d) < 0);
		out.rank = open ? ONNX_UNKNOWN : 0;
		for (int32_t i = 0; i < in.rank && !open; i++) {
			if (n >= 0 && on[i] && in.d[i] > 1)
				return onnx_fail(at->m, at->n, at->err,
				                 "axis %d to squeeze is %lld; expected 1", i,
				                 (long long)in.d[i]);
			if (n >= 0 ? !on[i] : in.d[i] != 1)
				out.d[out.rank++] = in.d[i];
		}
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
}

ONNX_INFER(unsqueeze)
{
	bool on[ONNX_MAX_RANK], known;
	int64_t list[ONNX_MAX_RANK];
	onnx_dims in = onnx_in_dims(at, 0), out;
	int32_t n, from = 0;
	out.rank = ONNX_UNKNOWN;
	BERTH_TRY(onnx_list(at, "axes", 1, list, &n, &known));
	if (in.rank >= 0 && known && n >= 0) {
		if (in.rank + n > ONNX_MAX_RANK)
			return onnx_fail(at->m, at->n, at->err, "a result of rank %d; expected at most %d",
			                 in.rank + n, ONNX_MAX_RANK);
		BERTH_TRY(onnx_axes(at, "axes", 1, in.rank + n, on, &n, &known));
		out.rank = in.rank + n;
		for (int32_t i = 0; i < out.rank; i++) {
			if (!on[i] && from == in.rank)
				return onnx_fail(at->m, at->n, at->err, "an axis stands twice");
			out.d[i] = on[i] ? 1 : in.d[from++];
		}
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
}

ONNX_INFER(transpose)
{
	onnx_dims in = onnx_in_dims(at, 0), out = in;
	int64_t perm[ONNX_MAX_RANK];
	int32_t n, from;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "perm", perm, ONNX_MAX_RANK, &n, at->err));
	if (n >= 0 && in.rank >= 0 && n != in.rank)
		return onnx_fail(at->m, at->n, at->err, "perm of %d for an input of rank %d", n, in.rank);
	for (int32_t i = 0; i < in.rank; i++) {
		BERTH_TRY(onnx_axis(at, n >= 0 ? perm[i] : in.rank - 1 - i, in.rank, &from));
		out.d[i] = in.d[from];
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
}

/* ---- copying ---- */

ONNX_INFER(expand)
{
	onnx_dims d = onnx_in_dims(at, 0), to;
	bool known;
	BERTH_TRY(onnx_list(at, "shape", 1, to.d, &to.rank, &known));
	if (known && to.rank >= 0)
		BERTH_TRY(onnx_broadcast(at, &d, &to));
	else
		d.rank = ONNX_UNKNOWN;
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(tile)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int64_t times[ONNX_MAX_RANK];
	int32_t n;
	bool known;
	BERTH_TRY(onnx_list(at, "repeats", 1, times, &n, &known));
	if (!known || n != d.rank)
		d = onnx_open_dims(d.rank);
	for (int32_t i = 0; i < d.rank && known && n == d.rank; i++)
		d.d[i] = onnx_mul(d.d[i], times[i]);
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(concat)
{
	onnx_dims out = onnx_in_dims(at, 0);
	int32_t axis;
	if (out.rank < 0)
		return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
	BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", 1), out.rank, &axis));
	for (int32_t i = 1; i < at->n->n_in; i++) {
		onnx_dims d = onnx_in_dims(at, i);
		if (d.rank >= 0 && d.rank != out.rank)
			return onnx_fail(at->m, at->n, at->err, "input %d has rank %d; expected %d", i,
			                 d.rank, out.rank);
		for (int32_t k = 0; k < out.rank; k++) {
			int64_t x = d.rank < 0 ? ONNX_UNKNOWN : d.d[k];
			if (k == axis)
				out.d[k] = out.d[k] < 0 || x < 0 ? ONNX_UNKNOWN : onnx_clamp(out.d[k] + x);
			else if (x >= 0 && out.d[k] >= 0 && x != out.d[k])
				return onnx_fail(at->m, at->n, at->err,
				                 "input %d has %lld at axis %d; expected %lld", i,
				                 (long long)x, k, (long long)out.d[k]);
			else if (out.d[k] < 0)
				out.d[k] = x;
		}
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
}

/* Length of piece o of n where a dimension is cut evenly: the last one takes the rest. */
static int64_t even_piece(int64_t dim, int32_t n, int32_t o)
{
	int64_t piece = (dim + n - 1) / n;
	int64_t left = dim - piece * o;
	return left < 0 ? 0 : left < piece ? left : piece;
}

ONNX_INFER(split)
{
	onnx_dims in = onnx_in_dims(at, 0);
	int32_t axis = 0, n, pieces = (int32_t)at->n->n_out;
	int64_t size[ONNX_MAX_CONTENT];
	bool known = true;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "split", size, ONNX_MAX_CONTENT, &n, at->err));
	const int64_t *given = n >= 0 && n <= ONNX_MAX_CONTENT ? size : NULL;
	if (n < 0 && onnx_in(at, 1)) {
		given = onnx_in_ints(at, 1, &n);
		known = given != NULL;
	}
	if (in.rank >= 0)
		BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", 0), in.rank, &axis));
	if (given && n < pieces)
		return onnx_fail(at->m, at->n, at->err, "%d sizes for %d outputs", n, pieces);
	for (int32_t o = 0; o < pieces; o++) {
		onnx_dims d = in;
		if (in.rank > 0)
			d.d[axis] = given                      ? given[o]
			            : !known || in.d[axis] < 0 ? ONNX_UNKNOWN
			                                       : even_piece(in.d[axis], pieces, o);
		BERTH_TRY(onnx_set(at, o, onnx_in_elem(at, 0), &d));
	}
	return BERTH_OK;
}

/* Elements of start : end : step on a dimension, as numpy counts them. */
static int64_t slice_length(int64_t dim, int64_t start, int64_t end, int64_t step)
{
	if (dim < 0 || step == 0)
		return ONNX_UNKNOWN;
	start = onnx_clamp(start);
	end = onnx_clamp(end);
	step = onnx_clamp(step);
	start += start < 0 ? dim : 0;
	end += end < 0 ? dim : 0;
	int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
	start = start < low ? low : start > high ? high : start;
	end = end < low ? low : end > high ? high : end;
	int64_t n = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
	return n < 0 ? 0 : n;
}

ONNX_INFER(slice)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int64_t start[ONNX_MAX_RANK], end[ONNX_MAX_RANK], axes[ONNX_MAX_RANK], step[ONNX_MAX_RANK];
	int32_t n, n_end, n_axes, n_step, axis;
	bool known[4];
	if (d.rank < 0)
		return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
	BERTH_TRY(onnx_list(at, "starts", 1, start, &n, &known[0]));
	BERTH_TRY(onnx_list(at, "ends", 2, end, &n_end, &known[1]));
	BERTH_TRY(onnx_list(at, "axes", 3, axes, &n_axes, &known[2]));
	BERTH_TRY(onnx_list(at, "steps", 4, step, &n_step, &known[3]));
	bool ends = known[0] && known[1] && known[3] && n >= 0 && n_end == n && (n_step < 0 || n_step == n);
	if (!known[2] || (n_axes >= 0 && ends && n_axes != n) || (n_axes < 0 && !ends) ||
	    (n_axes < 0 && n > d.rank))
		d = onnx_open_dims(d.rank);
	else
		for (int32_t i = 0; i < (n_axes >= 0 ? n_axes : n); i++) {
			BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d.rank, &axis));
			d.d[axis] = ends ? slice_length(d.d[axis], start[i], end[i], n_step < 0 ? 1 : step[i])
			                 : ONNX_UNKNOWN;
		}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(gather)
{
	onnx_dims data = onnx_in_dims(at, 0), index = onnx_in_dims(at, 1), out;
	int32_t axis;
	out.rank = ONNX_UNKNOWN;
	if (data.rank > 0 && index.rank >= 0 && data.rank - 1 + index.rank <= ONNX_MAX_RANK) {
		BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", 0), data.rank, &axis));
		out.rank = 0;
		for (int32_t i = 0; i < axis; i++)
			out.d[out.rank++] = data.d[i];
		for (int32_t i = 0; i < index.rank; i++)
			out.d[out.rank++] = index.d[i];
		for (int32_t i = axis + 1; i < data.rank; i++)
			out.d[out.rank++] = data.d[i];
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
}

ONNX_INFER(gather_elements)
{
	return onnx_set_like(at, 0, 1, onnx_in_elem(at, 0));
}

ONNX_INFER(gather_nd)
{
	onnx_dims data = onnx_in_dims(at, 0), index = onnx_in_dims(at, 1), out;
	int64_t batch = onnx_attr_int(at->n, "batch_dims", 0);
	out.rank = ONNX_UNKNOWN;
	if (data.rank > 0 && index.rank > 0 && index.d[index.rank - 1] >= 0 && batch >= 0 &&
	    batch < index.rank && index.d[index.rank - 1] <= data.rank - batch) {
		int32_t skip = (int32_t)(batch + index.d[index.rank - 1]);
		if (index.rank - 1 + data.rank - skip <= ONNX_MAX_RANK) {
			out.rank = 0;
			for (int32_t i = 0; i + 1 < index.rank; i++)
				out.d[out.rank++] = index.d[i];
			for (int32_t i = skip; i < data.rank; i++)
				out.d[out.rank++] = data.d[i];
		}
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
}

ONNX_INFER(pad)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int64_t pads[2 * ONNX_MAX_RANK], axes[ONNX_MAX_RANK];
	int32_t n, n_axes, axis;
	bool known = true, axes_known;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, onnx_attr_find(at->n, "paddings") ? "paddings" : "pads", pads,
	                         2 * ONNX_MAX_RANK, &n, at->err));
	if (n < 0) {
		const int64_t *ints = onnx_in_ints(at, 1, &n);
		known = ints && n <= 2 * ONNX_MAX_RANK;
		if (known)
			memcpy(pads, ints, (size_t)n * sizeof *pads);
	}
	BERTH_TRY(onnx_list(at, "axes", 3, axes, &n_axes, &axes_known));
	int32_t half = n_axes >= 0 ? n_axes : d.rank;
	if (d.rank < 0 || !known || !axes_known || n != 2 * half) {
		d = onnx_open_dims(d.rank);
		return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
	}
	for (int32_t i = 0; i < half; i++) {
		BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d.rank, &axis));
		int64_t grown = onnx_clamp(d.d[axis] + onnx_clamp(pads[i]) + onnx_clamp(pads[half + i]));
		d.d[axis] = d.d[axis] < 0 ? ONNX_UNKNOWN : grown < 0 ? 0 : grown;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(depth_to_space)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int64_t block = onnx_attr_int(at->n, "blocksize", 1);
	if (d.rank == 4 && block > 0 && block < INT32_MAX) {
		d.d[1] = d.d[1] < 0 ? ONNX_UNKNOWN : d.d[1] / block / block;
		d.d[2] = onnx_mul(d.d[2], block);
		d.d[3] = onnx_mul(d.d[3], block);
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(space_to_depth)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int64_t block = onnx_attr_int(at->n, "blocksize", 1);
	if (d.rank == 4 && block > 0 && block < INT32_MAX) {
		d.d[1] = onnx_mul(d.d[1], block * block);
		d.d[2] = d.d[2] < 0 ? ONNX_UNKNOWN : d.d[2] / block;
		d.d[3] = d.d[3] < 0 ? ONNX_UNKNOWN : d.d[3] / block;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* ---- shapes from shapes and contents ---- */

ONNX_INFER(shape)
{
	const onnx_value *v = onnx_in(at, 0);
	int64_t rank = v ? v->rank : ONNX_UNKNOWN;
	int64_t start = onnx_attr_int(at->n, "start", 0), end = onnx_attr_int(at->n, "end", INT32_MAX);
	onnx_dims d = onnx_vector(rank < 0 ? ONNX_UNKNOWN : slice_length(rank, start, end, 1));
	return onnx_set(at, 0, ONNX_INT64, &d);
}

ONNX_INFER(size)
{
	onnx_dims scalar = {.rank = 0};
	return onnx_set(at, 0, ONNX_INT64, &scalar);
}

ONNX_INFER(constant)
{
	static const struct { const char *name; int32_t elem; bool list; } kind[] = {
		{"value_int", ONNX_INT64, false}, {"value_ints", ONNX_INT64, true},
		{"value_float", ONNX_FLOAT, false},
		{"value_floats", ONNX_FLOAT, true}, {"value_string", ONNX_STRING, false},
		{"value_strings", ONNX_STRING, true}};
	const onnx_attr *a = onnx_attr_find(at->n, "value");
	a = a ? a : onnx_attr_find(at->n, "sparse_value");
	if (a && a->tensor && onnx_out(at, 0)) {
		onnx_value *v = onnx_out(at, 0);
		v->tensor = a->tensor;
		v->elem = a->tensor->elem;
		v->rank = a->tensor->rank;
		v->dim = a->tensor->dim;
		return BERTH_OK;
	}
	for (size_t k = 0; k < sizeof kind / sizeof *kind; k++)
		if (onnx_attr_find(at->n, kind[k].name)) {
			onnx_dims d = onnx_vector(ONNX_UNKNOWN);
			int32_t n = -1;
			if (kind[k].elem == ONNX_INT64)
				BERTH_TRY(onnx_attr_ints(at->m, at->n, kind[k].name, NULL, 0, &n, at->err));
			else if (kind[k].elem == ONNX_FLOAT)
				BERTH_TRY(onnx_attr_floats(at->m, at->n, kind[k].name, NULL, 0, &n, at->err));
			d.d[0] = n;
			d.rank = kind[k].list;
			return onnx_set(at, 0, kind[k].elem, &d);
		}
	return BERTH_OK;
}

ONNX_INFER(constant_of_shape)
{
	const onnx_attr *value = onnx_attr_find(at->n, "value");
	onnx_dims d, in = onnx_in_dims(at, 0);
	bool known;
	BERTH_TRY(onnx_list(at, "shape", 0, d.d, &d.rank, &known));
	if (!known || d.rank < 0)
		d = onnx_open_dims(in.rank == 1 && in.d[0] >= 0 && in.d[0] <= ONNX_MAX_RANK ? (int32_t)in.d[0]
		                                                                            : ONNX_UNKNOWN);
	else
		for (int32_t i = 0; i < d.rank; i++)
			if (d.d[i] < 0)
				return onnx_fail(at->m, at->n, at->err, "dimension %lld; expected 0 or more",
				                 (long long)d.d[i]);
	return onnx_set(at, 0, value && value->tensor ? value->tensor->elem : ONNX_FLOAT, &d);
}

ONNX_INFER(range)
{
	double start, limit, delta;
	onnx_dims d = onnx_vector(ONNX_UNKNOWN);
	if (onnx_in_number(at, 0, 0, &start) && onnx_in_number(at, 1, 0, &limit) &&
	    onnx_in_number(at, 2, 0, &delta) && delta != 0) {
		double n = ceil((limit - start) / delta);
		if (n > (double)ONNX_MAX_ELEMENTS)
			return onnx_fail(at->m, at->n, at->err, "a range of %g elements", n);
		d.d[0] = n > 0 ? (int64_t)n : 0;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(one_hot)
{
	onnx_dims in = onnx_in_dims(at, 0), out;
	double depth = -1;
	int32_t axis;
	out.rank = ONNX_UNKNOWN;
	if (in.rank >= 0 && in.rank < ONNX_MAX_RANK) {
		BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", -1), in.rank + 1, &axis));
		if (!onnx_in_number(at, 1, 0, &depth) || !(depth >= 0 && depth <= (double)ONNX_MAX_ELEMENTS))
			depth = ONNX_UNKNOWN;
		out.rank = in.rank + 1;
		for (int32_t i = 0; i < out.rank; i++)
			out.d[i] = i == axis ? (int64_t)depth : in.d[i < axis ? i : i - 1];
	}
	return onnx_set(at, 0, onnx_in_elem(at, 2), &out);
}

ONNX_INFER(topk)
{
	onnx_dims d = onnx_in_dims(at, 0);
	double k = (double)onnx_attr_int(at->n, "k", -1);
	int32_t axis;
	if (d.rank > 0) {
		BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", -1), d.rank, &axis));
		bool known = onnx_attr_find(at->n, "k") || onnx_in_number(at, 1, 0, &k);
		d.d[axis] = known && k >= 0 && k <= (double)ONNX_MAX_ELEMENTS ? (int64_t)k : ONNX_UNKNOWN;
	}
	BERTH_TRY(onnx_set(at, 1, ONNX_INT64, &d));
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* As many columns as there are non-zero elements: known where the content is. */
ONNX_INFER(nonzero)
{
	onnx_dims in = onnx_in_dims(at, 0), d = onnx_open_dims(2);
	int64_t count = onnx_count(in.rank, in.d), n = 0;
	double x;
	d.d[0] = in.rank < 0 ? ONNX_UNKNOWN : in.rank ? in.rank : 1;
	bool known = count >= 0 && count <= ONNX_MAX_CONTENT;
	for (int32_t i = 0; known && i < count; i++) {
		known = onnx_in_number(at, 0, i, &x);
		n += known && x != 0;
	}
	d.d[1] = known ? n : ONNX_UNKNOWN;
	return onnx_set(at, 0, ONNX_INT64, &d);
}

ONNX_INFER(compress)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int32_t axis;
	if (onnx_attr_find(at->n, "axis") && d.rank > 0) {
		BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", 0), d.rank, &axis));
		d.d[axis] = ONNX_UNKNOWN;
	} else {
		d = onnx_vector(ONNX_UNKNOWN);
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(unique)
{
	onnx_dims open = onnx_vector(ONNX_UNKNOWN);
	BERTH_TRY(onnx_infer_compress(at));
	for (int32_t o = 1; o < 4; o++)
		BERTH_TRY(onnx_set(at, o, ONNX_INT64, &open));
	return BERTH_OK;
}

ONNX_INFER(center_crop_pad)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int64_t to[ONNX_MAX_RANK], axes[ONNX_MAX_RANK];
	int32_t n, n_axes, axis;
	bool known, axes_known;
	BERTH_TRY(onnx_list(at, "shape", 1, to, &n, &known));
	BERTH_TRY(onnx_list(at, "axes", -1, axes, &n_axes, &axes_known));
	for (int32_t i = 0; i < (n_axes >= 0 ? n_axes : d.rank); i++) {
		if (d.rank < 0)
			break;
		BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d.rank, &axis));
		d.d[axis] = known && i < n ? to[i] : ONNX_UNKNOWN;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(col2im)
{
	onnx_dims in = onnx_in_dims(at, 0), out;
	int64_t image[ONNX_MAX_RANK], block[ONNX_MAX_RANK], cells = 1;
	int32_t n, n_block;
	bool known, block_known;
	BERTH_TRY(onnx_list(at, "image_shape", 1, image, &n, &known));
	BERTH_TRY(onnx_list(at, "block_shape", 2, block, &n_block, &block_known));
	out.rank = ONNX_UNKNOWN;
	if (in.rank == 3 && known && block_known && n >= 0 && n == n_block && n + 2 <= ONNX_MAX_RANK) {
		out.rank = n + 2;
		for (int32_t i = 0; i < n; i++) {
			cells = onnx_mul(cells, block[i]);
			out.d[i + 2] = image[i];
		}
		out.d[0] = in.d[0];
		out.d[1] = in.d[1] < 0 || cells <= 0 ? ONNX_UNKNOWN : in.d[1] / cells;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &out);
}

/* ---- resizing ---- */

/* Scales of the input slot or the attribute; false: not known. */
static bool scales_of(const onnx_at *at, int32_t slot, double scale[ONNX_MAX_RANK], int32_t *n,
                      berth_status *st)
{
	*st = onnx_attr_floats(at->m, at->n, "scales", scale, ONNX_MAX_RANK, n, at->err);
	if (*st == BERTH_OK && *n < 0) {
		const double *reals = onnx_in_reals(at, slot, n);
		for (int32_t i = 0; reals && i < *n && i < ONNX_MAX_RANK; i++)
			scale[i] = reals[i];
	}
	return *st == BERTH_OK && *n > 0 && *n <= ONNX_MAX_RANK;
}

static int64_t scaled(int64_t dim, double scale)
{
	double x = floor((double)((float)dim * (float)scale)); /* in single precision, as engines do */
	return dim < 0 || !(x >= 0 && x <= (double)ONNX_MAX_ELEMENTS) ? ONNX_UNKNOWN : (int64_t)x;
}

/* Sizes given for some axes, kept in proportion where the policy says so (opset 18). */
static void resize_to(const onnx_at *at, onnx_dims *d, const int32_t axis[], const int64_t size[], int32_t n)
{
	bool larger = onnx_attr_is(at->m, at->n, "keep_aspect_ratio_policy", "not_smaller");
	bool smaller = onnx_attr_is(at->m, at->n, "keep_aspect_ratio_policy", "not_larger");
	double scale = 0;
	for (int32_t i = 0; i < n; i++) {
		double s = d->d[axis[i]] > 0 ? (double)size[i] / (double)d->d[axis[i]] : 0;
		if (i == 0 || (larger && s > scale) || (smaller && s < scale))
			scale = s;
	}
	for (int32_t i = 0; i < n; i++)
		d->d[axis[i]] =
			larger || smaller
				? (d->d[axis[i]] < 0 ? ONNX_UNKNOWN
		                                     : scaled(1, floor((double)d->d[axis[i]] * scale + 0.5)))
				: size[i];
}

ONNX_INFER(resize)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int64_t axes[ONNX_MAX_RANK], size[ONNX_MAX_RANK];
	int32_t axis[ONNX_MAX_RANK], n_axes, n_size, n_scale;
	double scale[ONNX_MAX_RANK];
	bool axes_known, size_known;
	berth_status st;
	if (d.rank < 0)
		return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
	BERTH_TRY(onnx_list(at, "axes", -1, axes, &n_axes, &axes_known));
	BERTH_TRY(onnx_list(at, "sizes", 3, size, &n_size, &size_known));
	int32_t n = n_axes >= 0 ? n_axes : d.rank;
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d.rank, &axis[i]));
	bool has_scales = scales_of(at, at->m->opset < 11 ? 1 : 2, scale, &n_scale, &st);
	BERTH_TRY(st);
	if (size_known && n_size == n && n > 0)
		resize_to(at, &d, axis, size, n);
	else
		for (int32_t i = 0; i < n; i++)
			d.d[axis[i]] =
				has_scales && n_scale == n ? scaled(d.d[axis[i]], scale[i]) : ONNX_UNKNOWN;
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(upsample)
{
	onnx_dims d = onnx_in_dims(at, 0);
	double scale[ONNX_MAX_RANK];
	int32_t n;
	berth_status st;
	bool known = scales_of(at, 1, scale, &n, &st);
	BERTH_TRY(st);
	for (int32_t i = 0; i < d.rank; i++)
		d.d[i] = known && n == d.rank ? scaled(d.d[i], scale[i]) : ONNX_UNKNOWN;
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}
