/* Rules of operators that move elements, or make shapes. */
#include "onnx_infer.h"

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
	return ONNX_FAIL(at, "%lld elements do not fit the shape %s", (long long)count,
	                 onnx_dims_text(text, shape));
}

/* The rank that a list of dimensions gives, as far as its length is known. */
static int32_t rank_of_list(const onnx_dims *list)
{
	return list->rank == 1 && list->d[0] >= 0 && list->d[0] <= ONNX_MAX_RANK ? (int32_t)list->d[0]
	                                                                         : ONNX_UNKNOWN;
}

ONNX_INFER(reshape)
{
	onnx_dims to = onnx_in_dims(at, 1), out = {.elem = d->elem};
	bool known, zero_is_zero = onnx_attr_int(at->n, "allowzero", 0) != 0;
	BERTH_TRY(onnx_list(at, "shape", 1, out.d, &out.rank, &known));
	if (out.rank < 0 || !known) {
		onnx_open(d, rank_of_list(&to));
		return BERTH_OK;
	}
	for (int32_t i = 0; i < out.rank; i++) {
		if (out.d[i] == 0 && !zero_is_zero)
			out.d[i] = d->rank < 0 ? ONNX_UNKNOWN : i < d->rank ? d->d[i] : 1;
		if (out.d[i] < ONNX_UNKNOWN)
			return ONNX_FAIL(at, "dimension %lld of the new shape; expected -1 or more",
			                 (long long)out.d[i]);
	}
	BERTH_TRY(fill_rest(at, &out, onnx_count(d->rank, d->d)));
	*d = out;
	return BERTH_OK;
}

ONNX_INFER(flatten)
{
	onnx_dims in = *d;
	int64_t axis = onnx_attr_int(at->n, "axis", 1);
	onnx_open(d, 2);
	if (in.rank < 0)
		return BERTH_OK;
	if (axis < -in.rank || axis > in.rank)
		return ONNX_FAIL(at, "axis %lld; expected %d to %d", (long long)axis, -in.rank, in.rank);
	axis = axis < 0 ? axis + in.rank : axis;
	d->d[0] = onnx_count((int32_t)axis, in.d);
	d->d[1] = onnx_count(in.rank - (int32_t)axis, in.d + axis);
	return BERTH_OK;
}

ONNX_INFER(squeeze)
{
	bool on[ONNX_MAX_RANK], known;
	int32_t n, rank = 0;
	if (d->rank < 0)
		return BERTH_OK;
	BERTH_TRY(onnx_axes(at, "axes", 1, d->rank, on, &n, &known));
	if (!known || (n < 0 && onnx_count(d->rank, d->d) < 0)) {
		d->rank = ONNX_UNKNOWN;
		return BERTH_OK;
	}
	for (int32_t i = 0; i < d->rank; i++) {
		if (n >= 0 && on[i] && d->d[i] > 1)
			return ONNX_FAIL(at, "axis %d to squeeze is %lld; expected 1", i, (long long)d->d[i]);
		if (n >= 0 ? !on[i] : d->d[i] != 1)
			d->d[rank++] = d->d[i];
	}
	d->rank = rank;
	return BERTH_OK;
}

ONNX_INFER(unsqueeze)
{
	bool on[ONNX_MAX_RANK], known;
	int64_t list[ONNX_MAX_RANK];
	onnx_dims in = *d;
	int32_t n, from = 0;
	d->rank = ONNX_UNKNOWN;
	BERTH_TRY(onnx_list(at, "axes", 1, list, &n, &known));
	if (in.rank < 0 || !known || n < 0)
		return BERTH_OK;
	if (in.rank + n > ONNX_MAX_RANK)
		return ONNX_FAIL(at, "a result of rank %d; expected at most %d", in.rank + n, ONNX_MAX_RANK);
	BERTH_TRY(onnx_axes(at, "axes", 1, in.rank + n, on, &n, &known));
	d->rank = in.rank + n;
	for (int32_t i = 0; i < d->rank; i++) {
		if (!on[i] && from == in.rank)
			return ONNX_FAIL(at, "an axis stands twice");
		d->d[i] = on[i] ? 1 : in.d[from++];
	}
	return BERTH_OK;
}

