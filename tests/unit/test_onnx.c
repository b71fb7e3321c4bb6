/* The ONNX importer on small models written byte by byte: what becomes an operator, what a parameter, what
 * it costs. */
#include "file.h"
#include "load.h"
#include "onnx.h"
#include "onnx_bytes.h"
#include "onnx_infer.h"
#include "shapes.h"
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { F32 = 1, U8 = 2, I8 = 3, I32 = 6, I64 = 7, VALUE_IN = 11, VALUE_OUT = 12, VALUE_INFO = 13 };

typedef struct model {
	berth_arena mem;
	berth_graph g;
	berth_read_report r;
} model;

static void read_graph(const bytes *graph, int opset, model *m)
{
	static bytes file;
	berth_arena tmp = {0};
	berth_err err;
	file.n = 0;
	*m = (model){0};
	put_model(&file, graph, opset);
	assert_ok(
		berth_graph_parse_onnx("t.onnx", file.data, file.n, NULL, &m->mem, &tmp, &m->g, &m->r, &err),
		&err);
	assert_ok(berth_graph_check(&m->g, &err), &err);
	berth_arena_free(&tmp);
}

static int32_t op_of(const model *m, const char *name)
{
	int32_t op = berth_graph_find(&m->g, name);
	if (op < 0)
		print_error("no operator '%s'\n", name);
	assert_true(op >= 0);
	return op;
}

static void test_table(void **state)
{
	(void)state;
	size_t n;
	const onnx_op *table = onnx_op_table(&n);
	assert_true(n > 150);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || strcmp(table[i - 1].type, table[i].type) < 0);
		assert_ptr_equal(onnx_op_find("", table[i].type), &table[i]);
		assert_non_null(table[i].infer);
	}
	assert_null(onnx_op_find("", "NoSuchThing"));
	assert_null(onnx_op_find("my.domain", "Conv"));
}

/* ---- shapes and costs, operator by operator ---- */

typedef struct shape_case {
	const char *type;
	int opset;
	const char *in[4]; /* shapes of float inputs; "=1,2": an int64 constant with this content; NULL: no
	                      more, "-": left out */
	const char *attr;          /* "axis=1;pads=0,1,2,3;auto_pad=SAME_UPPER" */
	double elements, macs;     /* of output 0 */
} shape_case;

static int parse_ints(const char *p, int64_t out[16])
{
	int n = 0;
	while (*p && *p != ';') {
		char *end;
		out[n++] = strtoll(p, &end, 10);
		p = end + (*end == ',');
	}
	return n;
}

/* Attributes from text: one number is an int, names of lists are known, letters are text. */
static void parse_attrs(const char *text, bytes *attrs)
{
	static const char *const lists[] = {
		"axes",  "pads",   "strides", "dilations", "kernel_shape", "perm",           "split",
		"shape", "starts", "ends",    "repeats",   "sizes",        "output_padding", "pooled_shape"};
	while (text && *text) {
		char name[32], word[64];
		int64_t x[16];
		size_t n = strcspn(text, "="), len = strcspn(text + n + 1, ";");
		snprintf(name, sizeof name, "%.*s", (int)n, text);
		snprintf(word, sizeof word, "%.*s", (int)len, text + n + 1);
		bool list = false;
		for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
			list |= strcmp(lists[i], name) == 0;
		if (list)
			attr_ints(attrs, name, x, parse_ints(word, x));
		else if ((*word >= '0' && *word <= '9') || *word == '-')
			attr_int(attrs, name, strtoll(word, NULL, 10));
		else
			attr_text(attrs, name, word);
		text += n + 1 + len + (text[n + 1 + len] == ';');
	}
}

/* The model of the case, whose operator is "op". */
static void build_case(const shape_case *c, model *m)
{
	static bytes graph, attrs;
	char names[64] = "", name[8];
	graph.n = attrs.n = 0;
	for (int i = 0; i < 4 && c->in[i]; i++) {
		int64_t x[16];
		snprintf(name, sizeof name, "i%d", i);
		if (c->in[i][0] == '=')
			put_ints(&graph, name, x, parse_ints(c->in[i] + 1, x));
		else if (c->in[i][0] != '-')
			put_value(&graph, VALUE_IN, name, F32, c->in[i]);
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? "," : "",
		         c->in[i][0] == '-' ? "" : name);
	}
	parse_attrs(c->attr, &attrs);
	put_weight(&graph, "weights_are_inside", F32, "2");
	put_node(&graph, c->type, "op", names, "y", &attrs);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, c->opset, m);
}

static void run_case(const shape_case *c)
{
	model m;
	build_case(c, &m);
	int32_t op = op_of(&m, "op");
	bool is_bool = strncmp(c->type, "Is", 2) == 0, is_index = strncmp(c->type, "Arg", 3) == 0;
	double size = c->elements * (is_bool ? 1 : is_index ? 8 : 4);
	if ((double)m.g.op_output_bytes[op] != size || m.g.op_macs[op] != c->macs)
		print_error("%s(%s %s %s) opset %d\n", c->type, c->in[0], c->in[1] ? c->in[1] : "",
		            c->attr ? c->attr : "", c->opset);
	assert_near((double)m.g.op_output_bytes[op], size, 0);
	assert_near(m.g.op_macs[op], c->macs, 0);
	assert_near(m.g.op_flops[op], c->macs > 0 ? 2 * c->macs : c->elements, 0);
	assert_int_equal(m.r.n_unknown, 0);
	if (c->elements > 0 && strstr("LSTM GRU RNN Attention LinearAttention Einsum", c->type) == NULL)
		assert_int_equal(shapes_missing(&m.g), 0);
	berth_arena_free(&m.mem);
}

