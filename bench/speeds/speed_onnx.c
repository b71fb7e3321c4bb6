/* Reading an ONNX file of 100 MB with its weights inside: 25 matrix products of 1000 x 1000, written here;
 * and files made to be expensive, a megabyte each. */
#include "load.h"
#include "onnx.h"
#include "onnx_bytes.h"
#include "onnx_costly.h"
#include "speeds.h"

#include <stdlib.h>
#include <unistd.h>

enum { LAYERS = 25, SIDE = 1000, WEIGHT_BYTES = SIDE * SIDE * 4 };

static void must_write(FILE *f, const void *data, size_t n)
{
	if (fwrite(data, 1, n, f) != n)
		bench_refuse("a file in /tmp cannot be written");
}

/* The head of the weight of a layer as an initializer of a graph; its numbers follow it. */
static void put_head(bytes *out, int layer)
{
	bytes tensor = {0};
	char name[16];
	snprintf(name, sizeof name, "w%d", layer);
	put_number(&tensor, 1, SIDE);
	put_number(&tensor, 1, SIDE);
	put_number(&tensor, 2, 1);
	put_text(&tensor, 8, name);
	put_tag(&tensor, 9, 2);
	put_varint(&tensor, WEIGHT_BYTES);
	put_tag(out, 5, 2);
	put_varint(out, tensor.n + WEIGHT_BYTES);
	put_raw(out, tensor.data, tensor.n);
}

static void write_model(const char *path)
{
	bytes model = {0}, opset = {0}, graph = {0}, head[LAYERS] = {{0}};
	void *weights = calloc(1, WEIGHT_BYTES);
	FILE *f = fopen(path, "wb");
	char in[16] = "x0", both[40], out[16] = "";
	size_t size = (size_t)LAYERS * WEIGHT_BYTES;
	if (!f || !weights)
		bench_refuse("a file in /tmp cannot be made");
	put_value(&graph, 11, in, 1, "1,1000");
	for (int i = 0; i < LAYERS; i++) {
		snprintf(both, sizeof both, "%s,w%d", in, i);
		snprintf(out, sizeof out, "x%d", i + 1);
		put_node(&graph, "MatMul", "", both, out, NULL);
		memcpy(in, out, sizeof in);
		put_head(&head[i], i);
		size += head[i].n;
	}
	put_value(&graph, 12, out, 1, "1,1000");
	put_number(&opset, 2, 13);
	put_number(&model, 1, 8);
	put_message(&model, 8, &opset);
	put_tag(&model, 7, 2);
	put_varint(&model, size + graph.n);
	must_write(f, model.data, model.n);
	must_write(f, graph.data, graph.n);
	for (int i = 0; i < LAYERS; i++) {
		must_write(f, head[i].data, head[i].n);
		must_write(f, weights, WEIGHT_BYTES);
	}
	fclose(f);
	free(weights);
}

static void read_model(void *ctx)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_graph g;
	MUST(berth_graph_load(ctx, NULL, &mem, &tmp, &g, NULL, &err));
}

static void read_costly(void *ctx)
{
	const onnx_file *file = ctx;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_graph g;
	/* A graph, or an error of format. */
	berth_graph_parse_onnx("costly.onnx", file->data, file->n, NULL, &mem, &tmp, &g, NULL, NULL);
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
