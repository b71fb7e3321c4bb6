/* BERT encoders: Devlin, Chang, Lee & Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers",
 * NAACL 2019, uncased vocabulary, with the pooler. Operators as in ONNX exports: a linear layer is MatMul
 * and Add, attention heads are split by Transpose copies. */
#include "zoo_layers.h"

enum { BERT_VOCABULARY = 30522, BERT_POSITIONS = 512, BERT_SEGMENTS = 2 };

/* [batch, 1, seq, hidden] to [batch, heads, seq, size], or [batch, heads, size, seq] for keys. */
static zoo_tensor split_heads(zoo_net *net, const char *name, zoo_tensor x, int64_t heads, bool key)
{
	int64_t size = x.dim[3] / heads, seq = x.dim[2];
	return zoo_transpose(net, name, x, x.dim[0], heads, key ? size : seq, key ? seq : size);
}

static zoo_tensor attention(zoo_net *net, zoo_tensor x, int64_t heads)
{
	zoo_tensor q = split_heads(net, "attention.query.transpose",
	                           zoo_linear(net, "attention.query", x, x.dim[3]), heads, false);
	zoo_tensor k = split_heads(net, "attention.key.transpose",
	                           zoo_linear(net, "attention.key", x, x.dim[3]), heads, true);
	zoo_tensor v = split_heads(net, "attention.value.transpose",
	                           zoo_linear(net, "attention.value", x, x.dim[3]), heads, false);
	zoo_tensor a = zoo_matmul(net, "attention.scores", q, k);
	a = zoo_unary(net, "attention.scale", "Div", a);
	a = zoo_unary(net, "attention.softmax", "Softmax", a);
	a = zoo_matmul(net, "attention.context", a, v);
	a = zoo_transpose(net, "attention.transpose", a, x.dim[0], 1, x.dim[2], x.dim[3]);
	return zoo_linear(net, "attention.output", a, x.dim[3]);
}

static zoo_tensor encoder_layer(zoo_net *net, zoo_tensor x, int64_t heads)
{
	zoo_tensor y = zoo_binary(net, "attention.residual", "Add", x, attention(net, x, heads));
	x = zoo_layernorm(net, "attention.norm", y);
	y = zoo_linear(net, "intermediate", x, 4 * x.dim[3]);
	y = zoo_unary(net, "gelu", "Gelu", y);
	y = zoo_linear(net, "output", y, x.dim[3]);
	y = zoo_binary(net, "output.residual", "Add", x, y);
	return zoo_layernorm(net, "output.norm", y);
}

static zoo_tensor embeddings(zoo_net *net, int64_t seq, int64_t hidden)
{
	zoo_scope(net, "embeddings");
	zoo_tensor word = zoo_embedding(net, "word", seq, BERT_VOCABULARY, hidden, -1);
	zoo_tensor x = zoo_position(net, "position", word, BERT_POSITIONS);
	zoo_tensor segment = zoo_embedding(net, "segment", seq, BERT_SEGMENTS, hidden, -1);
	x = zoo_binary(net, "add", "Add", x, segment);
	return zoo_layernorm(net, "norm", x);
}

/* variant: number of layers, 12 (base) or 24 (large). */
void zoo_build_bert(zoo_net *net, int variant)
{
	int64_t hidden = variant == 12 ? 768 : 1024;
	zoo_tensor x = embeddings(net, (int64_t)zoo_value(net, "seq"), hidden);
	for (int i = 0; i < variant; i++) {
		zoo_scope(net, "layer.%d", i);
		x = encoder_layer(net, x, hidden / 64);
	}
	zoo_scope(net, "pooler");
	x = zoo_first_row(net, "gather", x);
	x = zoo_gemm(net, "dense", x, hidden);
	zoo_mark_output(net);
	zoo_unary(net, "tanh", "Tanh", x);
}
