/* Rows of the table: random numbers, detection, signal processing and losses; sequences and optional
 * values, which count as one of what they hold; texts; optimisers (ai.onnx.preview.training). */
#include "onnx_infer.h"

#include <string.h>

/* RandomNormal, RandomUniform: all is in attributes. */
ONNX_INFER(random)
{
	onnx_dims d;
	bool known;
	int64_t elem = onnx_attr_int(at->n, "dtype", ONNX_FLOAT);
	BERTH_TRY(onnx_list(at, "shape", -1, d.d, &d.rank, &known));
	return onnx_set(at, 0, elem < 0 || elem > 1000 ? ONNX_NONE : (int32_t)elem, &d);
}

ONNX_INFER(multinomial)
{
	onnx_dims in = onnx_in_dims(at, 0), d = onnx_open_dims(2);
	d.d[0] = in.rank == 2 ? in.d[0] : ONNX_UNKNOWN;
	d.d[1] = onnx_attr_int(at->n, "sample_size", 1);
	return onnx_set(
		at, 0, onnx_attr_int(at->n, "dtype", ONNX_INT32) == ONNX_INT64 ? ONNX_INT64 : ONNX_INT32, &d);
}

ONNX_INFER(nms)
{
	onnx_dims d = onnx_open_dims(2);
	d.d[1] = 3;
	return onnx_set(at, 0, ONNX_INT64, &d);
}