static void run_cases(const shape_case cases[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		run_case(&cases[i]);
}

static void test_shapes_of_products(void **state)
{
	(void)state;
	static const shape_case cases[] = {
		{"Relu", 13, {"2,3"}, NULL, 6, 0},
		{"Add", 13, {"4,1,3", "5,1"}, NULL, 60, 0},
		{"Add", 6, {"2,3,4", "3"}, "axis=1;broadcast=1", 24, 0},
		{"Where", 13, {"3,1", "1,4", "1"}, NULL, 12, 0},
		{"IsNaN", 13, {"2,3"}, NULL, 6, 0},
		{"Sum", 13, {"2,1", "1,3", "1"}, NULL, 6, 0},
		/* convolutions: padding, stride, dilation, groups, automatic padding, one dimension */
		{"Conv", 13, {"1,3,8,8", "16,3,3,3", "16"}, "pads=1,1,1,1", 16 * 64, 16.0 * 64 * 27},
		{"Conv", 13, {"2,4,9,9", "8,1,3,3"}, "group=4;strides=2,2;dilations=2,2", 2 * 8 * 9,
		 2.0 * 8 * 9 * 9},
		{"Conv", 13, {"1,3,7,7", "4,3,3,3"}, "auto_pad=SAME_UPPER;strides=2,2", 4 * 16,
		 4.0 * 16 * 27},
		{"Conv", 13, {"1,3,7,7", "4,3,3,3"}, "auto_pad=VALID;strides=2,2", 4 * 9, 4.0 * 9 * 27},
		{"Conv", 13, {"1,2,10", "5,2,4"}, NULL, 5 * 7, 5.0 * 7 * 8},
		{"ConvTranspose", 13, {"1,4,5,5", "4,2,3,3"}, "strides=2,2;pads=1,1,1,1;output_padding=1,1",
		 2 * 100, 100.0 * 18},
		{"ConvTranspose", 13, {"1,4,5,5", "4,2,2,2"}, "strides=2,2", 2 * 100, 100.0 * 8},
		/* pooling: floor and ceiling; the last window may not start in the padding */
		{"MaxPool", 13, {"1,2,6,6"}, "kernel_shape=3,3;strides=2,2", 2 * 4, 0},
		{"MaxPool", 13, {"1,2,6,6"}, "kernel_shape=3,3;strides=2,2;ceil_mode=1", 2 * 9, 0},
		{"AveragePool", 13, {"1,1,5,5"}, "kernel_shape=2,2;strides=3,3;pads=1,1,1,1;ceil_mode=1", 4,
		 0},
		{"GlobalAveragePool", 13, {"2,7,5,5"}, NULL, 14, 0},
		/* products */
		{"MatMul", 13, {"2,1,3,4", "5,4,6"}, NULL, 2 * 5 * 18, 2.0 * 5 * 18 * 4},
		{"MatMul", 13, {"4", "4,6"}, NULL, 6, 24},
		{"MatMul", 13, {"3,4", "4"}, NULL, 3, 12},
		{"MatMul", 13, {"4", "4"}, NULL, 1, 4},
		{"Gemm", 13, {"4,3", "5,4"}, "transA=1;transB=1", 15, 60},
		{"Einsum", 13, {"2,3,4", "2,4,5"}, "equation=bij, bjk -> bik", 30, 120},
		{"Einsum", 13, {"7,2,3", "3,5"}, "equation=...ij,jk->...ik", 70, 210},
		{"Einsum", 13, {"3,4"}, "equation=ij->", 1, 12},
		{"Einsum", 13, {"3,4", "4,2"}, "equation=ij,jk", 6, 24},
	};
	run_cases(cases, sizeof cases / sizeof *cases);
}

static void test_shapes_by_axes(void **state)
{
	(void)state;
	static const shape_case cases[] = {
		/* recurrent: steps 5, batch 2, input 3, hidden 4 */
		{"LSTM", 13, {"5,2,3", "1,16,3", "1,16,4"}, "hidden_size=4", 40, 5.0 * 2 * 4 * 4 * 7},
		{"GRU", 13, {"5,2,3", "2,12,3", "2,12,4"}, "hidden_size=4;direction=bidirectional", 80,
		 5.0 * 2 * 2 * 3 * 4 * 7},
		{"RNN", 14, {"2,5,3", "1,4,3", "1,4,4"}, "hidden_size=4;layout=1", 40, 5.0 * 2 * 4 * 7},
		/* axes as attributes and as inputs */
		{"ReduceMean", 13, {"2,3,4"}, "axes=1,-1;keepdims=0", 2, 0},
		{"ReduceMean", 18, {"2,3,4", "=1,-1"}, "keepdims=1", 2, 0},
		{"ReduceSum", 13, {"2,3,4", "=2"}, "keepdims=0", 6, 0},
		{"ReduceMax", 13, {"2,3,4"}, "keepdims=0", 1, 0},
		{"ReduceSum", 13, {"2,3,4"}, "noop_with_empty_axes=1", 24, 0},
		{"ArgMax", 13, {"2,3,4"}, "axis=1;keepdims=0", 8, 0},
		{"Squeeze", 11, {"1,3,1,2"}, "axes=0,2", 6, 0},
		{"Squeeze", 13, {"1,3,1,2", "=-2"}, NULL, 6, 0},
		{"Unsqueeze", 11, {"3,2"}, "axes=0,3", 6, 0},
		{"Split", 11, {"6,4"}, "axis=0;split=2,4", 8, 0},
		{"Split", 13, {"6,4", "=5,1"}, NULL, 20, 0},
		{"Slice", 9, {"8,6"}, "starts=1,-3;ends=100,-1;axes=0,1", 14, 0},
		{"Slice", 13, {"8,6", "=7", "=-100", "=0"}, NULL, 0, 0},
		{"Slice", 13, {"8,6", "=2,0", "=9223372036854775807,5"}, NULL, 30, 0},
		{"Pad", 10, {"2,3"}, "pads=0,1,0,2", 12, 0},
		{"Pad", 13, {"2,3", "=1,1,1,1"}, NULL, 20, 0},
	};
	run_cases(cases, sizeof cases / sizeof *cases);
}

static void test_shapes_moved(void **state)
{
	(void)state;
	static const shape_case cases[] = {
		{"Reshape", 13, {"2,3,4", "=0,-1"}, NULL, 24, 0},
		{"Flatten", 13, {"2,3,4"}, "axis=-1", 24, 0},
		{"Transpose", 13, {"2,3,4"}, "perm=2,0,1", 24, 0},
		{"Expand", 13, {"3,1", "=2,1,6"}, NULL, 36, 0},
		{"Tile", 13, {"2,3", "=2,5"}, NULL, 60, 0},
		{"Gather", 13, {"5,7", "=0,1,2"}, "axis=1", 15, 0},
		{"Concat", 13, {"2,3", "2,5"}, "axis=-1", 16, 0},
		{"TopK", 13, {"2,9", "=4"}, NULL, 8, 0},
		{"Resize", 13, {"1,1,4,4", "-", "-", "=1,1,8,6"}, NULL, 48, 0},
		{"DepthToSpace", 13, {"1,8,2,3"}, "blocksize=2", 48, 0},
		{"SpaceToDepth", 13, {"1,2,4,6"}, "blocksize=2", 48, 0},
		{"GatherElements", 13, {"5,7", "2,3"}, NULL, 6, 0},
		{"GatherND", 13, {"5,7,2", "4,2"}, NULL, 8, 0},
		{"GatherND", 13, {"3,7,2", "3,4,1"}, "batch_dims=1", 24, 0},
		{"ScatterElements", 13, {"5,7", "2,3", "2,3"}, NULL, 35, 0},
		{"CenterCropPad", 18, {"3,10,8", "=4,12"}, "axes=1,2", 144, 0},
		{"Col2Im", 18, {"1,18,12", "=4,6", "=3,3"}, NULL, 48, 0},
		{"PRelu", 13, {"2,3,4", "3,1"}, NULL, 24, 0},
		{"MaxUnpool", 13, {"1,2,3,3", "1,2,3,3"}, "kernel_shape=2,2;strides=2,2", 72, 0},
		{"MaxRoiPool", 13, {"1,3,8,8", "5,5"}, "pooled_shape=2,2", 60, 0},
		{"RoiAlign", 16, {"1,3,8,8", "5,4", "5"}, "output_height=2;output_width=3", 90, 0},
		{"GridSample", 16, {"2,3,8,8", "2,4,5,2"}, NULL, 120, 0},
		{"AffineGrid", 20, {"2,2,3", "=2,3,4,5"}, NULL, 80, 0},
		{"DFT", 17, {"2,10,1"}, "axis=1;onesided=1", 24, 0},
		{"DFT", 20, {"2,10,1"}, NULL, 40, 0},
		{"STFT", 17, {"1,100,1", "=10", "20"}, NULL, 9 * 11 * 2, 0},
		{"Det", 13, {"4,3,3"}, NULL, 4, 0},
		{"NegativeLogLikelihoodLoss", 13, {"4,5", "4"}, "reduction=none", 4, 0},
		{"SoftmaxCrossEntropyLoss", 13, {"4,5", "4"}, NULL, 1, 0},
		{"Attention", 23, {"2,4,6,8", "2,4,9,8", "2,4,9,5"}, NULL, 240, 2.0 * 4 * 6 * 9 * 13},
		{"SwiGLU", 28, {"2,5,8", "2,5,8"}, NULL, 80, 0},
		{"CausalConvWithState", 27, {"2,5,8", "5,1,4"}, NULL, 80, 2 * 5 * 8 * 4},
		{"LinearAttention", 27, {"2,5,12", "2,5,6", "2,5,8"}, "q_num_heads=4;kv_num_heads=2", 160,
		 2.0 * 5 * 3 * 4 * (4 + 2 * 2)},
		{"LinearAttention", 27, {"2,5,12", "2,5,6", "2,5,8"},
		 "q_num_heads=4;kv_num_heads=2;update_rule=gated", 160, 2.0 * 5 * 3 * 4 * (4 + 2)},
		{"LayerNormalization", 17, {"2,5,8", "8", "8"}, NULL, 80, 0},
		{"BatchNormalization", 13, {"2,5,3,3", "5", "5", "5", }, NULL, 90, 0},
	};
	run_cases(cases, sizeof cases / sizeof *cases);
}

/* The shape of the work, which a time is predicted from. */
static void test_dims(void **state)
{
	(void)state;
#define P BERTH_DIMS_PRODUCT
#define C BERTH_DIMS_CONV
#define R BERTH_DIMS_ROWS
	static const struct {
		shape_case c;
		berth_dims_kind kind;
		int64_t at[BERTH_MOST_DIMS];
	} rows[] = {
		{{"Conv", 13, {"2,4,9,9", "8,1,3,3"}, "group=4;strides=2,2;dilations=2,2", 0, 0}, C,
		 {2, 4, 8, 9, 9, 2, 4, 2}},
		{{"Conv", 13, {"1,2,10", "5,2,4"}, NULL, 0, 0}, C, {1, 2, 5, 7, 4, 1, 1, 1}},
		{{"ConvTranspose", 13, {"1,4,5,5", "4,2,3,3"}, "strides=2,2;group=2", 0, 0}, C,
		 {1, 4, 4, 25, 9, 2, 2, 1}},
		{{"Gemm", 13, {"4,3", "5,4"}, "transA=1;transB=1", 0, 0}, P, {1, 3, 5, 4}},
		{{"MatMul", 13, {"2,3,4", "4,6"}, NULL, 0, 0}, P, {1, 6, 6, 4}},
		{{"MatMul", 13, {"2,3,4", "1,4,6"}, NULL, 0, 0}, P, {1, 6, 6, 4}},
		{{"MatMul", 13, {"2,1,3,4", "5,4,6"}, NULL, 0, 0}, P, {5, 6, 6, 4}},
		{{"MatMul", 13, {"3,4", "4"}, NULL, 0, 0}, P, {1, 3, 1, 4}},
		{{"MatMul", 13, {"4", "4,6"}, NULL, 0, 0}, P, {1, 1, 6, 4}},
		{{"Einsum", 13, {"2,3,4", "2,4,5"}, "equation=bij, bjk -> bik", 0, 0}, P, {2, 3, 5, 4}},
		{{"Einsum", 13, {"7,2,3", "3,5"}, "equation=...ij,jk->...ik", 0, 0}, P, {1, 14, 5, 3}},
		{{"Einsum", 13, {"3,4"}, "equation=ij->", 0, 0}, BERTH_DIMS_NONE, {0}},
		{{"LSTM", 13, {"5,2,3", "1,16,3", "1,16,4"}, "hidden_size=4", 0, 0}, BERTH_DIMS_NONE, {0}},
		{{"Attention", 23, {"2,4,6,8", "2,4,9,8", "2,4,9,5"}, NULL, 0, 0}, BERTH_DIMS_NONE, {0}},
		{{"Add", 13, {"4,1,3", "5,1"}, NULL, 0, 0}, R, {20, 3}},
		{{"Softmax", 13, {"2,3,4"}, "axis=1", 0, 0}, R, {8, 3}},
		{{"Softmax", 11, {"2,3,4"}, NULL, 0, 0}, R, {2, 12}},
		{{"LayerNormalization", 17, {"2,5,8", "5,8"}, "axis=1", 0, 0}, R, {2, 40}},
		{{"GroupNormalization", 21, {"2,6,5,5", "6", "6"}, "num_groups=3", 0, 0}, R, {6, 50}},
		{{"InstanceNormalization", 13, {"2,5,3,3", "5", "5"}, NULL, 0, 0}, R, {10, 9}},
		{{"MaxPool", 13, {"1,2,6,6"}, "kernel_shape=3,3;strides=2,2", 0, 0}, R, {2, 36}},
		{{"ReduceMean", 13, {"2,3,4"}, "axes=1,-1;keepdims=0", 0, 0}, R, {2, 12}},
		{{"ArgMax", 13, {"2,3,4"}, "axis=1;keepdims=0", 0, 0}, R, {8, 3}},
		{{"TopK", 13, {"2,9", "=4"}, NULL, 0, 0}, R, {2, 9}},
		{{"Split", 11, {"6,4"}, "axis=0;split=2,4", 0, 0}, R, {6, 4}},
	};
#undef P
#undef C
#undef R
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		model m;
		build_case(&rows[i].c, &m);
		shapes_check(&m.g, "op", BERTH_F32, rows[i].kind, rows[i].at);
		berth_arena_free(&m.mem);
	}
}

