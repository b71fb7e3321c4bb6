/* U-Net (Ronneberger, Fischer & Brox, "U-Net: Convolutional Networks for Biomedical Image Segmentation",
 * MICCAI 2015, figure 1). Unpadded convolutions on a tile of 572x572, of which the two classes of the
 * inner 388x388 pixels come out. */
#include "zoo_layers.h"

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

void zoo_build_unet(zoo_net *net, int variant)
{
	zoo_tensor skip[DEPTH], x = zoo_input(net->batch, 1, SIDE, SIDE);
	(void)variant;
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
	zoo_conv(net, "classes", x, 2, zoo_square(1, 1, 0), 1, true);
}
