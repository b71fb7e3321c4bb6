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

/* NASNet-A: Zoph, Vasudevan, Shlens & Le, "Learning Transferable Architectures for Scalable Image
 * Recognition", CVPR 2018, figure 4, as 6 @ 4032 (large, 331x331) and 4 @ 1056 (mobile, 224x224). What the
 * paper leaves open (two stem cells, how the cell before last is brought to size, which of two cells skips a
 * reduction) is as in the authors' released models. A separable convolution is a depthwise and a pointwise
 * one. */
typedef struct size {
	int64_t picture, stem, filters, repeats;
	bool skips; /* the cell after a reduction takes its older input from two cells before that */
} size;

/* Relu, 1x1 convolution, normalisation. */
static zoo_tensor squeeze(zoo_net *net, const char *name, zoo_tensor x, int64_t filters)
{
	x = zoo_unary(net, zoo_name(net, "%s.relu", name), "Relu", x);
	return zoo_conv_bn(net, name, x, filters, zoo_1x1);
}

static zoo_tensor half_separable(zoo_net *net, const char *name, int half, zoo_tensor x, int64_t filters,
                                 int64_t kernel, int64_t stride)
{
	x = zoo_unary(net, zoo_name(net, "%s.relu%d", name, half), "Relu", x);
	x = zoo_conv(net, zoo_name(net, "%s.depthwise%d", name, half), x, x.dim[1],
	             zoo_square(kernel, stride, kernel / 2), x.dim[1], false);
	return zoo_conv_norm(net, zoo_name(net, "%s.pointwise%d", name, half),
	                     zoo_name(net, "%s.bn%d", name, half), x, filters, zoo_1x1, 1);
}

/* The separable convolution of the paper: twice Relu, separable convolution, normalisation; the stride is in
 * the first. */
static zoo_tensor separable(zoo_net *net, const char *name, zoo_tensor x, int64_t filters, int64_t kernel,
                            int64_t stride)
{
	x = half_separable(net, name, 1, x, filters, kernel, stride);
	return half_separable(net, name, 2, x, filters, kernel, 1);
}

static zoo_tensor half_path(zoo_net *net, const char *name, zoo_tensor x, int64_t filters)
{
	x = zoo_pool(net, zoo_name(net, "%s.pool", name), "AveragePool", x, zoo_square(1, 2, 0));
	return zoo_conv(net, zoo_name(net, "%s.conv", name), x, filters, zoo_1x1, 1,
	                !net->training);
}

/* The older input brought to the size and channels of this cell. */
static zoo_tensor adjust(zoo_net *net, zoo_tensor older, zoo_tensor x, int64_t filters)
{
	zoo_tensor path[2];
	if (older.op == x.op) /* the first cell has one input */
		return older;
	if (older.dim[2] == x.dim[2])
		return older.dim[1] == filters ? older : squeeze(net, "adjust", older, filters);
	older = zoo_unary(net, "adjust.relu", "Relu", older);
	path[0] = half_path(net, "adjust.path1", older, filters / 2);
	older = zoo_unary(net, "adjust.shift", "Pad", older); /* by a pixel, and cut on the other side */
	path[1] = half_path(net, "adjust.path2", older, filters / 2);
	older = zoo_concat(net, "adjust.concat", 2, path);
	return net->training ? zoo_batchnorm(net, "adjust.bn", older) : older;
}

static zoo_tensor pool3(zoo_net *net, const char *name, const char *type, zoo_tensor x, int64_t stride)
{
	return zoo_pool(net, name, type, x, zoo_square(3, stride, 1));
}

static zoo_tensor add(zoo_net *net, const char *name, zoo_tensor a, zoo_tensor b)
{
	return zoo_binary(net, name, "Add", a, b);
}

static zoo_tensor reduction_cell(zoo_net *net, zoo_tensor x, zoo_tensor older, int64_t f)
{
	zoo_tensor p = adjust(net, older, x, f), h = squeeze(net, "squeeze", x, f), y[4], first, a, b;
	a = separable(net, "left1", h, f, 5, 2);
	b = separable(net, "right1", p, f, 7, 2);
	first = add(net, "add1", a, b);
	a = pool3(net, "left2", "MaxPool", h, 2);
	b = separable(net, "right2", p, f, 7, 2);
	y[0] = add(net, "add2", a, b);
	a = pool3(net, "left3", "AveragePool", h, 2);
	b = separable(net, "right3", p, f, 5, 2);
	y[1] = add(net, "add3", a, b);
	y[2] = add(net, "add4", pool3(net, "left4", "AveragePool", first, 1), y[0]);
	a = separable(net, "left5", first, f, 3, 1);
	b = pool3(net, "right5", "MaxPool", h, 2);
	y[3] = add(net, "add5", a, b);
	return zoo_concat(net, "concat", 4, y);
}

void zoo_build_nasnet(zoo_net *net)
{
	/* in the order of the parameter size */
	static const size sizes[] = {{331, 96, 168, 6, true}, {224, 32, 44, 4, false}};
	const size *s = &sizes[(int)zoo_value(net, "size")];
	zoo_scope(net, "stem");
	zoo_tensor x = zoo_conv_norm(net, "conv", "bn", zoo_input(net->batch, 3, s->picture, s->picture),
	                             s->stem, zoo_square(3, 2, 0), 1);
	zoo_tensor older = x, next;
	for (int i = 0; i < 2; i++) {
		zoo_scope(net, "stem%d", i + 1);
		next = reduction_cell(net, x, older, i ? s->filters / 2 : s->filters / 4);
		older = x;
		x = next;
	}
	for (int stage = 0; stage < 3; stage++) {
		int64_t f = s->filters << stage;
		if (stage > 0) {
			zoo_scope(net, "reduction%d", stage);
			next = reduction_cell(net, x, older, f);
			older = s->skips ? older : x;
			x = next;
		}
		for (int i = 0; i < s->repeats; i++) {
			zoo_scope(net, "cell%d.%d", stage + 1, i);
			zoo_tensor p = adjust(net, older, x, f), h = squeeze(net, "squeeze", x, f),
				   y[6] = {p}, a, b;
			a = separable(net, "left1", h, f, 5, 1);
			b = separable(net, "right1", p, f, 3, 1);
			y[1] = add(net, "add1", a, b);
			a = separable(net, "left2", p, f, 5, 1);
			b = separable(net, "right2", p, f, 3, 1);
			y[2] = add(net, "add2", a, b);
			y[3] = add(net, "add3", pool3(net, "left3", "AveragePool", h, 1), p);
			a = pool3(net, "left4", "AveragePool", p, 1);
			b = pool3(net, "right4", "AveragePool", p, 1);
			y[4] = add(net, "add4", a, b);
			y[5] = add(net, "add5", separable(net, "left5", h, f, 3, 1), h);
			next = zoo_concat(net, "concat", 6, y);
			older = x;
			x = next;
		}
	}
	zoo_scope_end(net);
	x = zoo_unary(net, "relu", "Relu", x);
	x = zoo_global_pool(net, "avgpool", x);
	zoo_mark_output(net);
	zoo_gemm(net, "predictions", x, 1000);
}
