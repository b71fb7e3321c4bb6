/* Plain convolutional chains: AlexNet (Krizhevsky, "One weird trick for parallelizing convolutional neural
 * networks", 2014) and VGG (Simonyan & Zisserman, ICLR 2015), in the sizes and names of torchvision. Dropout
 * is left out. */
#include "zoo_layers.h"

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

/* Three linear layers, each behind a dropout in AlexNet and before one in VGG, so that the last is number 6
 * in both. */
static void classify(zoo_net *net, const plain *p, zoo_tensor x)
{
	for (int i = 0; i < 2; i++) {
		int at = p->first_linear + 3 * i;
		x = zoo_gemm(net, zoo_name(net, "%d", at), x, 4096);
		x = zoo_unary(net, zoo_name(net, "%d", at + 1), "Relu", x);
	}
	zoo_mark_output(net);
	zoo_gemm(net, "6", x, 1000);
}

/* variant: row of the table. */
void zoo_build_plain(zoo_net *net, int variant)
{
	zoo_tensor x = zoo_input(net->batch, 3, 224, 224);
	zoo_scope(net, "features");
	x = features(net, nets[variant].steps, x);
	zoo_scope_end(net);
	x = zoo_pool(net, "avgpool", "AveragePool", x, zoo_square(1, 1, 0)); /* adaptive; its cells are single
	                                                                        pixels at 224x224 */
	zoo_scope(net, "classifier");
	classify(net, &nets[variant], x);
}
