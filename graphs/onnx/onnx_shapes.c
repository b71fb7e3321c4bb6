/* What a node computes in, and the rows of one that has no product: by its type what it writes, or what it
 * reads where it normalises, reduces or pools. */
#include "onnx_infer.h"

/* ---- precision ---- */

static berth_precision precision_of(int32_t elem)
{
	switch (elem) {
	case ONNX_FLOAT:
		return BERTH_F32;
	case ONNX_DOUBLE:
		return BERTH_F64;
	case ONNX_FLOAT16:
		return BERTH_F16;
	case ONNX_BFLOAT16:
		return BERTH_BF16;
	case ONNX_INT8:
	case ONNX_UINT8:
		return BERTH_INT8;
	default:
		return elem >= 17 && elem <= 20 ? BERTH_F8 : elem == 21 || elem == 22 ? BERTH_INT4 : 0;
	}
}

static bool is_whole(berth_precision p)
{
	return p == BERTH_INT8 || p == BERTH_INT4;
}

/* Of the first value that is one of floats. */
static berth_precision first_float(const onnx_model *m, const int32_t *value, int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		berth_precision p = value[i] >= 0 ? precision_of(m->value[value[i]].elem) : 0;
		if (p && !is_whole(p))
			return p;
	}
	return 0;
}

/* Weights of few bits, unpacked for floats; none: they are not. */
static berth_precision of_packed(const onnx_node *n)
{
	int64_t bits = 0;
	if (n->op && n->op->infer == onnx_infer_matmul_nbits)
		bits = onnx_attr_int(n, "bits", 4);
	else if (strcmp(n->type, "QMoE") == 0)
		bits = onnx_attr_int(n, "expert_weight_bits", 4);
	return bits == 0 ? 0 : bits > 4 ? BERTH_W8A16 : BERTH_W4A16;
}

berth_precision onnx_precision(const onnx_at *at)
{
	const onnx_node *n = at->n;
	berth_precision packed = of_packed(n), first = precision_of(onnx_in_elem(at, 0)),
			second = precision_of(onnx_in_elem(at, 1));
	if (packed)
		return packed;
	if (n->op && n->op->macs && (is_whole(first) || is_whole(second)))
		return is_whole(second) ? second : first;
	if (strncmp(n->type, "QLinear", 7) == 0)
		return BERTH_INT8;
	berth_precision in = first_float(at->m, n->in, n->n_all);
	if (!in)
		in = first_float(at->m, n->out, n->n_out);
	return in ? in : first;
}

/* ---- rows ---- */

typedef enum rows_rule {
	ROWS_WRITTEN,   /* output 0 by its last dimension */
	ROWS_READ,      /* input 0 by its last dimension, and by: */
	ROWS_PLANES,    /* all dimensions behind the first two */
	ROWS_AXIS,      /* one dimension */
	ROWS_FROM_AXIS, /* that dimension and all behind it */
	ROWS_SOFTMAX,   /* ROWS_AXIS, before opset 13 ROWS_FROM_AXIS */
	ROWS_REDUCED,   /* what becomes one output element */
	ROWS_GROUPS     /* the channels of a group with all places */
} rows_rule;

/* Types whose rule is not the first, sorted as strcmp sorts. */
static const struct rows_type {
	const char *type;
	rows_rule rule;
	int axis; /* where the attribute is missing */
} table[] = {
	{"ArgMax", ROWS_AXIS, 0},
	{"ArgMin", ROWS_AXIS, 0},
	{"AveragePool", ROWS_PLANES, 0},
	{"BatchNormalization", ROWS_PLANES, 0},
	{"BiasSoftmax", ROWS_FROM_AXIS, 1},
	{"GlobalAveragePool", ROWS_PLANES, 0},
	{"GlobalLpPool", ROWS_PLANES, 0},
	{"GlobalMaxPool", ROWS_PLANES, 0},
	{"GroupNorm", ROWS_GROUPS, 0},
	{"GroupNormalization", ROWS_GROUPS, 0},
	{"Hardmax", ROWS_SOFTMAX, -1},
	{"InstanceNormalization", ROWS_PLANES, 0},
	{"LayerNormalization", ROWS_FROM_AXIS, -1},
	{"LogSoftmax", ROWS_SOFTMAX, -1},
	{"LpNormalization", ROWS_AXIS, -1},
	{"LpPool", ROWS_PLANES, 0},
	{"MaxPool", ROWS_PLANES, 0},
	{"MaxpoolWithMask", ROWS_PLANES, 0},
	{"MeanVarianceNormalization", ROWS_PLANES, 0},
	{"NegativeLogLikelihoodLoss", ROWS_AXIS, 1},
	{"NhwcMaxPool", ROWS_READ, 0},
	{"QLinearAveragePool", ROWS_PLANES, 0},
	{"QLinearGlobalAveragePool", ROWS_PLANES, 0},
	{"QLinearReduceMean", ROWS_REDUCED, 0},
	{"QLinearSoftmax", ROWS_SOFTMAX, -1},
	{"RMSNormalization", ROWS_FROM_AXIS, -1},
	{"ReduceL1", ROWS_REDUCED, 0},
	{"ReduceL2", ROWS_REDUCED, 0},
	{"ReduceLogSum", ROWS_REDUCED, 0},
	{"ReduceLogSumExp", ROWS_REDUCED, 0},
	{"ReduceMax", ROWS_REDUCED, 0},
	{"ReduceMean", ROWS_REDUCED, 0},
	{"ReduceMin", ROWS_REDUCED, 0},
	{"ReduceProd", ROWS_REDUCED, 0},
	{"ReduceSum", ROWS_REDUCED, 0},
	{"ReduceSumSquare", ROWS_REDUCED, 0},
	{"SimplifiedLayerNormalization", ROWS_FROM_AXIS, -1},
	{"SkipGroupNorm", ROWS_GROUPS, 0},
	{"SkipLayerNormalization", ROWS_FROM_AXIS, -1},
	{"SkipSimplifiedLayerNormalization", ROWS_FROM_AXIS, -1},
	{"Softmax", ROWS_SOFTMAX, -1},
	{"SoftmaxCrossEntropyLoss", ROWS_AXIS, 1},
	{"Split", ROWS_READ, 0},
	{"SplitToSequence", ROWS_READ, 0},
	{"TopK", ROWS_AXIS, -1},
};