ONNX_INFER(transpose)
{
	onnx_dims in = *d;
	int64_t perm[ONNX_MAX_RANK];
	int32_t n, from;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "perm", perm, ONNX_MAX_RANK, &n));
	if (n >= 0 && in.rank >= 0 && n != in.rank)
		return ONNX_FAIL(at, "perm of %d for an input of rank %d", n, in.rank);
	for (int32_t i = 0; i < in.rank; i++) {
		BERTH_TRY(onnx_axis(at, n >= 0 ? perm[i] : in.rank - 1 - i, in.rank, &from));
		d->d[i] = in.d[from];
	}
	return BERTH_OK;
}

/* ---- copying ---- */

ONNX_INFER(expand)
{
	onnx_dims to = {0};
	bool known;
	BERTH_TRY(onnx_list(at, "shape", 1, to.d, &to.rank, &known));
	if (known && to.rank >= 0)
		return onnx_broadcast(at, d, &to);
	d->rank = ONNX_UNKNOWN;
	return BERTH_OK;
}

ONNX_INFER(tile)
{
	int64_t times[ONNX_MAX_RANK];
	int32_t n;
	bool known;
	BERTH_TRY(onnx_list(at, "repeats", 1, times, &n, &known));
	known = known && n == d->rank;
	for (int32_t i = 0; i < d->rank; i++)
		d->d[i] = known ? onnx_mul(d->d[i], times[i]) : ONNX_UNKNOWN;
	return BERTH_OK;
}

/* Input number i joins at an axis. */
static berth_status join_at(const onnx_at *at, onnx_dims *d, int32_t axis, int32_t i)
{
	onnx_dims e = onnx_in_dims(at, i);
	if (e.rank >= 0 && e.rank != d->rank)
		return ONNX_FAIL(at, "input %d has rank %d; expected %d", i, e.rank, d->rank);
	for (int32_t k = 0; k < d->rank; k++) {
		int64_t x = onnx_dim(&e, k);
		if (k == axis)
			d->d[k] = d->d[k] < 0 || x < 0 ? ONNX_UNKNOWN : onnx_clamp(d->d[k] + x);
		else if (x >= 0 && d->d[k] >= 0 && x != d->d[k])
			return ONNX_FAIL(at, "input %d has %lld at axis %d; expected %lld", i, (long long)x,
			                 k, (long long)d->d[k]);
		else if (d->d[k] < 0)
			d->d[k] = x;
	}
	return BERTH_OK;
}

