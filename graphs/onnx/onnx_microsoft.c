/* Operators of com.microsoft (ONNX Runtime's contributed operators) that the default domain does not have,
 * or has with another meaning: attention, embeddings, quantised and channels-last forms, experts. Source:
 * ContribOperators.md of ONNX Runtime. */
#include "onnx_infer.h"

#include <stdlib.h>
#include <string.h>

static int64_t dim_of(const onnx_dims *d, int32_t i)
{
	return i < d->rank ? d->d[i] : ONNX_UNKNOWN;
}

/* A number of things that an attribute tells, small enough to count with. */
static int64_t number_attr(const onnx_at *at, const char *name, int64_t missing)
{
	int64_t x = onnx_attr_int(at->n, name, missing);
	return x < 0 || x > ONNX_MAX_ELEMENTS ? ONNX_UNKNOWN : x;
}

static int64_t plus(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? ONNX_UNKNOWN : onnx_clamp(a + b);
}

static int64_t part(int64_t a, int64_t n)
{
	return a < 0 || n <= 0 ? ONNX_UNKNOWN : a / n;
}

static onnx_dims shape(int32_t rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
	return (onnx_dims){.rank = rank, .d = {a, b, c, d}};
}

/* Product of sizes; 0 where one is unknown. */
static double product(const int64_t size[], int32_t n)
{
	double x = 1;
	for (int32_t i = 0; i < n; i++)
		x *= size[i] < 0 ? 0 : (double)size[i];
	return x;
}

/* ---- attention ---- */

/* What every attention comes down to. */
typedef struct heads {
	int64_t batch, tokens, all; /* queries, and keys (with those of the past) */
	int64_t n, kv;              /* heads of queries, and of keys and values */
	int64_t q, v;               /* hidden sizes of queries and of values, all heads together */
	int64_t in;                 /* hidden size before the product with weights; 0: there is none */
	int64_t weights;            /* columns of those weights */
} heads;

/* Attention, QAttention: x [batch, tokens, in], weights [in, q + k + v], past [2, batch, heads, tokens,
 * size] in slot past. */
static berth_status packed_heads(const onnx_at *at, int32_t past_slot, heads *h)
{
	onnx_dims x = onnx_in_dims(at, 0), w = onnx_in_dims(at, 1), past = onnx_in_dims(at, past_slot);
	int64_t size[ONNX_MAX_RANK];
	int32_t n;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "qkv_hidden_sizes", size, ONNX_MAX_RANK, &n, at->err));
	h->weights = dim_of(&w, 1);
	h->q = n == 3 ? onnx_clamp(size[0]) : part(h->weights, 3);
	h->v = n == 3 ? onnx_clamp(size[2]) : part(h->weights, 3);
	h->batch = dim_of(&x, 0);
	h->tokens = dim_of(&x, 1);
	h->in = dim_of(&x, 2);
	h->n = h->kv = number_attr(at, "num_heads", ONNX_UNKNOWN);
	h->all = onnx_in(at, past_slot) ? plus(dim_of(&past, 3), h->tokens) : h->tokens;
	return BERTH_OK;
}

/* MultiHeadAttention and its kin. q is [batch, tokens, q] or packed [batch, tokens, heads, 3, size]. k is
 * [batch, tokens, k], [batch, heads, tokens, size] or packed with v. Past keys are [batch, heads, tokens,
 * size], in slot past. */
static void separate_heads(const onnx_at *at, int32_t past_slot, heads *h)
{
	onnx_dims q = onnx_in_dims(at, 0), k = onnx_in_dims(at, 1), v = onnx_in_dims(at, 2),
		  past = onnx_in_dims(at, past_slot);
	h->n = number_attr(at, "num_heads", ONNX_UNKNOWN);
	h->kv = number_attr(at, "kv_num_heads", h->n);
	h->batch = dim_of(&q, 0);
	h->tokens = dim_of(&q, 1);
	h->q = q.rank == 5 ? onnx_mul(dim_of(&q, 2), dim_of(&q, 4)) : dim_of(&q, 2);
	if (!onnx_in(at, 1) && q.rank == 3) /* all three in one */
		h->q = onnx_mul(part(h->q, plus(h->n, onnx_mul(2, h->kv))), h->n);
	h->v = v.rank == 4   ? onnx_mul(dim_of(&v, 1), dim_of(&v, 3))
	       : v.rank == 3 ? onnx_mul(part(dim_of(&v, 2), h->kv), h->n)
	                     : h->q;
	h->all = !onnx_in(at, 1) ? h->tokens : k.rank == 4 ? dim_of(&k, 2) : dim_of(&k, 1);
	if (onnx_in(at, past_slot))
		h->all = k.rank == 4 ? dim_of(&k, 2) : plus(dim_of(&past, 2), h->all);
}

