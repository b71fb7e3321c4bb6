/* Rules of operators that have little in common with others: random numbers, detection, signal processing and
 * losses; sequences and optional values, which count as one of what they hold; texts; optimisers
 * (ai.onnx.preview.training). */
#include "onnx_infer.h"

/* RandomNormal, RandomUniform: all is in attributes. */
ONNX_INFER(random)
{
	bool known;
	d->elem = onnx_attr_elem(at, "dtype", ONNX_FLOAT);
	return onnx_list(at, "shape", -1, d->d, &d->rank, &known);
}

ONNX_INFER(multinomial)
{
	bool wide = onnx_attr_int(at->n, "dtype", ONNX_INT32) == ONNX_INT64;
	int64_t rows = d->rank == 2 ? d->d[0] : ONNX_UNKNOWN, n = onnx_attr_int(at->n, "sample_size", 1);
	*d = (onnx_dims){.elem = wide ? ONNX_INT64 : ONNX_INT32, .rank = 2, .d = {rows, n}};
	return BERTH_OK;
}

ONNX_INFER(nms)
{
	(void)at;
	*d = (onnx_dims){.elem = ONNX_INT64, .rank = 2, .d = {ONNX_UNKNOWN, 3}};
	return BERTH_OK;
}

/* x [n, channels, h, w], rois [m, .]: a picture of h times w for each of them. */
static berth_status cut_regions(const onnx_at *at, onnx_dims *d, int64_t h, int64_t w)
{
	onnx_dims rois = onnx_in_dims(at, 1);
	int64_t channels = d->rank == 4 ? d->d[1] : ONNX_UNKNOWN;
	*d = (onnx_dims){.elem = d->elem, .rank = 4,
	                 .d = {rois.rank == 2 ? rois.d[0] : ONNX_UNKNOWN, channels, h, w}};
	return BERTH_OK;
}

ONNX_INFER(roi_align)
{
	return cut_regions(at, d, onnx_attr_int(at->n, "output_height", 1),
	                   onnx_attr_int(at->n, "output_width", 1));
}

ONNX_INFER(max_roi_pool)
{
	int64_t shape[ONNX_MAX_RANK];
	int32_t n;
	bool known;
	BERTH_TRY(onnx_list(at, "pooled_shape", -1, shape, &n, &known));
	return cut_regions(at, d, n == 2 ? shape[0] : ONNX_UNKNOWN, n == 2 ? shape[1] : ONNX_UNKNOWN);
}

/* x [N, C, ...], grid [N, places..., dimensions]. */
ONNX_INFER(grid_sample)
{
	onnx_dims grid = onnx_in_dims(at, 1);
	if (d->rank >= 3 && grid.rank != d->rank)
		onnx_open(d, d->rank);
	for (int32_t i = 2; i < d->rank && grid.rank == d->rank; i++)
		d->d[i] = grid.d[i - 1];
	return BERTH_OK;
}

/* size [N, C, (D,) H, W] to a grid [N, (D,) H, W, 2 or 3]. */
ONNX_INFER(affine_grid)
{
	int64_t size[ONNX_MAX_RANK];
	int32_t n;
	bool known;
	d->rank = ONNX_UNKNOWN;
	BERTH_TRY(onnx_list(at, "size", 1, size, &n, &known));
	if (!known || (n != 4 && n != 5))
		return BERTH_OK;
	d->rank = n;
	d->d[0] = size[0];
	for (int32_t i = 2; i < n; i++)
		d->d[i - 1] = size[i];
	d->d[n - 1] = n - 2;
	return BERTH_OK;
}

/* HannWindow and its kin: as many elements as input 0 says. */
ONNX_INFER(window)
{
	d->elem = onnx_attr_elem(at, "output_datatype", ONNX_FLOAT);
	d->rank = 1;
	d->d[0] = onnx_in_size(at, 0);
	return BERTH_OK;
}

/* Half of a spectrum of n bins, or all of it. */
static int64_t bins(const onnx_at *at, int64_t n, int64_t one_sided)
{
	return n < 0 ? ONNX_UNKNOWN : onnx_attr_int(at->n, "onesided", one_sided) ? n / 2 + 1 : n;
}

