/* Files made to be expensive: whatever an ONNX file of a megabyte holds, reading it takes at most 4 bytes of
 * memory a byte and 16 MB (nodes of 48 to 255 bytes 400 more), and at most 100 ns a byte and 20 ms. The
 * answer is a graph or an error of format. */
#include "onnx.h"
#include "onnx_bytes.h"
#include "support.h"
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 1, I64 = 7, SIZE = 1 << 20 };

typedef struct text {
	unsigned char *data;
	size_t n, cap;
} text;

static void add(text *t, const void *data, size_t n)
{
	while (t->n + n > t->cap) {
		t->cap = t->cap ? 2 * t->cap : 4096;
		t->data = realloc(t->data, t->cap);
		assert_non_null(t->data);
	}
	memcpy(t->data + t->n, data, n);
	t->n += n;
}

static void add_bytes(text *t, bytes *b)
{
	add(t, b->data, b->n);
	b->n = 0;
}

/* Field `number` of length n. */
static void add_head(text *t, uint32_t number, size_t n)
{
	bytes b = {0};
	put_tag(&b, number, 2);
	put_varint(&b, n);
	add_bytes(t, &b);
}

static void wrap(text *file, const text *graph, const text *functions)
{
	bytes b = {0}, set = {0};
	put_number(&b, 1, 8);
	add_bytes(file, &b);
	add_head(file, 7, graph->n);
	add(file, graph->data, graph->n);
	put_number(&set, 2, 17);
	put_message(&b, 8, &set);
	add_bytes(file, &b);
	if (functions->n)
		add(file, functions->data, functions->n);
}

/* granted: nodes of 48 to 255 bytes, which may take 400 bytes more each. */
static void check(const char *what, const text *graph, const text *functions, size_t granted)
{
	text file = {0};
	metering_allocator c;
	berth_arena mem, tmp;
	berth_graph g;
	berth_err err = {0};
	metering_allocator_init(&c);
	berth_arena_init(&mem, &c.hook);
	berth_arena_init(&tmp, &c.hook);
	wrap(&file, graph, functions);
	double start = berth_cpu_seconds();
	berth_status st =
		berth_graph_parse_onnx("f.onnx", file.data, file.n, NULL, &mem, &tmp, &g, NULL, &err);
	double seconds = berth_cpu_seconds() - start;
	print_message("%-22s %7zu bytes: %5.1f MB, %5.1f ns a byte: %.100s\n", what, file.n,
	              (double)c.peak / 1e6, seconds * 1e9 / (double)file.n,
	              st == BERTH_OK ? "read" : err.msg);
	assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
	assert_true(c.peak <= 4 * file.n + 16 * 1000 * 1000 + 400 * granted);
	if (IS_TIMED)
		assert_true(seconds <= 100e-9 * (double)file.n + 20e-3);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	free(file.data);
}

/* ---- files ---- */

typedef void (*writer)(text *graph, bytes *one, unsigned i);

static void bare_node(text *graph, bytes *one, unsigned i)
{
	(void)graph, (void)i;
	put_node(one, "A", "", "", "", NULL);
}

static void name(char word[16], unsigned i)
{
	snprintf(word, 16, "%x", i);
}

static void chain(text *graph, bytes *one, unsigned i)
{
	char from[16], to[16];
	(void)graph;
	name(from, i);
	name(to, i + 1);
	if (i == 0)
		put_value(one, 11, from, F32, "2");
	put_node(one, "Abs", "", from, to, NULL);
}

static void wide_chain(text *graph, bytes *one, unsigned i)
{
	char shape[160] = "1";
	if (i == 0) {
		for (int k = 1; k < 64; k++)
			strcat(shape, ",1");
		put_value(one, 11, "0", F32, shape);
	}
	char from[16], to[16];
	(void)graph;
	name(from, i);
	name(to, i + 1);
	put_node(one, "Abs", "", from, to, NULL);
}

