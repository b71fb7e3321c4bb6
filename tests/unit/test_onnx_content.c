/* Contents of small tensors, as shapes depend on them: each folding operator on numbers worked out by hand
 * (numpy's rules). */
#include "onnx_bytes.h"
#include "onnx_infer.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text of a tensor: "i2,3:1 2 3 4 5 6" int64, "f:2.5" float32 scalar, "b2:1 0" bool, "h1:1.5" half. */
static int elem_of(char c)
{
	return c == 'i'   ? ONNX_INT64
	       : c == 'f' ? ONNX_FLOAT
	       : c == 'd' ? ONNX_DOUBLE
	       : c == 'w' ? ONNX_INT32
	       : c == 'u' ? ONNX_UINT8
	                  : ONNX_BOOL;
}

static int numbers(const char *p, double x[64])
{
	int n = 0;
	for (char *end; *p && *p != ';'; p = end) {
		x[n] = strtod(p, &end);
		if (end == p)
			break;
		n++;
	}
	return n;
}

/* The TensorProto of a text, typed fields (raw: raw_data). */
static void put_tensor(bytes *t, const char *name, const char *text, bool raw)
{
	const char *colon = strchr(text, ':');
	double x[64];
	int elem = elem_of(*text), n = numbers(colon + 1, x);
	bytes data = {0};
	for (const char *p = text + 1; p < colon;) {
		char *end;
		put_number(t, 1, (uint64_t)strtoll(p, &end, 10));
		p = end + (*end == ',');
	}
	put_number(t, 2, (uint64_t)elem);
	for (int i = 0; i < n; i++) {
		float f = (float)x[i];
		int64_t k = (int64_t)x[i];
		if (elem == ONNX_FLOAT)
			put_raw(&data, &f, 4);
		else if (elem == ONNX_DOUBLE)
			put_raw(&data, &x[i], 8);
		else if (raw)
			put_raw(&data, &k, elem == ONNX_INT64 ? 8 : elem == ONNX_INT32 ? 4 : 1);
		else
			put_varint(&data, (uint64_t)k);
	}
	put_message(t,
	            raw                   ? 9
	            : elem == ONNX_FLOAT  ? 4
	            : elem == ONNX_DOUBLE ? 10
	            : elem == ONNX_INT64  ? 7
	                                  : 5,
	            &data);
	put_text(t, 8, name);
}

typedef struct fold_case {
	const char *type;
	const char *in[4];
	const char *attr;     /* "axis=1" single numbers; lists for perm */
	const char *expected; /* of output 0, or NULL: not known; output k after k ';' signs */
	int opset;
} fold_case;

static void put_attrs(bytes *attrs, const char *text)
{
	while (text && *text) {
		char name[32], *end;
		int64_t list[8];
		int n = 0;
		size_t len = strcspn(text, "=");
		snprintf(name, sizeof name, "%.*s", (int)len, text);
		for (text += len; *text == '=' || *text == ','; text = end)
			list[n++] = strtoll(text + 1, &end, 10);
		if (n > 1)
			attr_ints(attrs, name, list, n);
		else
			attr_int(attrs, name, list[0]);
		text += *text == ';';
	}
}

static void print_case(const fold_case *c)
{
	print_error("%s(%s; %s; %s) %s\n", c->type, c->in[0] ? c->in[0] : "", c->in[1] ? c->in[1] : "",
	            c->in[2] ? c->in[2] : "", c->attr ? c->attr : "");
}

static void check_value(const fold_case *c, const onnx_value *v, const char *expected)
{
	double x[64], same;
	int n = numbers(strchr(expected, ':') + 1, x);
	bool known = v->ints || v->reals;
	if (!known || onnx_count(v->rank, v->dim) != n)
		print_case(c);
	assert_true(known);
	assert_int_equal(onnx_count(v->rank, v->dim), n);
	assert_int_equal(v->elem, elem_of(*expected));
	for (int i = 0; i < n; i++) {
		same = v->ints ? (double)v->ints[i] : v->reals[i];
		if (same != x[i])
			print_case(c);
		assert_near(same, x[i], 0);
	}
}

