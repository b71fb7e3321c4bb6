/* The table of rules, and those of operators that look at one element, or at one line, at a time. */
#include "pieces_rule.h"

/* ---- helpers of all rules ---- */

const onnx_value *pieces_input(const pieces_at *at, int32_t k)
{
	return k < at->n->n_in && at->n->in[k] >= 0 ? &at->m->value[at->n->in[k]] : NULL;
}

const onnx_value *pieces_output(const pieces_at *at)
{
	return &at->m->value[at->n->out[0]];
}

bool pieces_is_open(const pieces_at *at, const onnx_value *v, int32_t dim)
{
	return at->open[v - at->m->value] >> dim & 1;
}

int32_t pieces_axis(const pieces_at *at, const char *attr, int64_t missing, int32_t rank)
{
	int64_t a = onnx_attr_int(at->n, attr, missing);
	a += a < 0 ? rank : 0;
	return a >= 0 && a < rank ? (int32_t)a : -1;
}

void pieces_same(const pieces_at *at, pieces_spec *s, int32_t k)
{
	const onnx_value *v = pieces_input(at, k);
	if (!v)
		return;
	int32_t d = s->dim - (pieces_output(at)->rank - v->rank);
	if (d >= 0 && v->dim[d] == s->length)
		s->in[k].dim = d;
}

bool pieces_ints(const pieces_at *at, const char *attr, int32_t slot, int64_t out[ONNX_MAX_RANK], int32_t *n)
{
	const onnx_value *v = slot >= 0 ? pieces_input(at, slot) : NULL;
	if (!v)
		return onnx_attr_ints(at->m, at->n, attr, out, ONNX_MAX_RANK, n) == BERTH_OK &&
		       *n <= ONNX_MAX_RANK;
	int64_t count = onnx_count(v->rank, v->dim);
	if (!v->ints || count < 0 || count > ONNX_MAX_RANK)
		return false;
	*n = (int32_t)count;
	BERTH_COPY(out, v->ints, count);
	return true;
}

/* ---- element by element ---- */

/* All inputs are cut as the output is. */
static const char *same_inputs(const pieces_at *at, pieces_spec *s)
{
	for (int32_t k = 0; k < at->n->n_in; k++)
		pieces_same(at, s, k);
	return NULL;
}

static const char *elementwise(const pieces_at *at, pieces_spec *s)
{
	return at->m->opset < 7 && at->n->n_in > 1 ? "below opset 7 operands are broadcast by an attribute"
	                                           : same_inputs(at, s);
}

static const char *dropout(const pieces_at *at, pieces_spec *s)
{
	if (pieces_input(at, 2) || at->n->n_out > 1)
		return "it is a Dropout that may be random";
	pieces_same(at, s, 0);
	return NULL;
}

/* ---- lines that are looked at as a whole ---- */

static const char sums_over[] = "it sums over this dimension";

/* A line is along the axis, or over all dimensions from there on. */
static const char *whole_lines(const pieces_at *at, pieces_spec *s, int64_t missing, bool from_there_on)
{
	int32_t axis = pieces_axis(at, "axis", missing, pieces_output(at)->rank);
	bool in_line = axis < 0 || (from_there_on ? s->dim >= axis : s->dim == axis);
	return in_line ? sums_over : same_inputs(at, s);
}

/* Softmax and its kin: below opset 13 all dimensions from axis on are one line. */
static const char *softmax(const pieces_at *at, pieces_spec *s)
{
	bool flat = at->m->opset < 13;
	return whole_lines(at, s, flat ? 1 : -1, flat);
}

static const char *lines_from_axis(const pieces_at *at, pieces_spec *s)
{
	return whole_lines(at, s, -1, true);
}

static const char *lines_along_axis(const pieces_at *at, pieces_spec *s)
{
	return whole_lines(at, s, -1, false);
}

/* Figures of a channel belong to it: they are cut with it. */
static const char *batch_norm(const pieces_at *at, pieces_spec *s)
{
	if (at->n->n_out > 1 || onnx_attr_int(at->n, "training_mode", 0))
		return "it computes figures of the whole batch";
	if (at->m->opset < 9 && !onnx_attr_int(at->n, "spatial", 1))
		return "its figures are not of channels alone";
	pieces_same(at, s, 0);
	for (int32_t k = 1; k < at->n->n_in && s->dim == 1; k++)
		s->in[k].dim = 0;
	return NULL;
}

static const char *instance_norm(const pieces_at *at, pieces_spec *s)
{
	return s->dim > 1 ? sums_over : batch_norm(at, s);
}