static int32_t past_slot(const onnx_node *n)
{
	if (strcmp(n->type, "Attention") == 0)
		return 4;
	if (strcmp(n->type, "QAttention") == 0)
		return 8;
	if (strcmp(n->type, "MultiHeadAttention") == 0)
		return 6;
	return strcmp(n->type, "DecoderMaskedMultiHeadAttention") == 0 ? 5 : 3; /* GroupQueryAttention,
	                                                                           SparseAttention */
}

static bool is_packed(const onnx_node *n)
{
	return strcmp(n->type, "Attention") == 0 || strcmp(n->type, "QAttention") == 0;
}

static berth_status read_heads(const onnx_at *at, heads *h)
{
	double total;
	*h = (heads){0};
	if (is_packed(at->n))
		return packed_heads(at, past_slot(at->n), h);
	separate_heads(at, past_slot(at->n), h);
	if (past_slot(at->n) == 3 && onnx_in_number(at, 6, 0, &total) && total > 0 &&
	    total < (double)ONNX_MAX_ELEMENTS)
		h->all = (int64_t)total;
	return BERTH_OK;
}

/* Output, and the keys and values to go on with. */
static berth_status infer_heads(const onnx_at *at)
{
	heads h;
	BERTH_TRY(read_heads(at, &h));
	int32_t elem = onnx_in_elem(at, strcmp(at->n->type, "QAttention") == 0 ? 3 : 0);
	onnx_dims y = shape(3, h.batch, h.tokens, h.v, 0),
		  key = shape(4, h.batch, h.kv, h.all, part(h.q, h.n)), value = key;
	value.d[3] = part(h.v, h.n);
	BERTH_TRY(onnx_set(at, 0, elem, &y));
	if (!is_packed(at->n)) {
		BERTH_TRY(onnx_set(at, 1, elem, &key));
		return onnx_set(at, 2, elem, &value);
	}
	onnx_dims both = {.rank = 5, .d = {2, h.batch, h.kv, h.all, part(h.q, h.n)}};
	return onnx_set(at, 1, elem, &both);
}

/* Product with the weights, scores, and scores times values. */
static berth_status heads_macs(const onnx_at *at, double *macs)
{
	heads h;
	BERTH_TRY(read_heads(at, &h));
	int64_t into[] = {h.batch, h.tokens, h.in, h.weights},
		scores[] = {h.batch, h.tokens, h.all, plus(h.q, h.v)};
	*macs = product(into, 4) + product(scores, 4);
	return BERTH_OK;
}

/* PackedAttention: tokens of all samples in one row, [tokens, in]; as one sample of that length, so a bound
 * from above. */
static berth_status infer_packed_attention(const onnx_at *at)
{
	onnx_dims x = onnx_in_dims(at, 0), w = onnx_in_dims(at, 1),
		  y = shape(2, dim_of(&x, 0), part(dim_of(&w, 1), 3), 0, 0);
	return onnx_set(at, 0, onnx_in_elem(at, 0), &y);
}

static berth_status packed_attention_macs(const onnx_at *at, double *macs)
{
	onnx_dims x = onnx_in_dims(at, 0), w = onnx_in_dims(at, 1);
	int64_t t = dim_of(&x, 0), h = dim_of(&w, 1), into[] = {t, dim_of(&x, 1), h},
		scores[] = {2, t, t, part(h, 3)};
	*macs = product(into, 3) + product(scores, 4);
	return BERTH_OK;
}