/* ---- folding and parameters ---- */

/* A stripped model: the weight is made by ConstantOfShape, the shape of the reshape by Shape, Gather and
 * Concat. */
static void test_folding(void **state)
{
	(void)state;
	bytes graph = {0}, axis = {0};
	model m;
	int64_t four[] = {6, 3, 1, 1}, zero = 0, minus = -1;
	put_value(&graph, VALUE_IN, "x", F32, "2,3,4,4");
	put_ints(&graph, "weight_shape", four, 4);
	put_ints(&graph, "zero", &zero, 1);
	put_ints(&graph, "minus", &minus, 1);
	attr_int(&axis, "axis", 0);
	put_node(&graph, "ConstantOfShape", "", "weight_shape", "w", NULL);
	put_node(&graph, "Conv", "conv", "x,w", "c", NULL);
	put_node(&graph, "Shape", "", "x", "s", NULL);
	put_node(&graph, "Gather", "", "s,zero", "b", &axis);
	put_node(&graph, "Concat", "", "b,minus", "to", &axis);
	put_node(&graph, "Reshape", "reshape", "c,to", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.g.n_ops, 2);
	assert_int_equal(m.r.n_folded, 4);
	assert_int_equal(m.g.n_edges, 1);
	assert_string_equal(m.g.tensor_name[0], "c");
	assert_int_equal(m.g.tensor_bytes[0], 2 * 6 * 16 * 4);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "conv")], 18 * 4);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "reshape")], 0);
	assert_int_equal(m.g.op_read_bytes[op_of(&m, "reshape")], 2 * 6 * 16 * 4 + 2 * 8);
	assert_near(m.g.op_macs[op_of(&m, "conv")], 2 * 6 * 16 * 3, 0);
	assert_near(m.r.param_elements, 18, 0);
	berth_arena_free(&m.mem);
}