ONNX_INFER(concat)
{
	int32_t axis;
	if (d->rank < 0)
		return BERTH_OK;
	BERTH_TRY(onnx_axis_attr(at, 1, d->rank, &axis));
	for (int32_t i = 1; i < at->n->n_in; i++)
		BERTH_TRY(join_at(at, d, axis, i));
	return BERTH_OK;
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
	int32_t axis = 0, n, pieces = (int32_t)at->n->n_out;
	int64_t size[ONNX_MAX_CONTENT];
	bool known = true;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "split", size, ONNX_MAX_CONTENT, &n));
	const int64_t *given = n >= 0 && n <= ONNX_MAX_CONTENT ? size : NULL;
	if (n < 0 && onnx_in(at, 1)) {
		given = onnx_in_ints(at, 1, &n);
		known = given != NULL;
	}
	if (d->rank >= 0)
		BERTH_TRY(onnx_axis_attr(at, 0, d->rank, &axis));
	if (given && n < pieces)
		return ONNX_FAIL(at, "%d sizes for %d outputs", n, pieces);
	for (int32_t o = 0; o < pieces; o++) {
		onnx_dims e = *d;
		if (d->rank > 0)
			e.d[axis] = given                      ? given[o]
			            : !known || d->d[axis] < 0 ? ONNX_UNKNOWN
			                                       : even_piece(d->d[axis], pieces, o);
		BERTH_TRY(onnx_set(at, o, &e));
	}
	d->rank = ONNX_SET;
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
	int64_t start[ONNX_MAX_RANK], end[ONNX_MAX_RANK], axes[ONNX_MAX_RANK], step[ONNX_MAX_RANK];
	int32_t n, n_end, n_axes, n_step, axis;
	bool known[4];
	if (d->rank < 0)
		return BERTH_OK;
	BERTH_TRY(onnx_list(at, "starts", 1, start, &n, &known[0]));
	BERTH_TRY(onnx_list(at, "ends", 2, end, &n_end, &known[1]));
	BERTH_TRY(onnx_list(at, "axes", 3, axes, &n_axes, &known[2]));
	BERTH_TRY(onnx_list(at, "steps", 4, step, &n_step, &known[3]));
	bool ends = known[0] && known[1] && known[3] && n >= 0 && n_end == n && (n_step < 0 || n_step == n);
	if (!known[2] || (n_axes >= 0 && ends && n_axes != n) || (n_axes < 0 && !ends) ||
	    (n_axes < 0 && n > d->rank)) {
		onnx_open(d, d->rank);
		return BERTH_OK;
	}
	for (int32_t i = 0; i < (n_axes >= 0 ? n_axes : n); i++) {
		BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d->rank, &axis));
		d->d[axis] = ends ? slice_length(d->d[axis], start[i], end[i], n_step < 0 ? 1 : step[i])
		                  : ONNX_UNKNOWN;
	}
	return BERTH_OK;
}

/* d: the dimensions of data up to from and from to on, those of index (n of them) between. */
static void put_between(onnx_dims *d, const onnx_dims *data, int32_t from, int32_t to, const onnx_dims *index,
                        int32_t n)
{
	d->rank = 0;
	for (int32_t i = 0; i < from; i++)
		d->d[d->rank++] = data->d[i];
	for (int32_t i = 0; i < n; i++)
		d->d[d->rank++] = index->d[i];
	for (int32_t i = to; i < data->rank; i++)
		d->d[d->rank++] = data->d[i];
}

ONNX_INFER(gather)
{
	onnx_dims data = *d, index = onnx_in_dims(at, 1);
	int32_t axis;
	d->rank = ONNX_UNKNOWN;
	if (data.rank < 1 || index.rank < 0 || data.rank - 1 + index.rank > ONNX_MAX_RANK)
		return BERTH_OK;
	BERTH_TRY(onnx_axis_attr(at, 0, data.rank, &axis));
	put_between(d, &data, axis, axis + 1, &index, index.rank);
	return BERTH_OK;
}

ONNX_INFER(gather_elements)
{
	int32_t elem = d->elem;
	*d = onnx_in_dims(at, 1);
	d->elem = elem ? elem : d->elem;
	return BERTH_OK;
}

ONNX_INFER(gather_nd)
{
	onnx_dims data = *d, index = onnx_in_dims(at, 1);
	int64_t batch = onnx_attr_int(at->n, "batch_dims", 0);
	d->rank = ONNX_UNKNOWN;
	if (data.rank < 1 || index.rank < 1 || index.d[index.rank - 1] < 0 || batch < 0 ||
	    batch >= index.rank || index.d[index.rank - 1] > data.rank - batch)
		return BERTH_OK;
	int32_t skip = (int32_t)(batch + index.d[index.rank - 1]);
	if (index.rank - 1 + data.rank - skip <= ONNX_MAX_RANK)
		put_between(d, &data, 0, skip, &index, index.rank - 1);
	return BERTH_OK;
}

