/* See llama_units.h. */
#include "llama_units.h"

#include "gguf.h"

#include <string.h>

int32_t llama_layers(const berth_graph *g)
{
	const char *rest;
	int32_t n = 0;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t layer = berth_gguf_layer_of(g->op_name[op], &rest);
		n = layer >= n ? layer + 1 : n;
	}
	return n;
}

int32_t llama_unit(const char *op_name, int32_t n_layers)
{
	static const char *const inputs[] = {"token_embd", "per_layer_token_embd", "position_embd",
	                                     "token_types"};
	const char *rest;
	int32_t layer = berth_gguf_layer_of(op_name, &rest);
	if (layer >= 0)
		return layer;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (strncmp(op_name, inputs[i], strlen(inputs[i])) == 0)
			return -1;
	return n_layers;
}