static void unknown_nodes(text *graph, bytes *one, unsigned i)
{
	char type[16];
	(void)graph;
	name(type, i);
	put_node(one, type, "", "", "", NULL);
}

static void attributes(text *graph, bytes *one, unsigned i)
{
	bytes attrs = {0};
	(void)graph, (void)i;
	for (int k = 0; k < 200; k++)
		put_text(&attrs, 5, "");
	put_node(one, "A", "", "", "", &attrs);
}

static void inputs(text *graph, bytes *one, unsigned i)
{
	char word[16];
	(void)graph;
	name(word, i);
	put_value(one, 11, word, F32, "a");
}

static void symbols(text *graph, bytes *one, unsigned i)
{
	char word[16];
	(void)graph;
	name(word, i);
	put_value(one, 11, word, F32, word);
}

static void weights(text *graph, bytes *one, unsigned i)
{
	char word[16];
	(void)graph;
	name(word, i);
	put_weight(one, word, F32, "2");
}

static void contents(text *graph, bytes *one, unsigned i)
{
	static const char *const type[] = {"Pow", "Where", "Tile", "Mod"};
	char to[16];
	int64_t x[1] = {1024};
	(void)graph;
	name(to, i + 1);
	if (i == 0) {
		put_ints(one, "n", x, 1);
		put_node(one, "ConstantOfShape", "", "n", "r", NULL);
	}
	put_node(one, type[i % 2], "", i % 2 ? "r,r,r" : "r,r", to, NULL);
}

/* Concat of constants that are made of 60 parameters each. */
static void roots(text *graph, bytes *one, unsigned i)
{
	bytes attrs = {0};
	char list[600] = "", word[20], to[16];
	(void)graph;
	attr_int(&attrs, "axis", 0);
	if (i == 0) {
		for (unsigned k = 0; k < 60; k++) {
			snprintf(word, sizeof word, "w%u", k);
			put_weight(one, word, F32, "2");
			snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", k ? "," : "", word);
		}
		put_node(one, "Concat", "", list, "c", &attrs);
		put_value(one, 11, "x", F32, "120");
	}
	snprintf(to, sizeof to, "m%x", i);
	snprintf(list, sizeof list, "c");
	for (int k = 0; k < 200; k++)
		strcat(list, ",c");
	snprintf(word, sizeof word, "o%x", i);
	put_node(one, "Concat", "", list, word, &attrs);
	strcat(list, ",x");
	put_node(one, "Max", "", list, to, NULL);
}

static void bodies(text *graph, bytes *one, unsigned i)
{
	bytes body = {0}, attrs = {0};
	char word[16];
	(void)graph;
	put_node(&body, "Abs", "", "a", "b", NULL);
	attr_graph(&attrs, "then_branch", &body);
	attr_graph(&attrs, "else_branch", &body);
	name(word, i);
	if (i == 0)
		put_value(one, 11, "a", F32, "2");
	put_node(one, "If", "", "a", word, &attrs);
}

static void calls(text *graph, bytes *one, unsigned i)
{
	bytes own = {0};
	char from[16], to[16];
	(void)graph;
	put_text(&own, 7, "d");
	name(from, i);
	name(to, i + 1);
	if (i == 0)
		put_value(one, 11, from, F32, "2");
	put_node(one, "F", "", from, to, &own);
}

/* Returns how often. */
static size_t fill(text *graph, writer w)
{
	bytes *one = calloc(1, sizeof *one);
	assert_non_null(one);
	unsigned i = 0;
	for (; graph->n < SIZE; i++) {
		w(graph, one, i);
		add_bytes(graph, one);
	}
	free(one);
	return i;
}

/* A function of many names, called again and again. */
static void put_functions(text *out)
{
	text f = {0};
	bytes b = {0};
	put_text(&b, 1, "F");
	put_text(&b, 10, "d");
	put_text(&b, 4, "a");
	put_text(&b, 5, "b");
	for (int i = 0; i < 2000; i++)
		put_text(&b, 6, "x");
	add_bytes(&f, &b);
	put_node(&b, "Abs", "", "a", "b", NULL);
	b.data[0] = 7 << 3 | 2;
	add_bytes(&f, &b);
	add_head(out, 25, f.n);
	add(out, f.data, f.n);
	free(f.data);
}