/* One weight used as it is, transposed and through an alias is one shared parameter. */
static void test_shared_parameter(void **state)
{
	(void)state;
	bytes graph = {0};
	model m;
	put_value(&graph, VALUE_IN, "x", F32, "2,4");
	put_weight(&graph, "w", F32, "4,4");
	put_node(&graph, "Transpose", "", "w", "wt", NULL);
	put_node(&graph, "Identity", "", "w", "alias", NULL);
	put_node(&graph, "MatMul", "a", "x,w", "p", NULL);
	put_node(&graph, "MatMul", "b", "p,wt", "q", NULL);
	put_node(&graph, "MatMul", "c", "q,alias", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.g.n_ops, 3);
	assert_int_equal(m.g.n_params, 1);
	assert_string_equal(m.g.param_name[0], "w");
	assert_int_equal(m.g.param_bytes[0], 64);
	assert_int_equal(m.g.param_op_off[1], 3);
	assert_int_equal(m.g.op_param_bytes[0] + m.g.op_param_bytes[1] + m.g.op_param_bytes[2], 0);
	assert_int_equal(m.g.op_read_bytes[1], 2 * 4 * 4 + 64);
	assert_near(m.r.param_elements, 16, 0);
	berth_arena_free(&m.mem);
}

/* Quantised weights count at their stored width, also where a folded node widens them; int32 only as a
 * bias. */