static void run_case(const fold_case *c, bool raw)
{
	static bytes graph, attrs, file;
	berth_arena tmp = {0};
	berth_err err;
	char names[32] = "", name[4];
	graph.n = attrs.n = file.n = 0;
	for (int i = 0; i < 4 && c->in[i]; i++) {
		bytes t = {0};
		snprintf(name, sizeof name, "i%d", i);
		if (strchr(c->in[i], ':')) {
			put_tensor(&t, name, c->in[i], raw);
			put_message(&graph, 5, &t);
		} else if (*c->in[i]) {
			put_value(&graph, 11, name, elem_of(*c->in[i]), c->in[i] + 1);
		}
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? "," : "",
		         *c->in[i] ? name : "");
	}
	put_attrs(&attrs, c->attr);
	put_node(&graph, c->type, "n", names, "y0,y1", &attrs);
	put_model(&file, &graph, c->opset ? c->opset : 13);
	onnx_model m = {.file = "t", .data = file.data, .size = file.n, .tmp = &tmp, .err = &err};
	assert_ok(onnx_read_model(&m), &err);
	assert_ok(onnx_resolve(&m, NULL), &err);
	assert_ok(onnx_infer_model(&m), &err);
	const onnx_value *y0 = &m.value[m.node[0].out[0]], *y1 = &m.value[m.node[0].out[1]];
	if (c->expected) {
		const char *second = strchr(c->expected, ';');
		check_value(c, y0, c->expected);
		if (second)
			check_value(c, y1, second + 1);
	} else {
		if (y0->ints || y0->reals)
			print_case(c);
		assert_true(!y0->ints && !y0->reals);
	}
	berth_arena_free(&tmp);
}

