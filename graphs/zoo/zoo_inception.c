/* Inception-v3: Szegedy, Vanhoucke, Ioffe, Shlens & Wojna, "Rethinking the Inception Architecture for
 * Computer Vision", CVPR 2016, in the layer sizes and names of torchvision, without the auxiliary
 * classifier. */
#include "zoo_layers.h"

/* Convolution (with its normalisation) and Relu; name is the torchvision module's. */
static zoo_tensor cell(zoo_net *net, const char *name, zoo_tensor x, int64_t channels, zoo_window win)
{
	x = zoo_conv_norm(net, zoo_name(net, "%s.conv", name), zoo_name(net, "%s.bn", name), x, channels, win,
	                  1);
	return zoo_unary(net, zoo_name(net, "%s.relu", name), "Relu", x);
}

static zoo_window row7(void)
{
	return (zoo_window){1, 7, 1, 0, 3};
}

static zoo_window column7(void)
{
	return (zoo_window){7, 1, 1, 3, 0};
}

static zoo_tensor pool_branch(zoo_net *net, zoo_tensor x, int64_t channels)
{
	zoo_tensor y = zoo_pool(net, "avgpool", "AveragePool", x, zoo_square(3, 1, 1));
	return cell(net, "branch_pool", y, channels, zoo_square(1, 1, 0));
}

static zoo_tensor double3(zoo_net *net, zoo_tensor x, int64_t first_stride, int64_t pad)
{
	zoo_tensor y = cell(net, "branch3x3dbl_1", x, 64, zoo_square(1, 1, 0));
	y = cell(net, "branch3x3dbl_2", y, 96, zoo_square(3, 1, 1));
	return cell(net, "branch3x3dbl_3", y, 96, zoo_square(3, first_stride, pad));
}

static zoo_tensor module_a(zoo_net *net, zoo_tensor x, int64_t pool_channels)
{
	zoo_tensor b[4];
	b[0] = cell(net, "branch1x1", x, 64, zoo_square(1, 1, 0));
	b[1] = cell(net, "branch5x5_1", x, 48, zoo_square(1, 1, 0));
	b[1] = cell(net, "branch5x5_2", b[1], 64, zoo_square(5, 1, 2));
	b[2] = double3(net, x, 1, 1);
	b[3] = pool_branch(net, x, pool_channels);
	return zoo_concat(net, "concat", 4, b);
}

static zoo_tensor module_b(zoo_net *net, zoo_tensor x)
{
	zoo_tensor b[3];
	b[0] = cell(net, "branch3x3", x, 384, zoo_square(3, 2, 0));
	b[1] = double3(net, x, 2, 0);
	b[2] = zoo_pool(net, "maxpool", "MaxPool", x, zoo_square(3, 2, 0));
	return zoo_concat(net, "concat", 3, b);
}

static zoo_tensor module_c(zoo_net *net, zoo_tensor x, int64_t inner)
{
	zoo_tensor b[4];
	b[0] = cell(net, "branch1x1", x, 192, zoo_square(1, 1, 0));
	b[1] = cell(net, "branch7x7_1", x, inner, zoo_square(1, 1, 0));
	b[1] = cell(net, "branch7x7_2", b[1], inner, row7());
	b[1] = cell(net, "branch7x7_3", b[1], 192, column7());
	b[2] = cell(net, "branch7x7dbl_1", x, inner, zoo_square(1, 1, 0));
	b[2] = cell(net, "branch7x7dbl_2", b[2], inner, column7());
	b[2] = cell(net, "branch7x7dbl_3", b[2], inner, row7());
	b[2] = cell(net, "branch7x7dbl_4", b[2], inner, column7());
	b[2] = cell(net, "branch7x7dbl_5", b[2], 192, row7());
	b[3] = pool_branch(net, x, 192);
	return zoo_concat(net, "concat", 4, b);
}

