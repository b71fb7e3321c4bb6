/* Vision transformers: Dosovitskiy et al., "An Image is Worth 16x16 Words: Transformers for Image
 * Recognition at Scale", ICLR 2021, table 1. Base and large have patches of 16, huge has patches of 14,
 * at 224x224. Names are those of torchvision. */
#include "zoo_layers.h"

typedef struct size {
	int64_t patch, layers, hidden, heads;
} size;

static zoo_tensor attention(zoo_net *net, zoo_tensor x, int64_t heads)
{
	int64_t n = x.dim[0], rows = x.dim[2], hidden = x.dim[3], width = hidden / heads;
	zoo_tensor qkv[3];
	zoo_split(net, "self_attention.split", zoo_linear(net, "self_attention.in_proj", x, 3 * hidden), 3,
	          qkv);
	zoo_tensor q = zoo_transpose(net, "self_attention.query.transpose", qkv[0], n, heads, rows, width);
	zoo_tensor k = zoo_transpose(net, "self_attention.key.transpose", qkv[1], n, heads, width, rows);
	zoo_tensor v = zoo_transpose(net, "self_attention.value.transpose", qkv[2], n, heads, rows, width);
	zoo_tensor a = zoo_matmul(net, "self_attention.scores", q, k);
	a = zoo_unary(net, "self_attention.scale", "Div", a);
	a = zoo_unary(net, "self_attention.softmax", "Softmax", a);
	a = zoo_matmul(net, "self_attention.context", a, v);
	a = zoo_transpose(net, "self_attention.transpose", a, n, 1, rows, hidden);
	return zoo_linear(net, "self_attention.out_proj", a, hidden);
}

static zoo_tensor layer(zoo_net *net, zoo_tensor x, int64_t heads)
{
	zoo_tensor y = attention(net, zoo_layernorm(net, "ln_1", x), heads);
	x = zoo_binary(net, "attention_residual", "Add", x, y);
	y = zoo_linear(net, "mlp.0", zoo_layernorm(net, "ln_2", x), 4 * x.dim[3]);
	y = zoo_unary(net, "mlp.1", "Gelu", y);
	y = zoo_linear(net, "mlp.3", y, x.dim[3]);
	return zoo_binary(net, "mlp_residual", "Add", x, y);
}

/* Patches as rows, with the class token as a parameter in front. */
static zoo_tensor embed(zoo_net *net, const size *s)
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

void zoo_build_vit(zoo_net *net, int variant)
{
	/* in the order of the parameter size */
	static const size sizes[] = {{16, 12, 768, 12}, {16, 24, 1024, 16}, {14, 32, 1280, 16}};
	const size *s = &sizes[(int)zoo_value(net, "size")];
	(void)variant;
	zoo_tensor x = embed(net, s);
	for (int i = 0; i < s->layers; i++) {
		zoo_scope(net, "encoder.layers.%d", i);
		x = layer(net, x, s->heads);
	}
	zoo_scope_end(net);
	x = zoo_layernorm(net, "encoder.ln", x);
	x = zoo_first_row(net, "gather", x);
	zoo_mark_output(net);
	zoo_gemm(net, "heads.head", x, 1000);
}
