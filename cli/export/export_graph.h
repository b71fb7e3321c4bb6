/* A graph beside the model that it is of: one with measured times, as profile writes it. */
#ifndef BERTH_CLI_EXPORT_GRAPH_H
#define BERTH_CLI_EXPORT_GRAPH_H

#include "graph.h"

/* Are they the same operators in the same order, with the same tensors between them? Times and figures may
 * differ. graph, model: what messages call them. Fails: BERTH_EFORMAT (they are not). O(operators +
 * edges). */
berth_status export_graph_check(const char *graph, const berth_graph *g, const char *model,
                                const berth_graph *of_model, berth_err *err);

#endif
