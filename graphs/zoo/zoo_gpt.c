/* GPT-2: Radford, Wu, Child, Luan, Amodei & Sutskever, "Language Models are Unsupervised Multitask
 * Learners", 2019, in its four sizes. The language-model head shares its weights with the token embedding.
 * Names follow the published checkpoints. */
#include "zoo_layers.h"

enum { GPT_VOCABULARY = 50257, GPT_POSITIONS = 1024, GPT_HEAD = 64 };

static zoo_tensor attention(zoo_net *net, zoo_tensor x)
{
	int64_t n = x.dim[0], seq = x.dim[2], hidden = x.dim[3], size = GPT_HEAD, heads = hidden / size;
	zoo_tensor qkv[3];
	zoo_split(net, "attn.split", zoo_linear(net, "attn.c_attn", x, 3 * hidden), 3, qkv);
	zoo_tensor q = zoo_transpose(net, "attn.query.transpose", qkv[0], n, heads, seq, size);
	zoo_tensor k = zoo_transpose(net, "attn.key.transpose", qkv[1], n, heads, size, seq);
	zoo_tensor v = zoo_transpose(net, "attn.value.transpose", qkv[2], n, heads, seq, size);
	zoo_tensor a = zoo_matmul(net, "attn.scores", q, k);
	a = zoo_unary(net, "attn.scale", "Div", a);
	a = zoo_unary(net, "attn.mask", "Where", a);
	a = zoo_unary(net, "attn.softmax", "Softmax", a);
	a = zoo_matmul(net, "attn.context", a, v);
	a = zoo_transpose(net, "attn.transpose", a, n, 1, seq, hidden);
	return zoo_linear(net, "attn.c_proj", a, hidden);
}

static zoo_tensor block(zoo_net *net, zoo_tensor x)
{
	zoo_tensor y = attention(net, zoo_layernorm(net, "ln_1", x));
	x = zoo_binary(net, "attn.residual", "Add", x, y);
	y = zoo_linear(net, "mlp.c_fc", zoo_layernorm(net, "ln_2", x), 4 * x.dim[3]);
	y = zoo_unary(net, "mlp.gelu", "Gelu", y);
	y = zoo_linear(net, "mlp.c_proj", y, x.dim[3]);
	return zoo_binary(net, "mlp.residual", "Add", x, y);
}

/* variant: number of layers, 12, 24, 36 or 48. */
void zoo_build_gpt(zoo_net *net, int variant)
{
	int64_t hidden = variant == 12 ? 768 : variant == 24 ? 1024 : variant == 36 ? 1280 : 1600;
	int32_t table = zoo_shared_param(net, "wte.weight", GPT_VOCABULARY * hidden);
	zoo_tensor x =
		zoo_embedding(net, "wte", (int64_t)zoo_value(net, "seq"), GPT_VOCABULARY, hidden, table);
	x = zoo_position(net, "wpe", x, GPT_POSITIONS);
	for (int i = 0; i < variant; i++) {
		zoo_scope(net, "h.%d", i);
		x = block(net, x);
	}
	zoo_scope_end(net);
	x = zoo_layernorm(net, "ln_f", x);
	zoo_mark_output(net);
	zoo_project(net, "lm_head", x, GPT_VOCABULARY, table);
}
