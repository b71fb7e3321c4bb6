/* What llama.cpp places as one: a layer, the output, what stands in front of the layers. Inside of
 * plans/import. */
#ifndef BERTH_LLAMA_UNITS_H
#define BERTH_LLAMA_UNITS_H

#include "graph.h"

/* Layers of the graph, by the names of its operators ("blk.0. ..."); 0: it has none of llama.cpp's. O(ops).
 */
int32_t llama_layers(const berth_graph *g);

/* The layer of an operator; n_layers: it goes with the output; -1: in front, on the CPU. */
int32_t llama_unit(const char *op_name, int32_t n_layers);

#endif