ONNX_INFER(pad)
{
	int64_t pads[2 * ONNX_MAX_RANK], axes[ONNX_MAX_RANK];
	int32_t n, n_axes, axis;
	bool known = true, axes_known;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, onnx_attr_find(at->n, "paddings") ? "paddings" : "pads", pads,
	                         2 * ONNX_MAX_RANK, &n));
	if (n < 0) {
		const int64_t *ints = onnx_in_ints(at, 1, &n);
		known = ints && n <= 2 * ONNX_MAX_RANK;
		if (known)
			memcpy(pads, ints, (size_t)n * sizeof *pads);
	}
	BERTH_TRY(onnx_list(at, "axes", 3, axes, &n_axes, &axes_known));
	int32_t half = n_axes >= 0 ? n_axes : d->rank;
	if (d->rank < 0 || !known || !axes_known || n != 2 * half) {
		onnx_open(d, d->rank);
		return BERTH_OK;
	}
	for (int32_t i = 0; i < half; i++) {
		BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d->rank, &axis));
		int64_t grown = onnx_clamp(d->d[axis] + onnx_clamp(pads[i]) + onnx_clamp(pads[half + i]));
		d->d[axis] = d->d[axis] < 0 ? ONNX_UNKNOWN : grown < 0 ? 0 : grown;
	}
	return BERTH_OK;
}

static int64_t part_of(int64_t dim, int64_t n)
{
	return dim < 0 ? ONNX_UNKNOWN : dim / n;
}

ONNX_INFER(depth_to_space)
{
	int64_t block = onnx_attr_int(at->n, "blocksize", 1);
	if (d->rank == 4 && block > 0 && block < INT32_MAX) {
		d->d[1] = part_of(part_of(d->d[1], block), block);
		d->d[2] = onnx_mul(d->d[2], block);
		d->d[3] = onnx_mul(d->d[3], block);
	}
	return BERTH_OK;
}

ONNX_INFER(space_to_depth)
{
	int64_t block = onnx_attr_int(at->n, "blocksize", 1);
	if (d->rank == 4 && block > 0 && block < INT32_MAX) {
		d->d[1] = onnx_mul(d->d[1], block * block);
		d->d[2] = part_of(d->d[2], block);
		d->d[3] = part_of(d->d[3], block);
	}
	return BERTH_OK;
}

/* ---- shapes from shapes and contents ---- */

ONNX_INFER(shape)
{
	int64_t rank = d->rank, start = onnx_attr_int(at->n, "start", 0),
		end = onnx_attr_int(at->n, "end", INT32_MAX);
	*d = (onnx_dims){.elem = ONNX_INT64, .rank = 1};
	d->d[0] = rank < 0 ? ONNX_UNKNOWN : slice_length(rank, start, end, 1);
	return BERTH_OK;
}

ONNX_INFER(size)
{
	(void)at;
	d->elem = ONNX_INT64;
	d->rank = 0;
	return BERTH_OK;
}

/* The elements of a list that an attribute of the node holds; -1: of texts, which are not counted. */
static berth_status count_listed(const onnx_at *at, const char *name, int32_t elem, int32_t *n)
{
	*n = -1;
	if (elem == ONNX_INT64)
		return onnx_attr_ints(at->m, at->n, name, NULL, 0, n);
	return elem == ONNX_FLOAT ? onnx_attr_floats(at->m, at->n, name, NULL, 0, n) : BERTH_OK;
}

ONNX_INFER(constant)
{
	static const struct { const char *name; int32_t elem; bool list; } kind[] = {
		{"value_int", ONNX_INT64, false}, {"value_ints", ONNX_INT64, true},
		{"value_float", ONNX_FLOAT, false},
		{"value_floats", ONNX_FLOAT, true}, {"value_string", ONNX_STRING, false},
		{"value_strings", ONNX_STRING, true}};
	const onnx_attr *a = onnx_attr_find(at->n, "value");
	onnx_value *v = onnx_out(at, 0);
	int32_t n;
	a = a ? a : onnx_attr_find(at->n, "sparse_value");
	if (a && a->tensor && v) {
		v->tensor = a->tensor;
		v->elem = a->tensor->elem;
		v->rank = a->tensor->rank;
		v->dim = a->tensor->dim;
		d->rank = ONNX_SET;
		return BERTH_OK;
	}
	for (size_t k = 0; k < sizeof kind / sizeof *kind; k++)
		if (onnx_attr_find(at->n, kind[k].name)) {
			BERTH_TRY(count_listed(at, kind[k].name, kind[k].elem, &n));
			*d = (onnx_dims){.elem = kind[k].elem, .rank = kind[k].list, .d = {n}};
			return BERTH_OK;
		}
	d->rank = ONNX_SET;
	return BERTH_OK;
}

