/* Convolutional networks for pictures, in the sizes and names of torchvision where it has them. Dropout is
 * left out.
 *   - AlexNet: Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014
 *   - VGG: Simonyan & Zisserman, ICLR 2015
 *   - ResNet: He, Zhang, Ren & Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, table 1. The
 *     stride of a bottleneck stands in its 3x3 convolution
 *   - MobileNetV2: Sandler, Howard, Zhu, Zhmoginov & Chen, CVPR 2018, table 2. ReLU6 is Clip in ONNX
 *   - DenseNet-121: Huang, Liu, van der Maaten & Weinberger, "Densely Connected Convolutional Networks", CVPR
 *     2017, table 1. Normalisations that stand before their convolution cannot be folded and remain
 *   - U-Net: Ronneberger, Fischer & Brox, "U-Net: Convolutional Networks for Biomedical Image
 *     Segmentation", MICCAI 2015, figure 1. Unpadded convolutions on a tile of 572x572, of which the two
 *     classes of the inner 388x388 pixels come out */
#include "zoo_layers.h"

/* ---- AlexNet, VGG ---- */

enum { MAX_STEPS = 24 };

typedef struct step { /* a convolution and its Relu; without channels: a maximum pooling */
	int channels, kernel, stride, pad;
} step;

#define CONV(channels) {channels, 3, 1, 1}
#define POOL(kernel) {0, kernel, 2, 0}

typedef struct plain {
	step steps[MAX_STEPS]; /* ends with kernel 0 */
	int first_linear;      /* its place in the classifier, where dropouts count too */
} plain;

static const plain nets[] = {
	{{{64, 11, 4, 2}, POOL(3), {192, 5, 1, 2}, POOL(3), CONV(384), CONV(256), CONV(256), POOL(3)}, 1},
	{{CONV(64), CONV(64), POOL(2), CONV(128), CONV(128), POOL(2), CONV(256), CONV(256), CONV(256),
          POOL(2), CONV(512), CONV(512), CONV(512), POOL(2), CONV(512), CONV(512), CONV(512), POOL(2)},
         0},
	{{CONV(64),  CONV(64),  POOL(2),   CONV(128), CONV(128), POOL(2),   CONV(256),
          CONV(256), CONV(256), CONV(256), POOL(2),   CONV(512), CONV(512), CONV(512),
          CONV(512), POOL(2),   CONV(512), CONV(512), CONV(512), CONV(512), POOL(2)},
         0},
	{{CONV(64), POOL(2), CONV(128), POOL(2), CONV(256), CONV(256), POOL(2), CONV(512), CONV(512), POOL(2),
          CONV(512), CONV(512), POOL(2)},
         0},
	{{CONV(64), CONV(64), POOL(2), CONV(128), CONV(128), POOL(2), CONV(256), CONV(256), POOL(2),
          CONV(512), CONV(512), POOL(2), CONV(512), CONV(512), POOL(2)},
         0},
};

static zoo_tensor features(zoo_net *net, const step *s, zoo_tensor x)
{
	for (int i = 0; s->kernel; s++) {
		zoo_window win = zoo_square(s->kernel, s->stride, s->pad);
		const char *name = zoo_name(net, "%d", i++);
		x = s->channels ? zoo_conv(net, name, x, s->channels, win, 1, true)
		                : zoo_pool(net, name, "MaxPool", x, win);
		if (s->channels)
			x = zoo_unary(net, zoo_name(net, "%d", i++), "Relu", x);
	}
	return x;
}

