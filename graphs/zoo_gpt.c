/* GPT-2: Radford, Wu, Child, Luan, Amodei & Sutskever, "Language Models are Unsupervised Multitask Learners", 2019; the smallest size. The
 * language-model head shares its weights with the token embedding. Names follow the published checkpoints. */
#include "zoo_layers.h"

enum { GPT_VOCABULARY = 50257, GPT_POSITIONS = 1024, GPT_HIDDEN = 768, GPT_HEADS = 12 };

static zoo_tensor attention(zoo_net *net, zoo_tensor x)
{
	int64_t n = x.dim[0], seq = x.dim[2], hidden = x.dim[3], size = hidden / GPT_HEADS;
	zoo_tensor qkv[3];
	zoo_split(net, "attn.split", zoo_linear(net, "attn.c_attn", x, 3 * hidden), 3, qkv);
	zoo_tensor q = zoo_transpose(net, "attn.query.transpose", qkv[0], n, GPT_HEADS, seq, size);
	zoo_tensor k = zoo_transpose(net, "attn.key.transpose", qkv[1], n, GPT_HEADS, size, seq);
	zoo_tensor v = zoo_transpose(net, "attn.value.transpose", qkv[2], n, GPT_HEADS, seq, size);
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

/* variant: number of layers. */
void zoo_build_gpt(zoo_net *net, int variant)
{
	int32_t table = zoo_shared_param(net, "wte.weight", (int64_t)GPT_VOCABULARY * GPT_HIDDEN);
	zoo_tensor x = zoo_embedding(net, "wte", (int64_t)zoo_value(net, "seq"), GPT_VOCABULARY, GPT_HIDDEN, table);
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
