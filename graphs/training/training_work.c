/* The table of differentiation rules, by ONNX type name. */
#include "training_work.h"

/* Types of equal rules. */
static const char *const once_inputs[] = {
	"Abs", "Celu", "Clip", "Cos", "Elu", "Erf", "FastGelu", "Gelu", "GlobalMaxPool", "HardSigmoid",
	"HardSwish", "LeakyRelu", "Log", "Max", "MaxPool", "Min", "Mish", "PRelu", "Pow", "ReduceL1",
	"ReduceL2", "ReduceMax", "ReduceMin", "ReduceSumSquare", "Selu", "Sin", "Softplus", "Softsign",
	"Swish", NULL};
static const char *const pass_nothing[] = {
	"Add", "Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Sum", "Unsqueeze", NULL};
static const char *const none_nothing[] = {
	"And", "ArgMax", "ArgMin", "Ceil", "Constant", "ConstantOfShape", "Equal", "Floor", "Greater",
	"GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "NonMaxSuppression", "NonZero", "Not",
	"OneHot", "Or", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Range",
	"Round", "Shape", "Sign", "Size", "Xor", NULL};
static const char *const once_nothing[] = {
	"AveragePool", "Concat", "DepthToSpace", "Dropout", "Expand", "Gather", "GlobalAveragePool", "Mean",
	"Neg", "Pad", "ReduceMean", "ReduceSum", "Resize", "RotaryEmbedding", "ScatterElements",
	"SpaceToDepth", "Split", "Sub", "Tile", "TopK", "Transpose", "Upsample", NULL};
static const char *const twice_inputs[] = {
	"BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization",
	"RMSNormalization", "SimplifiedLayerNormalization", NULL};
static const char *const product_others[] = {"Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul", NULL};
static const char *const once_others[] = {"Div", "Mul", "Where", NULL};
static const char *const once_outputs[] = {"Exp", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Tanh", NULL};
static const char *const product_inputs_outputs[] = {"GRU", "LSTM", "RNN", NULL};
static const char *const twice_inputs_outputs[] = {"LRN", NULL};
static const char *const twice_outputs[] = {"LogSoftmax", "Softmax", NULL};
static const char *const part_nothing[] = {"Slice", NULL};

static const struct {
	const char *const *types;
	training_cost cost;
	unsigned keep;
} rules[] = {
	{once_inputs, TRAINING_ONCE, KEEP_INPUTS},
	{pass_nothing, TRAINING_PASS, KEEP_NOTHING},
	{none_nothing, TRAINING_NONE, KEEP_NOTHING},
	{once_nothing, TRAINING_ONCE, KEEP_NOTHING},
	{twice_inputs, TRAINING_TWICE, KEEP_INPUTS},
	{product_others, TRAINING_PRODUCT, KEEP_OTHERS},
	{once_others, TRAINING_ONCE, KEEP_OTHERS},
	{once_outputs, TRAINING_ONCE, KEEP_OUTPUTS},
	{product_inputs_outputs, TRAINING_PRODUCT, KEEP_INPUTS | KEEP_OUTPUTS},
	{twice_inputs_outputs, TRAINING_TWICE, KEEP_INPUTS | KEEP_OUTPUTS},
	{twice_outputs, TRAINING_TWICE, KEEP_OUTPUTS},
	{part_nothing, TRAINING_PART, KEEP_NOTHING},
};

training_rule training_rule_of(const char *type)
{
	for (size_t i = 0; type && i < sizeof rules / sizeof *rules; i++)
		for (const char *const *at = rules[i].types; *at; at++)
			if (strcmp(*at, type) == 0)
				return (training_rule){rules[i].cost, rules[i].keep};
	return (training_rule){TRAINING_UNKNOWN, KEEP_INPUTS};
}

const char *training_type_of(const berth_graph *g, int32_t op)
{
	return g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]];
}

/* ---- shapes ---- */

static berth_dims dims_of(const berth_graph *g, int32_t op)
{
	return *berth_graph_dims(g, op);
}

berth_dims training_rows(const trainer *t, int32_t op, int64_t bytes)
{
	berth_dims d = dims_of(t->g, op);
	int64_t n = bytes / t->opt->elem_bytes;
	int64_t width = d.kind == BERTH_DIMS_PRODUCT ? d.at[2]
	                : d.kind == BERTH_DIMS_CONV  ? d.at[3]
	                : d.kind == BERTH_DIMS_ROWS  ? d.at[1]
	                                             : n;
	return width > 0 && n % width == 0 ? BERTH_DIMS(ROWS, n / width, width) : BERTH_DIMS(ROWS, 1, n);
}

