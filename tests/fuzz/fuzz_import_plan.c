/* Any bytes as what an engine chose, by each reader and by the one that the content asks for: a device for
 * every operator, and counts that are right, or an error with a message. */
#include "fuzz.h"
#include "gguf_bytes.h"
#include "graph_format.h"
#include "importers.h"
#include "load.h"
#include "mutate.h"
#include "text.h"

#include <string.h>

/* Operators as language models, model folders and ONNX have them. */
static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["
	"{\"name\":\"token_embd.weight\"},{\"name\":\"blk.0.attn_q.weight\"},{\"name\":\"blk.0.scores\"},"
	"{\"name\":\"blk.1.ffn_up.weight\"},{\"name\":\"output.weight\"},{\"name\":\"model.layers.0.a\"},"
	"{\"name\":\"model.norm\"},{\"name\":\"/c/Conv\",\"type\":\"Conv\"},{\"name\":\"/c/"
        "Relu\",\"type\":\"Relu\"},"
	"{\"name\":\"=1+1\"},{\"name\":\"a,\\\"b\"}],\"edges\":["
	"{\"from\":\"token_embd.weight\",\"to\":\"blk.0.attn_q.weight\",\"bytes\":8},"
	"{\"from\":\"blk.0.attn_q.weight\",\"to\":\"blk.0.scores\",\"bytes\":8},"
	"{\"from\":\"blk.0.scores\",\"to\":\"output.weight\",\"bytes\":8},"
	"{\"from\":\"/c/Conv\",\"to\":\"/c/Relu\",\"bytes\":8},{\"from\":\"/c/"
        "Relu\",\"to\":\"model.norm\",\"bytes\":8}]}";

static const berth_graph *engine_graph(void)
{
	static berth_arena kept, scratch;
	static berth_graph g;
	if (!kept.top)
		must(berth_graph_parse_json("g", graph_text, sizeof graph_text - 1, &kept, &scratch, &g,
		                            NULL) == BERTH_OK);
	return &g;
}

/* A model whose output shares the embedding's matrix, of two layers, with its file. */
typedef struct gguf_model {
	gguf_bytes bytes;
	berth_content content;
	berth_graph g;
} gguf_model;

static const gguf_model *tied_model(void)
{
	static berth_arena kept, scratch;
	static gguf_model m;
	if (m.bytes.p)
		return &m;
	gguf_write(&m.bytes, gguf_recipe_find("gemma-2-2b"), 2);
	m.content =
		(berth_content){.name = "m.gguf", .data = (const char *)m.bytes.p, .size = m.bytes.n};
	must(berth_graph_parse("m.gguf", m.content.data, m.content.size, NULL, &kept, &scratch, &m.g, NULL,
	                       NULL) == BERTH_OK);
	return &m;
}

static void check_plan(const berth_import_plan *p, const berth_graph *g, const berth_system *s)
{
	int32_t told = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		must(p->op_dev[op] >= 0 && p->op_dev[op] < s->n_devs);
	for (int32_t i = 0; i < p->n_devices; i++) {
		must(p->device[i].dev >= 0 && p->device[i].dev < s->n_devs && *p->device[i].word);
		told += p->device[i].n_ops;
	}
	must(told == p->n_named && told > 0);
	must(p->n_named + p->n_fused + p->n_producer + p->n_taker + p->n_alone == g->n_ops);
	must(!p->n_unknown == !p->unknown);
}

static void read_it(const uint8_t *data, size_t size, berth_import_source x)
{
	static fuzz_arenas a;
	berth_import_plan plan;
	berth_err err = {0};
	fuzz_begin(&a);
	x.text = fuzz_text(data, size, &a.mem);
	berth_status st = berth_import_read(&x, &a.mem, &a.tmp, &plan, &err);
	must(st == BERTH_OK || (st == BERTH_EFORMAT && strncmp(err.msg, "p:", 2) == 0) ||
	     (st == BERTH_EINVAL && strncmp(err.msg, "option --device: ", 17) == 0));
	must(st != BERTH_OK || !memchr(x.text, '\0', size));
	if (st == BERTH_OK)
		check_plan(&plan, x.g, x.s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const words[] = {"CUDA0", "RPC0"};
	const char *theirs[2], *text = (const char *)data;
	for (size_t i = 0; i < 2; i++) /* one that is not named is refused */
		theirs[i] = berth_text_contains(text, size, words[i]) ? words[i] : NULL;
	berth_import_source x = {
		.file = "p", .size = size, .g = engine_graph(), .s = fuzz_small_system(), .theirs = theirs};
	read_it(data, size, x);
	if (berth_text_contains(text, size, " assigned to device ")) {
		x.g = &tied_model()->g;
		x.model = &tied_model()->content;
		read_it(data, size, x);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {
		"cat",
		"Node",
		"name",
		"args",
		"provider",
		"ep_name",
		"nodes",
		"CPUExecutionProvider",
		"/c/Conv_kernel_time",
		"/c/Conv/MatMulAddFusion/",
		"/c/Relu_token_1_nchwc",
		"model.layers.0",
		"model",
		"",
		"cuda:0",
		"disk",
		"GPU.1",
		" layer 0 assigned to device CPU, is_swa\n",
		" layer 1 assigned to device CUDA0, is_swa\n",
		" layer 2 assigned to device RPC0\n",
		"tensor blk.0.attn_q.weight (1 MiB) buffer type overridden to CPU\n",
		"tensor token_embd.weight (1 MiB) buffer type overridden to CUDA0\n",
		"tensor rope_freqs.weight (1 MiB) buffer type overridden to CUDA0_Host\n",
		"\\u0000",
		"operator,device\n",
		"'=1+1,x\n",
		"\"a,\"\"b\",y\r\n",
		NULL};
	bool json = size && (data[0] == '{' || data[0] == '[');
	return json ? mutate_json(data, size, max_size, seed, words)
	            : mutate_words(data, size, max_size, seed, words);
}
