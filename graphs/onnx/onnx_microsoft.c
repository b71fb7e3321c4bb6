/* Operators of com.microsoft (ONNX Runtime's contributed operators) that the default domain does not have,
 * or has with another meaning: attention, embeddings, quantised and channels-last forms, experts. Source:
 * ContribOperators.md of ONNX Runtime. */
#include "onnx_infer.h"

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

static onnx_dims shape(int32_t elem, int32_t rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
	return (onnx_dims){.elem = elem, .rank = rank, .d = {a, b, c, d}};
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
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "qkv_hidden_sizes", size, ONNX_MAX_RANK, &n));
	h->weights = onnx_dim(&w, 1);
	h->q = n == 3 ? onnx_clamp(size[0]) : part(h->weights, 3);
	h->v = n == 3 ? onnx_clamp(size[2]) : part(h->weights, 3);
	h->batch = onnx_dim(&x, 0);
	h->tokens = onnx_dim(&x, 1);
	h->in = onnx_dim(&x, 2);
	h->n = h->kv = number_attr(at, "num_heads", ONNX_UNKNOWN);
	h->all = onnx_in(at, past_slot) ? plus(onnx_dim(&past, 3), h->tokens) : h->tokens;
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
	h->batch = onnx_dim(&q, 0);
	h->tokens = onnx_dim(&q, 1);
	h->q = q.rank == 5 ? onnx_mul(onnx_dim(&q, 2), onnx_dim(&q, 4)) : onnx_dim(&q, 2);
	if (!onnx_in(at, 1) && q.rank == 3) /* all three in one */
		h->q = onnx_mul(part(h->q, plus(h->n, onnx_mul(2, h->kv))), h->n);
	h->v = v.rank == 4   ? onnx_mul(onnx_dim(&v, 1), onnx_dim(&v, 3))
	       : v.rank == 3 ? onnx_mul(part(onnx_dim(&v, 2), h->kv), h->n)
	                     : h->q;
	h->all = !onnx_in(at, 1) ? h->tokens : k.rank == 4 ? onnx_dim(&k, 2) : onnx_dim(&k, 1);
	if (onnx_in(at, past_slot))
		h->all = k.rank == 4 ? onnx_dim(&k, 2) : plus(onnx_dim(&past, 2), h->all);
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
static berth_status infer_heads(const onnx_at *at, onnx_dims *d)
{
	heads h;
	BERTH_TRY(read_heads(at, &h));
	int32_t elem = onnx_in_elem(at, strcmp(at->n->type, "QAttention") == 0 ? 3 : 0);
	int64_t key = part(h.q, h.n);
	*d = shape(elem, 3, h.batch, h.tokens, h.v, 0);
	if (is_packed(at->n)) {
		onnx_dims both = {.elem = elem, .rank = 5, .d = {2, h.batch, h.kv, h.all, key}};
		return onnx_set(at, 1, &both);
	}
	onnx_dims keys = shape(elem, 4, h.batch, h.kv, h.all, key), values = keys;
	values.d[3] = part(h.v, h.n);
	BERTH_TRY(onnx_set(at, 1, &keys));
	return onnx_set(at, 2, &values);
}

/* Product with the weights, scores, and scores times values. */
static berth_status heads_macs(const onnx_at *at, onnx_work *w)
{
	heads h;
	BERTH_TRY(read_heads(at, &h));
	int64_t into[] = {h.batch, h.tokens, h.in, h.weights},
		scores[] = {h.batch, h.tokens, h.all, plus(h.q, h.v)};
	w->macs = product(into, 4) + product(scores, 4);
	return BERTH_OK;
}

/* PackedAttention: tokens of all samples in one row, [tokens, in]; as one sample of that length, so a bound
 * from above. */
static berth_status infer_packed_attention(const onnx_at *at, onnx_dims *d)
{
	onnx_dims w = onnx_in_dims(at, 1);
	*d = shape(d->elem, 2, onnx_dim(d, 0), part(onnx_dim(&w, 1), 3), 0, 0);
	return BERTH_OK;
}