static const char *group_norm(const pieces_at *at, pieces_spec *s)
{
	if (s->dim != 0)
		return "it is cut by batch alone";
	pieces_same(at, s, 0);
	return NULL;
}

static const char *local_norm(const pieces_at *at, pieces_spec *s)
{
	if (s->dim == 1)
		return "a channel needs its neighbours";
	pieces_same(at, s, 0);
	return NULL;
}

static const char *global_pool(const pieces_at *at, pieces_spec *s)
{
	if (s->dim > 1)
		return sums_over;
	pieces_same(at, s, 0);
	return NULL;
}

/* ReduceSum and its kin: dimensions that stay. */
static const char *reduce(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *x = pieces_input(at, 0);
	int64_t axes[ONNX_MAX_RANK];
	int32_t n, d = -1;
	bool on[ONNX_MAX_RANK] = {0}, keep = onnx_attr_int(at->n, "keepdims", 1) != 0;
	if (!pieces_ints(at, "axes", 1, axes, &n) || n < 0)
		return "its axes are not known";
	for (int32_t i = 0; i < n; i++) {
		int64_t a = axes[i] + (axes[i] < 0 ? x->rank : 0);
		if (a < 0 || a >= x->rank)
			return "its axes are not known";
		on[a] = true;
	}
	for (int32_t left = s->dim; left >= 0 && d < x->rank; left -= keep || (d < x->rank && !on[d]))
		d++;
	if (n == 0 || d == x->rank || on[d])
		return sums_over;
	s->in[0].dim = d;
	return NULL;
}

static const char *arg(const pieces_at *at, pieces_spec *s)
{
	const onnx_value *x = pieces_input(at, 0);
	int32_t axis = pieces_axis(at, "axis", 0, x->rank);
	bool keep = onnx_attr_int(at->n, "keepdims", 1) != 0;
	if (axis < 0 || (keep && s->dim == axis))
		return "it looks along this dimension";
	s->in[0].dim = s->dim + (!keep && s->dim >= axis);
	return NULL;
}

/* ---- the table ---- */

typedef enum words { PLAIN, IMAGE, MATRIX, TABLE } words;

typedef struct row {
	const char *type;
	pieces_rule *rule;
	words words;
	bool inner; /* pieces of what it sums over can be added */
	int needs;  /* inputs that it cannot be without */
} row;

static const row table[] = {
	{"ArgMax", arg, PLAIN, false, 1},
	{"ArgMin", arg, PLAIN, false, 1},
	{"AveragePool", pieces_rule_pool, IMAGE, false, 1},
	{"BatchNormalization", batch_norm, IMAGE, false, 5},
	{"Concat", pieces_rule_concat, PLAIN, false, 1},
	{"Conv", pieces_rule_conv, IMAGE, true, 2},
	{"ConvTranspose", pieces_rule_conv_transpose, IMAGE, false, 2},
	{"Dropout", dropout, PLAIN, false, 1},
	{"Expand", pieces_rule_expand, PLAIN, false, 2},
	{"Flatten", pieces_rule_reshape, PLAIN, false, 1},
	{"Gather", pieces_rule_gather, TABLE, true, 2},
	{"Gemm", pieces_rule_gemm, MATRIX, true, 2},
	{"GlobalAveragePool", global_pool, IMAGE, false, 1},
	{"GlobalLpPool", global_pool, IMAGE, false, 1},
	{"GlobalMaxPool", global_pool, IMAGE, false, 1},
	{"GroupNormalization", group_norm, IMAGE, false, 1},
	{"Hardmax", softmax, PLAIN, false, 1},
	{"InstanceNormalization", instance_norm, IMAGE, false, 3},
	{"LRN", local_norm, IMAGE, false, 1},
	{"LayerNormalization", lines_from_axis, PLAIN, false, 1},
	{"LogSoftmax", softmax, PLAIN, false, 1},
	{"LpNormalization", lines_along_axis, PLAIN, false, 1},
	{"LpPool", pieces_rule_pool, IMAGE, false, 1},
	{"MatMul", pieces_rule_matmul, MATRIX, true, 2},
	{"MaxPool", pieces_rule_pool, IMAGE, false, 1},
	{"Pad", pieces_rule_pad, PLAIN, false, 1},
	{"RMSNormalization", lines_from_axis, PLAIN, false, 1},
	{"ReduceL1", reduce, PLAIN, false, 1},
	{"ReduceL2", reduce, PLAIN, false, 1},
	{"ReduceLogSum", reduce, PLAIN, false, 1},
	{"ReduceLogSumExp", reduce, PLAIN, false, 1},
	{"ReduceMax", reduce, PLAIN, false, 1},
	{"ReduceMean", reduce, PLAIN, false, 1},
	{"ReduceMin", reduce, PLAIN, false, 1},
	{"ReduceProd", reduce, PLAIN, false, 1},
	{"ReduceSum", reduce, PLAIN, false, 1},
	{"ReduceSumSquare", reduce, PLAIN, false, 1},
	{"Reshape", pieces_rule_reshape, PLAIN, false, 2},
	{"Slice", pieces_rule_slice, PLAIN, false, 1},
	{"Softmax", softmax, PLAIN, false, 1},
	{"Squeeze", pieces_rule_squeeze, PLAIN, false, 1},
	{"Tile", pieces_rule_tile, PLAIN, false, 2},
	{"Transpose", pieces_rule_transpose, PLAIN, false, 1},
	{"Unsqueeze", pieces_rule_reshape, PLAIN, false, 1},
};

