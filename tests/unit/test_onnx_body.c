/* Bodies and functions of ONNX models: what If, Loop and Scan cost, how often they run, and what the call of
 * a function becomes. */
#include "onnx.h"
#include "onnx_bytes.h"
#include "onnx_infer.h"
#include "shapes.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 1, I64 = 7, BOOL = 9, VALUE_IN = 11, VALUE_OUT = 12 };

typedef struct model {
	berth_arena mem;
	berth_graph g;
	berth_read_report r;
} model;

static berth_status parse(const bytes *file, const char *dim, model *m, berth_err *err)
{
	berth_arena tmp = {0};
	berth_read_options opt = {.dim = &dim, .n_dims = dim != NULL};
	*m = (model){0};
	berth_status st =
		berth_graph_parse_onnx("t.onnx", file->data, file->n, &opt, &m->mem, &tmp, &m->g, &m->r, err);
	if (st == BERTH_OK)
		assert_ok(berth_graph_check(&m->g, err), err);
	berth_arena_free(&tmp);
	return st;
}

static void read_graph(const bytes *graph, int opset, const char *dim, model *m)
{
	static bytes file;
	berth_err err;
	file.n = 0;
	put_model(&file, graph, opset);
	assert_ok(parse(&file, dim, m, &err), &err);
}

static int32_t op_of(const model *m, const char *name)
{
	int32_t op = berth_graph_find(&m->g, name);
	if (op < 0)
		print_error("no operator '%s'\n", name);
	assert_true(op >= 0);
	return op;
}

/* y = x * w for w [4, columns], as a branch with its own weight. */
static void branch(bytes *body, int columns)
{
	char shape[16];
	snprintf(shape, sizeof shape, "4,%d", columns);
	put_weight(body, "w", F32, shape);
	put_node(body, "MatMul", "product", "x,w", "z", NULL);
	put_value(body, VALUE_OUT, "z", F32, NULL);
}

static void if_graph(bytes *graph, bool known)
{
	static bytes a, b, attrs;
	int64_t one = 1;
	a.n = b.n = attrs.n = 0;
	branch(&a, 8);
	branch(&b, 8);
	put_node(&b, "Relu", "", "z", "unused", NULL);
	attr_graph(&attrs, "then_branch", &a);
	attr_graph(&attrs, "else_branch", &b);
	put_value(graph, VALUE_IN, "x", F32, "2,4");
	if (known)
		put_ints(graph, "cond", &one, -1);
	else
		put_value(graph, VALUE_IN, "cond", BOOL, "");
	put_node(graph, "If", "if", "cond", "y", &attrs);
	put_value(graph, VALUE_OUT, "y", F32, NULL);
}

/* The heavier branch where nobody knows, the one taken where the condition is constant; the shape that both
 * agree on. */
static void test_if(void **state)
{
	(void)state;
	bytes graph = {0}, known = {0};
	model m;
	if_graph(&graph, false);
	read_graph(&graph, 13, NULL, &m);
	assert_int_equal(m.g.n_ops, 1);
	assert_near(m.g.op_macs[0], 2 * 4 * 8, 0);
	assert_near(m.g.op_flops[0], 2 * 2 * 4 * 8 + 16, 0); /* the else branch has a Relu more */
	assert_int_equal(m.g.op_output_bytes[0], 2 * 8 * 4);
	assert_int_equal(m.g.op_param_bytes[0], 2 * 4 * 8 * 4);
	assert_int_equal(m.r.n_unknown, 0);
	berth_arena_free(&m.mem);
	if_graph(&known, true);
	read_graph(&known, 13, NULL, &m);
	assert_near(m.g.op_flops[0], 2 * 2 * 4 * 8, 0);
	berth_arena_free(&m.mem);
}