static void test_limits(void **state)
{
	(void)state;
	static const struct { const char *what; writer w; } cases[] = {
		{"nodes of five bytes", bare_node}, {"chain", chain}, {"chain of rank 64", wide_chain},
		{"unknown types", unknown_nodes}, {"attributes", attributes},
		{"inputs", inputs}, {"symbols", symbols}, {"initializers", weights}, {"contents", contents},
		{"shared constants", roots}, {"bodies", bodies},
		{"calls", calls}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		text graph = {0}, functions = {0};
		size_t n = fill(&graph, cases[i].w);
		if (cases[i].w == calls)
			put_functions(&functions);
		check(cases[i].what, &graph, &functions, cases[i].w == bodies ? n : 0);
		free(graph.data);
		free(functions.data);
	}
}

/* A model as exporters write it, its weights beside it: names of layers, or of nodes alone. */
static void write_model(text *file, unsigned n, const char *format)
{
	text graph = {0}, none = {0};
	bytes *one = calloc(1, sizeof *one), entry = {0}, dims = {0};
	char scope[96], from[112] = "x", in[220], out[112], weight[96];
	assert_non_null(one);
	put_value(one, 11, "x", F32, "1,128,768");
	for (unsigned i = 0; i < n; i++) {
		bool product = i % 10 == 0;
		snprintf(scope, sizeof scope, format, i / 40, product ? "MatMul" : "Add", i);
		snprintf(out, sizeof out, "%s_output_0", scope);
		snprintf(weight, sizeof weight, "onnx::MatMul_%u", i);
		if (product) {
			put_number(&dims, 1, 768);
			put_number(&dims, 1, 768);
			put_number(&dims, 2, F32);
			put_text(&dims, 8, weight);
			put_text(&entry, 1, "location");
			put_text(&entry, 2, "model.onnx.data");
			put_message(&dims, 13, &entry);
			put_number(&dims, 14, 1);
			put_message(one, 5, &dims);
			entry.n = dims.n = 0;
		}
		snprintf(in, sizeof in, "%s,%s", from, product ? weight : "x");
		put_node(one, product ? "MatMul" : "Add", scope, in, out, NULL);
		add_bytes(&graph, one);
		memcpy(from, out, sizeof from);
	}
	wrap(file, &graph, &none);
	free(graph.data);
	free(one);
}

static void test_large_model(void **state)
{
	(void)state;
	static const char *const formats[] = {"/model/layers.%u/self_attn/rotary_emb/%s_%u", "%.0u%s_%u"};
	for (unsigned n = 50000; n <= (IS_TIMED ? 100000 : 50000); n += 50000) /* an arena with guards takes
	                                                                          more */
		for (int i = 0; i < 2; i++) {
			text file = {0};
			metering_allocator c;
			berth_arena mem, tmp;
			berth_graph g;
			berth_onnx_report r;
			berth_err err;
			metering_allocator_init(&c);
			berth_arena_init(&mem, &c.hook);
			berth_arena_init(&tmp, &c.hook);
			write_model(&file, n, formats[i]);
			assert_ok(berth_graph_parse_onnx("f.onnx", file.data, file.n, NULL, &mem, &tmp, &g,
			                                 &r, &err),
			          &err);
			print_message("%u nodes of %zu bytes each: %zu bytes of memory a node, %.1f a byte\n",
			              n, file.n / n, c.peak / n, (double)c.peak / (double)file.n);
			assert_int_equal(g.n_ops, n);
			assert_true(r.param_elements >= 768.0 * 768 * n / 10);
			assert_true(c.peak <= 4 * file.n + 16 * 1000 * 1000 + 400 * (size_t)n);
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
			free(file.data);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits), cmocka_unit_test(test_large_model)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
