/* Malformed ONNX files: every error names its place, none crashes, none leaks. */
#include "file.h"
#include "load.h"
#include "onnx.h"
#include "onnx_bytes.h"
#include "rng.h"
#include "support.h"

#include <string.h>

enum { F32 = 1, I64 = 7, VALUE_IN = 11, VALUE_OUT = 12 };

static berth_status parse(const unsigned char *data, size_t size, berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_status st = berth_graph_parse_onnx("t.onnx", data, size, NULL, &mem, &tmp, &g, NULL, err);
	if (st == BERTH_OK)
		assert_ok(berth_graph_check(&g, err), err);
	else
		assert_int_equal(berth_arena_size(&mem), 0); /* outputs are as they were */
	assert_int_equal(berth_arena_size(&tmp), 0);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static void expect_bytes(const bytes *file, const char *part)
{
	berth_err err = {0};
	assert_int_equal(parse(file->data, file->n, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "t.onnx: ");
	assert_contains(err.msg, part);
}

static void expect_graph(const bytes *graph, const char *part)
{
	static bytes file;
	file.n = 0;
	put_model(&file, graph, 13);
	expect_bytes(&file, part);
}

/* x [1,3,8,8] through a convolution, a reshape to a computed shape, and a product. */
static void small_model(bytes *file)
{
	static bytes graph;
	bytes pads = {0};
	int64_t two[] = {1, -1}, one[] = {1, 1, 1, 1};
	graph.n = file->n = 0;
	attr_ints(&pads, "pads", one, 4);
	put_text(&graph, 2, "g");
	put_value(&graph, VALUE_IN, "x", F32, "batch,3,8,8");
	put_weight(&graph, "w", F32, "4,3,3,3");
	put_weight(&graph, "v", F32, "256,2");
	put_ints(&graph, "to", two, 2);
	put_node(&graph, "Conv", "conv", "x,w", "c", &pads);
	put_node(&graph, "Reshape", "reshape", "c,to", "r", NULL);
	put_node(&graph, "MatMul", "", "r,v", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, "batch,2");
	put_model(file, &graph, 13);
}

static void test_cut_anywhere(void **state)
{
	(void)state;
	static bytes file;
	berth_err err;
	small_model(&file);
	assert_ok(parse(file.data, file.n, &err), &err);
	for (size_t n = 0; n < file.n; n++) {
		err = (berth_err){0};
		assert_int_equal(parse(file.data, n, &err), BERTH_EFORMAT);
		assert_contains(err.msg, "t.onnx: ");
	}
}

/* Each byte replaced by each of a few values, and random changes of several bytes: an answer or an error,
 * never a crash. */
static void test_changed_bytes(void **state)
{
	(void)state;
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x12};
	static bytes file, changed;
	berth_err err;
	small_model(&file);
	for (size_t i = 0; i < file.n; i++)
		for (size_t v = 0; v < sizeof values; v++) {
			changed = file;
			changed.data[i] = values[v];
			parse(changed.data, changed.n, &err);
		}
	berth_rng rng = berth_rng_seed(7, 0);
	int accepted = 0, refused = 0;
	for (int round = 0; round < 5000; round++) {
		changed = file;
		for (uint32_t k = berth_rng_below(&rng, 6); k < 6; k++)
			changed.data[berth_rng_below(&rng, (uint32_t)file.n)] =
				(unsigned char)berth_rng_next(&rng);
		berth_status st = parse(changed.data, changed.n, &err);
		assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
		accepted += st == BERTH_OK;
		refused += st == BERTH_EFORMAT;
	}
	assert_true(accepted > 100 && refused > 100);
}

static void test_no_model(void **state)
{
	(void)state;
	berth_err err = {0};
	static const char json[] = "{\"format\":\"berth-graph\"}", zip[] = "PK\x03\x04 something else";
	assert_int_equal(parse((const unsigned char *)"", 0, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "t.onnx: the file is empty");
	assert_int_equal(parse((const unsigned char *)json, sizeof json - 1, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "t.onnx: byte 0: field 15 has wire type 3");
	assert_contains(err.msg, "is this an ONNX model?");
	assert_int_equal(parse((const unsigned char *)zip, sizeof zip - 1, &err), BERTH_EFORMAT);
	bytes file = {0};
	put_number(&file, 1, 8);
	expect_bytes(&file, "no graph in the file");
	bytes graph = {0};
	put_message(&file, 7, &graph);
	expect_bytes(&file, "no opset_import");
}

static void test_wrong_wire_types(void **state)
{
	(void)state;
	bytes file = {0}, graph = {0}, node = {0}, tensor = {0};
	put_text(&file, 1, "8");
	expect_bytes(&file,
	             "byte 0: ir_version (field 1): expected a varint, found a length-delimited value");
	file.n = 0;
	put_number(&file, 7, 1);
	expect_bytes(&file, "byte 0: the graph (field 7): expected a length-delimited value, found a varint");
	put_number(&graph, 1, 3);
	expect_graph(&graph, "a node (field 1): expected a length-delimited value");
	graph.n = 0;
	put_number(&node, 4, 3);
	put_message(&graph, 1, &node);
	expect_graph(&graph, "op_type of a node");
	graph.n = 0;
	put_text(&tensor, 2, "float");
	put_message(&graph, 5, &tensor);
	expect_graph(&graph, "data_type of a tensor");
}

static void test_bad_graphs(void **state)
{
	(void)state;
	bytes graph = {0}, node = {0};
	put_value(&graph, VALUE_IN, "x", F32, "4");
	bytes start = graph;

	put_node(&graph, "Add", "n", "x,nothing", "y", NULL);
	expect_graph(&graph, "node 'n' (Add) at byte ");
	expect_graph(&graph, "input 'nothing' is made by nobody");
	graph = start;
	put_node(&graph, "Add", "a", "x,q", "p", NULL);
	put_node(&graph, "Relu", "b", "p", "q", NULL);
	expect_graph(&graph, "the graph has a cycle");
	graph = start;
	put_node(&graph, "Add", "self", "x,p", "p", NULL);
	expect_graph(&graph, "node 'self' (Add)");
	graph = start;
	put_node(&graph, "Relu", "a", "x", "y", NULL);
	put_node(&graph, "Relu", "b", "x", "y", NULL);
	expect_graph(&graph, "node 'b' (Relu) at byte ");
	expect_graph(&graph, "output 'y' is made already by node 'a'");
	graph = start;
	put_node(&graph, "Relu", "a", "x", "x", NULL);
	expect_graph(&graph, "output 'x' is an input of the graph too");
	graph = start;
	put_node(&graph, "Relu", "a", "x", "w", NULL);
	put_weight(&graph, "w", F32, "2");
	expect_graph(&graph, "output 'w' is an initializer too");
	graph = start;
	put_weight(&graph, "w", F32, "2");
	put_weight(&graph, "w", F32, "2");
	expect_graph(&graph, "two initializers are named 'w'");
	graph = start;
	put_value(&graph, VALUE_IN, "x", F32, "4");
	expect_graph(&graph, "two inputs 'x'");
	graph = start;
	put_value(&graph, VALUE_OUT, "y", F32, "4");
	expect_graph(&graph, "output 'y' of the graph is made by nobody");
	graph = start;
	put_text(&node, 1, "x");
	put_message(&graph, 1, &node);
	expect_graph(&graph, "a node without op_type");
	graph = start;
	put_node(&graph, "Re\xfflu", "a", "x", "y", NULL);
	expect_graph(&graph, "op_type of a node: expected UTF-8");
}

static void test_bad_shapes(void **state)
{
	(void)state;
	bytes graph = {0}, attrs = {0}, many = {0};
	int64_t huge[] = {INT64_MAX, INT64_MAX, 1}, minus[] = {-1, -1};
	put_weight(&graph, "w", F32, "-4");
	expect_graph(&graph, "dimension 0 of a tensor is -4");
	graph.n = 0;
	put_weight(&graph, "w", F32, "1000000000,1000000000");
	expect_graph(&graph, "more than 2^48 elements");
	graph.n = 0;
	put_weight(&graph, "w", F32, "9223372036854775807,0");
	expect_graph(&graph, "expected 0 to 2^48");
	graph.n = 0;
	put_value(&graph, VALUE_IN, "x", F32, "9223372036854775807");
	expect_graph(&graph, "a dimension of 9223372036854775807");
	graph.n = 0;
	put_value(&graph, VALUE_IN, "x", F32, "100000000,100000000");
	expect_graph(&graph, "input 'x' has more than 2^48 elements");
	graph.n = 0;
	for (int i = 0; i < 65; i++)
		put_number(&many, 1, 1);
	put_text(&many, 8, "w");
	put_message(&graph, 5, &many);
	expect_graph(&graph, "a tensor of 65 dimensions");

	graph.n = 0;
	put_value(&graph, VALUE_IN, "x", F32, "2,3");
	bytes start = graph;
	put_ints(&graph, "to", huge, 3);
	put_node(&graph, "Expand", "n", "x,to", "y", NULL);
	expect_graph(&graph, "node 'n' (Expand)");
	graph = start;
	put_ints(&graph, "to", minus, 2);
	put_node(&graph, "ConstantOfShape", "n", "to", "y", NULL);
	expect_graph(&graph, "dimension -1; expected 0 or more");
	graph = start;
	put_value(&graph, VALUE_IN, "b", F32, "4");
	put_node(&graph, "Add", "n", "x,b", "y", NULL);
	expect_graph(&graph, "shapes [2,3] and [4] do not broadcast");
	graph = start;
	put_value(&graph, VALUE_IN, "b", F32, "4,5");
	put_node(&graph, "MatMul", "n", "x,b", "y", NULL);
	expect_graph(&graph, "inner dimensions 3 and 4 differ");
	graph = start;
	attr_int(&attrs, "axis", 2);
	put_node(&graph, "Concat", "n", "x,x", "y", &attrs);
	expect_graph(&graph, "axis 2; expected -2 to 1");
	graph = start;
	put_value(&graph, VALUE_IN, "image", F32, "1,3,side,side");
	put_weight(&graph, "w", F32, "4,3,3,3");
	put_node(&graph, "Conv", "n", "image,w", "y", NULL);
	expect_graph(&graph, "less than the window of 3 (with side=1; --dim side=N sets it)");
}

/* Raw data of a length that the shape does not make. */
static void test_raw_data(void **state)
{
	(void)state;
	bytes graph = {0}, t = {0};
	put_number(&t, 1, 3);
	put_number(&t, 2, F32);
	put_text(&t, 8, "w");
	put_text(&t, 9, "12345678");
	put_message(&graph, 5, &t);
	expect_graph(&graph, "tensor 'w' holds 8 bytes of raw_data; its type and shape make 12");
}

static void nested(bytes *out, int depth)
{
	bytes *body = out, inner = {0};
	for (int i = 0; i < depth; i++) {
		bytes attrs = {0}, graph = {0};
		attr_graph(&attrs, "body", i ? &inner : body);
		put_node(&graph, "Loop", "", "x", "y", &attrs);
		inner = graph;
	}
	*out = inner;
}

static void test_deep_bodies(void **state)
{
	(void)state;
	static bytes graph, file;
	berth_err err;
	graph.n = file.n = 0;
	nested(&graph, 32);
	put_value(&graph, VALUE_IN, "x", F32, "4");
	put_model(&file, &graph, 13);
	assert_ok(parse(file.data, file.n, &err), &err);
	graph.n = 0;
	nested(&graph, 34);
	put_value(&graph, VALUE_IN, "x", F32, "4");
	expect_graph(&graph, "bodies and functions nest deeper than 32");
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static bytes file;
	small_model(&file);
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_graph g;
		berth_read_report r;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st =
			berth_graph_parse_onnx("t.onnx", file.data, file.n, NULL, &mem, &tmp, &g, &r, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
}

static void test_missing_file(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_err err = {0};
	assert_int_equal(berth_graph_load("/no/such/model.onnx", NULL, &mem, &tmp, &g, NULL, &err),
	                 BERTH_EIO);
	assert_contains(err.msg, "/no/such/model.onnx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_changed_bytes),
		cmocka_unit_test(test_no_model),
		cmocka_unit_test(test_wrong_wire_types),
		cmocka_unit_test(test_bad_graphs),
		cmocka_unit_test(test_bad_shapes),
		cmocka_unit_test(test_raw_data),
		cmocka_unit_test(test_deep_bodies),
		cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_missing_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