ONNX_INFER(dft)
{
	double given;
	int32_t axis;
	if (d->rank < 2)
		return BERTH_OK;
	int64_t said = onnx_in_number(at, 2, 0, &given) && given > -64 && given < 64
	                       ? (int64_t)given
	                       : onnx_attr_int(at->n, "axis", at->m->opset >= 20 ? -2 : 1);
	BERTH_TRY(onnx_axis(at, said, d->rank, &axis));
	if (onnx_in(at, 1))
		d->d[axis] = onnx_in_size(at, 1);
	d->d[axis] = bins(at, d->d[axis], 0);
	d->d[d->rank - 1] = 2;
	return BERTH_OK;
}

/* signal [batch, length, 1 or 2], step, window [frame], frame length. */
ONNX_INFER(stft)
{
	onnx_dims x = *d, win = onnx_in_dims(at, 2);
	double step, frame = win.rank == 1 ? (double)win.d[0] : -1, given;
	if (onnx_in_number(at, 3, 0, &given))
		frame = given;
	onnx_open(d, 4);
	d->d[0] = onnx_dim(&x, 0);
	d->d[3] = 2;
	if (!(frame >= 1 && frame <= (double)ONNX_MAX_ELEMENTS))
		return BERTH_OK;
	d->d[2] = bins(at, (int64_t)frame, 1);
	if (x.rank > 1 && (double)x.d[1] >= frame && onnx_in_number(at, 1, 0, &step) && step >= 1 &&
	    step <= (double)ONNX_MAX_ELEMENTS)
		d->d[1] = 1 + (x.d[1] - (int64_t)frame) / (int64_t)step;
	return BERTH_OK;
}

ONNX_INFER(mel)
{
	int64_t length = onnx_in_size(at, 1);
	*d = (onnx_dims){.elem = ONNX_FLOAT, .rank = 2,
	                 .d = {length < 0 ? ONNX_UNKNOWN : length / 2 + 1, onnx_in_size(at, 0)}};
	return BERTH_OK;
}

ONNX_INFER(det)
{
	(void)at;
	d->rank = d->rank >= 2 ? d->rank - 2 : ONNX_UNKNOWN;
	return BERTH_OK;
}

/* NegativeLogLikelihoodLoss: a scalar, or one loss a target. */
ONNX_INFER(loss)
{
	int32_t elem = d->elem;
	if (onnx_attr_is(at->m, at->n, "reduction", "none")) {
		*d = onnx_in_dims(at, 1);
		d->elem = elem ? elem : d->elem;
	} else {
		d->rank = 0;
	}
	return BERTH_OK;
}

ONNX_INFER(cross_entropy)
{
	BERTH_TRY(onnx_set_like(at, 1, 0, ONNX_NONE));
	return onnx_infer_loss(at, d);
}

/* ---- sequences ---- */

ONNX_INFER(yes_or_no)
{
	(void)at;
	d->elem = ONNX_BOOL;
	d->rank = 0;
	return BERTH_OK;
}

ONNX_INFER(sequence_empty)
{
	d->elem = onnx_attr_elem(at, "dtype", ONNX_FLOAT);
	d->rank = ONNX_UNKNOWN;
	return BERTH_OK;
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
	*d = common(at, 0, at->n->n_in);
	return BERTH_OK;
}

ONNX_INFER(sequence_insert)
{
	const onnx_value *v = onnx_in(at, 0);
	int32_t elem = d->elem;
	bool was_empty = v && v->producer >= 0 && strcmp(at->m->node[v->producer].type, "SequenceEmpty") == 0;
	*d = was_empty ? onnx_in_dims(at, 1) : common(at, 0, 2);
	d->elem = elem;
	return BERTH_OK;
}

/* Pieces of one length each: input 1 is that length, a list of lengths, or left out for 1. */
ONNX_INFER(split_to_sequence)
{
	onnx_dims how = onnx_in_dims(at, 1);
	bool keep = onnx_attr_int(at->n, "keepdims", 1) != 0;
	int32_t axis, n;
	if (d->rank < 1)
		return BERTH_OK;
	BERTH_TRY(onnx_axis_attr(at, 0, d->rank, &axis));
	if (!onnx_in(at, 1)) {
		d->d[axis] = 1;
		for (int32_t i = axis; !keep && i + 1 < d->rank; i++)
			d->d[i] = d->d[i + 1];
		d->rank -= !keep;
		return BERTH_OK;
	}
	const int64_t *size = onnx_in_ints(at, 1, &n);
	bool even = size && n > 0 && size[0] > 0;
	for (int32_t i = 1; even && i < n; i++)
		even = size[i] == size[0];
	even = even && (how.rank > 0 || (d->d[axis] >= 0 && d->d[axis] % size[0] == 0));
	d->d[axis] = even ? size[0] : ONNX_UNKNOWN;
	return BERTH_OK;
}