static berth_status packed_attention_macs(const onnx_at *at, onnx_work *w)
{
	onnx_dims x = onnx_in_dims(at, 0), weights = onnx_in_dims(at, 1);
	int64_t t = onnx_dim(&x, 0), h = onnx_dim(&weights, 1), into[] = {t, onnx_dim(&x, 1), h},
		scores[] = {2, t, t, part(h, 3)};
	w->macs = product(into, 3) + product(scores, 4);
	return BERTH_OK;
}

/* ---- embeddings, normalisation ---- */

/* EmbedLayerNormalization: ids [batch, tokens], words [n, hidden]. Outputs: embedding, mask, sum before the
 * norm. */
static berth_status infer_embed(const onnx_at *at, onnx_dims *d)
{
	onnx_dims words = onnx_in_dims(at, 2);
	*d = shape(at->n->type[0] == 'Q' ? ONNX_FLOAT : words.elem, 3, onnx_dim(d, 0), onnx_dim(d, 1),
	           onnx_dim(&words, 1), 0);
	onnx_dims mask = shape(ONNX_INT32, 1, d->d[0], 0, 0, 0);
	BERTH_TRY(onnx_set(at, 1, &mask));
	return onnx_set(at, 2, d);
}

/* And the sum that went in. */
static berth_status infer_skip_group_norm(const onnx_at *at, onnx_dims *d)
{
	return onnx_set(at, 1, d);
}

static berth_status infer_half(const onnx_at *at, onnx_dims *d)
{
	(void)at;
	if (d->rank > 0)
		d->d[d->rank - 1] = part(d->d[d->rank - 1], 2);
	return BERTH_OK;
}

static berth_status infer_bias_dropout(const onnx_at *at, onnx_dims *d)
{
	(void)d;
	return onnx_set_like(at, 1, 0, ONNX_BOOL);
}

/* ---- products ---- */

/* The product of inputs 0 and 1 as floats of the scale's type. */
static berth_status infer_scaled_matmul(const onnx_at *at, onnx_dims *d)
{
	BERTH_TRY(onnx_infer_matmul(at, d));
	d->elem = onnx_in_elem(at, 2);
	return BERTH_OK;
}

/* QGemm: a, scale, zero point, b, scale, zero point, bias, scale, zero point of the result (left out:
 * floats). */
static void gemm_sides(const onnx_at *at, int64_t size[3])
{
	onnx_dims a = onnx_in_dims(at, 0), b = onnx_in_dims(at, 3);
	int ta = onnx_attr_int(at->n, "transA", 0) != 0, tb = onnx_attr_int(at->n, "transB", 0) != 0;
	size[0] = onnx_dim(&a, ta);
	size[1] = onnx_dim(&a, !ta);
	size[2] = onnx_dim(&b, !tb);
}

static berth_status infer_qgemm(const onnx_at *at, onnx_dims *d)
{
	int64_t size[3];
	int32_t zero = onnx_in_elem(at, 8), scale = onnx_in_elem(at, 1);
	gemm_sides(at, size);
	*d = shape(zero ? zero : onnx_in(at, 7) ? d->elem : scale, 2, size[0], size[2], 0, 0);
	return BERTH_OK;
}

static berth_status qgemm_macs(const onnx_at *at, onnx_work *w)
{
	int64_t size[3];
	gemm_sides(at, size);
	w->macs = product(size, 3);
	w->dims = BERTH_DIMS(PRODUCT, 1, size[0], size[2], size[1]);
	return BERTH_OK;
}

/* MoE: x [..., hidden]; router; fc1 [experts, hidden, inner]; each token goes through k experts: fc1, fc2
 * and, with SwiGLU, a third of fc1's size. */