ONNX_INFER(roi_align)
{
	onnx_dims x = onnx_in_dims(at, 0), rois = onnx_in_dims(at, 1), d = onnx_open_dims(4);
	d.d[0] = rois.rank == 2 ? rois.d[0] : ONNX_UNKNOWN;
	d.d[1] = x.rank == 4 ? x.d[1] : ONNX_UNKNOWN;
	d.d[2] = onnx_attr_int(at->n, "output_height", 1);
	d.d[3] = onnx_attr_int(at->n, "output_width", 1);
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(max_roi_pool)
{
	onnx_dims x = onnx_in_dims(at, 0), rois = onnx_in_dims(at, 1), d = onnx_open_dims(4);
	int64_t shape[ONNX_MAX_RANK];
	int32_t n;
	bool known;
	BERTH_TRY(onnx_list(at, "pooled_shape", -1, shape, &n, &known));
	d.d[0] = rois.rank == 2 ? rois.d[0] : ONNX_UNKNOWN;
	d.d[1] = x.rank == 4 ? x.d[1] : ONNX_UNKNOWN;
	d.d[2] = n == 2 ? shape[0] : ONNX_UNKNOWN;
	d.d[3] = n == 2 ? shape[1] : ONNX_UNKNOWN;
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* x [N, C, ...], grid [N, places..., dimensions]. */
ONNX_INFER(grid_sample)
{
	onnx_dims x = onnx_in_dims(at, 0), grid = onnx_in_dims(at, 1), d = x;
	if (x.rank >= 3 && grid.rank != x.rank)
		d = onnx_open_dims(x.rank);
	for (int32_t i = 2; i < d.rank && grid.rank == x.rank; i++)
		d.d[i] = grid.d[i - 1];
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* size [N, C, (D,) H, W] to a grid [N, (D,) H, W, 2 or 3]. */
ONNX_INFER(affine_grid)
{
	int64_t size[ONNX_MAX_RANK];
	onnx_dims d;
	int32_t n;
	bool known;
	d.rank = ONNX_UNKNOWN;
	BERTH_TRY(onnx_list(at, "size", 1, size, &n, &known));
	if (known && (n == 4 || n == 5)) {
		d.rank = n;
		d.d[0] = size[0];
		for (int32_t i = 2; i < n; i++)
			d.d[i - 1] = size[i];
		d.d[n - 1] = n - 2;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* HannWindow and its kin: as many elements as input 0 says. */
ONNX_INFER(window)
{
	double n;
	onnx_dims d = onnx_vector(ONNX_UNKNOWN);
	int64_t elem = onnx_attr_int(at->n, "output_datatype", ONNX_FLOAT);
	if (onnx_in_number(at, 0, 0, &n) && n >= 0 && n <= (double)ONNX_MAX_ELEMENTS)
		d.d[0] = (int64_t)n;
	return onnx_set(at, 0, elem < 0 || elem > 1000 ? ONNX_NONE : (int32_t)elem, &d);
}

/* Half of a spectrum of n bins, or all of it. */
static int64_t bins(const onnx_at *at, int64_t n, int64_t one_sided)
{
	return n < 0 ? ONNX_UNKNOWN : onnx_attr_int(at->n, "onesided", one_sided) ? n / 2 + 1 : n;
}

ONNX_INFER(dft)
{
	onnx_dims d = onnx_in_dims(at, 0);
	double length, given;
	int32_t axis;
	if (d.rank > 1) {
		int64_t said = onnx_in_number(at, 2, 0, &given) && given > -64 && given < 64
		                       ? (int64_t)given
		                       : onnx_attr_int(at->n, "axis", at->m->opset >= 20 ? -2 : 1);
		BERTH_TRY(onnx_axis(at, said, d.rank, &axis));
		if (onnx_in(at, 1))
			d.d[axis] = onnx_in_number(at, 1, 0, &length) && length >= 0 &&
			                            length <= (double)ONNX_MAX_ELEMENTS
			                    ? (int64_t)length
			                    : ONNX_UNKNOWN;
		d.d[axis] = bins(at, d.d[axis], 0);
		d.d[d.rank - 1] = 2;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* signal [batch, length, 1 or 2], step, window [frame], frame length. */
ONNX_INFER(stft)
{
	onnx_dims x = onnx_in_dims(at, 0), win = onnx_in_dims(at, 2), d = onnx_open_dims(4);
	double step, frame = win.rank == 1 ? (double)win.d[0] : -1, given;
	if (onnx_in_number(at, 3, 0, &given))
		frame = given;
	d.d[0] = x.rank > 0 ? x.d[0] : ONNX_UNKNOWN;
	d.d[3] = 2;
	if (frame >= 1 && frame <= (double)ONNX_MAX_ELEMENTS) {
		d.d[2] = bins(at, (int64_t)frame, 1);
		if (x.rank > 1 && (double)x.d[1] >= frame && onnx_in_number(at, 1, 0, &step) && step >= 1 &&
		    step <= (double)ONNX_MAX_ELEMENTS)
			d.d[1] = 1 + (x.d[1] - (int64_t)frame) / (int64_t)step;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(mel)
{
	double n_mel, length;
	onnx_dims d = onnx_open_dims(2);
	if (onnx_in_number(at, 0, 0, &n_mel) && n_mel >= 0 && n_mel <= (double)ONNX_MAX_ELEMENTS)
		d.d[1] = (int64_t)n_mel;
	if (onnx_in_number(at, 1, 0, &length) && length >= 0 && length <= (double)ONNX_MAX_ELEMENTS)
		d.d[0] = (int64_t)length / 2 + 1;
	return onnx_set(at, 0, ONNX_FLOAT, &d);
}

ONNX_INFER(det)
{
	onnx_dims d = onnx_in_dims(at, 0);
	d.rank = d.rank >= 2 ? d.rank - 2 : ONNX_UNKNOWN;
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* NegativeLogLikelihoodLoss: a scalar, or one loss a target. */
ONNX_INFER(loss)
{
	onnx_dims scalar = {.rank = 0};
	if (onnx_attr_is(at->m, at->n, "reduction", "none"))
		return onnx_set_like(at, 0, 1, onnx_in_elem(at, 0));
	return onnx_set(at, 0, onnx_in_elem(at, 0), &scalar);
}

ONNX_INFER(cross_entropy)
{
	BERTH_TRY(onnx_set_like(at, 1, 0, ONNX_NONE));
	return onnx_infer_loss(at);
}

/* ---- sequences ---- */

ONNX_INFER(number)
{
	onnx_dims scalar = {.rank = 0};
	return onnx_set(at, 0, ONNX_INT64, &scalar);
}

ONNX_INFER(yes_or_no)
{
	onnx_dims scalar = {.rank = 0};
	return onnx_set(at, 0, ONNX_BOOL, &scalar);
}

ONNX_INFER(sequence_empty)
{
	onnx_dims open = {.rank = ONNX_UNKNOWN};
	int64_t elem = onnx_attr_int(at->n, "dtype", ONNX_FLOAT);
	return onnx_set(at, 0, elem < 0 || elem > 1000 ? ONNX_NONE : (int32_t)elem, &open);
}

/* What the shapes of the inputs from a to b have in common. */
static onnx_dims common(const onnx_at *at, int32_t a, int32_t b)
{
	onnx_dims d = onnx_in_dims(at, a);
	for (int32_t i = a + 1; i < b; i++) {
		onnx_dims e = onnx_in_dims(at, i);
		d.rank = d.rank == e.rank ? d.rank : ONNX_UNKNOWN;
		for (int32_t k = 0; k < d.rank; k++)
			d.d[k] = d.d[k] == e.d[k] ? d.d[k] : ONNX_UNKNOWN;
	}
	return d;
}

ONNX_INFER(sequence_construct)
{
	onnx_dims d = common(at, 0, at->n->n_in);
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

ONNX_INFER(sequence_insert)
{
	onnx_dims d = common(at, 0, 2), one = onnx_in_dims(at, 1);
	const onnx_value *v = onnx_in(at, 0);
	bool was_empty = v && v->producer >= 0 && strcmp(at->m->node[v->producer].type, "SequenceEmpty") == 0;
	return onnx_set(at, 0, onnx_in_elem(at, 0), was_empty ? &one : &d);
}

/* Pieces of one length each: input 1 is that length, a list of lengths, or left out for 1. */
ONNX_INFER(split_to_sequence)
{
	onnx_dims d = onnx_in_dims(at, 0), how = onnx_in_dims(at, 1);
	bool keep = onnx_attr_int(at->n, "keepdims", 1) != 0;
	int32_t axis, n;
	if (d.rank < 1)
		return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
	BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", 0), d.rank, &axis));
	if (!onnx_in(at, 1)) {
		d.d[axis] = 1;
		for (int32_t i = axis; !keep && i + 1 < d.rank; i++)
			d.d[i] = d.d[i + 1];
		d.rank -= !keep;
		return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
	}
	const int64_t *size = onnx_in_ints(at, 1, &n);
	bool even = size && n > 0 && size[0] > 0;
	for (int32_t i = 1; even && i < n; i++)
		even = size[i] == size[0];
	even = even && (how.rank > 0 || (d.d[axis] >= 0 && d.d[axis] % size[0] == 0));
	d.d[axis] = even ? size[0] : ONNX_UNKNOWN;
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* As many pieces as nobody knows, along axis, or along a new one. */
ONNX_INFER(concat_from_sequence)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int32_t axis, more = onnx_attr_int(at->n, "new_axis", 0) != 0;
	if (d.rank >= 0 && d.rank + more > 0 && d.rank < ONNX_MAX_RANK) {
		BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", 0), d.rank + more, &axis));
		if (more)
			memmove(d.d + axis + 1, d.d + axis, (size_t)(d.rank - axis) * sizeof *d.d);
		d.rank += more;
		d.d[axis] = ONNX_UNKNOWN;
	}
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* The body's inputs are the elements of the sequences, and tensors handed to all. */
ONNX_INFER(sequence_map)
{
	const onnx_body *b = onnx_body_find(at->n, "body");
	if (!b)
		return BERTH_OK;
	for (int32_t k = 0; k < at->n->n_in; k++) {
		onnx_dims d = onnx_in_dims(at, k);
		BERTH_TRY(onnx_bind(at, b, (size_t)k, onnx_in_elem(at, k), &d));
	}
	BERTH_TRY(onnx_infer_nodes(at->m, b->nodes.node, b->nodes.n, at->err));
	for (int32_t o = 0; o < at->n->n_out; o++) {
		const onnx_value *v =
			(size_t)o < b->n_out && b->out[o] >= 0 ? &at->m->value[b->out[o]] : NULL;
		onnx_dims d = {.rank = v ? v->rank : ONNX_UNKNOWN};
		if (d.rank > 0)
			memcpy(d.d, v->dim, (size_t)d.rank * sizeof *d.d);
		BERTH_TRY(onnx_set(at, o, v ? v->elem : ONNX_NONE, &d));
	}
	return BERTH_OK;
}

/* ---- texts ---- */

/* One column more than the largest index. */
ONNX_INFER(tf_idf)
{
	onnx_dims d = onnx_in_dims(at, 0);
	int64_t index[ONNX_MAX_CONTENT], most = -1;
	int32_t n;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "ngram_indexes", index, ONNX_MAX_CONTENT, &n, at->err));
	for (int32_t i = 0; i < n && i < ONNX_MAX_CONTENT; i++)
		most = index[i] > most ? index[i] : most;
	if (d.rank > 0)
		d.d[d.rank - 1] =
			n >= 0 && n <= ONNX_MAX_CONTENT && most < ONNX_MAX_ELEMENTS ? most + 1 : ONNX_UNKNOWN;
	return onnx_set(at, 0, ONNX_FLOAT, &d);
}

ONNX_INFER(string_normalizer)
{
	onnx_dims d = onnx_in_dims(at, 0);
	if (d.rank > 0)
		d.d[d.rank - 1] = ONNX_UNKNOWN;
	return onnx_set(at, 0, ONNX_STRING, &d);
}

/* The pieces, and how many each text has. */
ONNX_INFER(string_split)
{
	onnx_dims d = onnx_in_dims(at, 0);
	BERTH_TRY(onnx_set(at, 1, ONNX_INT64, &d));
	if (d.rank >= 0 && d.rank < ONNX_MAX_RANK)
		d.d[d.rank++] = ONNX_UNKNOWN;
	return onnx_set(at, 0, ONNX_STRING, &d);
}

/* An encoded image to [height, width, channels]. */
ONNX_INFER(image_decoder)
{
	onnx_dims d = onnx_open_dims(3);
	d.d[2] = onnx_attr_is(at->m, at->n, "pixel_format", "Grayscale") ? 1 : 3;
	return onnx_set(at, 0, ONNX_UINT8, &d);
}

/* ---- optimisers ---- */

/* Inputs: rate, step, then groups of equal size: tensors, gradients, states. Outputs: the groups but for the
 * gradients. */
ONNX_INFER(optimiser)
{
	int32_t groups = strcmp(at->n->type, "Adam") == 0 ? 4 : 3, size = (at->n->n_in - 2) / groups;
	for (int32_t o = 0; size > 0 && o < at->n->n_out; o++)
		BERTH_TRY(onnx_set_like(at, o, 2 + (o < size ? o : o + size), ONNX_NONE));
	return BERTH_OK;
}
