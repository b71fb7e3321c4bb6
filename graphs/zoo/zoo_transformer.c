/* The transformer: Vaswani et al., "Attention Is All You Need", NeurIPS 2017, table 3, base and big, encoder
 * and decoder over sequences of equal length, with one table of 37,000 tokens for both embeddings and the
 * output. Linear layers of attention have no bias. */
#include "zoo_layers.h"

enum { VOCABULARY = 37000, LAYERS = 6, HEAD = 64 };

static zoo_tensor split_heads(zoo_net *net, const char *name, zoo_tensor x, bool key)
{
	int64_t heads = x.dim[3] / HEAD, rows = x.dim[2];
	return zoo_transpose(net, name, x, x.dim[0], heads, key ? HEAD : rows, key ? rows : HEAD);
}

/* Queries from x, keys and values from memory. */
static zoo_tensor attention(zoo_net *net, const char *name, zoo_tensor x, zoo_tensor memory, bool masked)
{
	zoo_tensor q = zoo_project(net, zoo_name(net, "%s.query", name), x, x.dim[3], -1);
	zoo_tensor k = zoo_project(net, zoo_name(net, "%s.key", name), memory, x.dim[3], -1);
	zoo_tensor v = zoo_project(net, zoo_name(net, "%s.value", name), memory, x.dim[3], -1);
	q = split_heads(net, zoo_name(net, "%s.query.transpose", name), q, false);
	k = split_heads(net, zoo_name(net, "%s.key.transpose", name), k, true);
	v = split_heads(net, zoo_name(net, "%s.value.transpose", name), v, false);
	zoo_tensor a = zoo_matmul(net, zoo_name(net, "%s.scores", name), q, k);
	a = zoo_unary(net, zoo_name(net, "%s.scale", name), "Div", a);
	if (masked)
		a = zoo_unary(net, zoo_name(net, "%s.mask", name), "Where", a);
	a = zoo_unary(net, zoo_name(net, "%s.softmax", name), "Softmax", a);
	a = zoo_matmul(net, zoo_name(net, "%s.context", name), a, v);
	a = zoo_transpose(net, zoo_name(net, "%s.transpose", name), a, x.dim[0], 1, x.dim[2], x.dim[3]);
	a = zoo_project(net, zoo_name(net, "%s.output", name), a, x.dim[3], -1);
	a = zoo_binary(net, zoo_name(net, "%s.residual", name), "Add", x, a);
	return zoo_layernorm(net, zoo_name(net, "%s.norm", name), a);
}

static zoo_tensor feed_forward(zoo_net *net, zoo_tensor x)
{
	zoo_tensor y = zoo_linear(net, "ffn.1", x, 4 * x.dim[3]);
	y = zoo_unary(net, "ffn.relu", "Relu", y);
	y = zoo_linear(net, "ffn.2", y, x.dim[3]);
	y = zoo_binary(net, "ffn.residual", "Add", x, y);
	return zoo_layernorm(net, "ffn.norm", y);
}

static zoo_tensor embed(zoo_net *net, int64_t seq, int64_t hidden, int32_t table)
{
	zoo_tensor x = zoo_embedding(net, "embedding", seq, VOCABULARY, hidden, table);
	x = zoo_unary(net, "scale", "Mul", x);
	return zoo_op(net, "position", "Add", 1, &x, x,
	              (zoo_cost){.read_extra_bytes = (double)(seq * hidden * net->elem_bytes)});
}

void zoo_build_transformer(zoo_net *net, int variant)
{
	int64_t hidden = zoo_value(net, "size") > 0 ? 1024 : 512, seq = (int64_t)zoo_value(net, "seq");
	(void)variant;
	int32_t table = zoo_shared_param(net, "embedding.weight", VOCABULARY * hidden);
	zoo_scope(net, "encoder");
	zoo_tensor memory = embed(net, seq, hidden, table);
	for (int i = 0; i < LAYERS; i++) {
		zoo_scope(net, "encoder.%d", i);
		memory = feed_forward(net, attention(net, "attention", memory, memory, false));
	}
	zoo_scope(net, "decoder");
	zoo_tensor x = embed(net, seq, hidden, table);
	for (int i = 0; i < LAYERS; i++) {
		zoo_scope(net, "decoder.%d", i);
		x = attention(net, "self_attention", x, x, true);
		x = feed_forward(net, attention(net, "attention", x, memory, false));
	}
	zoo_scope_end(net);
	zoo_mark_output(net);
	zoo_project(net, "output", x, VOCABULARY, table);
}