/* As many pieces as nobody knows, along axis, or along a new one. */
ONNX_INFER(concat_from_sequence)
{
	int32_t axis, more = onnx_attr_int(at->n, "new_axis", 0) != 0;
	if (d->rank < 0 || d->rank + more < 1 || d->rank >= ONNX_MAX_RANK)
		return BERTH_OK;
	BERTH_TRY(onnx_axis_attr(at, 0, d->rank + more, &axis));
	if (more)
		memmove(d->d + axis + 1, d->d + axis, (size_t)(d->rank - axis) * sizeof *d->d);
	d->rank += more;
	d->d[axis] = ONNX_UNKNOWN;
	return BERTH_OK;
}

/* ---- texts ---- */

/* One column more than the largest index. */
ONNX_INFER(tf_idf)
{
	int64_t index[ONNX_MAX_CONTENT], most = -1;
	int32_t n;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "ngram_indexes", index, ONNX_MAX_CONTENT, &n));
	for (int32_t i = 0; i < n && i < ONNX_MAX_CONTENT; i++)
		most = index[i] > most ? index[i] : most;
	d->elem = ONNX_FLOAT;
	if (d->rank > 0)
		d->d[d->rank - 1] =
			n >= 0 && n <= ONNX_MAX_CONTENT && most < ONNX_MAX_ELEMENTS ? most + 1 : ONNX_UNKNOWN;
	return BERTH_OK;
}

ONNX_INFER(string_normalizer)
{
	(void)at;
	d->elem = ONNX_STRING;
	if (d->rank > 0)
		d->d[d->rank - 1] = ONNX_UNKNOWN;
	return BERTH_OK;
}

/* The pieces, and how many each text has. */
ONNX_INFER(string_split)
{
	d->elem = ONNX_INT64;
	BERTH_TRY(onnx_set(at, 1, d));
	d->elem = ONNX_STRING;
	if (d->rank >= 0 && d->rank < ONNX_MAX_RANK)
		d->d[d->rank++] = ONNX_UNKNOWN;
	return BERTH_OK;
}

/* An encoded image to [height, width, channels]. */
ONNX_INFER(image_decoder)
{
	bool grey = onnx_attr_is(at->m, at->n, "pixel_format", "Grayscale");
	*d = (onnx_dims){.elem = ONNX_UINT8, .rank = 3, .d = {ONNX_UNKNOWN, ONNX_UNKNOWN, grey ? 1 : 3}};
	return BERTH_OK;
}

/* ---- optimisers ---- */

/* Inputs: rate, step, then groups of equal size: tensors, gradients, states. Outputs: the groups but for the
 * gradients. */
ONNX_INFER(optimiser)
{
	int32_t groups = strcmp(at->n->type, "Adam") == 0 ? 4 : 3, size = (at->n->n_in - 2) / groups;
	for (int32_t o = 0; size > 0 && o < at->n->n_out; o++)
		BERTH_TRY(onnx_set_like(at, o, 2 + (o < size ? o : o + size), ONNX_NONE));
	d->rank = ONNX_SET;
	return BERTH_OK;
}

/* Attention of the default domain: whole (opset 23), and with a state that is handed on in the place of keys
 * and values (opset 27). Sources: the operator documents of ONNX. */
/* Attention of opset 23: q, k, v as [batch, heads, tokens, size], or [batch, tokens, heads*size] with the
 * heads in attributes. */
ONNX_INFER(attention)
{
	onnx_dims v = onnx_in_dims(at, 2);
	int64_t heads = onnx_attr_int(at->n, "q_num_heads", 0), kv = onnx_attr_int(at->n, "kv_num_heads", 0);
	if (d->rank == 4)
		d->d[3] = v.rank == 4 ? v.d[3] : ONNX_UNKNOWN;
	else if (d->rank == 3)
		d->d[2] = v.rank == 3 && kv > 0 && heads > 0 && heads < INT32_MAX && v.d[2] >= 0
		                  ? onnx_mul(v.d[2] / kv, heads)
		                  : ONNX_UNKNOWN;
	return BERTH_OK;
}