/* Y = A B of [m, k] and [k, n]: dY B' for A is [m, n] by [n, k], A' dY for B is [k, m] by [m, n]. */
berth_dims training_backward_dims(const berth_graph *g, int32_t op, bool for_weights, double times)
{
	berth_dims d = dims_of(g, op);
	int64_t m = d.at[1], n = d.at[2], k = d.at[3], b = d.at[0];
	if (d.kind == BERTH_DIMS_PRODUCT)
		d = for_weights ? BERTH_DIMS(PRODUCT, b, k, n, m) : BERTH_DIMS(PRODUCT, b, m, k, n);
	if (d.kind != BERTH_DIMS_PRODUCT && d.kind != BERTH_DIMS_CONV)
		return d;
	d.at[0] = times * (double)b <= 0x1p53 ? (int64_t)times * b : 0;
	return berth_dims_of(d.kind, d.at);
}

/* ---- names and limits ---- */

berth_status training_copy_limits(trainer *t, int32_t from, int32_t to, double factor)
{
	const berth_graph *g = t->g;
	BERTH_EACH (i, g->op_forbid_off, from)
		BERTH_TRY(berth_builder_forbid(t->b, to, g->forbid_dev[i], t->err));
	BERTH_EACH (i, g->op_time_off, from)
		BERTH_TRY(berth_builder_time(t->b, to, berth_graph_time_name(g, i), factor * g->time_s[i],
		                             t->err));
	return BERTH_OK;
}

berth_status training_put_op(trainer *t, int32_t op, const berth_op_spec *spec, int32_t *out)
{
	BERTH_TRY(BERTH_PUSH(t->tmp, t->of, t->n_of, &t->cap_of, t->err, op));
	return berth_builder_op(t->b, spec, out, t->err);
}

berth_status training_derive(trainer *t, int32_t op, const char *base, const char *what, berth_op_spec spec,
                             double factor, int32_t *out)
{
	spec.dtype = (berth_precision)t->g->op_dtype[op];
	/* base/what, with '_' appended until no operator has that name. */
	spec.name =
		*base ? berth_arena_printf(t->tmp, "%s/%s", base, what) : berth_arena_strdup(t->tmp, what);
	while (spec.name && berth_builder_find(t->b, spec.name) >= 0)
		spec.name = berth_arena_printf(t->tmp, "%s_", spec.name);
	BERTH_TRY(spec.name ? BERTH_OK : berth_nomem(t->err));
	BERTH_TRY(training_put_op(t, op, &spec, out));
	return training_copy_limits(t, op, *out, factor);
}

const char *training_group_of(trainer *t, int32_t op)
{
	return berth_graph_has_weights(t->g, op) ? t->op_group[berth_union_top(t->op_root, op)] : NULL;
}

double training_cut_s(const trainer *t, int32_t slot)
{
	return slot < t->g->n_tensors && t->g->tensor_cut_s ? t->g->tensor_cut_s[slot] : 0;
}

berth_status training_put_edge(trainer *t, int32_t from, int32_t to, int64_t bytes, double cut_s,
                               const char *name)
{
	BERTH_TRY(berth_builder_edge(t->b, from, to, bytes, name, t->err));
	return berth_builder_cut(t->b, cut_s, t->err);
}

berth_status training_edge(trainer *t, int32_t from, int32_t to, int32_t tensor)
{
	return training_put_edge(t, from, to, t->g->tensor_bytes[tensor], training_cut_s(t, tensor),
	                         t->g->tensor_name[tensor]);
}

berth_status training_derive_light(trainer *t, int32_t op, const char *base, const char *what,
                                   berth_op_spec spec, int32_t *out)
{
	double forward = t->g->op_flops[op];
	return training_derive(t, op, base, what, spec, forward > spec.flops ? spec.flops / forward : 1, out);
}

int64_t training_optimizer_copies(const trainer *t)
{
	switch (t->opt->optimizer) {
	case BERTH_OPTIMIZER_SGD:
		return 1;
	case BERTH_OPTIMIZER_MOMENTUM:
		return 2;
	case BERTH_OPTIMIZER_ADAM:
		break;
	}
	return 3;
}