static const fold_case cases[] = {
	{"Identity", {"i2,2:1 2 3 4"}, NULL, "i2,2:1 2 3 4", 0},
	{"Identity", {"d2:1.5 -2"}, NULL, "d2:1.5 -2", 0},
	{"Identity", {"i2:9007199254740993 -1"}, NULL, "i2:9007199254740992 -1", 0}, /* the text rounds to
                                                                                        double, the tensor too
                                                                                      */
	{"Reshape", {"i4:1 2 3 4", "i2:2 -1"}, NULL, "i2,2:1 2 3 4", 0},
	{"Squeeze", {"i1:7"}, NULL, "i:7", 0},
	{"Unsqueeze", {"i:7", "i1:0"}, NULL, "i1:7", 0},
	{"Flatten", {"i2,1,2:1 2 3 4"}, NULL, "i2,2:1 2 3 4", 0},
	/* shapes */
	{"Shape", {"f2,3,4"}, NULL, "i3:2 3 4", 0},
	{"Shape", {"f2,3,4"}, "start=-2;end=-1", "i1:3", 15},
	{"Shape", {"f2,3,4"}, "start=1", "i2:3 4", 15},
	{"Size", {"f2,3,4"}, NULL, "i:24", 0},
	{"ConstantOfShape", {"i2:2 2"}, NULL, "f2,2:0 0 0 0", 0},
	{"Constant", {NULL}, "value_int=5", "i:5", 0},
	{"Constant", {NULL}, "value_ints=5,-6", "i2:5 -6", 0},
	{"Range", {"i:2", "i:9", "i:3"}, NULL, "i3:2 5 8", 0},
	{"Range", {"i:3", "i:0", "i:-2"}, NULL, "i2:3 1", 0},
	{"Range", {"f:0", "f:1", "f:0.5"}, NULL, "f2:0 0.5", 0},
	/* types */
	{"Cast", {"f3:2.9 -2.9 0"}, "to=7", "i3:2 -2 0", 0},
	{"Cast", {"i2:0 -3"}, "to=9", "b2:0 1", 0},
	{"Cast", {"f1:0.25"}, "to=9", "b1:1", 0},
	{"Cast", {"i2:4294967297 -1"}, "to=6", "w2:1 -1", 0},
	{"Cast", {"i1:258"}, "to=2", "u1:2", 0},
	{"Cast", {"i1:16777217"}, "to=1", "f1:16777216", 0},
	{"Cast", {"w2:-7 7"}, "to=7", "i2:-7 7", 0},
	/* arithmetic, with broadcasting; integers divide towards zero, the remainder has the divisor's sign
         */
	{"Add", {"i2,1:1 2", "i3:10 20 30"}, NULL, "i2,3:11 21 31 12 22 32", 0},
	{"Sub", {"i:5", "i2:7 1"}, NULL, "i2:-2 4", 0},
	{"Mul", {"f2:0.5 3", "f:0.5"}, NULL, "f2:0.25 1.5", 0},
	{"Div", {"i4:7 -7 7 -7", "i4:2 2 -2 -1"}, NULL, "i4:3 -3 -3 7", 0},
	{"Div", {"i1:7", "i1:0"}, NULL, NULL, 0},
	{"Div", {"f1:7", "f1:2"}, NULL, "f1:3.5", 0},
	{"Mod", {"i4:7 -7 7 -7", "i4:3 3 -3 -3"}, NULL, "i4:1 2 -2 -1", 0},
	{"Pow", {"i2:2 3", "i2:10 2"}, NULL, "i2:1024 9", 0},
	{"Min", {"i2:2 3", "i2:10 2"}, NULL, "i2:2 2", 0},
	{"Max", {"f2:2 3", "f2:10 2"}, NULL, "f2:10 3", 0},
	{"Equal", {"i3:1 2 3", "i1:2"}, NULL, "b3:0 1 0", 0},
	{"Greater", {"i3:1 2 3", "i1:2"}, NULL, "b3:0 0 1", 0},
	{"GreaterOrEqual", {"i3:1 2 3", "i1:2"}, NULL, "b3:0 1 1", 0},
	{"Less", {"f3:1 2 3", "f1:2"}, NULL, "b3:1 0 0", 0},
	{"LessOrEqual", {"i3:1 2 3", "i1:2"}, NULL, "b3:1 1 0", 0},
	{"And", {"b2:1 0", "b2:1 1"}, NULL, "b2:1 0", 0},
	{"Or", {"b2:1 0", "b2:0 0"}, NULL, "b2:1 0", 0},
	{"Xor", {"b2:1 0", "b2:1 1"}, NULL, "b2:0 1", 0},
	{"Not", {"b2:1 0"}, NULL, "b2:0 1", 0},
	{"Neg", {"i2:1 -2"}, NULL, "i2:-1 2", 0},
	{"Abs", {"i2:1 -2"}, NULL, "i2:1 2", 0},
	{"Sign", {"i3:5 0 -2"}, NULL, "i3:1 0 -1", 0},
	{"Floor", {"f2:1.5 -1.5"}, NULL, "f2:1 -2", 0},
	{"Ceil", {"f2:1.5 -1.5"}, NULL, "f2:2 -1", 0},
	{"Round", {"f3:0.5 1.5 -2.5"}, NULL, "f3:0 2 -2", 0},
	{"Sqrt", {"f1:9"}, NULL, "f1:3", 0},
	{"Reciprocal", {"f1:4"}, NULL, "f1:0.25", 0},
	{"Neg", {"f1:4"}, NULL, "f1:-4", 0},
	{"Abs", {"f1:-4"}, NULL, "f1:4", 0},
	{"ReduceProd", {"i3:2 3 4"}, "keepdims=0", "i:24", 0},
	{"ReduceSum", {"i3:2 3 4"}, "keepdims=1", "i1:9", 0},
	{"ReduceMax", {"f3:2 5 4"}, "keepdims=0", "f:5", 0},
	{"ReduceMin", {"i3:2 3 -4"}, "keepdims=0", "i:-4", 0},
	{"ReduceSum", {"i2,2:1 2 3 4", "i1:0"}, "keepdims=0", NULL, 0}, /* parts are left out */
	{"Where", {"b2:1 0", "i:5", "i2:1 2"}, NULL, "i2:5 2", 0},
	/* moving */
	{"Transpose", {"i2,3:1 2 3 4 5 6"}, NULL, "i3,2:1 4 2 5 3 6", 0},
	{"Transpose", {"i2,1,3:1 2 3 4 5 6"}, "perm=1,2,0", "i1,3,2:1 4 2 5 3 6", 0},
	{"Expand", {"i2,1:1 2", "i2:1 3"}, NULL, "i2,3:1 1 1 2 2 2", 0},
	{"Tile", {"i1,2:1 2", "i2:2 2"}, NULL, "i2,4:1 2 1 2 1 2 1 2", 0},
	{"Concat", {"i1:1", "i2:2 3", "i1:4"}, "axis=0", "i4:1 2 3 4", 0},
	{"Concat", {"i2,1:1 4", "i2,2:2 3 5 6"}, "axis=1", "i2,3:1 2 3 4 5 6", 0},
	{"Concat", {"i0:", "i1:4"}, "axis=0", "i1:4", 0},
	{"Slice", {"i5:1 2 3 4 5", "i1:1", "i1:4"}, NULL, "i3:2 3 4", 0},
	{"Slice", {"i5:1 2 3 4 5", "i1:-1", "i1:-100", "i1:0"}, NULL, "i0:", 0},
	{"Slice", {"i2,3:1 2 3 4 5 6", "i1:-2", "i1:100", "i1:1"}, NULL, "i2,2:2 3 5 6", 0},
	{"Gather", {"i4:5 6 7 8", "i:-1"}, NULL, "i:8", 0},
	{"Gather", {"i2,3:1 2 3 4 5 6", "i2:2 0"}, "axis=1", "i2,2:3 1 6 4", 0},
	{"Split", {"i4:1 2 3 4", "i2:1 3"}, NULL, "i1:1;i3:2 3 4", 0},
	{"Split", {"i2,2:1 2 3 4"}, "axis=1", "i2,1:1 3;i2,1:2 4", 0},
	{"NonZero", {"b2,2:1 0 1 1"}, NULL, "i2,3:0 1 1 0 0 1", 0},
	{"Unsqueeze", {"i0:", "i1:0"}, NULL, "i1,0:", 0},
	{"Transpose", {"i2,0:"}, NULL, "i0,2:", 0},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		run_case(&cases[i], false);
		run_case(&cases[i], true);
	}
}

