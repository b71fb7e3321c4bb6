/* Decoders of large language models, at any size: llama (Touvron et al., "Llama 2", arXiv 2307.09288: root-mean-square normalisation, rotary positions,
 * grouped keys and values, gated feed-forward network) and moe, whose feed-forward network is a mixture of experts (Jiang et al., "Mixtral of
 * Experts", arXiv 2401.04088).
 *
 * mode=prefill reads seq tokens at once; mode=decode makes one token with seq tokens in the cache, itself included. Keys and values of all seq tokens
 * stay as state_bytes of the two products of attention, except in training. Inference gives the logits of the last token only. Experts get
 * equal shares of the tokens. */
#include "zoo_layers.h"

#include <math.h>

typedef struct decoder {
	int64_t rows, seq, hidden, heads, kv_heads, head, ffn, vocabulary;
	int64_t experts, top; /* 0: no mixture */
} decoder;

/* [batch, 1, rows, heads * head] to [batch, heads, rows, head]. */
static zoo_tensor split_heads(zoo_net *net, const char *name, const decoder *d, zoo_tensor x)
{
	return zoo_transpose(net, name, x, x.dim[0], x.dim[3] / d->head, x.dim[2], d->head);
}

/* A product of attention: queries or weights a with the cached keys or values, of which the newest rows come as fresh. */
static zoo_tensor attend(zoo_net *net, const char *name, const decoder *d, zoo_tensor a, zoo_tensor fresh, int64_t columns, int64_t inner)
{
	zoo_tensor x[2] = {a, fresh}, out = a;
	double cached = (double)net->batch * (double)d->kv_heads * (double)d->seq * (double)d->head;
	double old = cached * (double)(d->seq - d->rows) / (double)d->seq;
	out.dim[3] = columns;
	zoo_cost cost = {.macs = (double)net->batch * (double)d->heads * (double)d->rows * (double)columns * (double)inner};
	cost.read_extra_bytes = old * (double)net->elem_bytes;
	cost.state = net->training ? 0 : cached;
	return zoo_op(net, name, "MatMul", 2, x, out, cost);
}

static zoo_tensor attention(zoo_net *net, const decoder *d, zoo_tensor x)
{
	zoo_tensor q = split_heads(net, "self_attn.q.transpose", d, zoo_project(net, "self_attn.q_proj", x, d->heads * d->head, -1));
	zoo_tensor k = split_heads(net, "self_attn.k.transpose", d, zoo_project(net, "self_attn.k_proj", x, d->kv_heads * d->head, -1));
	zoo_tensor v = split_heads(net, "self_attn.v.transpose", d, zoo_project(net, "self_attn.v_proj", x, d->kv_heads * d->head, -1));
	q = zoo_unary(net, "self_attn.q.rotate", "RotaryEmbedding", q);
	k = zoo_unary(net, "self_attn.k.rotate", "RotaryEmbedding", k);
	zoo_tensor a = attend(net, "self_attn.scores", d, q, k, d->seq, d->head);
	a = zoo_unary(net, "self_attn.scale", "Mul", a);
	if (d->rows > 1)
		a = zoo_unary(net, "self_attn.mask", "Where", a);
	a = zoo_unary(net, "self_attn.softmax", "Softmax", a);
	a = attend(net, "self_attn.context", d, a, v, d->head, d->seq);
	a = zoo_transpose(net, "self_attn.transpose", a, x.dim[0], 1, d->rows, d->heads * d->head);
	return zoo_project(net, "self_attn.o_proj", a, d->hidden, -1);
}

static zoo_tensor feed_forward(zoo_net *net, const decoder *d, zoo_tensor x)
{
	zoo_tensor gate = zoo_project(net, "mlp.gate_proj", x, d->ffn, -1), up = zoo_project(net, "mlp.up_proj", x, d->ffn, -1);
	gate = zoo_unary(net, "mlp.silu", "Swish", gate);
	gate = zoo_binary(net, "mlp.mul", "Mul", gate, up);
	return zoo_project(net, "mlp.down_proj", gate, d->hidden, -1);
}

/* The share of an expert: its products cost what its mean number of tokens costs; whole rows are moved. */
typedef struct share {
	double tokens;
	int64_t rows;
} share;

static zoo_tensor expert_product(zoo_net *net, const char *name, share s, zoo_tensor x, int64_t columns)
{
	zoo_tensor out = x;
	double weights = (double)x.dim[3] * (double)columns;
	out.dim[3] = columns;
	return zoo_op(net, name, "MatMul", 1, &x, out, (zoo_cost){.macs = s.tokens * weights, .params = weights, .read_params = weights});
}

