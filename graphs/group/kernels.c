/* Kernels: what ONNX Runtime makes one operator of at its default level, for inference. A rule is a list of
 * types, from the operator that gives the result backwards; all that the others give stays inside. "Add/1"
 * has one input that is no constant. Closed ones have one input in all, so that a gate by another branch is
 * none. Rules of the library's transformers: ConvActivationFusion, ConvAddActivationFusion, MatMulAddFusion,
 * MatMulScaleFusion, LayerNormFusion, SkipLayerNormFusion, GeluFusion and their kin. Layouts and shapes are
 * left out: what moves them is cheap, and where it goes differs by provider. */
#include "granularity_find.h"

enum { LONGEST = 11 };

typedef struct rule {
	bool closed;
	const char *type[LONGEST];
} rule;

/* Longer ones before those that they hold. */
static const rule rules[] = {
	{false,
         {"Add/1", "Mul/1", "Div", "Sqrt", "Add/1", "ReduceMean", "Pow", "Sub", "ReduceMean", "Add/2"}},
	{true, {"Add/1", "Mul/1", "Div", "Sqrt", "Add/1", "ReduceMean", "Pow", "Sub", "ReduceMean"}},
	{true, {"Mul/1", "Mul/2", "Div/1", "Sqrt", "Add/1", "ReduceMean", "Pow"}},
	{true, {"Mul/1", "Mul/2", "Reciprocal", "Sqrt", "Add/1", "ReduceMean", "Pow"}},
	{true, {"Mul/1", "Div/2", "Sqrt", "Add/1", "ReduceMean", "Pow"}},
	{true, {"Mul/1", "Mul/2", "Add/1", "Erf", "Div/1"}},
	{true, {"Mul/1", "Mul/2", "Add/1", "Erf", "Mul/1"}},
	{true, {"Mul/2", "Mul/1", "Add/1", "Erf", "Div/1"}},
	{true, {"Mul/2", "Mul/1", "Add/1", "Erf", "Mul/1"}},
	{true, {"Mul/2", "Sigmoid", "Mul/1"}},
	{true, {"Mul/2", "Sigmoid"}},
	{true, {"Gelu", "Add/1"}},
	{false, {"LayerNormalization", "Add/2"}},
	{false, {"RMSNormalization", "Add/2"}},
	{false, {"Relu", "Add/2", "Conv"}},
	{false, {"Relu", "BatchNormalization", "Conv"}},
	{false, {"Clip", "BatchNormalization", "Conv"}},
	{false, {"Relu", "Conv"}},
	{false, {"Clip", "Conv"}},
	{false, {"Sigmoid", "Conv"}},
	{false, {"Tanh", "Conv"}},
	{false, {"LeakyRelu", "Conv"}},
	{false, {"HardSigmoid", "Conv"}},
	{false, {"BatchNormalization", "Conv"}},
	{false, {"Add/1", "Conv"}},
	{false, {"Mul/1", "Conv"}},
	{false, {"Add/2", "Conv"}},
	{false, {"Conv", "Pad"}},
	{false, {"AveragePool", "Pad"}},
	{false, {"MaxPool", "Pad"}},
	{false, {"Relu", "Gemm"}},
	{false, {"Tanh", "Gemm"}},
	{false, {"Sigmoid", "Gemm"}},
	{false, {"LeakyRelu", "Gemm"}},
	{false, {"Add/1", "MatMul/1"}},
	{false, {"BatchNormalization", "MatMul/1"}},
	{false, {"Div/1", "MatMul/2", "Transpose"}},
	{false, {"Mul/1", "MatMul/2", "Transpose"}},
	{false, {"Div/1", "MatMul/2"}},
	{false, {"Mul/1", "MatMul/2"}},
	{false, {"MatMul/2", "Transpose", "Transpose", "Div/1"}},
	{false, {"MatMul/2", "Transpose", "Transpose", "Mul/1"}},
	{false, {"MatMul/2", "Transpose", "Div/1"}},
	{false, {"MatMul/2", "Transpose", "Mul/1"}},
	{false, {"MatMul/2", "Transpose"}},
	{false, {"MatMul/2", "Mul/1"}},
};