static void test_quantised(void **state)
{
	(void)state;
	bytes graph = {0};
	model m;
	put_value(&graph, VALUE_IN, "x", U8, "1,2,3,3");
	put_value(&graph, VALUE_IN, "f", F32, "1,2,3,3");
	put_weight(&graph, "w", I8, "4,2,1,1");
	put_weight(&graph, "bias", I32, "4");
	put_weight(&graph, "zu", U8, "");
	put_weight(&graph, "zi", I8, "");
	put_weight(&graph, "s", F32, "");
	put_weight(&graph, "index", I32, "5");
	put_weight(&graph, "v", I8, "4,2,1,1");
	put_node(&graph, "QLinearConv", "q", "x,s,zu,w,s,zi,s,zu,bias", "y", NULL);
	put_node(&graph, "DequantizeLinear", "", "v,s,zi", "vf", NULL);
	put_node(&graph, "Conv", "c", "f,vf", "z", NULL);
	put_value(&graph, VALUE_OUT, "y", U8, NULL);
	put_value(&graph, VALUE_OUT, "z", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "q")], 8 + 4 * 4 + 1);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "c")], 8);
	assert_int_equal(m.g.n_params, 2); /* the scale and one zero point */
	assert_near(m.g.op_macs[op_of(&m, "q")], 4 * 9 * 2, 0);
	assert_int_equal(m.g.op_output_bytes[op_of(&m, "q")], 4 * 9);
	assert_shape(&m.g, "q", BERTH_INT8, CONV, 1, 2, 4, 9, 1, 1, 1, 1);
	assert_shape(&m.g, "c", BERTH_F32, CONV, 1, 2, 4, 9, 1, 1, 1, 1);
	berth_arena_free(&m.mem);
}

/* ---- weights that are graph inputs ---- */

static bool is_constant_input(const model *m, const char *op, int64_t param_bytes)
{
	return m->g.op_param_bytes[op_of(m, op)] == param_bytes;
}

/* Bytes of weights and activations of each type; the work is the same. */
static void test_element_types(void **state)
{
	(void)state;
	static const struct {
		int elem;
		double bytes;
		berth_precision dtype;
	} types[] = {{1, 4, BERTH_F32},    {10, 2, BERTH_F16},    {16, 2, BERTH_BF16},
	             {11, 8, BERTH_F64},   {17, 1, BERTH_F8},     {19, 1, BERTH_F8},
	             {3, 1, BERTH_INT8},   {21, 0.5, BERTH_INT4}, {22, 0.5, BERTH_INT4},
	             {23, 0.5, BERTH_F32}}; /* the last has no name here */
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		bytes graph = {0};
		model m;
		put_value(&graph, VALUE_IN, "x", types[i].elem, "3,8");
		put_weight(&graph, "w", types[i].elem, "8,6");
		put_node(&graph, "MatMul", "m", "x,w", "y", NULL);
		put_value(&graph, VALUE_OUT, "y", types[i].elem, NULL);
		read_graph(&graph, 21, &m);
		assert_near((double)m.g.op_param_bytes[0], 48 * types[i].bytes, 0);
		assert_near((double)m.g.op_read_bytes[0], (24 + 48) * types[i].bytes, 0);
		assert_near((double)m.g.op_output_bytes[0], 18 * types[i].bytes, 0);
		assert_near(m.g.op_macs[0], 3 * 8 * 6, 0);
		assert_shape(&m.g, "m", types[i].dtype, PRODUCT, 1, 3, 6, 8);
		assert_near(m.r.param_elements, 48, 0);
		assert_int_equal(m.r.n_unknown, 0);
		berth_arena_free(&m.mem);
	}
}

/* Quantised and back between operators, as QDQ models are written: activations stay operators, weights do
 * not. */
