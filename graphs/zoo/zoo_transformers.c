/* Networks of attention over whole sequences, in the names of the published models. Operators as in ONNX
 * exports: a linear layer is MatMul and Add, attention heads are split by Transpose copies.
 *   - BERT: Devlin, Chang, Lee & Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers", NAACL
 *     2019, uncased vocabulary, with the pooler
 *   - GPT-2: Radford, Wu, Child, Luan, Amodei & Sutskever, "Language Models are Unsupervised Multitask
 *     Learners", 2019, in its four sizes. The language-model head shares its weights with the token embedding
 *   - the transformer: Vaswani et al., "Attention Is All You Need", NeurIPS 2017, table 3, base and big,
 *     encoder and decoder over sequences of equal length, with one table of 37,000 tokens for both embeddings
 *     and the output. Linear layers of attention have no bias
 *   - vision transformers: Dosovitskiy et al., "An Image is Worth 16x16 Words: Transformers for Image
 *     Recognition at Scale", ICLR 2021, table 1. Base and large have patches of 16, huge has patches of
 *     14, at 224x224 */
#include "zoo_layers.h"

/* ---- attention ---- */

/* Rows [batch, 1, rows, hidden] to [batch, heads, rows, width]; keys to [batch, heads, width, rows]. */
static zoo_tensor split_heads(zoo_net *net, const char *attention, const char *which, zoo_tensor x,
                              int64_t heads)
{
	int64_t width = x.dim[3] / heads, rows = x.dim[2];
	bool key = *which == 'k';
	return zoo_transpose(net, zoo_name(net, "%s.%s.transpose", attention, which), x, x.dim[0], heads,
	                     key ? width : rows, key ? rows : width);
}

/* Queries, keys and values with their heads split; the heads of what comes of them are joined. */
static zoo_tensor attend(zoo_net *net, const char *attention, zoo_tensor q, zoo_tensor k, zoo_tensor v,
                         bool masked)
{
	zoo_tensor a = zoo_matmul(net, zoo_name(net, "%s.scores", attention), q, k);
	a = zoo_unary(net, zoo_name(net, "%s.scale", attention), "Div", a);
	if (masked)
		a = zoo_unary(net, zoo_name(net, "%s.mask", attention), "Where", a);
	a = zoo_unary(net, zoo_name(net, "%s.softmax", attention), "Softmax", a);
	a = zoo_matmul(net, zoo_name(net, "%s.context", attention), a, v);
	return zoo_transpose(net, zoo_name(net, "%s.transpose", attention), a, a.dim[0], 1, a.dim[2],
	                     a.dim[1] * a.dim[3]);
}

static zoo_tensor attend_rows(zoo_net *net, const char *attention, const zoo_tensor qkv[3], int64_t heads,
                              bool masked)
{
	zoo_tensor q = split_heads(net, attention, "query", qkv[0], heads);
	zoo_tensor k = split_heads(net, attention, "key", qkv[1], heads);
	zoo_tensor v = split_heads(net, attention, "value", qkv[2], heads);
	return attend(net, attention, q, k, v, masked);
}

/* The names of a layer that normalises what goes in. */
typedef struct layer_names {
	const char *attention, *in, *split, *out, *residual, *up, *gelu, *down, *last;
} layer_names;

/* Attention by one projection to queries, keys and values, then a feed-forward network of four times the
 * width. */
static zoo_tensor norm_first_layer(zoo_net *net, const layer_names *name, zoo_tensor x, int64_t heads,
                                   bool masked)
{
	int64_t hidden = x.dim[3];
	zoo_tensor qkv[3], y = zoo_linear(net, name->in, zoo_layernorm(net, "ln_1", x), 3 * hidden);
	zoo_split(net, name->split, y, 3, qkv);
	y = zoo_linear(net, name->out, attend_rows(net, name->attention, qkv, heads, masked), hidden);
	x = zoo_binary(net, name->residual, "Add", x, y);
	y = zoo_linear(net, name->up, zoo_layernorm(net, "ln_2", x), 4 * hidden);
	y = zoo_unary(net, name->gelu, "Gelu", y);
	y = zoo_linear(net, name->down, y, hidden);
	return zoo_binary(net, name->last, "Add", x, y);
}

