/* Inception-v3: Szegedy, Vanhoucke, Ioffe, Shlens & Wojna, "Rethinking the Inception Architecture for
 * Computer Vision", CVPR 2016, in the layer sizes and names of torchvision, without the auxiliary
 * classifier. A module is a table of its layers. */
#include "zoo_layers.h"

/* A layer of a module: a convolution (with its normalisation) and Relu, as torchvision calls them, or a
 * pooling. */
typedef struct layer {
	const char *name;
	int back;     /* what it takes: the layer so many rows before, 0: what the module takes */
	bool leaves;  /* it is part of what the module gives */
	int channels; /* GIVEN: as the module is told; AVERAGE, MAXIMUM: a pooling */
	zoo_window window;
} layer;

enum { GIVEN = 0, AVERAGE = -1, MAXIMUM = -2, MOST_LAYERS = 12 };

#define SQUARE(kernel, stride, pad) {kernel, kernel, stride, pad, pad}
#define ONE SQUARE(1, 1, 0)
#define ROW(n) {1, n, 1, 0, (n) / 2}
#define COLUMN(n) {n, 1, 1, (n) / 2, 0}
#define DOUBLE3(stride, pad) \
	{"branch3x3dbl_1", 0, false, 64, ONE}, {"branch3x3dbl_2", 1, false, 96, SQUARE(3, 1, 1)}, \
	{"branch3x3dbl_3", 1, true, 96, SQUARE(3, stride, pad)}
#define POOL_BRANCH(channels) \
	{"avgpool", 0, false, AVERAGE, SQUARE(3, 1, 1)}, {"branch_pool", 1, true, channels, ONE}
#define POOL {"maxpool", 0, true, MAXIMUM, SQUARE(3, 2, 0)}
#define END {NULL, 0, false, 0, {0, 0, 0, 0, 0}}

static const layer stem[] = {{"Conv2d_1a_3x3", 0, false, 32, SQUARE(3, 2, 0)},
                             {"Conv2d_2a_3x3", 1, false, 32, SQUARE(3, 1, 0)},
                             {"Conv2d_2b_3x3", 1, false, 64, SQUARE(3, 1, 1)},
                             {"maxpool1", 1, false, MAXIMUM, SQUARE(3, 2, 0)},
                             {"Conv2d_3b_1x1", 1, false, 80, ONE},
                             {"Conv2d_4a_3x3", 1, false, 192, SQUARE(3, 1, 0)},
                             {"maxpool2", 1, true, MAXIMUM, SQUARE(3, 2, 0)},
                             END};
static const layer module_a[] = {{"branch1x1", 0, true, 64, ONE},
                                 {"branch5x5_1", 0, false, 48, ONE},
                                 {"branch5x5_2", 1, true, 64, SQUARE(5, 1, 2)},
                                 DOUBLE3(1, 1),
                                 POOL_BRANCH(GIVEN),
                                 END};
static const layer module_b[] = {
	{"branch3x3", 0, true, 384, SQUARE(3, 2, 0)}, DOUBLE3(2, 0), POOL, END};
static const layer module_c[] = {{"branch1x1", 0, true, 192, ONE},
                                 {"branch7x7_1", 0, false, GIVEN, ONE},
                                 {"branch7x7_2", 1, false, GIVEN, ROW(7)},
                                 {"branch7x7_3", 1, true, 192, COLUMN(7)},
                                 {"branch7x7dbl_1", 0, false, GIVEN, ONE},
                                 {"branch7x7dbl_2", 1, false, GIVEN, COLUMN(7)},
                                 {"branch7x7dbl_3", 1, false, GIVEN, ROW(7)},
                                 {"branch7x7dbl_4", 1, false, GIVEN, COLUMN(7)},
                                 {"branch7x7dbl_5", 1, true, 192, ROW(7)},
                                 POOL_BRANCH(192),
                                 END};
static const layer module_d[] = {{"branch3x3_1", 0, false, 192, ONE},
                                 {"branch3x3_2", 1, true, 320, SQUARE(3, 2, 0)},
                                 {"branch7x7x3_1", 0, false, 192, ONE},
                                 {"branch7x7x3_2", 1, false, 192, ROW(7)},
                                 {"branch7x7x3_3", 1, false, 192, COLUMN(7)},
                                 {"branch7x7x3_4", 1, true, 192, SQUARE(3, 2, 0)},
                                 POOL,
                                 END};
static const layer module_e[] = {{"branch1x1", 0, true, 320, ONE},
                                 {"branch3x3_1", 0, false, 384, ONE},
                                 {"branch3x3_2a", 1, true, 384, ROW(3)},
                                 {"branch3x3_2b", 2, true, 384, COLUMN(3)},
                                 {"branch3x3dbl_1", 0, false, 448, ONE},
                                 {"branch3x3dbl_2", 1, false, 384, SQUARE(3, 1, 1)},
                                 {"branch3x3dbl_3a", 1, true, 384, ROW(3)},
                                 {"branch3x3dbl_3b", 2, true, 384, COLUMN(3)},
                                 POOL_BRANCH(192),
                                 END};

static const struct {
	const char *name;
	const layer *layers;
	int given; /* channels */
} modules[] = {{"Mixed_5b", module_a, 32},  {"Mixed_5c", module_a, 64},  {"Mixed_5d", module_a, 64},
               {"Mixed_6a", module_b, 0},   {"Mixed_6b", module_c, 128}, {"Mixed_6c", module_c, 160},
               {"Mixed_6d", module_c, 160}, {"Mixed_6e", module_c, 192}, {"Mixed_7a", module_d, 0},
               {"Mixed_7b", module_e, 0},   {"Mixed_7c", module_e, 0}};

static zoo_tensor add_layer(zoo_net *net, const layer *l, int channels, zoo_tensor x)
{
	if (channels < 0)
		return zoo_pool(net, l->name, channels == AVERAGE ? "AveragePool" : "MaxPool", x, l->window);
	x = zoo_conv_bn(net, l->name, x, channels, l->window);
	return zoo_unary(net, zoo_name(net, "%s.relu", l->name), "Relu", x);
}

static zoo_tensor add_module(zoo_net *net, const layer *l, int given, zoo_tensor x)
{
	zoo_tensor made[MOST_LAYERS], out[MOST_LAYERS];
	int32_t n = 0;
	for (int i = 0; l[i].name; i++) {
		made[i] = add_layer(net, &l[i], l[i].channels == GIVEN ? given : l[i].channels,
		                    l[i].back ? made[i - l[i].back] : x);
		if (l[i].leaves)
			out[n++] = made[i];
	}
	return n > 1 ? zoo_concat(net, "concat", n, out) : out[0];
}

void zoo_build_inception(zoo_net *net)
{
	zoo_tensor x = add_module(net, stem, 0, zoo_input(net->batch, 3, 299, 299));
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
		zoo_scope(net, "%s", modules[i].name);
		x = add_module(net, modules[i].layers, modules[i].given, x);
	}
	zoo_scope_end(net);
	x = zoo_global_pool(net, "avgpool", x);
	zoo_mark_output(net);
	zoo_gemm(net, "fc", x, 1000);
}
