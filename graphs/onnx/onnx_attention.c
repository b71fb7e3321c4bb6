/* Attention of the default domain: whole (opset 23), and with a state that is handed on in the place of keys
 * and values (opset 27). Sources: the operator documents of ONNX. */
#include "onnx_infer.h"

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
