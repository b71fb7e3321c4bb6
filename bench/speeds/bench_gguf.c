/* Reading the GGUF header of a large model: Mixtral with 120 layers and two vocabularies, in memory. */
#include "bench.h"

#include "gguf.h"
#include "gguf_bytes.h"

#include <stdio.h>
#include <stdlib.h>

static void read_header(void *ctx)
{
	const gguf_bytes *b = ctx;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_err err;
	if (berth_graph_parse_gguf("bench.gguf", b->p, b->n, NULL, &mem, &tmp, &g, NULL, &err) != BERTH_OK) {
		fprintf(stderr, "berth-bench: %s\n", err.msg);
		exit(1);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

void bench_gguf(bench_out *out)
{
	enum { LAYERS = 120, WORDS = 150000 };
	const gguf_recipe *r = gguf_recipe_find("mixtral-8x7b");
	char name[64];
	gguf_bytes b;
	gguf_begin(&b);
	gguf_put_keys(&b, r, LAYERS);
	gguf_key_tokens(&b, "tokenizer.ggml.tokens", WORDS);
	gguf_key_tokens(&b, "tokenizer.ggml.merges", WORDS);
	gguf_put_tensors(&b, r, 0, LAYERS, 1);
	gguf_end(&b);
	snprintf(name, sizeof name, "header of %.0f GB, %d layers", b.tensor_bytes / 1e9, LAYERS);
	double seconds = bench_seconds(read_header, &b);
	bench_row(out, "gguf", name, seconds * 1e3, "ms");
	bench_row(out, "gguf", "a byte of the header", seconds / (double)b.n * 1e9, "ns");
	free(b.p);
}
