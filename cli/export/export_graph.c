/* See export_graph.h. */
#include "export_graph.h"

#include <string.h>

static berth_status check_ops(const char *graph, const berth_graph *g, const char *model,
                              const berth_graph *of_model, berth_err *err)
{
	for (int32_t op = 0; op < g->n_ops && op < of_model->n_ops; op++)
		if (strcmp(g->op_name[op], of_model->op_name[op]) != 0)
			return berth_fail(
				err, BERTH_EFORMAT,
				"%s: not the graph of %s: operator %d is '%.100s', and '%.100s' in the model",
				graph, model, op, g->op_name[op], of_model->op_name[op]);
	if (g->n_ops == of_model->n_ops)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "%s: not the graph of %s: %d operators, and %d in the model",
	                  graph, model, g->n_ops, of_model->n_ops);
}

static bool same_tensors(const berth_graph *a, const berth_graph *b)
{
	const size_t n_tensors = (size_t)a->n_tensors, n_edges = (size_t)a->n_edges;
	return a->n_tensors == b->n_tensors && a->n_edges == b->n_edges &&
	       memcmp(a->tensor_producer, b->tensor_producer, n_tensors * sizeof *a->tensor_producer) == 0 &&
	       memcmp(a->tensor_bytes, b->tensor_bytes, n_tensors * sizeof *a->tensor_bytes) == 0 &&
	       memcmp(a->tensor_use_off, b->tensor_use_off, (n_tensors + 1) * sizeof *a->tensor_use_off) ==
		       0 &&
	       memcmp(a->edge_consumer, b->edge_consumer, n_edges * sizeof *a->edge_consumer) == 0;
}

berth_status export_graph_check(const char *graph, const berth_graph *g, const char *model,
                                const berth_graph *of_model, berth_err *err)
{
	BERTH_TRY(check_ops(graph, g, model, of_model, err));
	if (same_tensors(g, of_model))
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT,
	                  "%s: not the graph of %s: other tensors between the operators (read with other "
	                  "dimensions?)",
	                  graph, model);
}
