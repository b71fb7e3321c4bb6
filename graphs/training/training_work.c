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

/* Recomputation (Chen, Xu, Zhang & Guestrin, "Training Deep Nets with Sublinear Memory Cost", arXiv
 * 1604.06174). The backward pass of a segment first runs the segment's forward operators again, from the
 * tensors that enter it. So the tensors inside need not be kept. What leaves a segment is kept.
 *
 * No cycle arises from this. Copies read forward tensors, copies of the same segment, and the trigger,
 * which is there before the first of them. */
static int32_t segment_of(const trainer *t, int32_t op)
{
	return t->opt->op_segment ? t->opt->op_segment[op] : -1;
}

bool training_recomputes(const trainer *t, int32_t op)
{
	return segment_of(t, op) >= 0;
}

/* Consumed, and only within its producer's segment? */
static bool stays_inside(const trainer *t, int32_t tensor)
{
	const berth_graph *g = t->g;
	int32_t op = g->tensor_producer[tensor], segment = segment_of(t, op);
	if (segment < 0 || t->op_out_slot[op] == tensor)
		return false;
	BERTH_EACH (e, g->tensor_use_off, tensor)
		if (segment_of(t, g->edge_consumer[e]) != segment)
			return false;
	return true;
}

berth_status training_prepare_recompute(trainer *t)
{
	BERTH_TRY_NEW(t->tmp, t->g->n_ops, t->err, t->op_copy, t->segment_trigger);
	BERTH_TRY_NEW(t->tmp, t->g->n_tensors, t->err, t->tensor_dropped);
	for (int32_t op = 0; op < t->g->n_ops; op++)
		t->op_copy[op] = t->segment_trigger[op] = -1;
	for (int32_t k = 0; k < t->g->n_tensors; k++)
		t->tensor_dropped[k] = stays_inside(t, k);
	return BERTH_OK;
}

/* A copy of op whose inputs are there, started by the trigger of the segment where no other copy starts it.
 */
static berth_status copy(trainer *t, int32_t op)
{
	const berth_graph *g = t->g;
	const char *signal;
	bool follows = false;
	berth_op_spec s = {.type = training_type_of(g, op),
	                   .backward = true,
	                   .flops = g->op_flops[op],
	                   .macs = g->op_macs[op],
	                   .dims = berth_graph_op_spec(g, op).dims,
	                   .read_bytes = g->op_read_bytes[op],
	                   .write_bytes = g->op_write_bytes[op],
	                   .workspace_bytes = g->op_workspace_bytes[op],
	                   .colocate = training_group_of(t, op)};
	BERTH_TRY(training_derive(t, op, g->op_name[op], "recompute", s, 1, &t->op_copy[op]));
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t tensor = g->in_tensor[i], producer = g->tensor_producer[tensor],
			from = t->op_new[producer];
		if (t->tensor_dropped[tensor]) {
			from = t->op_copy[producer];
			follows = true;
		}
		BERTH_TRY(training_edge(t, from, t->op_copy[op], tensor));
	}
	if (follows)
		return BERTH_OK;
	/* A tensor name that no operator bears, since the loss names its tensors after operators. */
	signal = "recompute";
	while (signal && berth_builder_find(t->b, signal) >= 0)
		signal = berth_arena_printf(t->tmp, "%s_", signal);
	BERTH_TRY(signal ? BERTH_OK : berth_nomem(t->err));
	return berth_builder_edge(t->b, t->segment_trigger[segment_of(t, op)], t->op_copy[op], 0, signal,
	                          t->err);
}

/* Copies of op and of all that it needs in its segment, inputs first. stack: operators with the next input
 * to look at. */
static berth_status copy_with_inputs(trainer *t, int32_t op)
{
	const berth_graph *g = t->g;
	typedef struct frame {
		int32_t op, next;
	} frame;
	frame *stack = NULL;
	size_t n = 0, cap = 0;
	BERTH_TRY(BERTH_PUSH(t->tmp, stack, n, &cap, t->err, (frame){op, g->op_in_off[op]}));
	while (n) {
		frame *top = &stack[n - 1];
		if (top->next == g->op_in_off[top->op + 1]) {
			BERTH_TRY(copy(t, top->op));
			n--;
			continue;
		}
		int32_t tensor = g->in_tensor[top->next++], from = g->tensor_producer[tensor];
		if (!t->tensor_dropped[tensor] || t->op_copy[from] >= 0)
			continue;
		BERTH_TRY(BERTH_PUSH(t->tmp, stack, n, &cap, t->err, (frame){from, g->op_in_off[from]}));
	}
	return BERTH_OK;
}

berth_status training_read(trainer *t, int32_t tensor, int32_t trigger, int32_t reader)
{
	const berth_graph *g = t->g;
	int32_t producer = g->tensor_producer[tensor], from = t->op_new[producer];
	if (t->tensor_dropped[tensor]) {
		int32_t segment = segment_of(t, producer);
		if (t->segment_trigger[segment] < 0)
			t->segment_trigger[segment] = trigger;
		if (t->op_copy[producer] < 0)
			BERTH_TRY(copy_with_inputs(t, producer));
		from = t->op_copy[producer];
	}
	return training_edge(t, from, reader, tensor);
}

void berth_training_segments(const berth_graph *g, int32_t n_segments, int32_t *op_segment)
{
	double total = 0, made = 0;
	for (int32_t t = 0; t < g->n_tensors; t++)
		total += (double)g->tensor_bytes[t];
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		double before = made;
		BERTH_EACH (t, g->op_tensor_off, op)
			made += (double)g->tensor_bytes[t];
		double middle = (before + made) / 2;
		int32_t segment = total > 0 ? (int32_t)(middle / total * n_segments) : 0;
		op_segment[op] = segment < n_segments ? segment : n_segments - 1;
	}
}
