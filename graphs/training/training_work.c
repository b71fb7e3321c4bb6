/* The table of differentiation rules, by ONNX type name. */
#include "training_work.h"

#include <stdlib.h>
#include <string.h>

static const training_rule rules[] = { /* sorted bytewise by type */
	{"Abs", TRAINING_ONCE, KEEP_INPUTS},
	{"Add", TRAINING_PASS, KEEP_NOTHING},
	{"And", TRAINING_NONE, KEEP_NOTHING},
	{"ArgMax", TRAINING_NONE, KEEP_NOTHING},
	{"ArgMin", TRAINING_NONE, KEEP_NOTHING},
	{"AveragePool", TRAINING_ONCE, KEEP_NOTHING},
	{"BatchNormalization", TRAINING_TWICE, KEEP_INPUTS},
	{"Cast", TRAINING_PASS, KEEP_NOTHING},
	{"Ceil", TRAINING_NONE, KEEP_NOTHING},
	{"Celu", TRAINING_ONCE, KEEP_INPUTS},
	{"Clip", TRAINING_ONCE, KEEP_INPUTS},
	{"Concat", TRAINING_ONCE, KEEP_NOTHING},
	{"Constant", TRAINING_NONE, KEEP_NOTHING},
	{"ConstantOfShape", TRAINING_NONE, KEEP_NOTHING},
	{"Conv", TRAINING_PRODUCT, KEEP_OTHERS},
	{"ConvTranspose", TRAINING_PRODUCT, KEEP_OTHERS},
	{"Cos", TRAINING_ONCE, KEEP_INPUTS},
	{"DepthToSpace", TRAINING_ONCE, KEEP_NOTHING},
	{"Div", TRAINING_ONCE, KEEP_OTHERS},
	{"Dropout", TRAINING_ONCE, KEEP_NOTHING},
	{"Einsum", TRAINING_PRODUCT, KEEP_OTHERS},
	{"Elu", TRAINING_ONCE, KEEP_INPUTS},
	{"Equal", TRAINING_NONE, KEEP_NOTHING},
	{"Erf", TRAINING_ONCE, KEEP_INPUTS},
	{"Exp", TRAINING_ONCE, KEEP_OUTPUTS},
	{"Expand", TRAINING_ONCE, KEEP_NOTHING},
	{"FastGelu", TRAINING_ONCE, KEEP_INPUTS},
	{"Flatten", TRAINING_PASS, KEEP_NOTHING},
	{"Floor", TRAINING_NONE, KEEP_NOTHING},
	{"GRU", TRAINING_PRODUCT, KEEP_INPUTS | KEEP_OUTPUTS},
	{"Gather", TRAINING_ONCE, KEEP_NOTHING},
	{"Gelu", TRAINING_ONCE, KEEP_INPUTS},
	{"Gemm", TRAINING_PRODUCT, KEEP_OTHERS},
	{"GlobalAveragePool", TRAINING_ONCE, KEEP_NOTHING},
	{"GlobalMaxPool", TRAINING_ONCE, KEEP_INPUTS},
	{"Greater", TRAINING_NONE, KEEP_NOTHING},
	{"GreaterOrEqual", TRAINING_NONE, KEEP_NOTHING},
	{"GroupNormalization", TRAINING_TWICE, KEEP_INPUTS},
	{"HardSigmoid", TRAINING_ONCE, KEEP_INPUTS},
	{"HardSwish", TRAINING_ONCE, KEEP_INPUTS},
	{"Identity", TRAINING_PASS, KEEP_NOTHING},
	{"InstanceNormalization", TRAINING_TWICE, KEEP_INPUTS},
	{"IsInf", TRAINING_NONE, KEEP_NOTHING},
	{"IsNaN", TRAINING_NONE, KEEP_NOTHING},
	{"LRN", TRAINING_TWICE, KEEP_INPUTS | KEEP_OUTPUTS},
	{"LSTM", TRAINING_PRODUCT, KEEP_INPUTS | KEEP_OUTPUTS},
	{"LayerNormalization", TRAINING_TWICE, KEEP_INPUTS},
	{"LeakyRelu", TRAINING_ONCE, KEEP_INPUTS},
	{"Less", TRAINING_NONE, KEEP_NOTHING},
	{"LessOrEqual", TRAINING_NONE, KEEP_NOTHING},
	{"Log", TRAINING_ONCE, KEEP_INPUTS},
	{"LogSoftmax", TRAINING_TWICE, KEEP_OUTPUTS},
	{"MatMul", TRAINING_PRODUCT, KEEP_OTHERS},
	{"Max", TRAINING_ONCE, KEEP_INPUTS},
	{"MaxPool", TRAINING_ONCE, KEEP_INPUTS},
	{"Mean", TRAINING_ONCE, KEEP_NOTHING},
	{"Min", TRAINING_ONCE, KEEP_INPUTS},
	{"Mish", TRAINING_ONCE, KEEP_INPUTS},
	{"Mul", TRAINING_ONCE, KEEP_OTHERS},
	{"Neg", TRAINING_ONCE, KEEP_NOTHING},
	{"NonMaxSuppression", TRAINING_NONE, KEEP_NOTHING},
	{"NonZero", TRAINING_NONE, KEEP_NOTHING},
	{"Not", TRAINING_NONE, KEEP_NOTHING},
	{"OneHot", TRAINING_NONE, KEEP_NOTHING},
	{"Or", TRAINING_NONE, KEEP_NOTHING},
	{"PRelu", TRAINING_ONCE, KEEP_INPUTS},
	{"Pad", TRAINING_ONCE, KEEP_NOTHING},
	{"Pow", TRAINING_ONCE, KEEP_INPUTS},
	{"RMSNormalization", TRAINING_TWICE, KEEP_INPUTS},
	{"RNN", TRAINING_PRODUCT, KEEP_INPUTS | KEEP_OUTPUTS},
	{"RandomNormal", TRAINING_NONE, KEEP_NOTHING},
	{"RandomNormalLike", TRAINING_NONE, KEEP_NOTHING},
	{"RandomUniform", TRAINING_NONE, KEEP_NOTHING},
	{"RandomUniformLike", TRAINING_NONE, KEEP_NOTHING},
	{"Range", TRAINING_NONE, KEEP_NOTHING},
	{"Reciprocal", TRAINING_ONCE, KEEP_OUTPUTS},
	{"ReduceL1", TRAINING_ONCE, KEEP_INPUTS},
	{"ReduceL2", TRAINING_ONCE, KEEP_INPUTS},
	{"ReduceMax", TRAINING_ONCE, KEEP_INPUTS},
	{"ReduceMean", TRAINING_ONCE, KEEP_NOTHING},
	{"ReduceMin", TRAINING_ONCE, KEEP_INPUTS},
	{"ReduceSum", TRAINING_ONCE, KEEP_NOTHING},
	{"ReduceSumSquare", TRAINING_ONCE, KEEP_INPUTS},
	{"Relu", TRAINING_ONCE, KEEP_OUTPUTS},
	{"Reshape", TRAINING_PASS, KEEP_NOTHING},
	{"Resize", TRAINING_ONCE, KEEP_NOTHING},
	{"RotaryEmbedding", TRAINING_ONCE, KEEP_NOTHING},
	{"Round", TRAINING_NONE, KEEP_NOTHING},
	{"ScatterElements", TRAINING_ONCE, KEEP_NOTHING},
	{"Selu", TRAINING_ONCE, KEEP_INPUTS},
	{"Shape", TRAINING_NONE, KEEP_NOTHING},
	{"Sigmoid", TRAINING_ONCE, KEEP_OUTPUTS},
	{"Sign", TRAINING_NONE, KEEP_NOTHING},
	{"SimplifiedLayerNormalization", TRAINING_TWICE, KEEP_INPUTS},
	{"Sin", TRAINING_ONCE, KEEP_INPUTS},
	{"Size", TRAINING_NONE, KEEP_NOTHING},
	{"Slice", TRAINING_PART, KEEP_NOTHING},
	{"Softmax", TRAINING_TWICE, KEEP_OUTPUTS},
	{"Softplus", TRAINING_ONCE, KEEP_INPUTS},
	{"Softsign", TRAINING_ONCE, KEEP_INPUTS},
	{"SpaceToDepth", TRAINING_ONCE, KEEP_NOTHING},
	{"Split", TRAINING_ONCE, KEEP_NOTHING},
	{"Sqrt", TRAINING_ONCE, KEEP_OUTPUTS},
	{"Squeeze", TRAINING_PASS, KEEP_NOTHING},
	{"Sub", TRAINING_ONCE, KEEP_NOTHING},
	{"Sum", TRAINING_PASS, KEEP_NOTHING},
	{"Swish", TRAINING_ONCE, KEEP_INPUTS},
	{"Tanh", TRAINING_ONCE, KEEP_OUTPUTS},
	{"Tile", TRAINING_ONCE, KEEP_NOTHING},
	{"TopK", TRAINING_ONCE, KEEP_NOTHING},
	{"Transpose", TRAINING_ONCE, KEEP_NOTHING},
	{"Unsqueeze", TRAINING_PASS, KEEP_NOTHING},
	{"Upsample", TRAINING_ONCE, KEEP_NOTHING},
	{"Where", TRAINING_ONCE, KEEP_OTHERS},
	{"Xor", TRAINING_NONE, KEEP_NOTHING},
};

