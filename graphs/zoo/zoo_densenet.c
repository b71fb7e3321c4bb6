/* DenseNet-121: Huang, Liu, van der Maaten & Weinberger, "Densely Connected Convolutional Networks", CVPR
 * 2017, table 1, in the names of torchvision. Normalisations that stand before their convolution cannot be
 * folded and remain. */
#include "zoo_layers.h"

enum { GROWTH = 32, BOTTLENECK = 4 * GROWTH, MAX_LAYERS = 24 };

static zoo_tensor norm_relu(zoo_net *net, const char *norm, const char *relu, zoo_tensor x)
{
	return zoo_unary(net, relu, "Relu", zoo_batchnorm(net, norm, x));
}

/* Both convolutions of a layer on all that the block has made so far. */
static zoo_tensor dense_layer(zoo_net *net, int32_t n, const zoo_tensor made[])
{
	zoo_tensor x = n > 1 ? zoo_concat(net, "concat", n, made) : made[0];
	x = norm_relu(net, "norm1", "relu1", x);
	x = zoo_conv(net, "conv1", x, BOTTLENECK, zoo_square(1, 1, 0), 1, !net->training);
	x = net->training ? norm_relu(net, "norm2", "relu2", x) : zoo_unary(net, "relu2", "Relu", x);
	return zoo_conv(net, "conv2", x, GROWTH, zoo_square(3, 1, 1), 1, false);
}

static zoo_tensor dense_block(zoo_net *net, int block, int layers, zoo_tensor x)
{
	zoo_tensor made[MAX_LAYERS + 1] = {x};
	for (int i = 0; i < layers; i++) {
		zoo_scope(net, "features.denseblock%d.denselayer%d", block, i + 1);
		made[i + 1] = dense_layer(net, i + 1, made);
	}
	zoo_scope(net, "features.denseblock%d", block);
	return zoo_concat(net, "concat", layers + 1, made);
}

static zoo_tensor transition(zoo_net *net, int block, zoo_tensor x)
{
	zoo_scope(net, "features.transition%d", block);
	x = norm_relu(net, "norm", "relu", x);
	x = zoo_conv(net, "conv", x, x.dim[1] / 2, zoo_square(1, 1, 0), 1, false);
	return zoo_pool(net, "pool", "AveragePool", x, zoo_square(2, 2, 0));
}

void zoo_build_densenet(zoo_net *net, int variant)
{
	static const int layers[] = {6, 12, 24, 16};
	(void)variant;
	zoo_scope(net, "features");
	zoo_tensor x = zoo_conv(net, "conv0", zoo_input(net->batch, 3, 224, 224), 64, zoo_square(7, 2, 3), 1,
	                        !net->training);
	x = net->training ? norm_relu(net, "norm0", "relu0", x) : zoo_unary(net, "relu0", "Relu", x);
	x = zoo_pool(net, "pool0", "MaxPool", x, zoo_square(3, 2, 1));
	for (int block = 1; block <= 4; block++) {
		x = dense_block(net, block, layers[block - 1], x);
		if (block < 4)
			x = transition(net, block, x);
	}
	zoo_scope(net, "features");
	x = norm_relu(net, "norm5", "relu5", x);
	zoo_scope_end(net);
	x = zoo_global_pool(net, "avgpool", x);
	zoo_mark_output(net);
	zoo_gemm(net, "classifier", x, 1000);
}