ONNX_INFER(constant_of_shape)
{
	const onnx_attr *value = onnx_attr_find(at->n, "value");
	onnx_dims in = *d;
	bool known;
	BERTH_TRY(onnx_list(at, "shape", 0, d->d, &d->rank, &known));
	d->elem = value && value->tensor ? value->tensor->elem : ONNX_FLOAT;
	if (!known || d->rank < 0)
		onnx_open(d, rank_of_list(&in));
	else
		for (int32_t i = 0; i < d->rank; i++)
			if (d->d[i] < 0)
				return ONNX_FAIL(at, "dimension %lld; expected 0 or more",
				                 (long long)d->d[i]);
	return BERTH_OK;
}

ONNX_INFER(range)
{
	double start, limit, delta;
	onnx_open(d, 1);
	if (onnx_in_number(at, 0, 0, &start) && onnx_in_number(at, 1, 0, &limit) &&
	    onnx_in_number(at, 2, 0, &delta) && delta != 0) {
		double n = ceil((limit - start) / delta);
		if (n > (double)ONNX_MAX_ELEMENTS)
			return ONNX_FAIL(at, "a range of %g elements", n);
		d->d[0] = n > 0 ? (int64_t)n : 0;
	}
	return BERTH_OK;
}

ONNX_INFER(one_hot)
{
	onnx_dims in = *d, depth = {.rank = 1, .d = {onnx_in_size(at, 1)}};
	int32_t axis;
	d->elem = onnx_in_elem(at, 2);
	d->rank = ONNX_UNKNOWN;
	if (in.rank < 0 || in.rank >= ONNX_MAX_RANK)
		return BERTH_OK;
	BERTH_TRY(onnx_axis_attr(at, -1, in.rank + 1, &axis));
	put_between(d, &in, axis, axis, &depth, 1);
	return BERTH_OK;
}

ONNX_INFER(topk)
{
	int32_t axis;
	if (d->rank > 0) {
		BERTH_TRY(onnx_axis_attr(at, -1, d->rank, &axis));
		int64_t k = onnx_attr_find(at->n, "k") ? onnx_attr_int(at->n, "k", -1) : onnx_in_size(at, 1);
		d->d[axis] = k >= 0 && k <= ONNX_MAX_ELEMENTS ? k : ONNX_UNKNOWN;
	}
	onnx_dims indices = *d;
	indices.elem = ONNX_INT64;
	return onnx_set(at, 1, &indices);
}

/* As many columns as there are non-zero elements: known where the content is. */
ONNX_INFER(nonzero)
{
	int64_t count = onnx_count(d->rank, d->d), n = 0;
	double x;
	bool known = count >= 0 && count <= ONNX_MAX_CONTENT;
	for (int32_t i = 0; known && i < count; i++) {
		known = onnx_in_number(at, 0, i, &x);
		n += known && x != 0;
	}
	int64_t rows = d->rank < 0 ? ONNX_UNKNOWN : d->rank ? d->rank : 1;
	*d = (onnx_dims){.elem = ONNX_INT64, .rank = 2, .d = {rows, known ? n : ONNX_UNKNOWN}};
	return BERTH_OK;
}

ONNX_INFER(compress)
{
	int32_t axis;
	if (onnx_attr_find(at->n, "axis") && d->rank > 0) {
		BERTH_TRY(onnx_axis_attr(at, 0, d->rank, &axis));
		d->d[axis] = ONNX_UNKNOWN;
	} else {
		onnx_open(d, 1);
	}
	return BERTH_OK;
}