/* state = tanh(state * w), the state scanned out too. */
static void loop_graph(bytes *graph, const int64_t *limit)
{
	static bytes body, attrs;
	body.n = attrs.n = 0;
	put_value(&body, VALUE_IN, "i", I64, "");
	put_value(&body, VALUE_IN, "go", BOOL, "");
	put_value(&body, VALUE_IN, "h", F32, NULL);
	put_node(&body, "MatMul", "step", "h,w", "u", NULL);
	put_node(&body, "Tanh", "act", "u", "next", NULL);
	put_node(&body, "Identity", "same", "go", "goes_on", NULL);
	put_value(&body, VALUE_OUT, "goes_on", BOOL, NULL);
	put_value(&body, VALUE_OUT, "next", F32, NULL);
	put_value(&body, VALUE_OUT, "next", F32, NULL);
	attr_graph(&attrs, "body", &body);
	if (limit)
		put_ints(graph, "limit", limit, -1);
	else
		put_value(graph, VALUE_IN, "limit", I64, "");
	put_value(graph, VALUE_IN, "x", F32, "3,5");
	put_weight(graph, "w", F32, "5,5");
	put_node(graph, "Loop", "steps", "limit,,x", "last,all", &attrs);
	put_node(graph, "Relu", "relu", "all", "y", NULL);
	put_value(graph, VALUE_OUT, "y", F32, NULL);
}

static void check_loop(const int64_t *limit, const char *dim, double trips, bool stated)
{
	bytes graph = {0};
	model m;
	loop_graph(&graph, limit);
	read_graph(&graph, 13, dim, &m);
	int32_t op = op_of(&m, "steps");
	assert_near(m.g.op_macs[op], trips * 3 * 5 * 5, 0);
	assert_near(m.g.op_flops[op], trips * (2 * 3 * 5 * 5 + 3 * 5 + 1), 0);
	assert_int_equal(m.g.op_param_bytes[op], 5 * 5 * 4);
	assert_int_equal(m.g.op_write_bytes[op], trips * (2 * 3 * 5 * 4 + 1));
	assert_int_equal(m.r.n_loops, !stated);
	assert_int_equal(m.g.op_output_bytes[op_of(&m, "relu")], trips * 3 * 5 * 4);
	assert_int_equal(m.r.n_unknown, stated ? 0 : 2);
	if (!stated)
		assert_string_equal(m.r.loop_name[0], "steps");
	berth_arena_free(&m.mem);
}

/* The iteration's number and the condition as [1], as some exporters declare them. */
static void test_counters(void **state)
{
	(void)state;
	static bytes graph, body, attrs, axis;
	int64_t limit = 3;
	model m;
	attr_int(&axis, "axis", 0);
	put_value(&body, VALUE_IN, "i", I64, "1");
	put_value(&body, VALUE_IN, "go", BOOL, "1");
	put_value(&body, VALUE_IN, "h", I64, "2");
	put_node(&body, "Concat", "", "i,h", "more", &axis);
	put_node(&body, "Relu", "", "h", "next", NULL);
	put_node(&body, "Squeeze", "", "go", "goes_on", NULL);
	for (int i = 0; i < 3; i++)
		put_value(&body, VALUE_OUT, (const char *const[]){"goes_on", "next", "more"}[i], I64, NULL);
	attr_graph(&attrs, "body", &body);
	put_ints(&graph, "limit", &limit, 1);
	put_value(&graph, VALUE_IN, "x", I64, "2");
	put_node(&graph, "Loop", "steps", "limit,,x", "last,all", &attrs);
	put_value(&graph, VALUE_OUT, "all", I64, NULL);
	read_graph(&graph, 13, NULL, &m);
	assert_int_equal(m.g.op_output_bytes[0], 3 * 3 * 8);
	assert_int_equal(m.r.n_unknown, 0);
	berth_arena_free(&m.mem);
}

static void test_loop(void **state)
{
	(void)state;
	int64_t seven = 7, forever = INT64_MAX;
	check_loop(&seven, NULL, 7, true);
	check_loop(&seven, "steps=3", 3, true);
	check_loop(NULL, NULL, 1, false);
	check_loop(NULL, "steps=12", 12, true);
	check_loop(&forever, NULL, 1, false);
}

