/* Reading the GGUF header of a large model: Mixtral with 120 layers and two vocabularies, in memory. */
#include "speeds.h"

#include "parse_gguf.h"
#include "gguf_bytes.h"

#include <stdlib.h>

static void read_header(void *ctx)
{
	const gguf_bytes *b = ctx;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_graph g;
	MUST(parse_gguf("bench.gguf", b->p, b->n, NULL, &mem, &tmp, &g, NULL, &err));
}

void speed_gguf(void)
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
	speed_row("gguf", name, seconds * 1e3, "ms");
	speed_row("gguf", "a byte of the header", seconds / (double)b.n * 1e9, "ns");
	free(b.p);
}