static void test_qdq(void **state)
{
	(void)state;
	bytes graph = {0};
	model m;
	put_value(&graph, VALUE_IN, "x", F32, "1,2,3,3");
	put_weight(&graph, "w", I8, "4,2,1,1");
	put_weight(&graph, "s", F32, "");
	put_weight(&graph, "z", I8, "");
	put_node(&graph, "QuantizeLinear", "q", "x,s,z", "xq", NULL);
	put_node(&graph, "DequantizeLinear", "dq", "xq,s,z", "xf", NULL);
	put_node(&graph, "DequantizeLinear", "dw", "w,s,z", "wf", NULL);
	put_node(&graph, "Conv", "conv", "xf,wf", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.g.n_ops, 3);
	assert_int_equal(m.g.op_write_bytes[op_of(&m, "q")], 18);
	assert_int_equal(m.g.op_write_bytes[op_of(&m, "dq")], 18 * 4);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "conv")], 8);
	assert_near(m.g.op_macs[op_of(&m, "conv")], 4 * 9 * 2, 0);
	for (int i = 0; i < 3; i++) /* what runs between the whole numbers is floats */
		assert_int_equal(m.g.op_dtype[i], 0);
	berth_arena_free(&m.mem);
}

static void test_weight_inputs(void **state)
{
	(void)state;
	bytes graph = {0}, perm = {0};
	model m;
	int64_t swap[] = {0, 2, 1};
	attr_ints(&perm, "perm", swap, 3);
	put_value(&graph, VALUE_IN, "words", I64, "1,6");
	put_value(&graph, VALUE_IN, "mask", F32, "1,1,6,6");
	put_value(&graph, VALUE_IN, "table", F32, "50,8");
	put_value(&graph, VALUE_IN, "w", F32, "8,8");
	put_value(&graph, VALUE_IN, "b", F32, "8");
	put_value(&graph, VALUE_IN, "place", F32, "1,6,8");
	put_value(&graph, VALUE_IN, "scale", F32, "8");
	put_value(&graph, VALUE_IN, "shift", F32, "8");
	put_node(&graph, "Gather", "embed", "table,words", "e", NULL);
	put_node(&graph, "Add", "placed", "e,place", "h", NULL);
	put_node(&graph, "Transpose", "", "w", "wt", NULL);
	put_node(&graph, "MatMul", "product", "h,wt", "p", NULL);
	put_node(&graph, "Add", "biased", "b,p", "q", NULL);
	put_node(&graph, "LayerNormalization", "norm", "q,scale,shift", "n", NULL);
	put_node(&graph, "Transpose", "turned", "n", "t", &perm);
	put_node(&graph, "MatMul", "scores", "n,t", "s", NULL);
	put_node(&graph, "Add", "masked", "s,mask", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 17, &m);
	assert_int_equal(m.r.n_weight_inputs, 6);
	assert_true(is_constant_input(&m, "embed", 50 * 8 * 4));
	assert_true(is_constant_input(&m, "placed", 6 * 8 * 4)); /* listed after the embedding table */
	assert_true(is_constant_input(&m, "product", 8 * 8 * 4));
	assert_true(is_constant_input(&m, "biased", 8 * 4));
	assert_true(is_constant_input(&m, "norm", 2 * 8 * 4));
	assert_true(is_constant_input(&m, "scores", 0));
	assert_true(is_constant_input(&m, "masked", 0)); /* listed before the first weight: data */
	assert_int_equal(m.g.n_ops, 8);
	berth_arena_free(&m.mem);
}