static berth_status moe_macs(const onnx_at *at, onnx_work *w)
{
	bool quantised = at->n->type[0] == 'Q';
	onnx_dims x = onnx_in_dims(at, 0), up = onnx_in_dims(at, 2),
		  down = onnx_in_dims(at, quantised ? 5 : 4);
	const onnx_value *gate = onnx_in(at, quantised ? 8 : 6);
	int64_t pack = quantised && onnx_attr_int(at->n, "expert_weight_bits", 4) == 4 ? 2 : 1,
		hidden = x.rank > 0 ? onnx_dim(&x, x.rank - 1) : ONNX_UNKNOWN;
	int64_t tokens = part(onnx_count(x.rank, x.d), hidden), k = onnx_attr_int(at->n, "k", 1);
	int64_t up_size[] = {tokens, k, pack, onnx_dim(&up, 1), onnx_dim(&up, 2)},
		down_size[] = {tokens, k, pack, onnx_dim(&down, 1), onnx_dim(&down, 2)};
	w->macs = product(up_size, 5) * (gate ? 2 : 1) + product(down_size, 5);
	return BERTH_OK;
}

/* ---- channels last ---- */

/* onnx_channels_first and back. */
static void channels_last(onnx_dims *d)
{
	if (d->rank < 3)
		return;
	int64_t c = d->d[1];
	memmove(d->d + 1, d->d + 2, (size_t)(d->rank - 2) * sizeof *d->d);
	d->d[d->rank - 1] = c;
}

static berth_status infer_nhwc_conv(const onnx_at *at, onnx_dims *d)
{
	onnx_channels_first(d);
	BERTH_TRY(onnx_infer_conv(at, d));
	channels_last(d);
	return BERTH_OK;
}

static berth_status infer_nhwc_pool(const onnx_at *at, onnx_dims *d)
{
	onnx_channels_first(d);
	BERTH_TRY(onnx_pool_shape(at, d));
	channels_last(d);
	return BERTH_OK;
}

static berth_status infer_qlinear_pool(const onnx_at *at, onnx_dims *d)
{
	return (onnx_attr_int(at->n, "channels_last", 0) ? infer_nhwc_pool : onnx_infer_pool)(at, d);
}

static berth_status infer_qlinear_global_pool(const onnx_at *at, onnx_dims *d)
{
	bool last = onnx_attr_int(at->n, "channels_last", 0) != 0;
	for (int32_t i = last ? 1 : 2; i < d->rank - last; i++)
		d->d[i] = 1;
	return BERTH_OK;
}

/* ---- moving ---- */

/* QLinearConcat: scale, zero point, then operands with scale and zero point each. */
static berth_status infer_qlinear_concat(const onnx_at *at, onnx_dims *d)
{
	int32_t axis;
	*d = onnx_in_dims(at, 2);
	if (d->rank < 1)
		return BERTH_OK;
	BERTH_TRY(onnx_axis_attr(at, 0, d->rank, &axis));
	for (int32_t i = 5; i < at->n->n_in; i += 3) {
		onnx_dims e = onnx_in_dims(at, i);
		d->d[axis] = plus(d->d[axis], onnx_dim(&e, axis));
	}
	return BERTH_OK;
}

static berth_status infer_qlinear_where(const onnx_at *at, onnx_dims *d)
{
	onnx_dims x = onnx_in_dims(at, 1), y = onnx_in_dims(at, 4);
	BERTH_TRY(onnx_broadcast(at, d, &x));
	BERTH_TRY(onnx_broadcast(at, d, &y));
	d->elem = x.elem;
	return BERTH_OK;
}

/* GatherBlockQuantized: packed rows are unpacked into the type of the scales. */
static berth_status infer_gather_quantised(const onnx_at *at, onnx_dims *d)
{
	onnx_dims data = *d, index = onnx_in_dims(at, 1);
	int64_t packed = data.elem == ONNX_UINT8 && onnx_attr_int(at->n, "bits", 4) == 4 ? 2 : 1;
	d->elem = onnx_in_elem(at, 2);
	d->rank = ONNX_UNKNOWN;
	if (data.rank < 1 || index.rank < 0 || data.rank - 1 + index.rank > ONNX_MAX_RANK ||
	    onnx_attr_int(at->n, "gather_axis", 0) != 0)
		return BERTH_OK;
	index.elem = d->elem;
	*d = index;
	for (int32_t i = 1; i < data.rank; i++)
		d->d[d->rank++] = i + 1 == data.rank ? onnx_mul(data.d[i], packed) : data.d[i];
	return BERTH_OK;
}

