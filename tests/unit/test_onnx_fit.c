/* Sizes that ONNX models leave open: how they are set, which one a contradiction is blamed on, and which
 * takes the only value that fits. */
#include "fail_each.h"
#include "onnx.h"
#include "onnx_bytes.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

enum { F32 = 1, VALUE_IN = 11, VALUE_OUT = 12 };

typedef struct model {
	berth_arena mem;
	berth_graph g;
	berth_read_report r;
} model;

static berth_status parse(const bytes *graph, const char *dim, model *m, berth_err *err)
{
	static bytes file;
	berth_arena tmp = {0};
	berth_read_options opt = {.dim = &dim, .n_dims = dim != NULL};
	file.n = 0;
	put_model(&file, graph, 13);
	*m = (model){0};
	berth_status st =
		berth_graph_parse_onnx("t.onnx", file.data, file.n, &opt, &m->mem, &tmp, &m->g, &m->r, err);
	berth_arena_free(&tmp);
	return st;
}

/* The model is read, and its open dimensions are those: "batch=1 x.2=64". */
static void expect_dims(const bytes *graph, const char *dim, const char *dims)
{
	char text[256] = "";
	berth_err err = {0};
	model m;
	assert_ok(parse(graph, dim, &m, &err), &err);
	for (int32_t i = 0; i < m.r.n_dims; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%lld", i ? " " : "",
		         m.r.dim_name[i], (long long)m.r.dim_value[i]);
	assert_string_equal(text, dims);
	berth_arena_free(&m.mem);
}

static void expect_error(const bytes *graph, const char *dim, const char *part)
{
	berth_err err = {0};
	model m;
	assert_int_not_equal(parse(graph, dim, &m, &err), BERTH_OK);
	assert_contains(err.msg, part);
	assert_int_equal(berth_arena_size(&m.mem), 0);
}

/* y = conv(x), by a window of 16. */
static void windows(bytes *graph, const char *shape)
{
	graph->n = 0;
	put_value(graph, VALUE_IN, "x", F32, shape);
	put_weight(graph, "w", F32, "8,1,16");
	put_node(graph, "Conv", "conv", "x,w", "y", NULL);
	put_value(graph, VALUE_OUT, "y", F32, NULL);
}

/* y = x * w. */
static void product(bytes *graph, const char *shape)
{
	graph->n = 0;
	put_value(graph, VALUE_IN, "x", F32, shape);
	put_weight(graph, "w", F32, "784,10");
	put_node(graph, "MatMul", "product", "x,w", "y", NULL);
	put_value(graph, VALUE_OUT, "y", F32, NULL);
}

static void test_without_name(void **state)
{
	(void)state;
	static bytes graph;
	windows(&graph, "1,1,-1");
	expect_dims(&graph, "x.2=64", "x.2=64");
	expect_error(&graph, "x.1=64", "no symbolic dimension or loop 'x.1' (did you mean 'x.2'?)");
	windows(&graph, "-1,1,64");
	expect_dims(&graph, NULL, "x.0=1");
}

/* The dimension that the message names is the one at fault, wherever it stands. */
static void test_blamed(void **state)
{
	(void)state;
	static bytes graph;
	windows(&graph, "batch,1,samples");
	expect_error(&graph, NULL, "the window of 16 (with samples=1; --dim samples=N sets it)");
	expect_error(&graph, "samples=4", "the window of 16 (with samples=4; --dim samples=N sets it)");
	windows(&graph, "batch,2,64");
	expect_error(&graph, NULL, "2 input channels; the weight takes 1 in 1 groups");
	berth_err err = {0};
	model m;
	assert_int_equal(parse(&graph, NULL, &m, &err), BERTH_EFORMAT);
	assert_null(strstr(err.msg, "batch"));
}