/* What goes to expert e comes back weighted. */
static zoo_tensor expert(zoo_net *net, const decoder *d, int e, share s, zoo_tensor x, zoo_tensor routes)
{
	zoo_tensor in[2] = {x, routes}, y, up;
	y = zoo_op(net, zoo_name(net, "experts.%d.gather", e), "Gather", 2, in, zoo_input(1, 1, s.rows, d->hidden), (zoo_cost){0});
	up = expert_product(net, zoo_name(net, "experts.%d.w3", e), s, y, d->ffn);
	y = expert_product(net, zoo_name(net, "experts.%d.w1", e), s, y, d->ffn);
	y = zoo_unary(net, zoo_name(net, "experts.%d.silu", e), "Swish", y);
	y = zoo_binary(net, zoo_name(net, "experts.%d.mul", e), "Mul", y, up);
	y = expert_product(net, zoo_name(net, "experts.%d.w2", e), s, y, d->hidden);
	return zoo_binary(net, zoo_name(net, "experts.%d.weigh", e), "Mul", y, routes);
}

static zoo_tensor mixture(zoo_net *net, const decoder *d, zoo_tensor x)
{
	zoo_tensor part[ZOO_MAX_EXPERTS];
	double tokens = (double)net->batch * (double)d->rows * (double)d->top / (double)d->experts;
	share s = {tokens, (int64_t)ceil(tokens)};
	zoo_tensor routes = zoo_project(net, "gate", x, d->experts, -1), best = routes;
	best.dim[3] = d->top;
	best = zoo_op(net, "topk", "TopK", 1, &routes, best, (zoo_cost){0});
	best = zoo_unary(net, "gate.softmax", "Softmax", best);
	for (int e = 0; e < d->experts; e++)
		part[e] = expert(net, d, e, s, x, best);
	return zoo_op(net, "experts.sum", "ScatterElements", (int32_t)d->experts, part, x, (zoo_cost){0});
}

static zoo_tensor layer(zoo_net *net, const decoder *d, zoo_tensor x)
{
	zoo_tensor y = attention(net, d, zoo_rmsnorm(net, "input_layernorm", x));
	x = zoo_binary(net, "self_attn.residual", "Add", x, y);
	y = zoo_rmsnorm(net, "post_attention_layernorm", x);
	y = d->experts ? mixture(net, d, y) : feed_forward(net, d, y);
	return zoo_binary(net, "mlp.residual", "Add", x, y);
}

static decoder read_values(zoo_net *net)
{
	decoder d = {.seq = (int64_t)zoo_value(net, "seq"), .hidden = (int64_t)zoo_value(net, "hidden"), .heads = (int64_t)zoo_value(net, "heads"),
	             .kv_heads = (int64_t)zoo_value(net, "kv-heads"), .ffn = (int64_t)zoo_value(net, "ffn"), .vocabulary = (int64_t)zoo_value(net, "vocab"),
	             .experts = (int64_t)zoo_value_or(net, "experts", 0), .top = (int64_t)zoo_value_or(net, "top", 0)};
	bool decode = zoo_value(net, "mode") > 0;
	d.rows = decode ? 1 : d.seq;
	d.head = d.hidden / d.heads;
	if (d.hidden % d.heads)
		zoo_refuse(net, "hidden is %lld and heads %lld; expected heads to divide hidden", (long long)d.hidden, (long long)d.heads);
	if (d.heads % d.kv_heads)
		zoo_refuse(net, "heads is %lld and kv-heads %lld; expected kv-heads to divide heads", (long long)d.heads, (long long)d.kv_heads);
	if (d.top > d.experts)
		zoo_refuse(net, "top is %lld; expected at most %lld, the number of experts", (long long)d.top, (long long)d.experts);
	if (decode && net->training)
		zoo_refuse(net, "mode is decode with training=1; expected mode=prefill, which reads all tokens at once");
	return d;
}

void zoo_build_decoder(zoo_net *net, int variant)
{
	decoder d = read_values(net);
	(void)variant;
	zoo_tensor x = zoo_embedding(net, "embed_tokens", d.rows, d.vocabulary, d.hidden, -1);
	for (int i = 0; i < (int)zoo_value(net, "layers"); i++) {
		zoo_scope(net, "layers.%d", i);
		x = layer(net, &d, x);
	}
	zoo_scope_end(net);
	x = zoo_rmsnorm(net, "norm", x);
	if (!net->training && d.rows > 1)
		x = zoo_first_row(net, "last", x); /* one row; which, is no matter of cost */
	zoo_mark_output(net);
	zoo_project(net, "lm_head", x, d.vocabulary, -1);
}