static int compare_type(const void *key, const void *row)
{
	return strcmp(key, ((const training_rule *)row)->type);
}

training_rule training_rule_of(const char *type)
{
	const training_rule unknown = {type, TRAINING_UNKNOWN, KEEP_INPUTS};
	const training_rule *row =
		type ? bsearch(type, rules, sizeof rules / sizeof *rules, sizeof *rules, compare_type) : NULL;
	return row ? *row : unknown;
}

const char *training_type_of(const berth_graph *g, int32_t op)
{
	return g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]];
}

bool training_has_params(const berth_graph *g, int32_t op)
{
	return g->op_param_bytes[op] > 0 || g->op_param_off[op + 1] > g->op_param_off[op];
}

int32_t training_root(trainer *t, int32_t op)
{
	while (t->op_root[op] != op)
		op = t->op_root[op] = t->op_root[t->op_root[op]];
	return op;
}

/* base/what, with '_' appended until no operator has that name. */
static berth_status free_name(trainer *t, const char *base, const char *what, const char **name,
                              berth_err *err)
{
	*name = *base ? berth_arena_printf(t->tmp, "%s/%s", base, what) : berth_arena_strdup(t->tmp, what);
	while (*name && berth_builder_find(t->b, *name) >= 0)
		*name = berth_arena_printf(t->tmp, "%s_", *name);
	return *name ? BERTH_OK : berth_nomem(err);
}