static const char *const each_element[] = {
	"Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift", "BitwiseAnd",
	"BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Div", "Elu",
	"Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish",
	"Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish",
	"Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Shrink",
	"Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Tan", "Tanh",
	"ThresholdedRelu", "Where", "Xor"};

const char *pieces_rule_type(size_t i)
{
	size_t rows = sizeof table / sizeof *table, elements = sizeof each_element / sizeof *each_element;
	return i < rows ? table[i].type : i - rows < elements ? each_element[i - rows] : NULL;
}

static const row *row_of(const onnx_node *n)
{
	static const row element = {"", elementwise, PLAIN, false, 1};
	if (*n->domain)
		return NULL;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].type, n->type) == 0)
			return &table[i];
	for (size_t i = 0; i < sizeof each_element / sizeof *each_element; i++)
		if (strcmp(each_element[i], n->type) == 0)
			return &element;
	return NULL;
}

/* What types have in common that there is no rule for. */
static const char *why_not(const onnx_node *n)
{
	static const char *const state[] = {"LSTM", "GRU", "RNN"};
	static const char *const quantised[] = {"Quantize", "QLinear", "Integer",
	                                        "NBits",    "QGemm",   "QAttention"};
	if (n->n_bodies)
		return "it has a body";
	for (size_t i = 0; i < sizeof state / sizeof *state; i++)
		if (strcmp(n->type, state[i]) == 0)
			return "it keeps a state from step to step";
	for (size_t i = 0; i < sizeof quantised / sizeof *quantised; i++)
		if (strstr(n->type, quantised[i]))
			return "it is quantised: scales belong to what is cut";
	return "there is no rule for its type";
}

pieces_rule *pieces_rule_of(const pieces_at *at, int32_t dim, const char **why)
{
	const row *r = at->n->n_bodies ? NULL : row_of(at->n);
	*why = !r ? why_not(at->n) : dim == PIECES_INNER && !r->inner ? "it has no inner dimension" : NULL;
	for (int32_t k = 0; !*why && k < r->needs; k++)
		*why = pieces_input(at, k) ? NULL : "an input is missing";
	return *why ? NULL : r->rule;
}

/* ---- words for dimensions ---- */

static const char *const image_word[] = {"batch", "channels", "rows", "columns"};

int32_t pieces_axis_of(const pieces_at *at, const char *word)
{
	const row *r = row_of(at->n);
	int32_t rank = pieces_output(at)->rank;
	if (strcmp(word, "inner") == 0 || (r && r->words == TABLE && strcmp(word, "vocabulary") == 0))
		return PIECES_INNER;
	for (int32_t d = 0; r && r->words == IMAGE && d < 4 && d < rank; d++)
		if (strcmp(word, image_word[d]) == 0)
			return d;
	if (r && r->words == MATRIX && rank >= 2 && strcmp(word, "rows") == 0)
		return rank - 2;
	if (r && r->words == MATRIX && rank >= 2 && strcmp(word, "columns") == 0)
		return rank - 1;
	for (int32_t d = 0; d < rank; d++) {
		char number[16];
		snprintf(number, sizeof number, "%d", (int)d);
		if (strcmp(word, number) == 0)
			return d;
	}
	return -2;
}

const char *pieces_axis_word(const pieces_at *at, int32_t dim, char buf[16])
{
	const row *r = row_of(at->n);
	int32_t rank = pieces_output(at)->rank;
	if (dim == PIECES_INNER)
		return r && r->words == TABLE ? "vocabulary" : "inner";
	if (r && r->words == IMAGE && dim < 4)
		return image_word[dim];
	if (r && r->words == MATRIX && dim >= rank - 2)
		return dim == rank - 2 ? "rows" : "columns";
	snprintf(buf, 16, "%d", (int)dim);
	return buf;
}