/* Carried values that grow have no known length. */
static void test_growing(void **state)
{
	(void)state;
	bytes graph = {0}, body = {0}, attrs = {0}, axis = {0};
	int64_t trips = 4;
	model m;
	put_value(&body, VALUE_IN, "i", I64, "");
	put_value(&body, VALUE_IN, "go", BOOL, "");
	put_value(&body, VALUE_IN, "h", F32, NULL);
	attr_int(&axis, "axis", 0);
	put_node(&body, "Concat", "", "h,x", "longer", &axis);
	put_value(&body, VALUE_OUT, "go", BOOL, NULL);
	put_value(&body, VALUE_OUT, "longer", F32, NULL);
	attr_graph(&attrs, "body", &body);
	put_ints(&graph, "limit", &trips, -1);
	put_value(&graph, VALUE_IN, "x", F32, "2,5");
	put_node(&graph, "Loop", "grow", "limit,,x", "y", &attrs);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, NULL, &m);
	assert_int_equal(m.r.n_unknown, 1);
	assert_near(m.g.op_flops[0], 4 * 4 * 5, 0);
	berth_arena_free(&m.mem);
}

/* Sum over the scanned axis: as many trips as it is long. */
static void check_scan(int opset, const char *in, const char *init, double trips, double elements)
{
	bytes graph = {0}, body = {0}, attrs = {0};
	model m;
	put_value(&body, VALUE_IN, "sum", F32, NULL);
	put_value(&body, VALUE_IN, "next", F32, NULL);
	put_node(&body, "Add", "", "sum,next", "new", NULL);
	put_value(&body, VALUE_OUT, "new", F32, NULL);
	put_value(&body, VALUE_OUT, "new", F32, NULL);
	attr_graph(&attrs, "body", &body);
	attr_int(&attrs, "num_scan_inputs", 1);
	put_value(&graph, VALUE_IN, "init", F32, init);
	put_value(&graph, VALUE_IN, "x", F32, in);
	put_node(&graph, "Scan", "scan", opset < 9 ? ",init,x" : "init,x", "last,all", &attrs);
	put_value(&graph, VALUE_OUT, "all", F32, NULL);
	read_graph(&graph, opset, NULL, &m);
	assert_near(m.g.op_flops[0], trips * 2, 0);
	assert_int_equal(m.g.op_output_bytes[0], elements * 4);
	assert_int_equal(m.r.n_unknown + m.r.n_loops, 0);
	berth_arena_free(&m.mem);
}

static void test_scan(void **state)
{
	(void)state;
	check_scan(9, "6,2", "2", 6, 12);
	check_scan(8, "3,6,2", "3,2", 18, 36);
}

/* ---- functions ---- */

static void put_function(bytes *file, const char *domain, const char *name, const char *in, const char *out,
                         const bytes *nodes)
{
	bytes f = {0};
	char word[32];
	put_text(&f, 1, name);
	for (const char *p = in; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
		snprintf(word, sizeof word, "%.*s", (int)strcspn(p, ","), p);
		put_text(&f, 4, word);
	}
	for (const char *p = out; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
		snprintf(word, sizeof word, "%.*s", (int)strcspn(p, ","), p);
		put_text(&f, 5, word);
	}
	put_raw(&f, nodes->data, nodes->n);
	put_text(&f, 10, domain);
	put_message(file, 25, &f);
}

/* A node of a function: field 7 there, 1 in a graph. */
static void put_inner(bytes *nodes, const char *type, const char *domain, const char *name, const char *in,
                      const char *out, const bytes *attrs)
{
	bytes one = {0}, extra = {0};
	if (attrs)
		put_raw(&extra, attrs->data, attrs->n);
	put_text(&extra, 7, domain);
	put_node(&one, type, name, in, out, &extra);
	assert_int_equal(one.data[0], 1 << 3 | 2);
	one.data[0] = 7 << 3 | 2;
	put_raw(nodes, one.data, one.n);
}

static void attr_ref(bytes *attrs, const char *name, const char *ref)
{
	bytes a = {0};
	put_text(&a, 1, name);
	put_text(&a, 21, ref);
	put_message(attrs, 5, &a);
}

/* Two layers that call a block, which calls an activation: four operators each, named after the calls;
 * attributes come from the call or a default. */
