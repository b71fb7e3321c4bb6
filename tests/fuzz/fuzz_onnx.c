/* Any bytes as an ONNX model: an answer that passes its check and can be used, or an error with a message. A
 * copy with labels is a model of as many operators, and a copy of the copy is the same. */
#include "fuzz.h"
#include "mutate.h"
#include "onnx.h"
#include "onnx_edit.h"

#include <string.h>

static bool drops(void *ctx, const protobuf *w, const protobuf_field *f, bool at_model)
{
	(void)ctx, (void)w;
	return !at_model && f->number == 9;
}

static berth_status adds(void *ctx, int32_t node, bool in_body, const protobuf *w, const protobuf_field *f,
                         const char **data, size_t *size, berth_err *err)
{
	(void)ctx, (void)node, (void)in_body, (void)w, (void)f, (void)err;
	*data = "\x4a\x02\x0a\x00"; /* metadata: an empty key */
	*size = 4;
	return BERTH_OK;
}

/* The labelled copy as one text. NULL: the message is none. */
static unsigned char *labelled(const unsigned char *data, size_t size, berth_arena *mem, size_t *len)
{
	const onnx_edit edit = {.drops = drops, .adds = adds};
	onnx_edited out;
	if (onnx_edit_model(&edit, "f.onnx", data, size, mem, &out, NULL) != BERTH_OK)
		return NULL;
	*len = 0;
	for (size_t i = 0; i < out.n_pieces; i++)
		*len += out.piece[i].size;
	unsigned char *text = berth_arena_alloc(mem, *len + 1, 1);
	size_t at = 0;
	for (size_t i = 0; text && i < out.n_pieces; at += out.piece[i++].size)
		memcpy(text + at, out.piece[i].data, out.piece[i].size);
	return text;
}

static void check_edit(const berth_graph *g, const uint8_t *data, size_t size, fuzz_arenas *a)
{
	berth_graph again;
	size_t len, twice;
	const unsigned char *once = labelled(data, size, &a->mem, &len);
	const unsigned char *copy = once ? labelled(once, len, &a->mem, &twice) : NULL;
	if (!copy)
		return;
	must(twice == len && memcmp(once, copy, len) == 0);
	if (berth_graph_parse_onnx("f.onnx", once, len, NULL, &a->mem, &a->tmp, &again, NULL, NULL) ==
	    BERTH_OK)
		must(again.n_ops == g->n_ops && again.n_edges == g->n_edges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph g;
	berth_read_report r;
	berth_err err = {0};
	fuzz_begin(&a);
	berth_status st = berth_graph_parse_onnx("f.onnx", data, size, NULL, &a.mem, &a.tmp, &g, &r, &err);
	fuzz_check_answer(st, &g, "f.onnx: ", &err);
	if (st == BERTH_OK && fuzz_goes_deep(data, size))
		fuzz_use_graph(&g, &a.mem, &a.tmp);
	if (st == BERTH_OK)
		check_edit(&g, data, size, &a);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return mutate_onnx(data, size, max_size, seed);
}
