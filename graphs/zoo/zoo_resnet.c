/* Residual networks: He, Zhang, Ren & Sun, "Deep Residual Learning for Image Recognition", CVPR 2016,
 * table 1. The stride of a bottleneck stands in its 3x3 convolution, as in the torchvision models whose
 * figures the tests quote. */
#include "zoo_layers.h"

static zoo_tensor conv_norm(zoo_net *net, const char *conv, const char *norm, zoo_tensor x, int64_t channels,
                            zoo_window win)
{
	x = zoo_conv(net, conv, x, channels, win, 1, !net->training);
	return net->training ? zoo_batchnorm(net, norm, x) : x;
}

static zoo_tensor shortcut(zoo_net *net, zoo_tensor x, int64_t channels, int64_t stride)
{
	if (x.dim[1] == channels && stride == 1)
		return x;
	return conv_norm(net, "downsample.0", "downsample.1", x, channels, zoo_square(1, stride, 0));
}

static zoo_tensor basic_block(zoo_net *net, zoo_tensor x, int64_t width, int64_t stride)
{
	zoo_tensor y = conv_norm(net, "conv1", "bn1", x, width, zoo_square(3, stride, 1));
	y = zoo_unary(net, "relu1", "Relu", y);
	y = conv_norm(net, "conv2", "bn2", y, width, zoo_square(3, 1, 1));
	y = zoo_binary(net, "add", "Add", y, shortcut(net, x, width, stride));
	return zoo_unary(net, "relu2", "Relu", y);
}

static zoo_tensor bottleneck(zoo_net *net, zoo_tensor x, int64_t width, int64_t stride)
{
	zoo_tensor y = conv_norm(net, "conv1", "bn1", x, width, zoo_square(1, 1, 0));
	y = zoo_unary(net, "relu1", "Relu", y);
	y = conv_norm(net, "conv2", "bn2", y, width, zoo_square(3, stride, 1));
	y = zoo_unary(net, "relu2", "Relu", y);
	y = conv_norm(net, "conv3", "bn3", y, 4 * width, zoo_square(1, 1, 0));
	y = zoo_binary(net, "add", "Add", y, shortcut(net, x, 4 * width, stride));
	return zoo_unary(net, "relu3", "Relu", y);
}

/* variant: 18, 34, 50, 101 or 152. */
void zoo_build_resnet(zoo_net *net, int variant)
{
	static const struct { int layers, blocks[4]; } depths[] = {
		{18, {2, 2, 2, 2}}, {34, {3, 4, 6, 3}}, {50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}},
		{152, {3, 8, 36, 3}}};
	int row = 0;
	while (depths[row].layers != variant)
		row++;
	zoo_tensor x = zoo_input(net->batch, 3, 224, 224);
	x = conv_norm(net, "conv1", "bn1", x, 64, zoo_square(7, 2, 3));
	x = zoo_unary(net, "relu", "Relu", x);
	x = zoo_pool(net, "maxpool", "MaxPool", x, zoo_square(3, 2, 1));
	for (int stage = 0; stage < 4; stage++)
		for (int i = 0; i < depths[row].blocks[stage]; i++) {
			zoo_scope(net, "layer%d.%d", stage + 1, i);
			int64_t stride = stage > 0 && i == 0 ? 2 : 1;
			x = (variant < 50 ? basic_block : bottleneck)(net, x, INT64_C(64) << stage, stride);
		}
	zoo_scope_end(net);
	x = zoo_global_pool(net, "avgpool", x);
	zoo_mark_output(net);
	zoo_gemm(net, "fc", x, 1000);
}
