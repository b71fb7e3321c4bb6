/* See ort_fused.h. The pairs are fusions of its levels 1 and 2 by the types of operators alone, where the
 * second one is the only taker of what the first one makes. */
#include "ort_fused.h"

#include <string.h>

static const struct {
	const char *first, *second;
} pairs[] = {{"Conv", "BatchNormalization"},
             {"Conv", "Relu"},
             {"Conv", "Clip"},
             {"Conv", "Sigmoid"},
             {"Conv", "LeakyRelu"},
             {"Conv", "HardSigmoid"},
             {"Conv", "Tanh"},
             {"Conv", "Add"},
             {"Conv", "Mul"},
             {"Gemm", "Relu"},
             {"Gemm", "Sigmoid"},
             {"Gemm", "Tanh"},
             {"MatMul", "Add"},
             {"MatMul", "BatchNormalization"},
             {"Transpose", "MatMul"},
             {"Add", "LayerNormalization"},
             {"Add", "Gelu"}};

bool ort_fused_pair(const berth_graph *g, int32_t a, int32_t b)
{
	if (g->op_type[a] < 0 || g->op_type[b] < 0)
		return false;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (strcmp(pairs[i].first, g->type_name[g->op_type[a]]) == 0 &&
		    strcmp(pairs[i].second, g->type_name[g->op_type[b]]) == 0)
			return true;
	return false;
}

berth_status ort_fused_note(const berth_export_source *x, berth_export_out *out, berth_err *err)
{
	const berth_graph *g = x->g;
	int32_t n = 0, a = -1, b = -1;
	for (int32_t t = g->n_tensors - 1; t >= 0; t--) {
		int32_t e = g->tensor_use_off[t], from = g->tensor_producer[t];
		bool only = g->tensor_use_off[t + 1] == e + 1;
		if (!only || x->op_dev[from] == x->op_dev[g->edge_consumer[e]] ||
		    !ort_fused_pair(g, from, g->edge_consumer[e]))
			continue;
		n++;
		a = from;
		b = g->edge_consumer[e];
	}
	if (!n)
		return BERTH_OK;
	return berth_export_note(
		out, err,
		"the plan cuts %d pair%s that ONNX Runtime makes one kernel of (first: %.80s, "
		"%.80s): with optimisation both of a pair may run where the first one is",
		n, n == 1 ? "" : "s", g->op_name[a], g->op_name[b]);
}