/* Scores and their product with v: batch * heads * q tokens * k tokens * (q size + v size). */
ONNX_MACS(attention)
{
	onnx_dims q = onnx_in_dims(at, 0), k = onnx_in_dims(at, 1);
	const onnx_value *y = onnx_out(at, 0);
	int64_t nq = onnx_count(q.rank, q.d), ny = y ? onnx_count(y->rank, y->dim) : ONNX_UNKNOWN;
	int64_t tokens = k.rank == 4 ? k.d[2] : k.rank == 3 ? k.d[1] : ONNX_UNKNOWN;
	if (nq >= 0 && ny >= 0 && tokens >= 0)
		w->macs = ((double)nq + (double)ny) * (double)tokens;
	return BERTH_OK;
}

/* ---- with a state ---- */

typedef struct linear_heads {
	int64_t q, kv;        /* heads */
	int64_t key, value;   /* numbers in a head */
	int64_t batch, tokens;
} linear_heads;

/* Queries [batch, tokens, q * key], keys [batch, tokens, kv * key], values [batch, tokens, kv * value]. */
static linear_heads heads_of(const onnx_at *at)
{
	onnx_dims q = onnx_in_dims(at, 0), v = onnx_in_dims(at, 2);
	linear_heads h = {.q = onnx_attr_int(at->n, "q_num_heads", 0),
	                  .kv = onnx_attr_int(at->n, "kv_num_heads", 0),
	                  .batch = onnx_dim(&q, 0),
	                  .tokens = onnx_dim(&q, 1)};
	h.q = h.q > ONNX_MAX_ELEMENTS ? 0 : h.q;
	h.kv = h.kv > ONNX_MAX_ELEMENTS ? 0 : h.kv;
	h.key = h.q > 0 && onnx_dim(&q, 2) >= 0 ? q.d[2] / h.q : ONNX_UNKNOWN;
	h.value = h.kv > 0 && onnx_dim(&v, 2) >= 0 ? v.d[2] / h.kv : ONNX_UNKNOWN;
	return h;
}

ONNX_INFER(linear_attention)
{
	linear_heads h = heads_of(at);
	int32_t state_elem = onnx_in_elem(at, 3);
	onnx_dims state = {.elem = state_elem ? state_elem : d->elem,
	                   .rank = 4,
	                   .d = {h.batch, h.kv > 0 ? h.kv : ONNX_UNKNOWN, h.key, h.value}};
	if (d->rank == 3)
		d->d[2] = onnx_mul(h.value, h.q);
	return onnx_set(at, 1, &state);
}

/* Of a token: each head's state takes key by value once more, with a delta rule is asked by the key before,
 * and is read by the queries. */
ONNX_MACS(linear_attention)
{
	linear_heads h = heads_of(at);
	bool delta = !onnx_attr_is(at->m, at->n, "update_rule", "linear") &&
	             !onnx_attr_is(at->m, at->n, "update_rule", "gated");
	if (h.batch >= 0 && h.tokens >= 0 && h.key >= 0 && h.value >= 0)
		w->macs = (double)h.batch * (double)h.tokens * (double)h.key * (double)h.value *
		          ((double)h.q + (delta ? 2 : 1) * (double)h.kv);
	return BERTH_OK;
}

/* CausalConvWithState: x [batch, channels, length], weight [channels, 1, k]; the state is the last k - 1. */
ONNX_INFER(causal_conv)
{
	onnx_dims weight = onnx_in_dims(at, 1), state = *d;
	if (d->rank != 3)
		return BERTH_OK;
	state.d[2] = onnx_dim(&weight, 2) > 0 ? weight.d[2] - 1 : ONNX_UNKNOWN;
	return onnx_set(at, 1, &state);
}

ONNX_MACS(causal_conv)
{
	onnx_dims x = onnx_in_dims(at, 0), weight = onnx_in_dims(at, 1);
	int64_t n = onnx_count(x.rank, x.d), k = onnx_dim(&weight, 2);
	if (x.rank != 3 || n < 1 || k < 1)
		return BERTH_OK;
	w->macs = (double)n * (double)k;
	w->dims = BERTH_DIMS(CONV, x.d[0], x.d[1], x.d[1], x.d[2], k, 1, x.d[1], 1);
	return BERTH_OK;
}