/* ---- BERT ---- */

enum { BERT_VOCABULARY = 30522, BERT_POSITIONS = 512, BERT_SEGMENTS = 2 };

static zoo_tensor bert_attention(zoo_net *net, zoo_tensor x, int64_t heads)
{
	static const char *const which[] = {"query", "key", "value"};
	zoo_tensor part[3];
	for (int i = 0; i < 3; i++) {
		part[i] = zoo_linear(net, zoo_name(net, "attention.%s", which[i]), x, x.dim[3]);
		part[i] = split_heads(net, "attention", which[i], part[i], heads);
	}
	return zoo_linear(net, "attention.output", attend(net, "attention", part[0], part[1], part[2], false),
	                  x.dim[3]);
}

static zoo_tensor bert_layer(zoo_net *net, zoo_tensor x, int64_t heads)
{
	zoo_tensor y = zoo_binary(net, "attention.residual", "Add", x, bert_attention(net, x, heads));
	x = zoo_layernorm(net, "attention.norm", y);
	y = zoo_linear(net, "intermediate", x, 4 * x.dim[3]);
	y = zoo_unary(net, "gelu", "Gelu", y);
	y = zoo_linear(net, "output", y, x.dim[3]);
	y = zoo_binary(net, "output.residual", "Add", x, y);
	return zoo_layernorm(net, "output.norm", y);
}

static zoo_tensor bert_embeddings(zoo_net *net, int64_t seq, int64_t hidden)
{
	zoo_scope(net, "embeddings");
	zoo_tensor word = zoo_embedding(net, "word", seq, BERT_VOCABULARY, hidden, -1);
	zoo_tensor x = zoo_position(net, "position", word, BERT_POSITIONS);
	zoo_tensor segment = zoo_embedding(net, "segment", seq, BERT_SEGMENTS, hidden, -1);
	x = zoo_binary(net, "add", "Add", x, segment);
	return zoo_layernorm(net, "norm", x);
}

/* variant: number of layers, 12 (base) or 24 (large). */
void zoo_build_bert(zoo_net *net)
{
	int variant = net->model->variant;
	int64_t hidden = variant == 12 ? 768 : 1024;
	zoo_tensor x = bert_embeddings(net, zoo_whole(net, "seq"), hidden);
	for (int i = 0; i < variant; i++) {
		zoo_scope(net, "layer.%d", i);
		x = bert_layer(net, x, hidden / 64);
	}
	zoo_scope(net, "pooler");
	x = zoo_first_row(net, "gather", x);
	x = zoo_gemm(net, "dense", x, hidden);
	zoo_mark_output(net);
	zoo_unary(net, "tanh", "Tanh", x);
}

/* ---- GPT-2 ---- */

enum { GPT_VOCABULARY = 50257, GPT_POSITIONS = 1024, GPT_HEAD = 64 };

static const layer_names gpt_names = {"attn",          "attn.c_attn", "attn.split", "attn.c_proj",
                                      "attn.residual", "mlp.c_fc",    "mlp.gelu",   "mlp.c_proj",
                                      "mlp.residual"};

/* variant: number of layers, 12, 24, 36 or 48. */
void zoo_build_gpt(zoo_net *net)
{
	int variant = net->model->variant;
	int64_t hidden = variant == 12 ? 768 : variant == 24 ? 1024 : variant == 36 ? 1280 : 1600;
	int32_t table = zoo_shared_param(net, "wte.weight", GPT_VOCABULARY * hidden);
	zoo_tensor x =
		zoo_embedding(net, "wte", zoo_whole(net, "seq"), GPT_VOCABULARY, hidden, table);
	x = zoo_position(net, "wpe", x, GPT_POSITIONS);
	for (int i = 0; i < variant; i++) {
		zoo_scope(net, "h.%d", i);
		x = norm_first_layer(net, &gpt_names, x, hidden / GPT_HEAD, true);
	}
	zoo_scope_end(net);
	x = zoo_layernorm(net, "ln_f", x);
	zoo_mark_output(net);
	zoo_project(net, "lm_head", x, GPT_VOCABULARY, table);
}

/* ---- the transformer ---- */