/* CropAndResize: x [n, channels, h, w], boxes [m, 4]; the new size is input 3. */
static berth_status infer_crop_and_resize(const onnx_at *at, onnx_dims *d)
{
	onnx_dims boxes = onnx_in_dims(at, 1);
	int32_t n;
	const int64_t *size = onnx_in_ints(at, 3, &n);
	bool known = size && n == 2;
	*d = shape(d->elem, 4, onnx_dim(&boxes, 0), onnx_dim(d, 1), known ? size[0] : ONNX_UNKNOWN,
	           known ? size[1] : ONNX_UNKNOWN);
	return BERTH_OK;
}

static berth_status infer_second(const onnx_at *at, onnx_dims *d)
{
	*d = onnx_in_dims(at, 1);
	return BERTH_OK;
}

/* Distances of the rows of a to those of b. */
static berth_status infer_cdist(const onnx_at *at, onnx_dims *d)
{
	onnx_dims b = onnx_in_dims(at, 1);
	*d = shape(d->elem, 2, onnx_dim(d, 0), onnx_dim(&b, 0), 0, 0);
	return BERTH_OK;
}

/* Generators with a decoder inside: bodies cost what they do, once; what comes out has no known length. */
static berth_status infer_generator(const onnx_at *at, onnx_dims *d)
{
	for (int32_t i = 0; i < at->n->n_bodies; i++)
		BERTH_TRY(
			onnx_infer_nodes(at->m, at->n->body[i].nodes.node, at->n->body[i].nodes.n));
	d->rank = ONNX_SET;
	return BERTH_OK;
}

/* ---- table ---- */

