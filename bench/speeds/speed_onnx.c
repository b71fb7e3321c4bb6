/* Reading an ONNX file of 100 MB with its weights inside: 25 matrix products of 1000 x 1000, written here;
 * and files made to be expensive, a megabyte each. */
#include "speeds.h"

#include "load.h"
#include "onnx.h"
#include "onnx_costly.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 25, SIDE = 1000 };

typedef struct bytes {
	unsigned char *p;
	size_t n, cap;
} bytes;

static void put(bytes *b, const void *data, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = (b->n + n) * 2;
		b->p = realloc(b->p, b->cap);
		if (!b->p)
			abort();
	}
	memcpy(b->p + b->n, data, n);
	b->n += n;
}

static void put_varint(bytes *b, uint64_t v)
{
	do {
		unsigned char c = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
		put(b, &c, 1);
		v >>= 7;
	} while (v);
}

static void put_number(bytes *b, unsigned field, uint64_t v)
{
	put_varint(b, (uint64_t)field << 3);
	put_varint(b, v);
}

static void put_block(bytes *b, unsigned field, const void *data, size_t n)
{
	put_varint(b, (uint64_t)field << 3 | 2);
	put_varint(b, n);
	put(b, data, n);
}

static void put_text(bytes *b, unsigned field, const char *s)
{
	put_block(b, field, s, strlen(s));
}

/* Take inner as a field of outer. */
static void put_message(bytes *outer, unsigned field, bytes *inner)
{
	put_block(outer, field, inner->p, inner->n);
	free(inner->p);
	*inner = (bytes){0};
}

/* ValueInfoProto of a float matrix [1, SIDE]. */
static void put_value(bytes *graph, unsigned field, const char *name)
{
	bytes dim = {0}, shape = {0}, tensor = {0}, type = {0}, value = {0};
	put_number(&dim, 1, 1);
	put_message(&shape, 1, &dim);
	put_number(&dim, 1, SIDE);
	put_message(&shape, 1, &dim);
	put_number(&tensor, 1, 1);
	put_message(&tensor, 2, &shape);
	put_message(&type, 1, &tensor);
	put_text(&value, 1, name);
	put_message(&value, 2, &type);
	put_message(graph, field, &value);
}

static void put_layer(bytes *graph, int i, const float *weights)
{
	char in[16], out[16], w[16];
	bytes node = {0}, tensor = {0};
	snprintf(in, sizeof in, "x%d", i);
	snprintf(out, sizeof out, "x%d", i + 1);
	snprintf(w, sizeof w, "w%d", i);
	put_text(&node, 1, in);
	put_text(&node, 1, w);
	put_text(&node, 2, out);
	put_text(&node, 4, "MatMul");
	put_message(graph, 1, &node);
	put_number(&tensor, 1, SIDE);
	put_number(&tensor, 1, SIDE);
	put_number(&tensor, 2, 1);
	put_text(&tensor, 8, w);
	put_block(&tensor, 9, weights, sizeof *weights * SIDE * SIDE);
	put_message(graph, 5, &tensor);
}

static void write_model(const char *path)
{
	bytes graph = {0}, opset = {0}, model = {0};
	float *weights = calloc((size_t)SIDE * SIDE, sizeof *weights);
	char last[16];
	if (!weights)
		abort();
	for (int i = 0; i < LAYERS; i++)
		put_layer(&graph, i, weights);
	free(weights);
	put_text(&graph, 2, "bench");
	put_value(&graph, 11, "x0");
	snprintf(last, sizeof last, "x%d", LAYERS);
	put_value(&graph, 12, last);
	put_number(&opset, 2, 13);
	put_number(&model, 1, 8);
	put_message(&model, 8, &opset);
	put_message(&model, 7, &graph);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(model.p, 1, model.n, f) != model.n || fclose(f) != 0)
		abort();
	free(model.p);
}

static void read_model(void *ctx)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	MUST(berth_graph_load(ctx, NULL, &mem, &tmp, &g, NULL, &err));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void read_costly(void *ctx)
{
	const onnx_file *file = ctx;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	/* A graph, or an error of format. */
	berth_graph_parse_onnx("costly.onnx", file->data, file->n, NULL, &mem, &tmp, &g, NULL, NULL);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

void speed_onnx(void)
{
	char path[] = BENCH_PATH;
	bench_make_file(path);
	write_model(path);
	speed_row("onnx", "100 MB, weights inside", bench_seconds(read_model, path) * 1e3, "ms");
	unlink(path);
	for (int kind = 0; kind < ONNX_COSTLY_KINDS; kind++) {
		onnx_file file = {0};
		onnx_write_costly(&file, kind, 1 << 20);
		speed_row("onnx", onnx_costly_name(kind),
		          bench_seconds(read_costly, &file) / (double)file.n * 1e9, "ns/byte");
		free(file.data);
	}
}