/* variant: row of the table. */
void zoo_build_plain(zoo_net *net)
{
	int variant = net->model->variant;
	zoo_tensor x = zoo_input(net->batch, 3, 224, 224);
	zoo_scope(net, "features");
	x = features(net, nets[variant].steps, x);
	zoo_scope_end(net);
	x = zoo_pool(net, "avgpool", "AveragePool", x, zoo_1x1); /* adaptive; its cells are single
	                                                                        pixels at 224x224 */
	zoo_scope(net, "classifier");
	/* Three linear layers, each behind a dropout in AlexNet and before one in VGG, so that the last is
	 * number 6 in both. */
	for (int i = 0; i < 2; i++) {
		int at = nets[variant].first_linear + 3 * i;
		x = zoo_gemm(net, zoo_name(net, "%d", at), x, 4096);
		x = zoo_unary(net, zoo_name(net, "%d", at + 1), "Relu", x);
	}
	zoo_mark_output(net);
	zoo_gemm(net, "6", x, 1000);
}

/* ---- ResNet ---- */

static zoo_tensor shortcut(zoo_net *net, zoo_tensor x, int64_t channels, int64_t stride)
{
	if (x.dim[1] == channels && stride == 1)
		return x;
	return zoo_conv_norm(net, "downsample.0", "downsample.1", x, channels, zoo_square(1, stride, 0), 1);
}

static zoo_tensor basic_block(zoo_net *net, zoo_tensor x, int64_t width, int64_t stride)
{
	zoo_tensor y = zoo_conv_norm(net, "conv1", "bn1", x, width, zoo_square(3, stride, 1), 1);
	y = zoo_unary(net, "relu1", "Relu", y);
	y = zoo_conv_norm(net, "conv2", "bn2", y, width, zoo_3x3, 1);
	y = zoo_binary(net, "add", "Add", y, shortcut(net, x, width, stride));
	return zoo_unary(net, "relu2", "Relu", y);
}

static zoo_tensor bottleneck(zoo_net *net, zoo_tensor x, int64_t width, int64_t stride)
{
	zoo_tensor y = zoo_conv_norm(net, "conv1", "bn1", x, width, zoo_1x1, 1);
	y = zoo_unary(net, "relu1", "Relu", y);
	y = zoo_conv_norm(net, "conv2", "bn2", y, width, zoo_square(3, stride, 1), 1);
	y = zoo_unary(net, "relu2", "Relu", y);
	y = zoo_conv_norm(net, "conv3", "bn3", y, 4 * width, zoo_1x1, 1);
	y = zoo_binary(net, "add", "Add", y, shortcut(net, x, 4 * width, stride));
	return zoo_unary(net, "relu3", "Relu", y);
}

/* variant: 18, 34, 50, 101 or 152. */
void zoo_build_resnet(zoo_net *net)
{
	int variant = net->model->variant;
	static const struct { int layers, blocks[4]; } depths[] = {
		{18, {2, 2, 2, 2}}, {34, {3, 4, 6, 3}}, {50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}},
		{152, {3, 8, 36, 3}}};
	int row = 0;
	while (depths[row].layers != variant)
		row++;
	zoo_tensor x = zoo_input(net->batch, 3, 224, 224);
	x = zoo_conv_norm(net, "conv1", "bn1", x, 64, zoo_square(7, 2, 3), 1);
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

/* ---- MobileNetV2 ---- */

/* Convolution, normalisation and Clip: PART.0, PART.1, PART.2. */
static zoo_tensor clipped(zoo_net *net, const char *part, zoo_tensor x, int64_t channels, zoo_window win,
                       int64_t groups)
{
	x = zoo_conv_norm(net, zoo_name(net, "%s0", part), zoo_name(net, "%s1", part), x, channels, win,
	                  groups);
	return zoo_unary(net, zoo_name(net, "%s2", part), "Clip", x);
}

static zoo_tensor inverted_residual(zoo_net *net, zoo_tensor x, int64_t expand, int64_t channels,
                                    int64_t stride)
{
	zoo_tensor y = x;
	int64_t inner = expand * x.dim[1];
	if (expand > 1)
		y = clipped(net, "conv.0.", y, inner, zoo_1x1, 1);
	y = clipped(net, expand > 1 ? "conv.1." : "conv.0.", y, inner, zoo_square(3, stride, 1), inner);
	y = zoo_conv_norm(net, expand > 1 ? "conv.2" : "conv.1", expand > 1 ? "conv.3" : "conv.2", y,
	                  channels,
	              zoo_1x1, 1);
	return stride == 1 && x.dim[1] == channels ? zoo_binary(net, "add", "Add", x, y) : y;
}