static const onnx_op table[] = {
	{"Attention", infer_heads, NULL, heads_macs, SLOTS(1, 2), 0},
	{.type = "BeamSearch", .infer = infer_generator},
	HOLDS(BiasAdd, same, S(1), 0),
	{"BiasDropout", infer_bias_dropout, NULL, NULL, S(1), 0},
	HOLDS(BiasGelu, same, S(1), 0),
	SHAPE(BiasSoftmax, same),
	{"BiasSplitGelu", infer_half, NULL, NULL, S(1), 0},
	{.type = "CDist", .infer = infer_cdist},
	SHAPE(ComplexMul, binary),
	COUNTS(ConvTransposeWithDynamicPads, conv_transpose, conv_transpose, S(1) | S(3), 0),
	{.type = "CropAndResize", .infer = infer_crop_and_resize},
	{"DecoderMaskedMultiHeadAttention", infer_heads, NULL, heads_macs, 0, 0},
	COUNTS(DynamicQuantizeLSTM, recurrent, recurrent, SLOTS(1, 3) | SLOTS(8, 11), 0),
	COUNTS(DynamicQuantizeMatMul, matmul, matmul, SLOTS(1, 4), 0),
	{"EmbedLayerNormalization", infer_embed, NULL, NULL, SLOTS(2, 6), 0},
	HOLDS(FastGelu, same, S(1), 0),
	COUNTS(FusedConv, conv, conv, SLOTS(1, 2), 0),
	COUNTS(FusedGemm, gemm, gemm, SLOTS(1, 2), 0),
	COUNTS(FusedMatMul, fused_matmul, fused_matmul, 0, ONNX_MIXER),
	COUNTS(FusedMatMulActivation, fused_matmul, fused_matmul, 0, ONNX_MIXER),
	{"GatherBlockQuantized", infer_gather_quantised, NULL, NULL, S(0) | SLOTS(2, 3), 0},
	COUNTS(GemmFastGelu, matmul, matmul, SLOTS(1, 2), 0),
	{.type = "GreedySearch", .infer = infer_generator},
	HOLDS(GroupNorm, same, SLOTS(1, 2), 0),
	{"GroupQueryAttention", infer_heads, NULL, heads_macs, SLOTS(7, 8), 0},
	SHAPE(Inverse, same),
	HOLDS(LongformerAttention, same, SLOTS(1, 2) | SLOTS(4, 5), 0),
	COUNTS(MatMulBnb4, matmul_nbits, matmul, SLOTS(1, 2), 0),
	COUNTS(MatMulFpQ4, matmul_nbits, matmul, S(1), 0),
	{"MatMulIntegerToFloat", infer_scaled_matmul, NULL, onnx_macs_matmul,
	 SLOTS(1, 6), 0},
	COUNTS(MatMulNBits, matmul_nbits, matmul, SLOTS(1, 3), 0),
	SHAPE(MaxpoolWithMask, pool),
	{"MoE", onnx_infer_same, NULL, moe_macs, SLOTS(2, 7), 0},
	{"MultiHeadAttention", infer_heads, NULL, heads_macs, S(3), 0},
	{.type = "NGramRepeatBlock", .infer = infer_second},
	{"NhwcConv", infer_nhwc_conv, NULL, onnx_macs_conv, SLOTS(1, 2), 0},
	{"NhwcFusedConv", infer_nhwc_conv, NULL, onnx_macs_conv, SLOTS(1, 2), 0},
	{.type = "NhwcMaxPool", .infer = infer_nhwc_pool},
	{"PackedAttention", infer_packed_attention, NULL, packed_attention_macs, SLOTS(1, 2), 0},
	{"QAttention", infer_heads, NULL, heads_macs, SLOTS(1, 4) | SLOTS(6, 7), 0},
	{"QEmbedLayerNormalization", infer_embed, NULL, NULL, SLOTS(2, 6), 0},
	{"QGemm", infer_qgemm, NULL, qgemm_macs, SLOTS(1, 8), 0},
	HOLDS(QLinearAdd, qlinear_binary, SLOTS(1, 2) | SLOTS(4, 7), 0),
	{"QLinearAveragePool", infer_qlinear_pool, NULL, NULL, SLOTS(1, 4), 0},
	{"QLinearConcat", infer_qlinear_concat, NULL, NULL, SLOTS(0, 1), 0},
	{"QLinearGlobalAveragePool", infer_qlinear_global_pool, NULL, NULL, SLOTS(1, 4), 0},
	HOLDS(QLinearLeakyRelu, same, SLOTS(1, 4), 0),
	HOLDS(QLinearMul, qlinear_binary, SLOTS(1, 2) | SLOTS(4, 7), 0),
	HOLDS(QLinearReduceMean, reduce, SLOTS(1, 4), 0),
	HOLDS(QLinearSigmoid, same, SLOTS(1, 4), 0),
	HOLDS(QLinearSoftmax, same, SLOTS(1, 4), 0),
	{.type = "QLinearWhere", .infer = infer_qlinear_where},
	{"QMoE", onnx_infer_same, NULL, moe_macs,
	 SLOTS(2, 10), 0},
	SHAPE(QuickGelu, same),
	{.type = "Sampling", .infer = infer_generator},
	{"SkipGroupNorm", infer_skip_group_norm, NULL, NULL, SLOTS(1, 2) | S(4), 0},
	HOLDS(SkipLayerNormalization, skip_layer_norm, SLOTS(2, 4), 0),
	HOLDS(SkipSimplifiedLayerNormalization, skip_layer_norm, SLOTS(2, 3), 0),
	{"SparseAttention", infer_heads, NULL, heads_macs, 0, 0},
	COUNTS(TransposeMatMul, fused_matmul, fused_matmul, 0, ONNX_MIXER),
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