typedef struct kernel {
	int32_t op[LONGEST], n;
} kernel;

static bool holds(const kernel *k, int32_t op)
{
	for (int32_t i = 0; i < k->n; i++)
		if (k->op[i] == op)
			return true;
	return false;
}

static bool is(const berth_graph *g, int32_t op, const char *word)
{
	const char *type = g->op_type[op] < 0 ? "" : g->type_name[g->op_type[op]];
	size_t n = strcspn(word, "/");
	return strlen(type) == n && memcmp(type, word, n) == 0 && !g->op_backward[op] &&
	       (!word[n] || g->op_in_off[op + 1] - g->op_in_off[op] == word[n + 1] - '0');
}

/* Is all that op gives taken by the kernel? */
static bool stays_inside(const berth_graph *g, const kernel *k, int32_t op)
{
	bool any = false;
	if (g->op_output_bytes[op] > 0)
		return false;
	BERTH_EACH_USE (e, g, op) {
		any = true;
		if (!holds(k, g->edge_consumer[e]))
			return false;
	}
	return any;
}

/* What makes an input of the kernel and is of the next type; -1: none. */
static int32_t next_of(const berth_graph *g, const kernel *k, const int32_t *op_block, const char *word)
{
	for (int32_t i = k->n - 1; i >= 0; i--)
		BERTH_EACH (at, g->op_in_off, k->op[i]) {
			int32_t op = g->tensor_producer[g->in_tensor[at]];
			if (op_block[op] < 0 && !holds(k, op) && is(g, op, word) && stays_inside(g, k, op))
				return op;
		}
	return -1;
}

static bool is_closed(const berth_graph *g, const kernel *k)
{
	int32_t from = -1;
	for (int32_t i = 0; i < k->n; i++)
		BERTH_EACH (at, g->op_in_off, k->op[i]) {
			int32_t t = g->in_tensor[at];
			if (holds(k, g->tensor_producer[t]))
				continue;
			if (from >= 0 && from != t)
				return false;
			from = t;
		}
	return true;
}

static bool matches(const berth_graph *g, const rule *r, const int32_t *op_block, int32_t op, kernel *k)
{
	*k = (kernel){{op}, 1};
	if (!is(g, op, r->type[0]))
		return false;
	for (; k->n < LONGEST && r->type[k->n]; k->n++) {
		int32_t next = next_of(g, k, op_block, r->type[k->n]);
		if (next < 0)
			return false;
		k->op[k->n] = next;
	}
	return !r->closed || is_closed(g, k);
}

berth_status blocks_of_kernels(block_finder *f, berth_granularity *out)
{
	enum { N_RULES = sizeof rules / sizeof *rules };
	const berth_graph *g = f->g;
	berth_granularity x = {0};
	kernel k;
	int32_t *named;
	BERTH_TRY_NEW(f->mem, g->n_ops, f->err, x.op_block, x.block_name);
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, named);
	for (int32_t op = 0; op < g->n_ops; op++)
		x.op_block[op] = -1;
	for (int32_t i = g->n_ops - 1; i >= 0; i--) {
		int32_t op = g->topo_op[i], at = 0;
		if (x.op_block[op] >= 0)
			continue;
		while (at < N_RULES && !matches(g, &rules[at], x.op_block, op, &k))
			at++;
		if (at == N_RULES)
			k.n = 1;
		for (int32_t m = 0; m < k.n; m++)
			x.op_block[k.op[m]] = op;
		named[op] = k.op[k.n - 1];
	}
	/* Numbers in program order, by the first operator; the kernel is called after it. */
	int32_t *number;
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, number);
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i], exit = x.op_block[op];
		if (!number[exit]) {
			x.block_name[x.n_blocks] = g->op_name[named[exit]];
			number[exit] = ++x.n_blocks;
		}
		x.op_block[op] = number[exit] - 1;
	}
	*out = x;
	return BERTH_OK;
}