enum { VOCABULARY = 37000, LAYERS = 6, HEAD = 64 };

/* Queries from x, keys and values from memory. */
static zoo_tensor cross_attention(zoo_net *net, const char *name, zoo_tensor x, zoo_tensor memory,
                                  bool masked)
{
	static const char *const which[] = {"query", "key", "value"};
	zoo_tensor part[3];
	for (int i = 0; i < 3; i++)
		part[i] = zoo_project(net, zoo_name(net, "%s.%s", name, which[i]), i ? memory : x, x.dim[3],
		                      -1);
	zoo_tensor a = attend_rows(net, name, part, x.dim[3] / HEAD, masked);
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

static zoo_tensor embed_tokens(zoo_net *net, int64_t seq, int64_t hidden, int32_t table)
{
	zoo_tensor x = zoo_embedding(net, "embedding", seq, VOCABULARY, hidden, table);
	x = zoo_unary(net, "scale", "Mul", x);
	return zoo_op(net, "position", "Add", 1, &x, x,
	              (zoo_cost){.read_extra_bytes = (double)(seq * hidden * net->elem_bytes)});
}

void zoo_build_transformer(zoo_net *net)
{
	int64_t hidden = zoo_value(net, "size") > 0 ? 1024 : 512, seq = zoo_whole(net, "seq");
	int32_t table = zoo_shared_param(net, "embedding.weight", VOCABULARY * hidden);
	zoo_scope(net, "encoder");
	zoo_tensor memory = embed_tokens(net, seq, hidden, table);
	for (int i = 0; i < LAYERS; i++) {
		zoo_scope(net, "encoder.%d", i);
		memory = feed_forward(net, cross_attention(net, "attention", memory, memory, false));
	}
	zoo_scope(net, "decoder");
	zoo_tensor x = embed_tokens(net, seq, hidden, table);
	for (int i = 0; i < LAYERS; i++) {
		zoo_scope(net, "decoder.%d", i);
		x = cross_attention(net, "self_attention", x, x, true);
		x = feed_forward(net, cross_attention(net, "attention", x, memory, false));
	}
	zoo_scope_end(net);
	zoo_mark_output(net);
	zoo_project(net, "output", x, VOCABULARY, table);
}

/* ---- vision transformers ---- */

typedef struct vit_size {
	int64_t patch, layers, hidden, heads;
} vit_size;

static const layer_names vit_names = {"self_attention",          "self_attention.in_proj",
                                      "self_attention.split",    "self_attention.out_proj",
                                      "attention_residual",      "mlp.0",
                                      "mlp.1",                   "mlp.3",
                                      "mlp_residual"};

/* Patches as rows, with the class token as a parameter in front. */
static zoo_tensor embed_patches(zoo_net *net, const vit_size *s)
{
	zoo_tensor x = zoo_conv(net, "conv_proj", zoo_input(net->batch, 3, 224, 224), s->hidden,
	                        zoo_square(s->patch, s->patch, 0), 1, true);
	int64_t patches = x.dim[2] * x.dim[3];
	x = zoo_transpose(net, "transpose", x, net->batch, 1, patches, s->hidden);
	zoo_cost token = {.params = (double)s->hidden, .read_params = (double)s->hidden};
	x = zoo_op(net, "class_token", "Concat", 1, &x, zoo_input(net->batch, 1, patches + 1, s->hidden),
	           token);
	return zoo_position(net, "pos_embedding", x, patches + 1);
}

void zoo_build_vit(zoo_net *net)
{
	/* in the order of the parameter size */
	static const vit_size sizes[] = {{16, 12, 768, 12}, {16, 24, 1024, 16}, {14, 32, 1280, 16}};
	const vit_size *s = &sizes[(int)zoo_value(net, "size")];
	zoo_tensor x = embed_patches(net, s);
	for (int i = 0; i < s->layers; i++) {
		zoo_scope(net, "encoder.layers.%d", i);
		x = norm_first_layer(net, &vit_names, x, s->heads, false);
	}
	zoo_scope_end(net);
	x = zoo_layernorm(net, "encoder.ln", x);
	x = zoo_first_row(net, "gather", x);
	zoo_mark_output(net);
	zoo_gemm(net, "heads.head", x, 1000);
}