/* ---- embeddings, normalisation ---- */

/* EmbedLayerNormalization: ids [batch, tokens], words [n, hidden]. Outputs: embedding, mask, sum before the
 * norm. */
static berth_status infer_embed(const onnx_at *at)
{
	onnx_dims ids = onnx_in_dims(at, 0), words = onnx_in_dims(at, 2),
		  y = shape(3, dim_of(&ids, 0), dim_of(&ids, 1), dim_of(&words, 1), 0);
	onnx_dims mask = onnx_vector(y.d[0]);
	int32_t elem = at->n->type[0] == 'Q' ? ONNX_FLOAT : onnx_in_elem(at, 2);
	BERTH_TRY(onnx_set(at, 0, elem, &y));
	BERTH_TRY(onnx_set(at, 1, ONNX_INT32, &mask));
	return onnx_set(at, 2, elem, &y);
}

/* Output 0 like input 0, and the sum that went in. */
static berth_status infer_skip_group_norm(const onnx_at *at)
{
	BERTH_TRY(onnx_set_like(at, 1, 0, ONNX_NONE));
	return onnx_set_like(at, 0, 0, ONNX_NONE);
}

static berth_status infer_half(const onnx_at *at)
{
	onnx_dims d = onnx_in_dims(at, 0);
	if (d.rank > 0)
		d.d[d.rank - 1] = part(d.d[d.rank - 1], 2);
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

static berth_status infer_bias_dropout(const onnx_at *at)
{
	BERTH_TRY(onnx_set_like(at, 1, 0, ONNX_BOOL));
	return onnx_set_like(at, 0, 0, ONNX_NONE);
}

/* ---- products ---- */

/* The product of inputs 0 and 1 as floats of the scale's type. */
static berth_status infer_scaled_matmul(const onnx_at *at)
{
	BERTH_TRY(onnx_infer_matmul(at));
	if (onnx_out(at, 0))
		onnx_out(at, 0)->elem = onnx_in_elem(at, 2);
	return BERTH_OK;
}

/* QGemm: a, scale, zero point, b, scale, zero point, bias, scale, zero point of the result (left out:
 * floats). */
static void gemm_sides(const onnx_at *at, int64_t size[3])
{
	onnx_dims a = onnx_in_dims(at, 0), b = onnx_in_dims(at, 3);
	int ta = onnx_attr_int(at->n, "transA", 0) != 0, tb = onnx_attr_int(at->n, "transB", 0) != 0;
	size[0] = dim_of(&a, ta);
	size[1] = dim_of(&a, !ta);
	size[2] = dim_of(&b, !tb);
}

static berth_status infer_qgemm(const onnx_at *at)
{
	int64_t size[3];
	gemm_sides(at, size);
	onnx_dims y = shape(2, size[0], size[2], 0, 0);
	int32_t zero = onnx_in_elem(at, 8), scale = onnx_in_elem(at, 1);
	return onnx_set(at, 0, zero ? zero : onnx_in(at, 7) ? onnx_in_elem(at, 0) : scale, &y);
}

static berth_status qgemm_macs(const onnx_at *at, double *macs)
{
	int64_t size[3];
	gemm_sides(at, size);
	*macs = product(size, 3);
	return BERTH_OK;
}

/* MoE: x [..., hidden]; router; fc1 [experts, hidden, inner]; each token goes through k experts: fc1, fc2
 * and, with SwiGLU, a third of fc1's size. */
static berth_status moe_macs(const onnx_at *at, double *macs)
{
	bool quantised = at->n->type[0] == 'Q';
	onnx_dims x = onnx_in_dims(at, 0), up = onnx_in_dims(at, 2),
		  down = onnx_in_dims(at, quantised ? 5 : 4);
	const onnx_value *gate = onnx_in(at, quantised ? 8 : 6);
	int64_t pack = quantised && onnx_attr_int(at->n, "expert_weight_bits", 4) == 4 ? 2 : 1,
		hidden = x.rank > 0 ? dim_of(&x, x.rank - 1) : ONNX_UNKNOWN;
	int64_t tokens = part(onnx_count(x.rank, x.d), hidden), k = onnx_attr_int(at->n, "k", 1);
	int64_t up_size[] = {tokens, k, pack, dim_of(&up, 1), dim_of(&up, 2)},
		down_size[] = {tokens, k, pack, dim_of(&down, 1), dim_of(&down, 2)};
	*macs = product(up_size, 5) * (gate ? 2 : 1) + product(down_size, 5);
	return BERTH_OK;
}

/* ---- channels last ---- */

/* [n, spatial..., channels] with the channels in front of the places. */
static onnx_dims channels_first(onnx_dims d)
{
	if (d.rank < 3)
		return d;
	int64_t c = d.d[d.rank - 1];
	memmove(d.d + 2, d.d + 1, (size_t)(d.rank - 2) * sizeof *d.d);
	d.d[1] = c;
	return d;
}

static onnx_dims channels_last(onnx_dims d)
{
	if (d.rank < 3)
		return d;
	int64_t c = d.d[1];
	memmove(d.d + 1, d.d + 2, (size_t)(d.rank - 2) * sizeof *d.d);
	d.d[d.rank - 1] = c;
	return d;
}

static berth_status set_channels_last(const onnx_at *at, onnx_dims d)
{
	d = channels_last(d);
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

static berth_status infer_nhwc_conv(const onnx_at *at)
{
	onnx_dims in = channels_first(onnx_in_dims(at, 0)), w = onnx_in_dims(at, 1), out;
	BERTH_TRY(onnx_conv_shape(at, &in, &w, &out));
	return set_channels_last(at, out);
}

static berth_status infer_nhwc_pool(const onnx_at *at)
{
	onnx_dims in = channels_first(onnx_in_dims(at, 0)), out;
	BERTH_TRY(onnx_pool_shape(at, &in, &out));
	return set_channels_last(at, out);
}

static berth_status infer_qlinear_pool(const onnx_at *at)
{
	return onnx_attr_int(at->n, "channels_last", 0) ? infer_nhwc_pool(at) : onnx_infer_pool(at);
}

static berth_status infer_qlinear_global_pool(const onnx_at *at)
{
	bool last = onnx_attr_int(at->n, "channels_last", 0) != 0;
	onnx_dims d = onnx_in_dims(at, 0);
	for (int32_t i = last ? 1 : 2; i < d.rank - last; i++)
		d.d[i] = 1;
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* ---- moving ---- */

/* QLinearConcat: scale, zero point, then operands with scale and zero point each. */
static berth_status infer_qlinear_concat(const onnx_at *at)
{
	onnx_dims d = onnx_in_dims(at, 2);
	int32_t axis;
	if (d.rank < 1)
		return onnx_set(at, 0, onnx_in_elem(at, 2), &d);
	BERTH_TRY(onnx_axis(at, onnx_attr_int(at->n, "axis", 0), d.rank, &axis));
	for (int32_t i = 5; i < at->n->n_in; i += 3) {
		onnx_dims e = onnx_in_dims(at, i);
		d.d[axis] = plus(d.d[axis], dim_of(&e, axis));
	}
	return onnx_set(at, 0, onnx_in_elem(at, 2), &d);
}

static berth_status infer_qlinear_where(const onnx_at *at)
{
	onnx_dims d = onnx_in_dims(at, 0), x = onnx_in_dims(at, 1), y = onnx_in_dims(at, 4);
	BERTH_TRY(onnx_broadcast(at, &d, &x));
	BERTH_TRY(onnx_broadcast(at, &d, &y));
	return onnx_set(at, 0, onnx_in_elem(at, 1), &d);
}

/* GatherBlockQuantized: packed rows are unpacked into the type of the scales. */
static berth_status infer_gather_quantised(const onnx_at *at)
{
	onnx_dims data = onnx_in_dims(at, 0), index = onnx_in_dims(at, 1);
	onnx_dims d = {.rank = ONNX_UNKNOWN};
	int64_t packed = onnx_in_elem(at, 0) == ONNX_UINT8 && onnx_attr_int(at->n, "bits", 4) == 4 ? 2 : 1;
	if (data.rank > 0 && index.rank >= 0 && data.rank - 1 + index.rank <= ONNX_MAX_RANK &&
	    onnx_attr_int(at->n, "gather_axis", 0) == 0) {
		d = index;
		for (int32_t i = 1; i < data.rank; i++)
			d.d[d.rank++] = i + 1 == data.rank ? onnx_mul(data.d[i], packed) : data.d[i];
	}
	return onnx_set(at, 0, onnx_in_elem(at, 2), &d);
}

/* CropAndResize: x [n, channels, h, w], boxes [m, 4]; the new size is input 3. */
static berth_status infer_crop_and_resize(const onnx_at *at)
{
	onnx_dims x = onnx_in_dims(at, 0), boxes = onnx_in_dims(at, 1),
		  d = shape(4, dim_of(&boxes, 0), dim_of(&x, 1), ONNX_UNKNOWN, ONNX_UNKNOWN);
	int32_t n;
	const int64_t *size = onnx_in_ints(at, 3, &n);
	for (int32_t i = 0; i < 2 && size && n == 2; i++)
		d.d[2 + i] = size[i];
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

static berth_status infer_second(const onnx_at *at)
{
	return onnx_set_like(at, 0, 1, ONNX_NONE);
}

/* Distances of the rows of a to those of b. */
static berth_status infer_cdist(const onnx_at *at)
{
	onnx_dims a = onnx_in_dims(at, 0), b = onnx_in_dims(at, 1),
		  d = shape(2, dim_of(&a, 0), dim_of(&b, 0), 0, 0);
	return onnx_set(at, 0, onnx_in_elem(at, 0), &d);
}

/* Generators with a decoder inside: bodies cost what they do, once; what comes out has no known length. */
static berth_status infer_generator(const onnx_at *at)
{
	for (int32_t i = 0; i < at->n->n_bodies; i++)
		BERTH_TRY(
			onnx_infer_nodes(at->m, at->n->body[i].nodes.node, at->n->body[i].nodes.n, at->err));
	return BERTH_OK;
}

/* ---- table ---- */

#define S(i) (1u << (i))
#define SAME onnx_infer_same

static const onnx_op table[] = {
	{"Attention", infer_heads, NULL, heads_macs, S(1) | S(2), 0},
	{"BeamSearch", infer_generator, NULL, NULL, 0, 0},
	{"BiasAdd", SAME, NULL, NULL, S(1), 0},
	{"BiasDropout", infer_bias_dropout, NULL, NULL, S(1), 0},
	{"BiasSoftmax", SAME, NULL, NULL, 0, 0},
	{"BiasSplitGelu", infer_half, NULL, NULL, S(1), 0},
	{"CDist", infer_cdist, NULL, NULL, 0, 0},
	{"ComplexMul", onnx_infer_binary, NULL, NULL, 0, 0},
	{"ConvTransposeWithDynamicPads", onnx_infer_conv_transpose, NULL, onnx_macs_conv_transpose,
	 S(1) | S(3), 0},
	{"CropAndResize", infer_crop_and_resize, NULL, NULL, 0, 0},
	{"DecoderMaskedMultiHeadAttention", infer_heads, NULL, heads_macs, 0, 0},
	{"DynamicQuantizeLSTM", onnx_infer_recurrent, NULL, onnx_macs_recurrent,
	 S(1) | S(2) | S(3) | S(8) | S(9) | S(10) | S(11), 0},
	{"DynamicQuantizeMatMul", onnx_infer_matmul, NULL, onnx_macs_matmul, S(1) | S(2) | S(3) | S(4), 0},
	{"EmbedLayerNormalization", infer_embed, NULL, NULL, S(2) | S(3) | S(4) | S(5) | S(6), 0},
	{"FusedMatMulActivation", onnx_infer_fused_matmul, NULL, onnx_macs_fused_matmul, 0, ONNX_MIXER},
	{"GatherBlockQuantized", infer_gather_quantised, NULL, NULL, S(0) | S(2) | S(3), 0},
	{"GemmFastGelu", onnx_infer_matmul, NULL, onnx_macs_matmul, S(1) | S(2), 0},
	{"GreedySearch", infer_generator, NULL, NULL, 0, 0},
	{"GroupQueryAttention", infer_heads, NULL, heads_macs, S(7) | S(8), 0},
	{"ImageScaler", SAME, NULL, NULL, 0, 0},
	{"Inverse", SAME, NULL, NULL, 0, 0},
	{"LongformerAttention", SAME, NULL, NULL, S(1) | S(2) | S(4) | S(5), 0},
	{"MatMulBnb4", onnx_infer_matmul_nbits, NULL, onnx_macs_matmul_nbits, S(1) | S(2), 0},
	{"MatMulFpQ4", onnx_infer_matmul_nbits, NULL, onnx_macs_matmul_nbits, S(1), 0},
	{"MatMulIntegerToFloat", infer_scaled_matmul, NULL, onnx_macs_matmul,
	 S(1) | S(2) | S(3) | S(4) | S(5) | S(6), 0},
	{"MaxpoolWithMask", onnx_infer_pool, NULL, NULL, 0, 0},
	{"MoE", SAME, NULL, moe_macs, S(2) | S(3) | S(4) | S(5) | S(6) | S(7), 0},
	{"MultiHeadAttention", infer_heads, NULL, heads_macs, S(3), 0},
	{"NGramRepeatBlock", infer_second, NULL, NULL, 0, 0},
	{"NhwcConv", infer_nhwc_conv, NULL, onnx_macs_conv, S(1) | S(2), 0},
	{"NhwcFusedConv", infer_nhwc_conv, NULL, onnx_macs_conv, S(1) | S(2), 0},
	{"NhwcMaxPool", infer_nhwc_pool, NULL, NULL, 0, 0},
	{"PackedAttention", infer_packed_attention, NULL, packed_attention_macs, S(1) | S(2), 0},
	{"QAttention", infer_heads, NULL, heads_macs, S(1) | S(2) | S(3) | S(4) | S(6) | S(7), 0},
	{"QEmbedLayerNormalization", infer_embed, NULL, NULL, S(2) | S(3) | S(4) | S(5) | S(6), 0},
	{"QGemm", infer_qgemm, NULL, qgemm_macs, S(1) | S(2) | S(3) | S(4) | S(5) | S(6) | S(7) | S(8), 0},
	{"QLinearAveragePool", infer_qlinear_pool, NULL, NULL, S(1) | S(2) | S(3) | S(4), 0},
	{"QLinearConcat", infer_qlinear_concat, NULL, NULL, S(0) | S(1), 0},
	{"QLinearGlobalAveragePool", infer_qlinear_global_pool, NULL, NULL, S(1) | S(2) | S(3) | S(4), 0},
	{"QLinearReduceMean", onnx_infer_reduce, NULL, NULL, S(1) | S(2) | S(3) | S(4), 0},
	{"QLinearSoftmax", SAME, NULL, NULL, S(1) | S(2) | S(3) | S(4), 0},
	{"QLinearWhere", infer_qlinear_where, NULL, NULL, 0, 0},
	{"QMoE", SAME, NULL, moe_macs, S(2) | S(3) | S(4) | S(5) | S(6) | S(7) | S(8) | S(9) | S(10), 0},
	{"Sampling", infer_generator, NULL, NULL, 0, 0},
	{"SkipGroupNorm", infer_skip_group_norm, NULL, NULL, S(1) | S(2) | S(4), 0},
	{"SparseAttention", infer_heads, NULL, heads_macs, 0, 0},
	{"TransposeMatMul", onnx_infer_fused_matmul, NULL, onnx_macs_fused_matmul, 0, ONNX_MIXER},
};

static int compare_type(const void *key, const void *row)
{
	return strcmp(key, ((const onnx_op *)row)->type);
}

const onnx_op *onnx_microsoft_find(const char *type)
{
	return bsearch(type, table, sizeof table / sizeof *table, sizeof *table, compare_type);
}

const onnx_op *onnx_microsoft_table(size_t *n)
{
	*n = sizeof table / sizeof *table;
	return table;
}