static void test_functions(void **state)
{
	(void)state;
	static bytes graph, file, block, act, attrs, ref, perm, missing;
	int64_t swapped[] = {1, 0}, straight[] = {0, 1};
	model m;
	berth_err err;
	attr_ref(&ref, "perm", "order");
	attr_ints(&missing, "order", swapped, 2);
	missing.data[0] = 11 << 3 | 2; /* attribute_proto of a function */
	put_inner(&block, "Transpose", "", "t", "v", "vt", &ref);
	put_inner(&block, "MatMul", "", "product", "a,vt", "u", NULL);
	put_inner(&block, "Act", "mine", "act", "u,", "out", NULL);
	put_raw(&block, missing.data, missing.n);
	put_inner(&act, "Relu", "", "", "p", "q", NULL);
	put_inner(&act, "Add", "", "twice", "q,p", "r", NULL);
	put_value(&graph, VALUE_IN, "x", F32, "2,4");
	put_value(&graph, VALUE_IN, "v", F32, "8,4");
	put_weight(&graph, "w", F32, "8,8");
	attr_ints(&attrs, "order", straight, 2);
	put_text(&attrs, 7, "mine");
	put_text(&perm, 7, "mine");
	put_node(&graph, "Block", "one", "x,v", "h", &perm);
	put_node(&graph, "Block", "two", "h,w", "y", &attrs);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	put_model(&file, &graph, 17);
	put_function(&file, "mine", "Block", "a,v", "out", &block);
	put_function(&file, "mine", "Act", "p,left_out", "r", &act);
	assert_ok(parse(&file, NULL, &m, &err), &err);
	assert_int_equal(m.r.n_warnings + m.r.n_unknown, 0);
	assert_int_equal(m.g.n_ops, 7); /* the second Transpose is of a parameter */
	assert_near(m.g.op_macs[op_of(&m, "one/product")], 2 * 4 * 8, 0);
	assert_near(m.g.op_macs[op_of(&m, "two/product")], 2 * 8 * 8, 0);
	assert_near(m.g.op_flops[op_of(&m, "one/act/q")], 16, 0);
	assert_int_equal(m.g.op_output_bytes[op_of(&m, "two/act/twice")], 2 * 8 * 4);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "two/product")], 8 * 8 * 4);
	op_of(&m, "one/t");
	berth_arena_free(&m.mem);
}

/* What a function hands on unchanged, and one in the body of an If. */
static void test_function_corners(void **state)
{
	(void)state;
	static bytes graph, file, body, attrs, nodes, own;
	model m;
	berth_err err;
	put_inner(&nodes, "Relu", "", "", "a", "b", NULL);
	put_text(&own, 7, "mine");
	put_node(&body, "Pass", "p", "x", "same,new", &own);
	put_value(&body, VALUE_OUT, "new", F32, NULL);
	attr_graph(&attrs, "then_branch", &body);
	attr_graph(&attrs, "else_branch", &body);
	put_value(&graph, VALUE_IN, "x", F32, "2,4");
	put_value(&graph, VALUE_IN, "cond", BOOL, "");
	put_node(&graph, "Pass", "p", "x", "same,new", &own);
	put_node(&graph, "Tanh", "t", "same", "z", NULL);
	put_node(&graph, "If", "if", "cond", "y", &attrs);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	put_model(&file, &graph, 17);
	put_function(&file, "mine", "Pass", "a", "a,b", &nodes);
	assert_ok(parse(&file, NULL, &m, &err), &err);
	assert_int_equal(m.r.n_warnings + m.r.n_unknown, 0);
	assert_near(m.g.op_flops[op_of(&m, "if")], 2 * 8, 0); /* Relu and Identity */
	assert_near(m.g.op_flops[op_of(&m, "t")], 8, 0);
	berth_arena_free(&m.mem);
}

static void expect_error(const bytes *file, const char *part)
{
	model m;
	berth_err err;
	assert_int_equal(parse(file, NULL, &m, &err), BERTH_EFORMAT);
	assert_contains(err.msg, part);
	berth_arena_free(&m.mem);
}

static void one_call(bytes *file, const char *type)
{
	bytes graph = {0}, own = {0};
	file->n = 0;
	put_text(&own, 7, "mine");
	put_value(&graph, VALUE_IN, "x", F32, "2,4");
	put_node(&graph, type, "call", "x", "y", &own);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	put_model(file, &graph, 17);
}

/* A function that calls itself, one that stands twice, a tree of calls that would never end, a name that
 * nobody makes. */