static zoo_tensor module_d(zoo_net *net, zoo_tensor x)
{
	zoo_tensor b[3];
	b[0] = cell(net, "branch3x3_1", x, 192, zoo_square(1, 1, 0));
	b[0] = cell(net, "branch3x3_2", b[0], 320, zoo_square(3, 2, 0));
	b[1] = cell(net, "branch7x7x3_1", x, 192, zoo_square(1, 1, 0));
	b[1] = cell(net, "branch7x7x3_2", b[1], 192, row7());
	b[1] = cell(net, "branch7x7x3_3", b[1], 192, column7());
	b[1] = cell(net, "branch7x7x3_4", b[1], 192, zoo_square(3, 2, 0));
	b[2] = zoo_pool(net, "maxpool", "MaxPool", x, zoo_square(3, 2, 0));
	return zoo_concat(net, "concat", 3, b);
}

static zoo_tensor module_e(zoo_net *net, zoo_tensor x)
{
	const zoo_window row3 = {1, 3, 1, 0, 1}, column3 = {3, 1, 1, 1, 0};
	zoo_tensor b[6], y;
	b[0] = cell(net, "branch1x1", x, 320, zoo_square(1, 1, 0));
	y = cell(net, "branch3x3_1", x, 384, zoo_square(1, 1, 0));
	b[1] = cell(net, "branch3x3_2a", y, 384, row3);
	b[2] = cell(net, "branch3x3_2b", y, 384, column3);
	y = cell(net, "branch3x3dbl_1", x, 448, zoo_square(1, 1, 0));
	y = cell(net, "branch3x3dbl_2", y, 384, zoo_square(3, 1, 1));
	b[3] = cell(net, "branch3x3dbl_3a", y, 384, row3);
	b[4] = cell(net, "branch3x3dbl_3b", y, 384, column3);
	b[5] = pool_branch(net, x, 192);
	return zoo_concat(net, "concat", 6, b);
}

static zoo_tensor stem(zoo_net *net, zoo_tensor x)
{
	x = cell(net, "Conv2d_1a_3x3", x, 32, zoo_square(3, 2, 0));
	x = cell(net, "Conv2d_2a_3x3", x, 32, zoo_square(3, 1, 0));
	x = cell(net, "Conv2d_2b_3x3", x, 64, zoo_square(3, 1, 1));
	x = zoo_pool(net, "maxpool1", "MaxPool", x, zoo_square(3, 2, 0));
	x = cell(net, "Conv2d_3b_1x1", x, 80, zoo_square(1, 1, 0));
	x = cell(net, "Conv2d_4a_3x3", x, 192, zoo_square(3, 1, 0));
	return zoo_pool(net, "maxpool2", "MaxPool", x, zoo_square(3, 2, 0));
}

void zoo_build_inception(zoo_net *net, int variant)
{
	static const int64_t pool_a[] = {32, 64, 64}, inner_c[] = {128, 160, 160, 192};
	(void)variant;
	zoo_tensor x = stem(net, zoo_input(net->batch, 3, 299, 299));
	for (int i = 0; i < 3; i++) {
		zoo_scope(net, "Mixed_5%c", "bcd"[i]);
		x = module_a(net, x, pool_a[i]);
	}
	zoo_scope(net, "Mixed_6a");
	x = module_b(net, x);
	for (int i = 0; i < 4; i++) {
		zoo_scope(net, "Mixed_6%c", "bcde"[i]);
		x = module_c(net, x, inner_c[i]);
	}
	zoo_scope(net, "Mixed_7a");
	x = module_d(net, x);
	for (int i = 0; i < 2; i++) {
		zoo_scope(net, "Mixed_7%c", "bc"[i]);
		x = module_e(net, x);
	}
	zoo_scope_end(net);
	x = zoo_global_pool(net, "avgpool", x);
	zoo_mark_output(net);
	zoo_gemm(net, "fc", x, 1000);
}