void zoo_build_mobilenet(zoo_net *net)
{
	static const struct { int expand, channels, repeats, stride; } rows[] = {
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
		{6, 320, 1, 1}};
	int at = 0;
	zoo_scope(net, "features.%d", at++);
	zoo_tensor x = clipped(net, "", zoo_input(net->batch, 3, 224, 224), 32, zoo_square(3, 2, 1), 1);
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		for (int i = 0; i < rows[r].repeats; i++) {
			zoo_scope(net, "features.%d", at++);
			x = inverted_residual(net, x, rows[r].expand, rows[r].channels,
			                      i ? 1 : rows[r].stride);
		}
	zoo_scope(net, "features.%d", at);
	x = clipped(net, "", x, 1280, zoo_1x1, 1);
	zoo_scope_end(net);
	x = zoo_global_pool(net, "avgpool", x);
	zoo_mark_output(net);
	zoo_gemm(net, "classifier.1", x, 1000);
}

/* ---- DenseNet ---- */

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
	x = zoo_conv(net, "conv1", x, BOTTLENECK, zoo_1x1, 1, !net->training);
	x = net->training ? norm_relu(net, "norm2", "relu2", x) : zoo_unary(net, "relu2", "Relu", x);
	return zoo_conv(net, "conv2", x, GROWTH, zoo_3x3, 1, false);
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
	x = zoo_conv(net, "conv", x, x.dim[1] / 2, zoo_1x1, 1, false);
	return zoo_pool(net, "pool", "AveragePool", x, zoo_square(2, 2, 0));
}

void zoo_build_densenet(zoo_net *net)
{
	static const int layers[] = {6, 12, 24, 16};
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

/* ---- U-Net ---- */

enum { DEPTH = 4, SIDE = 572, FIRST = 64 };

static zoo_tensor twice(zoo_net *net, zoo_tensor x, int64_t channels)
{
	for (int i = 1; i <= 2; i++) {
		x = zoo_conv(net, zoo_name(net, "conv%d", i), x, channels, zoo_square(3, 1, 0), 1, true);
		x = zoo_unary(net, zoo_name(net, "relu%d", i), "Relu", x);
	}
	return x;
}

/* The middle of x. */
static zoo_tensor crop(zoo_net *net, zoo_tensor x, int64_t side)
{
	return zoo_op(net, "crop", "Slice", 1, &x, zoo_input(x.dim[0], x.dim[1], side, side), (zoo_cost){0});
}

void zoo_build_unet(zoo_net *net)
{
	zoo_tensor skip[DEPTH], x = zoo_input(net->batch, 1, SIDE, SIDE);
	for (int i = 0; i < DEPTH; i++) {
		zoo_scope(net, "down%d", i + 1);
		skip[i] = twice(net, x, FIRST << i);
		x = zoo_pool(net, "pool", "MaxPool", skip[i], zoo_square(2, 2, 0));
	}
	zoo_scope(net, "bottom");
	x = twice(net, x, FIRST << DEPTH);
	for (int i = DEPTH - 1; i >= 0; i--) {
		zoo_scope(net, "up%d", i + 1);
		zoo_tensor both[2];
		both[1] = zoo_conv_up(net, "upconv", x, FIRST << i);
		both[0] = crop(net, skip[i], both[1].dim[2]);
		x = twice(net, zoo_concat(net, "concat", 2, both), FIRST << i);
	}
	zoo_scope_end(net);
	zoo_mark_output(net);
	zoo_conv(net, "classes", x, 2, zoo_1x1, 1, true);
}