/* Two images that are added, a picture and its mask, states of a recurrent network: data. */
static void test_data_inputs(void **state)
{
	(void)state;
	bytes graph = {0};
	model m;
	put_value(&graph, VALUE_IN, "a", F32, "1,3,4,4");
	put_value(&graph, VALUE_IN, "b", F32, "1,3,4,4");
	put_value(&graph, VALUE_IN, "n", F32, "batch,4");
	put_value(&graph, VALUE_IN, "h", F32, "1,1,4");
	put_value(&graph, VALUE_IN, "w", F32, "5,3,1,1");
	put_node(&graph, "Add", "sum", "a,b", "s", NULL);
	put_node(&graph, "Mul", "noise", "s,n", "t", NULL);
	put_node(&graph, "Conv", "conv", "t,w", "y", NULL);
	put_node(&graph, "Relu", "state", "h", "z", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	put_value(&graph, VALUE_OUT, "z", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.r.n_weight_inputs, 1);
	assert_true(is_constant_input(&m, "conv", 5 * 3 * 4));
	assert_true(is_constant_input(&m, "sum", 0));
	assert_true(is_constant_input(&m, "noise", 0));
	assert_int_equal(m.g.n_ops, 4);
	berth_arena_free(&m.mem);
	/* a vector that is added to a vector, and one to a picture */
	graph.n = 0;
	put_value(&graph, VALUE_IN, "a", F32, "6");
	put_value(&graph, VALUE_IN, "b", F32, "6");
	put_value(&graph, VALUE_IN, "w", F32, "1,3,4,6");
	put_node(&graph, "Add", "sum", "a,b", "s", NULL);
	put_node(&graph, "Mul", "conv", "w,s", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.r.n_weight_inputs, 0);
	assert_int_equal(m.g.op_param_bytes[0] + m.g.op_param_bytes[1], 0);
	berth_arena_free(&m.mem);
	/* Weights in the file: every graph input is data, whatever slot it feeds. */
	put_weight(&graph, "inside", F32, "3");
	read_graph(&graph, 13, &m);
	assert_int_equal(m.r.n_weight_inputs, 0);
	assert_true(is_constant_input(&m, "conv", 0));
	berth_arena_free(&m.mem);
}

/* From IR 4 on a caller may give an initializer that is an input: it is held, and nothing is folded. */
static void test_defaults(void **state)
{
	(void)state;
	static bytes graph, file;
	berth_arena tmp = {0};
	berth_err err;
	model m = {0};
	put_value(&graph, VALUE_IN, "x", F32, "2,8");
	put_value(&graph, VALUE_IN, "w", F32, "open,8");
	put_weight(&graph, "w", F32, "4,8");
	put_node(&graph, "Transpose", "turned", "w", "t", NULL);
	put_node(&graph, "MatMul", "product", "x,t", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.g.n_ops, 2);
	assert_true(is_constant_input(&m, "turned", 4 * 8 * 4));
	assert_true(is_constant_input(&m, "product", 0));
	assert_int_equal(m.r.n_dims + m.r.n_guessed, 0); /* the default has a size */
	berth_arena_free(&m.mem);
	put_model(&file, &graph, 13);
	file.data[1] = 3; /* ir_version */
	assert_ok(berth_graph_parse_onnx("t", file.data, file.n, NULL, &m.mem, &tmp, &m.g, &m.r, &err), &err);
	assert_int_equal(m.g.n_ops, 1);
	assert_true(is_constant_input(&m, "product", 4 * 8 * 4));
	berth_arena_free(&m.mem);
	berth_arena_free(&tmp);
}

/* ---- nodes ---- */

static void test_names(void **state)
{
	(void)state;
	bytes graph = {0};
	model m;
	put_value(&graph, VALUE_IN, "x", F32, "4");
	put_node(&graph, "Relu", "same", "x", "a", NULL);
	put_node(&graph, "Relu", "same", "a", "b", NULL);
	put_node(&graph, "Relu", "", "b", "c", NULL);
	put_node(&graph, "Relu", "d", "c", "e", NULL);
	put_node(&graph, "Relu", "", "e", "d", NULL); /* its output is called like the node before */
	put_node(&graph, "Dropout", "", "d,,", ",mask", NULL);
	read_graph(&graph, 13, &m);
	static const char *const expected[] = {"a", "b", "c", "d", "d#4", "mask"};
	for (int32_t op = 0; op < 6; op++)
		assert_string_equal(m.g.op_name[op], expected[op]);
	assert_int_equal(m.g.n_edges, 5);
	berth_arena_free(&m.mem);
}

static void test_unknown_operator(void **state)
{
	(void)state;
	bytes graph = {0};
	model m;
	put_value(&graph, VALUE_IN, "x", F32, "4");
	put_node(&graph, "Frobnicate", "one", "x", "a", NULL);
	put_node(&graph, "Frobnicate", "two", "a", "b", NULL);
	put_node(&graph, "Relu", "three", "b", "y", NULL);
	put_value(&graph, VALUE_INFO, "a", F32, "4,5");
	put_value(&graph, VALUE_INFO, "b", F32, "rows,5"); /* a symbol that no input has: unknown */
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.r.n_warnings, 1);
	assert_contains(m.r.warning[0], "'Frobnicate'");
	assert_int_equal(m.g.op_write_bytes[0], 80);
	assert_int_equal(m.g.op_write_bytes[1], 20);
	assert_near(m.g.op_flops[0], 20, 0);
	assert_int_equal(m.r.n_outputs, 3);
	assert_int_equal(m.r.n_unknown, 2);
	berth_arena_free(&m.mem);
}

/* The body of an If takes a tensor from outside: an edge; its own initializers are parameters of the node. */
static void test_bodies(void **state)
{
	(void)state;
	bytes graph = {0}, body = {0}, attrs = {0}, inner = {0}, loop = {0};
	model m;
	put_node(&inner, "Add", "", "deep,local", "deeper", NULL);
	put_value(&inner, VALUE_OUT, "deeper", F32, NULL);
	attr_graph(&loop, "body", &inner);
	put_node(&body, "Mul", "", "h,w", "local", NULL);
	put_node(&body, "Loop", "", ",", "out", &loop);
	put_weight(&body, "w", F32, "4");
	put_value(&body, VALUE_OUT, "out", F32, NULL);
	attr_graph(&attrs, "then_branch", &body);
	attr_graph(&attrs, "else_branch", &body);
	put_value(&graph, VALUE_IN, "x", F32, "4");
	put_value(&graph, VALUE_IN, "cond", 9, "");
	put_node(&graph, "Relu", "r", "x", "h", NULL);
	put_node(&graph, "Relu", "s", "x", "deep", NULL);
	put_node(&graph, "If", "if", "cond", "y", &attrs);
	put_value(&graph, VALUE_OUT, "y", F32, "4");
	read_graph(&graph, 13, &m);
	assert_int_equal(m.g.n_ops, 3);
	assert_int_equal(m.g.n_edges, 2);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "if")], 2 * 16);
	assert_int_equal(m.g.op_read_bytes[op_of(&m, "if")], 1 + 16 + 16 + 32);
	assert_int_equal(m.r.n_warnings, 0);
	berth_arena_free(&m.mem);
}

/* Sparse and external tensors: sizes come from what the file says of them; nothing else is opened. */
static void test_external(void **state)
{
	(void)state;
	bytes graph = {0}, t = {0}, entry = {0};
	model m;
	put_text(&entry, 1, "location");
	put_text(&entry, 2, "/no/such/file");
	put_number(&t, 1, 1000);
	put_number(&t, 1, 1000);
	put_number(&t, 2, F32);
	put_text(&t, 8, "w");
	put_message(&t, 13, &entry);
	put_number(&t, 14, 1);
	put_message(&graph, 5, &t);
	put_value(&graph, VALUE_IN, "x", F32, "1,1000");
	put_node(&graph, "MatMul", "m", "x,w", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, &m);
	assert_int_equal(m.g.op_param_bytes[0], 4000000);
	berth_arena_free(&m.mem);
}

