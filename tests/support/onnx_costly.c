/* See onnx_costly.h. */
#include "onnx_costly.h"

#include "onnx_bytes.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 1 };

static void add(onnx_file *t, const void *data, size_t n)
{
	while (t->n + n > t->cap) {
		t->cap = t->cap ? 2 * t->cap : 4096;
		t->data = realloc(t->data, t->cap);
		if (!t->data)
			abort();
	}
	memcpy(t->data + t->n, data, n);
	t->n += n;
}

static void add_bytes(onnx_file *t, bytes *b)
{
	add(t, b->data, b->n);
	b->n = 0;
}

/* Field `number` of length n. */
static void add_head(onnx_file *t, uint32_t number, size_t n)
{
	bytes b = {0};
	put_tag(&b, number, 2);
	put_varint(&b, n);
	add_bytes(t, &b);
}

static void wrap(onnx_file *file, const onnx_file *graph, const onnx_file *functions)
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

typedef void (*writer)(onnx_file *graph, bytes *one, unsigned i);

static void bare_node(onnx_file *graph, bytes *one, unsigned i)
{
	(void)graph, (void)i;
	put_node(one, "A", "", "", "", NULL);
}

static void name(char word[16], unsigned i)
{
	snprintf(word, 16, "%x", i);
}

static void chain(onnx_file *graph, bytes *one, unsigned i)
{
	char from[16], to[16];
	(void)graph;
	name(from, i);
	name(to, i + 1);
	if (i == 0)
		put_value(one, 11, from, F32, "2");
	put_node(one, "Abs", "", from, to, NULL);
}

static void wide_chain(onnx_file *graph, bytes *one, unsigned i)
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

static void unknown_nodes(onnx_file *graph, bytes *one, unsigned i)
{
	char type[16];
	(void)graph;
	name(type, i);
	put_node(one, type, "", "", "", NULL);
}

static void attributes(onnx_file *graph, bytes *one, unsigned i)
{
	bytes attrs = {0};
	(void)graph, (void)i;
	for (int k = 0; k < 200; k++)
		put_text(&attrs, 5, "");
	put_node(one, "A", "", "", "", &attrs);
}

static void inputs(onnx_file *graph, bytes *one, unsigned i)
{
	char word[16];
	(void)graph;
	name(word, i);
	put_value(one, 11, word, F32, "a");
}

static void symbols(onnx_file *graph, bytes *one, unsigned i)
{
	char word[16];
	(void)graph;
	name(word, i);
	put_value(one, 11, word, F32, word);
}

static void weights(onnx_file *graph, bytes *one, unsigned i)
{
	char word[16];
	(void)graph;
	name(word, i);
	put_weight(one, word, F32, "2");
}

static void contents(onnx_file *graph, bytes *one, unsigned i)
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
static void roots(onnx_file *graph, bytes *one, unsigned i)
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

static void bodies(onnx_file *graph, bytes *one, unsigned i)
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

static void calls(onnx_file *graph, bytes *one, unsigned i)
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

static const struct {
	const char *name;
	writer write;
} kinds[ONNX_COSTLY_KINDS] = {{"nodes of five bytes", bare_node},
                              {"chain", chain},
                              {"chain of rank 64", wide_chain},
                              {"unknown types", unknown_nodes},
                              {"attributes", attributes},
                              {"inputs", inputs},
                              {"symbols", symbols},
                              {"initializers", weights},
                              {"contents", contents},
                              {"shared constants", roots},
                              {"bodies", bodies},
                              {"calls", calls}};

const char *onnx_costly_name(int kind)
{
	return kinds[kind].name;
}

size_t onnx_write_costly(onnx_file *file, int kind, size_t size)
{
	onnx_file graph = {0}, functions = {0};
	writer write = kinds[kind].write;
	bytes *one = calloc(1, sizeof *one);
	unsigned n = 0;
	if (!one)
		abort();
	for (; graph.n < size; n++) {
		write(&graph, one, n);
		add_bytes(&graph, one);
	}
	if (write == calls) {
		/* A function of many names, called again and again. */
		onnx_file f = {0};
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
		add_head(&functions, 25, f.n);
		add(&functions, f.data, f.n);
		free(f.data);
	}
	wrap(file, &graph, &functions);
	free(one);
	free(graph.data);
	free(functions.data);
	return write == bodies ? n : 0;
}

void onnx_write_exported(onnx_file *file, unsigned n, const char *format)
{
	onnx_file graph = {0}, none = {0};
	bytes *one = calloc(1, sizeof *one), entry = {0}, dims = {0};
	char scope[96], from[112] = "x", in[220], out[112], weight[96];
	if (!one)
		abort();
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