static void test_bad_functions(void **state)
{
	(void)state;
	static bytes file, nodes, leaf, loose;
	put_inner(&nodes, "F", "mine", "n", "a", "b", NULL);
	one_call(&file, "F");
	put_function(&file, "mine", "F", "a", "b", &nodes);
	expect_error(&file, "bodies and functions nest deeper than 32");
	put_function(&file, "mine", "F", "a", "b", &nodes);
	expect_error(&file, "function 'F' of domain 'mine' stands twice");

	one_call(&file, "L0");
	for (int i = 0; i < 20; i++) {
		char name[8], next[8];
		bytes level = {0};
		snprintf(name, sizeof name, "L%d", i);
		snprintf(next, sizeof next, "L%d", i + 1);
		put_inner(&level, next, "mine", "n", "a", "h", NULL);
		put_inner(&level, next, "mine", "m", "h", "b", NULL);
		put_function(&file, "mine", name, "a", "b", &level);
	}
	put_inner(&leaf, "Relu", "", "", "a", "b", NULL);
	put_function(&file, "mine", "L20", "a", "b", &leaf);
	expect_error(&file, "calls of functions expand to more than");

	one_call(&file, "G");
	put_inner(&loose, "Add", "", "n", "a,nobody", "b", NULL);
	put_function(&file, "mine", "G", "a", "b", &loose);
	expect_error(&file, "'call/nobody' is made by nobody");
}

/* The file's k-th allocation fails, for each k. */
static void fail_each(const bytes *file)
{
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
			berth_graph_parse_onnx("t.onnx", file->data, file->n, NULL, &mem, &tmp, &g, &r, &err);
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

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static bytes graph, file, nodes, own;
	put_text(&own, 7, "mine");
	put_inner(&nodes, "Relu", "", "r", "a", "h", NULL);
	put_inner(&nodes, "Tanh", "", "t", "h", "b", NULL);
	if_graph(&graph, false);
	put_node(&graph, "Call", "call", "y", "same,u", &own);
	put_model(&file, &graph, 17);
	put_function(&file, "mine", "Call", "a", "a,b", &nodes);
	fail_each(&file);
	graph.n = file.n = 0;
	loop_graph(&graph, NULL);
	put_model(&file, &graph, 17);
	fail_each(&file);
}

/* ---- sequences ---- */

static void test_sequences(void **state)
{
	(void)state;
	bytes graph = {0}, attrs = {0};
	int64_t zero = 0;
	model m;
	put_value(&graph, VALUE_IN, "x", F32, "6,4");
	put_ints(&graph, "at", &zero, -1);
	attr_int(&attrs, "axis", 0);
	attr_int(&attrs, "keepdims", 0);
	put_node(&graph, "SplitToSequence", "split", "x", "rows", &attrs);
	put_node(&graph, "SequenceAt", "first", "rows,at", "row", NULL);
	put_node(&graph, "SequenceConstruct", "make", "row,row", "two", NULL);
	put_node(&graph, "SequenceInsert", "insert", "two,row", "three", NULL);
	put_node(&graph, "SequenceAt", "again", "three,at", "y", NULL);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 13, NULL, &m);
	assert_int_equal(m.g.op_output_bytes[op_of(&m, "again")], 16);
	assert_int_equal(m.r.n_unknown + m.r.n_warnings, 0);
	berth_arena_free(&m.mem);
}

/* ---- com.microsoft ---- */

static void test_microsoft_table(void **state)
{
	(void)state;
	size_t n;
	const onnx_op *table = onnx_microsoft_table(&n);
	assert_true(n > 40);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || strcmp(table[i - 1].type, table[i].type) < 0);
		assert_ptr_equal(onnx_op_find("com.microsoft", table[i].type), &table[i]);
		assert_ptr_not_equal(onnx_op_find("", table[i].type), &table[i]);
		assert_non_null(table[i].infer);
	}
}