static void test_only_value(void **state)
{
	(void)state;
	static bytes graph;
	product(&graph, "batch,features");
	expect_dims(&graph, NULL, "batch=1 features=784");
	expect_dims(&graph, "batch=3", "batch=3 features=784");
	expect_error(&graph, "features=8", "inner dimensions 8 and 784 differ (with features=8;");
	product(&graph, "-1,-1");
	expect_dims(&graph, NULL, "x.0=1 x.1=784");
	/* two dimensions, one after the other */
	graph.n = 0;
	put_value(&graph, VALUE_IN, "a", F32, "1,m");
	put_value(&graph, VALUE_IN, "b", F32, "1,n");
	put_weight(&graph, "v", F32, "12,5");
	put_weight(&graph, "w", F32, "7,5");
	put_node(&graph, "MatMul", "left", "a,v", "c", NULL);
	put_node(&graph, "MatMul", "right", "b,w", "d", NULL);
	put_node(&graph, "Add", "sum", "c,d", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	expect_dims(&graph, NULL, "m=12 n=7");
}

/* Where several values fit nothing is taken. */
static void test_many_values(void **state)
{
	(void)state;
	static bytes graph;
	int64_t to[] = {-1, 6};
	graph.n = 0;
	put_value(&graph, VALUE_IN, "x", F32, "rows,columns");
	put_ints(&graph, "to", to, 2);
	put_node(&graph, "Reshape", "reshape", "x,to", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	expect_error(&graph, NULL, "(with rows=1, columns=1; --dim rows=N sets the first)");
	expect_dims(&graph, "rows=12", "rows=12 columns=1");
}

/* What is told of inputs with open sizes. */
static void test_told(void **state)
{
	(void)state;
	static bytes graph;
	berth_err err = {0};
	model m;
	product(&graph, "-1,features");
	put_value(&graph, VALUE_IN, "unused", F32, "n,3,n,-1");
	for (int i = 0; i < 5; i++)
		put_value(&graph, VALUE_IN, (const char *[]){"a", "b", "c", "d", "e"}[i], F32, "n");
	put_value(&graph, VALUE_IN, "fixed", F32, "4");
	assert_ok(parse(&graph, "n=2", &m, &err), &err);
	assert_int_equal(m.r.n_guessed, 2);
	assert_string_equal(m.r.guessed[0], "input 'x' [x.0=1,features=784]: only this size of features "
	                                    "fits; nobody states x.0, taken for 1 (--dim x.0=N)");
	assert_string_equal(m.r.guessed[1], "input 'unused' [n=2,3,n=2,unused.3=1]: nobody states unused.3, "
	                                    "taken for 1 (--dim unused.3=N)");
	assert_int_equal(m.r.n_fitted, 0);
	berth_arena_free(&m.mem);
	assert_ok(parse(&graph, "x.0=2", &m, &err), &err);
	assert_int_equal(m.r.n_fitted, 1);
	assert_string_equal(m.r.fitted[0], "input 'x' [x.0=2,features=784]: only this size of features fits");
	assert_int_equal(m.r.n_guessed, 2);
	assert_string_equal(m.r.guessed[0], "input 'unused' [n=1,3,n=1,unused.3=1]: nobody states n, "
	                                    "unused.3, taken for 1 (--dim n=N)");
	assert_string_equal(m.r.guessed[1], "inputs 'a', 'b', 'c' and 2 more [n=1]: nobody states n, taken "
	                                    "for 1 (--dim n=N)");
	berth_arena_free(&m.mem);
	graph.n = 0;
	for (char name[] = "a"; *name <= 't'; ++*name)
		put_value(&graph, VALUE_IN, name, F32, "-1");
	put_node(&graph, "Relu", "relu", "a", "y", NULL);
	assert_ok(parse(&graph, NULL, &m, &err), &err);
	assert_int_equal(m.r.n_guessed, 17);
	assert_string_equal(m.r.guessed[16], "4 more inputs have sizes that nobody states");
	berth_arena_free(&m.mem);
}

static berth_status read_again(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const bytes *file = ctx;
	berth_graph g;
	return berth_graph_parse_onnx("t.onnx", file->data, file->n, NULL, mem, tmp, &g, NULL, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static bytes graph, file;
	product(&graph, "batch,features");
	file.n = 0;
	put_model(&file, &graph, 13);
	assert_fails_each(read_again, &file, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_name),
		cmocka_unit_test(test_blamed),
		cmocka_unit_test(test_only_value),
		cmocka_unit_test(test_many_values),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