/* A place in another file that is no whole number, or not as long as the tensor, is refused. */
static void test_external_numbers(void **state)
{
	(void)state;
	static const struct { const char *key, *value, *told; } cases[] = {
		{"offset", "0", NULL},      {"offset", "9223372036854775807", NULL},
		{"length", "4000", NULL},   {"offset", "-5", "offset of a tensor in another file is '-5'"},
		{"offset", "12abc", "'12abc'; expected a whole number"},
		{"offset", " 1", "' 1'"},   {"offset", "+1", "'+1'"},
		{"offset", "", "''"},       {"offset", "9223372036854775808", "'9223372036854775808'"},
		{"length", "-1", "length"}, {"length", "3999", "has 3999 bytes in another file"},
		{"length", "4001", "its type and shape make 4000"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bytes file = {0}, graph = {0}, t = {0}, name = {0}, entry = {0};
		model m = {0};
		berth_arena tmp = {0};
		berth_err err;
		put_text(&name, 1, "location");
		put_text(&name, 2, "w.data");
		put_text(&entry, 1, cases[i].key);
		put_text(&entry, 2, cases[i].value);
		put_number(&t, 1, 1000);
		put_number(&t, 2, F32);
		put_text(&t, 8, "w");
		put_message(&t, 13, &name);
		put_message(&t, 13, &entry);
		put_number(&t, 14, 1);
		put_message(&graph, 5, &t);
		put_value(&graph, VALUE_IN, "x", F32, "1,1000");
		put_node(&graph, "Add", "m", "x,w", "y", NULL);
		put_value(&graph, VALUE_OUT, "y", F32, NULL);
		put_model(&file, &graph, 13);
		berth_status st = berth_graph_parse_onnx("t.onnx", file.data, file.n, NULL, &m.mem, &tmp,
		                                         &m.g, &m.r, &err);
		assert_int_equal(st, cases[i].told ? BERTH_EFORMAT : BERTH_OK);
		if (cases[i].told)
			assert_contains(err.msg, cases[i].told);
		berth_arena_free(&m.mem);
		berth_arena_free(&tmp);
	}
}

/* ---- large files ---- */

/* 100 MB of weights inside the file: passed over, not read. The file is sparse, so the test is quick. */
static void test_weights_are_not_read(void **state)
{
	(void)state;
	static bytes head, tail;
	char path[] = "/tmp/berth_onnx_XXXXXX";
	bytes t = {0}, set = {0}, node = {0}, in = {0}, out = {0};
	const size_t weight = 100 * 1000 * 1000;
	metering_allocator c;
	berth_arena mem, tmp;
	berth_graph g;
	berth_err err;
	metering_allocator_init(&c);
	berth_arena_init(&mem, &c.hook);
	berth_arena_init(&tmp, &c.hook);
	/* model { graph { input, node, output, initializer { ..., raw_data of 100 MB } }, opset } */
	put_value(&in, VALUE_IN, "x", F32, "1,5000");
	put_node(&node, "MatMul", "m", "x,w", "y", NULL);
	put_value(&out, VALUE_OUT, "y", F32, NULL);
	put_number(&t, 1, 5000);
	put_number(&t, 1, 5000);
	put_number(&t, 2, F32);
	put_text(&t, 8, "w");
	put_tag(&t, 9, 2);
	put_varint(&t, weight);
	bytes graph = {0};
	put_raw(&graph, in.data, in.n);
	put_raw(&graph, node.data, node.n);
	put_raw(&graph, out.data, out.n);
	put_tag(&graph, 5, 2);
	put_varint(&graph, t.n + weight);
	put_raw(&graph, t.data, t.n);
	head.n = tail.n = 0;
	put_number(&head, 1, 8);
	put_tag(&head, 7, 2);
	put_varint(&head, graph.n + weight);
	put_raw(&head, graph.data, graph.n);
	put_number(&set, 2, 13);
	put_message(&tail, 8, &set);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, head.data, head.n, 0), (ssize_t)head.n);
	assert_int_equal(pwrite(fd, tail.data, tail.n, (off_t)(head.n + weight)), (ssize_t)tail.n);
	close(fd);
	long faults = support_page_faults();
	berth_status st = berth_graph_load(path, NULL, &mem, &tmp, &g, NULL, &err);
	faults = support_page_faults() - faults;
	print_message("%ld page faults\n", faults);
	unlink(path);
	assert_ok(st, &err);
	assert_int_equal(g.op_param_bytes[0], weight);
	assert_true(faults < 500); /* 100 MB are 24,000 pages, and the kernel brings in 16 at once */
	assert_true(c.peak < 1 << 20);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_shapes_of_products),
		cmocka_unit_test(test_shapes_by_axes),
		cmocka_unit_test(test_shapes_moved),
		cmocka_unit_test(test_dims),
		cmocka_unit_test(test_folding),
		cmocka_unit_test(test_shared_parameter),
		cmocka_unit_test(test_quantised),
		cmocka_unit_test(test_element_types),
		cmocka_unit_test(test_qdq),
		cmocka_unit_test(test_weight_inputs),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_data_inputs),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_unknown_operator),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_external),
		cmocka_unit_test(test_external_numbers),
		cmocka_unit_test(test_weights_are_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
