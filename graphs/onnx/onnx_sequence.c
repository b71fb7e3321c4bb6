/* Rows of the table: sequences and optional values, which count as one of what they hold; texts; optimisers
 * (ai.onnx.preview.training). */
#include "onnx_infer.h"

#include <string.h>

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