static int compare_type(const void *key, const void *row)
{
	return strcmp(key, ((const struct rows_type *)row)->type);
}

/* Elements of the dimensions from first to last - 1; what is not known counts as 1. */
static int64_t elements(const onnx_dims *d, int32_t first, int32_t last)
{
	int64_t n = 1;
	for (int32_t i = first; i < last; i++)
		n = onnx_times(n, d->d[i] < 0 ? 1 : d->d[i]);
	return n;
}

/* The attribute, or the last dimension where it says one that is not there. */
static int32_t axis_of(const onnx_at *at, int64_t missing, int32_t rank)
{
	int64_t axis = onnx_attr_int(at->n, "axis", missing);
	if (axis < -rank || axis >= rank)
		axis = -1;
	return (int32_t)(axis < 0 ? axis + rank : axis);
}

/* Elements of a row of d; the rank is above 0. */
static int64_t width_of(const onnx_at *at, const struct rows_type *t, rows_rule rule, const onnx_dims *d)
{
	bool old = at->m->opset < 13;
	int32_t axis = axis_of(at, rule == ROWS_SOFTMAX && old ? 1 : t ? t->axis : -1, d->rank);
	const onnx_value *y = at->n->n_out ? onnx_out(at, 0) : NULL;
	int64_t all = elements(d, 0, d->rank), groups = onnx_attr_int(at->n, "num_groups", 1), parts = 0;
	if (rule == ROWS_PLANES)
		return elements(d, 2, d->rank);
	if (rule == ROWS_AXIS || (rule == ROWS_SOFTMAX && !old))
		return elements(d, axis, axis + 1);
	if (rule == ROWS_FROM_AXIS || rule == ROWS_SOFTMAX)
		return elements(d, axis, d->rank);
	if (rule == ROWS_REDUCED && y)
		parts = onnx_count(y->rank, y->dim);
	if (rule == ROWS_GROUPS)
		parts = onnx_mul(elements(d, 0, 1), onnx_attr_int(at->n, "groups", groups));
	return parts > 0 && all % parts == 0 ? all / parts : elements(d, d->rank - 1, d->rank);
}

berth_dims onnx_rows(const onnx_at *at)
{
	const struct rows_type *t =
		bsearch(at->n->type, table, sizeof table / sizeof *table, sizeof *table, compare_type);
	rows_rule rule = t ? t->rule : ROWS_WRITTEN;
	onnx_dims d = onnx_in_dims(at, 0);
	for (int32_t o = 0; rule == ROWS_WRITTEN && o < at->n->n_out; o++) {
		const onnx_value *v = onnx_out(at, o);
		d.rank = ONNX_UNKNOWN;
		if (!v || v->rank < 0)
			continue;
		d.rank = v->rank;
		d.elem = v->elem;
		if (v->rank)
			memcpy(d.d, v->dim, (size_t)v->rank * sizeof *v->dim);
		break;
	}
	if (d.elem && !onnx_elem_bits(d.elem)) /* texts: numbers without bytes */
		return (berth_dims){0};
	if (d.rank < 1)
		return d.rank < 0 ? (berth_dims){0} : BERTH_DIMS(ROWS, 1, 1);
	int64_t all = elements(&d, 0, d.rank), width = width_of(at, t, rule, &d);
	return all > 0 && width > 0 && all % width == 0 ? BERTH_DIMS(ROWS, all / width, width)
	                                                : (berth_dims){0};
}