berth_status training_copy_limits(trainer *t, int32_t from, int32_t to, double factor, berth_err *err)
{
	const berth_graph *g = t->g;
	for (int32_t i = g->op_forbid_off[from]; i < g->op_forbid_off[from + 1]; i++)
		BERTH_TRY(berth_builder_forbid(t->b, to, g->forbid_dev[i], err));
	for (int32_t i = g->op_time_off[from]; i < g->op_time_off[from + 1]; i++)
		BERTH_TRY(berth_builder_time(t->b, to, berth_graph_time_name(g, i), factor * g->time_s[i],
		                             err));
	return BERTH_OK;
}

berth_status training_put_op(trainer *t, int32_t op, const berth_op_spec *spec, int32_t *out, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(t->tmp, t->of, t->n_of, &t->cap_of, err));
	t->of[t->n_of++] = op;
	return berth_builder_op(t->b, spec, out, err);
}

berth_status training_derive(trainer *t, int32_t op, const char *base, const char *what, berth_op_spec spec,
                             double factor, int32_t *out, berth_err *err)
{
	BERTH_TRY(free_name(t, base, what, &spec.name, err));
	BERTH_TRY(training_put_op(t, op, &spec, out, err));
	return training_copy_limits(t, op, *out, factor, err);
}

const char *training_group_of(trainer *t, int32_t op)
{
	return training_has_params(t->g, op) ? t->op_group[training_root(t, op)] : NULL;
}

double training_cut_s(const trainer *t, int32_t slot)
{
	return slot < t->g->n_tensors && t->g->tensor_cut_s ? t->g->tensor_cut_s[slot] : 0;
}

berth_status training_put_edge(trainer *t, int32_t from, int32_t to, int64_t bytes, double cut_s,
                               const char *name, berth_err *err)
{
	BERTH_TRY(berth_builder_edge(t->b, from, to, bytes, name, err));
	return berth_builder_cut(t->b, cut_s, err);
}

berth_status training_edge(trainer *t, int32_t from, int32_t to, int32_t tensor, berth_err *err)
{
	return training_put_edge(t, from, to, t->g->tensor_bytes[tensor], training_cut_s(t, tensor),
	                         t->g->tensor_name[tensor], err);
}

berth_status training_derive_light(trainer *t, int32_t op, const char *base, const char *what,
                                   berth_op_spec spec, int32_t *out, berth_err *err)
{
	double forward = t->g->op_flops[op];
	return training_derive(t, op, base, what, spec, forward > spec.flops ? spec.flops / forward : 1, out,
	                       err);
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