ONNX_INFER(unique)
{
	onnx_dims open = {.elem = ONNX_INT64, .rank = 1, .d = {ONNX_UNKNOWN}};
	for (int32_t o = 1; o < 4; o++)
		BERTH_TRY(onnx_set(at, o, &open));
	return onnx_infer_compress(at, d);
}

ONNX_INFER(center_crop_pad)
{
	int64_t to[ONNX_MAX_RANK], axes[ONNX_MAX_RANK];
	int32_t n, n_axes, axis;
	bool known, axes_known;
	BERTH_TRY(onnx_list(at, "shape", 1, to, &n, &known));
	BERTH_TRY(onnx_list(at, "axes", -1, axes, &n_axes, &axes_known));
	for (int32_t i = 0; i < (n_axes >= 0 ? n_axes : d->rank) && d->rank >= 0; i++) {
		BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d->rank, &axis));
		d->d[axis] = known && i < n ? to[i] : ONNX_UNKNOWN;
	}
	return BERTH_OK;
}

ONNX_INFER(col2im)
{
	onnx_dims in = *d;
	int64_t image[ONNX_MAX_RANK], block[ONNX_MAX_RANK], cells = 1;
	int32_t n, n_block;
	bool known, block_known;
	BERTH_TRY(onnx_list(at, "image_shape", 1, image, &n, &known));
	BERTH_TRY(onnx_list(at, "block_shape", 2, block, &n_block, &block_known));
	d->rank = ONNX_UNKNOWN;
	if (in.rank != 3 || !known || !block_known || n < 0 || n != n_block || n + 2 > ONNX_MAX_RANK)
		return BERTH_OK;
	d->rank = n + 2;
	for (int32_t i = 0; i < n; i++) {
		cells = onnx_mul(cells, block[i]);
		d->d[i + 2] = image[i];
	}
	d->d[0] = in.d[0];
	d->d[1] = in.d[1] < 0 || cells <= 0 ? ONNX_UNKNOWN : in.d[1] / cells;
	return BERTH_OK;
}

/* ---- resizing ---- */

/* Scales of the input slot or the attribute; false: not known. */
static bool scales_of(const onnx_at *at, int32_t slot, double scale[ONNX_MAX_RANK], int32_t *n,
                      berth_status *st)
{
	*st = onnx_attr_floats(at->m, at->n, "scales", scale, ONNX_MAX_RANK, n);
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
	int64_t axes[ONNX_MAX_RANK], size[ONNX_MAX_RANK];
	int32_t axis[ONNX_MAX_RANK], n_axes, n_size, n_scale;
	double scale[ONNX_MAX_RANK];
	bool axes_known, size_known;
	berth_status st;
	if (d->rank < 0)
		return BERTH_OK;
	BERTH_TRY(onnx_list(at, "axes", -1, axes, &n_axes, &axes_known));
	BERTH_TRY(onnx_list(at, "sizes", 3, size, &n_size, &size_known));
	int32_t n = n_axes >= 0 ? n_axes : d->rank;
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d->rank, &axis[i]));
	bool has_scales = scales_of(at, at->m->opset < 11 ? 1 : 2, scale, &n_scale, &st);
	BERTH_TRY(st);
	if (size_known && n_size == n && n > 0) {
		resize_to(at, d, axis, size, n);
		return BERTH_OK;
	}
	for (int32_t i = 0; i < n; i++)
		d->d[axis[i]] = has_scales && n_scale == n ? scaled(d->d[axis[i]], scale[i]) : ONNX_UNKNOWN;
	return BERTH_OK;
}

ONNX_INFER(upsample)
{
	double scale[ONNX_MAX_RANK];
	int32_t n;
	berth_status st;
	bool known = scales_of(at, 1, scale, &n, &st);
	BERTH_TRY(st);
	for (int32_t i = 0; i < d->rank; i++)
		d->d[i] = known && n == d->rank ? scaled(d->d[i], scale[i]) : ONNX_UNKNOWN;
	return BERTH_OK;
}