/* Without its domain: taken for what it is, and told once. */
static void test_lent(void **state)
{
	(void)state;
	static bytes graph, attrs;
	model m;
	attr_int(&attrs, "channels_last", 1);
	attr_ints(&attrs, "kernel_shape", (const int64_t[]){2, 2}, 2);
	attr_ints(&attrs, "strides", (const int64_t[]){2, 2}, 2);
	put_value(&graph, VALUE_IN, "x", 2, "1,8,8,3");
	put_weight(&graph, "s", F32, "");
	put_weight(&graph, "z", 2, "");
	put_node(&graph, "QLinearAveragePool", "a", "x,s,z,s,z", "h", &attrs);
	put_node(&graph, "QLinearAveragePool", "b", "h,s,z,s,z", "y", &attrs);
	put_value(&graph, VALUE_OUT, "y", 2, NULL);
	read_graph(&graph, 13, NULL, &m);
	assert_int_equal(m.g.op_output_bytes[op_of(&m, "b")], 2 * 2 * 3);
	assert_int_equal(m.r.n_unknown, 0);
	assert_int_equal(m.r.n_warnings, 1);
	assert_string_equal(m.r.warning[0],
	                    "operator 'QLinearAveragePool' is none of the default domain (first at node "
	                    "'a'): taken for that of com.microsoft");
	berth_arena_free(&m.mem);
}

typedef struct fused {
	const char *type, *in[8], *attr; /* shapes of float inputs, "-": left out; "name=number;..." */
	double elements, macs; /* elements -1: read without a fault, whatever comes out */
} fused;

static void run_fused(const fused *c)
{
	static bytes graph, attrs;
	char names[64] = "", name[8], key[32];
	model m;
	graph.n = attrs.n = 0;
	for (int i = 0; i < 8 && c->in[i]; i++) {
		snprintf(name, sizeof name, "i%d", i);
		if (c->in[i][0] != '-')
			put_value(&graph, VALUE_IN, name, F32, c->in[i]);
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? "," : "",
		         c->in[i][0] == '-' ? "" : name);
	}
	for (const char *p = c->attr; p && *p; p += strcspn(p, ";"), p += *p == ';') {
		snprintf(key, sizeof key, "%.*s", (int)strcspn(p, "="), p);
		attr_int(&attrs, key, strtoll(p + strlen(key) + 1, NULL, 10));
	}
	put_text(&attrs, 7, "com.microsoft");
	put_weight(&graph, "weights_are_inside", F32, "2");
	put_node(&graph, c->type, "op", names, "y", &attrs);
	put_value(&graph, VALUE_OUT, "y", F32, NULL);
	read_graph(&graph, 17, NULL, &m);
	if (c->elements < 0) {
		berth_arena_free(&m.mem);
		return;
	}
	if ((double)m.g.op_output_bytes[0] != 4 * c->elements || m.g.op_macs[0] != c->macs)
		print_error("%s: %g elements, %g MACs\n", c->type, (double)m.g.op_output_bytes[0] / 4,
		            m.g.op_macs[0]);
	assert_near((double)m.g.op_output_bytes[0], 4 * c->elements, 0);
	assert_near(m.g.op_macs[0], c->macs, 0);
	assert_int_equal(m.r.n_unknown + m.r.n_warnings, 0);
	/* several products in one have no shape */
	assert_int_equal(shapes_missing(&m.g),
	                 strstr("PackedAttention MultiHeadAttention GroupQueryAttention MoE "
	                        "DynamicQuantizeLSTM",
	                        c->type) != NULL);
	if (strcmp(c->type, "MatMulNBits") == 0)
		assert_shape(&m.g, "op", BERTH_W4A16, PRODUCT, 1, 14, 5, 16);
	if (strncmp(c->type, "Nhwc", 4) == 0 && strstr(c->type, "Conv"))
		assert_shape(&m.g, "op", BERTH_F32, CONV, 1, 5, 4, 42, 6, 1, 1, 1);
	if (strcmp(c->type, "QGemm") == 0)
		assert_shape(&m.g, "op", BERTH_F32, PRODUCT, 1, 7, 5, 16);
	berth_arena_free(&m.mem);
}

