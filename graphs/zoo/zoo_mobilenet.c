/* MobileNetV2: Sandler, Howard, Zhu, Zhmoginov & Chen, CVPR 2018, table 2; in the sizes and names of
 * torchvision. ReLU6 is Clip in ONNX. */
#include "zoo_layers.h"

static zoo_tensor conv_norm(zoo_net *net, const char *conv, const char *norm, zoo_tensor x, int64_t channels,
                            zoo_window win, int64_t groups)
{
	x = zoo_conv(net, conv, x, channels, win, groups, !net->training);
	return net->training ? zoo_batchnorm(net, norm, x) : x;
}

/* Convolution, normalisation and Clip: PART.0, PART.1, PART.2. */
static zoo_tensor cell(zoo_net *net, const char *part, zoo_tensor x, int64_t channels, zoo_window win,
                       int64_t groups)
{
	x = conv_norm(net, zoo_name(net, "%s0", part), zoo_name(net, "%s1", part), x, channels, win, groups);
	return zoo_unary(net, zoo_name(net, "%s2", part), "Clip", x);
}

static zoo_tensor inverted_residual(zoo_net *net, zoo_tensor x, int64_t expand, int64_t channels,
                                    int64_t stride)
{
	zoo_tensor y = x;
	int64_t inner = expand * x.dim[1];
	if (expand > 1)
		y = cell(net, "conv.0.", y, inner, zoo_square(1, 1, 0), 1);
	y = cell(net, expand > 1 ? "conv.1." : "conv.0.", y, inner, zoo_square(3, stride, 1), inner);
	y = conv_norm(net, expand > 1 ? "conv.2" : "conv.1", expand > 1 ? "conv.3" : "conv.2", y, channels,
	              zoo_square(1, 1, 0), 1);
	return stride == 1 && x.dim[1] == channels ? zoo_binary(net, "add", "Add", x, y) : y;
}

void zoo_build_mobilenet(zoo_net *net, int variant)
{
	static const struct { int expand, channels, repeats, stride; } rows[] = {
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
		{6, 320, 1, 1}};
	int at = 0;
	(void)variant;
	zoo_scope(net, "features.%d", at++);
	zoo_tensor x = cell(net, "", zoo_input(net->batch, 3, 224, 224), 32, zoo_square(3, 2, 1), 1);
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		for (int i = 0; i < rows[r].repeats; i++) {
			zoo_scope(net, "features.%d", at++);
			x = inverted_residual(net, x, rows[r].expand, rows[r].channels,
			                      i ? 1 : rows[r].stride);
		}
	zoo_scope(net, "features.%d", at);
	x = cell(net, "", x, 1280, zoo_square(1, 1, 0), 1);
	zoo_scope_end(net);
	x = zoo_global_pool(net, "avgpool", x);
	zoo_mark_output(net);
	zoo_gemm(net, "classifier.1", x, 1000);
}