/* Steps of a slice come fifth: reversed and with gaps. */
static void test_slice_steps(void **state)
{
	(void)state;
	static const struct { int64_t start, end, step; const char *expected; } steps[] = {
		{4, -100, -2, "i3:5 3 1"}, {-1, INT64_MIN, -1, "i5:5 4 3 2 1"}, {0, INT64_MAX, 3, "i2:1 4"},
		{1, 5, INT64_MAX, "i1:2"}, {0, 5, -1, "i0:"}};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		static bytes graph, file;
		bytes t = {0};
		berth_arena tmp = {0};
		berth_err err;
		int64_t zero = 0;
		fold_case c = {"Slice", {"steps"}, NULL, steps[i].expected, 13};
		graph.n = file.n = 0;
		put_tensor(&t, "x", "i5:1 2 3 4 5", false);
		put_message(&graph, 5, &t);
		put_ints(&graph, "s", &steps[i].start, 1);
		put_ints(&graph, "e", &steps[i].end, 1);
		put_ints(&graph, "a", &zero, 1);
		put_ints(&graph, "k", &steps[i].step, 1);
		put_node(&graph, "Slice", "n", "x,s,e,a,k", "y", NULL);
		put_model(&file, &graph, 13);
		onnx_model m = {.file = "t", .data = file.data, .size = file.n, .tmp = &tmp, .err = &err};
		assert_ok(onnx_read_model(&m), &err);
		assert_ok(onnx_resolve(&m, NULL), &err);
		assert_ok(onnx_infer_model(&m), &err);
		check_value(&c, &m.value[m.node[0].out[0]], steps[i].expected);
		berth_arena_free(&tmp);
	}
}

/* Halves and brain floats are decoded from int32_data bits. */
static void test_narrow_floats(void **state)
{
	(void)state;
	static const struct { int elem; uint64_t bits; double x; } all[] = {
		{ONNX_FLOAT16, 0x3c00, 1}, {ONNX_FLOAT16, 0xc500, -5}, {ONNX_FLOAT16, 0x0001, 0x1p-24},
		{ONNX_FLOAT16, 0x7c00, INFINITY},
		{ONNX_BFLOAT16, 0x3fc0, 1.5}, {ONNX_BFLOAT16, 0xc0a0, -5}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		bytes b = {0};
		berth_arena tmp = {0};
		berth_err err;
		onnx_tensor t;
		const int64_t *ints;
		const double *reals;
		put_number(&b, 2, (uint64_t)all[i].elem);
		put_number(&b, 5, all[i].bits);
		onnx_model m = {.file = "t", .data = b.data, .size = b.n, .tmp = &tmp, .err = &err};
		assert_ok(onnx_read_tensor(&m, (protobuf){"t", b.data, 0, b.n}, false, &t), &err);
		assert_ok(onnx_tensor_content(&m, &t, &ints, &reals), &err);
		assert_non_null(reals);
		assert_true(reals[0] == all[i].x);
		berth_arena_free(&tmp);
	}
}

/* A gather outside of its tensor is an error of the file. */
static void test_index_out_of_range(void **state)
{
	(void)state;
	static bytes graph, file;
	berth_arena tmp = {0};
	berth_err err = {0};
	int64_t x[] = {1, 2}, two = 2;
	put_ints(&graph, "x", x, 2);
	put_ints(&graph, "k", &two, 1);
	put_node(&graph, "Gather", "n", "x,k", "y", NULL);
	put_model(&file, &graph, 13);
	onnx_model m = {.file = "t", .data = file.data, .size = file.n, .tmp = &tmp, .err = &err};
	assert_ok(onnx_read_model(&m), &err);
	assert_ok(onnx_resolve(&m, NULL), &err);
	assert_int_equal(onnx_infer_model(&m), BERTH_EFORMAT);
	assert_contains(err.msg, "index 2; expected -2 to 1");
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_slice_steps),
		cmocka_unit_test(test_narrow_floats),
		cmocka_unit_test(test_index_out_of_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