static void test_fused(void **state)
{
	(void)state;
	static const fused cases[] = {
		{"Attention", {"2,7,12", "12,36", "36"}, "num_heads=3", 2 * 7 * 12,
		 2 * 7 * 12 * 36 + 2 * 7 * 7 * 24},
		{"Attention", {"2,1,12", "12,36", "36", "-", "2,2,3,9,4"}, "num_heads=3", 2 * 12,
		 2 * 12 * 36 + 2 * 10 * 24},
		{"MultiHeadAttention", {"2,7,12", "2,9,12", "2,9,15"}, "num_heads=3", 2 * 7 * 15,
		 2 * 7 * 9 * 27},
		{"MultiHeadAttention", {"2,7,12", "2,3,9,4", "2,3,9,5"}, "num_heads=3", 2 * 7 * 15,
		 2 * 7 * 9 * 27},
		{"MultiHeadAttention", {"2,7,3,3,4"}, "num_heads=3", 2 * 7 * 12, 2 * 7 * 7 * 24},
		{"GroupQueryAttention", {"2,1,12", "2,1,4", "2,1,4", "2,1,9,4", "2,1,9,4"},
		 "num_heads=3;kv_num_heads=1", 2 * 12, 2 * 10 * 24},
		{"GroupQueryAttention", {"2,5,20"}, "num_heads=3;kv_num_heads=1", 2 * 5 * 12, 2 * 5 * 5 * 24},
		{"PackedAttention", {"6,12", "12,36"}, "num_heads=3", 6 * 12, 6 * 12 * 36 + 2 * 6 * 6 * 12},
		{"EmbedLayerNormalization", {"2,7", "2,7", "30,12", "9,12", "2,12", "12", "12"}, NULL,
		 2 * 7 * 12, 0},
		{"SkipLayerNormalization", {"2,7,12", "2,7,12", "12"}, NULL, 2 * 7 * 12, 0},
		{"BiasGelu", {"2,7,12", "12"}, NULL, 2 * 7 * 12, 0},
		{"FastGelu", {"2,7,12", "12"}, NULL, 2 * 7 * 12, 0},
		{"FusedMatMul", {"2,5,3", "2,7,5"}, "transA=1;transB=1", 2 * 3 * 7, 2 * 3 * 7 * 5},
		{"FusedConv", {"1,3,8,8", "4,3,3,3"}, NULL, 4 * 6 * 6, 4 * 6 * 6 * 27},
		{"NhwcConv", {"1,8,8,5", "4,3,2,5"}, NULL, 4 * 6 * 7, 4 * 6 * 7 * 30},
		{"NhwcFusedConv", {"1,8,8,5", "4,5,3,2"}, NULL, 4 * 6 * 7, 4 * 6 * 7 * 30},
		{"MatMulNBits", {"2,7,16"}, "N=5;K=16", 2 * 7 * 5, 2 * 7 * 5 * 16},
		{"DynamicQuantizeMatMul", {"2,7,16", "16,5"}, NULL, 2 * 7 * 5, 2 * 7 * 5 * 16},
		{"QGemm", {"7,16", "-", "-", "16,5"}, NULL, 35, 7 * 16 * 5},
		{"MoE", {"2,7,16", "14,4", "4,16,32", "-", "4,32,16"}, "k=2", 2 * 7 * 16,
		 2 * 7 * 2 * (16 * 32 + 32 * 16)},
		{"QLinearGlobalAveragePool", {"1,8,8,3"}, "channels_last=1", 3, 0},
		{"QLinearAdd", {"2,3", "-", "-", "2,3"}, NULL, 6, 0},
		{"BiasSplitGelu", {"2,7,12", "12"}, NULL, 2 * 7 * 6, 0},
		{"DynamicQuantizeLSTM", {"5,2,8", "1,8,16", "1,4,16"}, "hidden_size=4", 5 * 2 * 4,
		 5 * 2 * 4 * 4 * (8 + 4)},
		{"MultiHeadAttention", {"2,7,12"},
		 "num_heads=9223372036854775807;kv_num_heads=9223372036854775807", -1, 0},
		{"GroupQueryAttention", {"2,7,12"},
		 "num_heads=-9223372036854775807;kv_num_heads=4611686018427387904", -1, 0},
		{"MoE", {"", "14,4", "4,16,32", "-", "4,32,16"}, "k=2", -1, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		run_fused(&cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_if),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_function_corners),
		cmocka_unit_test(test_bad_functions),
		cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_sequences),
		cmocka_unit_test(test_microsoft_table),
		cmocka_unit_test(test_fused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
