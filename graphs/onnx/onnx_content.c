/* Contents of small tensors, computed where shapes depend on them: what exporters emit between Shape and
 * Reshape, Expand, Slice or Range. Integers wrap as in two's complement; 32-bit floats are rounded after
 * each step. A case that is left out leaves the content unknown. */
#include "onnx_infer.h"

/* ---- making contents ---- */

typedef struct content {
	int64_t n, *ints;
	double *reals;
} content;

/* Room for the content of output o by its type; c->n < 0: no content wanted. */
static berth_status new_content(const onnx_at *at, int32_t o, content *c)
{
	onnx_value *v = onnx_out(at, o);
	*c = (content){.n = v ? onnx_count(v->rank, v->dim) : -1};
	if (c->n < 0 || c->n > ONNX_MAX_CONTENT || !v->elem || v->elem == ONNX_STRING ||
	    at->m->n_contents + c->n > ONNX_MAX_CONTENTS + (int64_t)(at->m->size / 8)) {
		c->n = -1;
		return BERTH_OK;
	}
	at->m->n_contents += c->n;
	if (onnx_elem_is_real(v->elem))
		return BERTH_NEW(at->m->tmp, c->reals, c->n, at->m->err);
	return BERTH_NEW(at->m->tmp, c->ints, c->n, at->m->err);
}

static berth_status keep_content(const onnx_at *at, int32_t o, const content *c)
{
	onnx_value *v = onnx_out(at, o);
	v->ints = c->ints;
	v->reals = c->reals;
	return BERTH_OK;
}

/* The content of input i; n -1: not known. */
static content known_content(const onnx_at *at, int32_t i)
{
	const onnx_value *v = onnx_in(at, i);
	content c = {-1, NULL, NULL};
	if (v && (v->ints || v->reals)) {
		c.n = onnx_count(v->rank, v->dim);
		c.ints = (int64_t *)(size_t)v->ints;
		c.reals = (double *)(size_t)v->reals;
	}
	return c;
}

static double real_at(const content *c, int64_t k)
{
	return c->reals ? c->reals[k] : (double)c->ints[k];
}

static int64_t int_from(double x)
{
	return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : isnan(x) ? 0 : (int64_t)x;
}

static int64_t int_at(const content *c, int64_t k)
{
	return c->ints ? c->ints[k] : int_from(c->reals[k]);
}

/* x as the type stores it. */
static double rounded(int32_t elem, double x)
{
	return elem == ONNX_FLOAT ? (double)(float)x : x;
}

static int64_t wrapped(int32_t elem, int64_t x)
{
	switch (elem) {
	case ONNX_BOOL: return x != 0;
	case ONNX_UINT8: return (uint8_t)x;
	case ONNX_INT32: return (int32_t)(uint32_t)(uint64_t)x;
	default: return x;
	}
}

/* to[k] = from[j], both of one class or converted to that of to. */
static void put(content *to, int64_t k, const content *from, int64_t j)
{
	if (to->reals)
		to->reals[k] = real_at(from, j);
	else
		to->ints[k] = int_at(from, j);
}

/* ---- indices ---- */

/* Row-major strides of a shape, fitted to the right of rank dimensions; 0 where it broadcasts. */
static void broadcast_strides(const onnx_dims *d, int32_t rank, int64_t stride[])
{
	int64_t step = 1;
	memset(stride, 0, (size_t)rank * sizeof *stride);
	for (int32_t i = d->rank - 1; i >= 0; i--) {
		stride[rank - d->rank + i] = d->d[i] == 1 ? 0 : step;
		step = onnx_times(step, d->d[i]);
	}
}

/* Next index of a shape in row-major order. */
static void next_index(const onnx_value *v, int64_t index[])
{
	for (int32_t i = v->rank - 1; i >= 0; i--) {
		if (++index[i] < v->dim[i])
			return;
		index[i] = 0;
	}
}

static int64_t offset_of(const int64_t index[], const int64_t stride[], int32_t rank)
{
	int64_t at = 0;
	for (int32_t i = 0; i < rank; i++)
		at += index[i] * stride[i];
	return at;
}

/* Nothing to move: an empty output is known. */
static berth_status fold_empty(const onnx_at *at)
{
	content out;
	BERTH_TRY(new_content(at, 0, &out));
	return out.n == 0 ? keep_content(at, 0, &out) : BERTH_OK;
}

/* Output o takes in[base + index . stride]. */
static berth_status fold_strided(const onnx_at *at, int32_t o, const content *in, int64_t base,
                                 const int64_t stride[])
{
	const onnx_value *v = onnx_out(at, o);
	int64_t index[ONNX_MAX_RANK] = {0};
	content out;
	BERTH_TRY(new_content(at, o, &out));
	if (out.n < 0)
		return BERTH_OK;
	for (int64_t k = 0; k < out.n; k++) {
		int64_t j = base + offset_of(index, stride, v->rank);
		if (j < 0 || j >= in->n)
			return BERTH_OK;
		put(&out, k, in, j);
		next_index(v, index);
	}
	return keep_content(at, o, &out);
}

/* ---- rows ---- */

ONNX_FOLD(copy)
{
	const onnx_value *in = onnx_in(at, 0);
	onnx_value *out = onnx_out(at, 0);
	if (in && onnx_count(in->rank, in->dim) == onnx_count(out->rank, out->dim)) {
		out->ints = in->ints;
		out->reals = in->reals;
	}
	return BERTH_OK;
}

ONNX_FOLD(shape)
{
	const onnx_value *in = onnx_in(at, 0);
	int64_t start = onnx_clamp(onnx_attr_int(at->n, "start", 0));
	content out;
	BERTH_TRY(new_content(at, 0, &out));
	if (!in || out.n < 0 || in->rank < 0)
		return BERTH_OK;
	start = start < 0 ? start + in->rank : start;
	start = start < 0 ? 0 : start;
	for (int64_t k = 0; k < out.n; k++) {
		if (start + k >= in->rank || in->dim[start + k] < 0)
			return BERTH_OK;
		out.ints[k] = in->dim[start + k];
	}
	return keep_content(at, 0, &out);
}

ONNX_FOLD(size)
{
	const onnx_value *in = onnx_in(at, 0);
	int64_t n = in ? onnx_count(in->rank, in->dim) : -1;
	content out;
	BERTH_TRY(new_content(at, 0, &out));
	if (n < 0 || out.n != 1)
		return BERTH_OK;
	out.ints[0] = n;
	return keep_content(at, 0, &out);
}

ONNX_FOLD(constant)
{
	onnx_value *v = onnx_out(at, 0);
	const char *name[] = {"value_ints", "value_floats"};
	int32_t len;
	content out;
	if (v->tensor)
		return onnx_tensor_content(at->m, v->tensor, &v->ints, &v->reals);
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 0)
		return BERTH_OK;
	if (v->rank == 0) {
		if (out.ints)
			out.ints[0] = onnx_attr_int(at->n, "value_int", 0);
		else
			out.reals[0] = onnx_attr_float(at->n, "value_float", 0);
	} else if (out.ints) {
		BERTH_TRY(onnx_attr_ints(at->m, at->n, name[0], out.ints, (size_t)out.n, &len));
	} else {
		BERTH_TRY(onnx_attr_floats(at->m, at->n, name[1], out.reals, (size_t)out.n, &len));
	}
	return keep_content(at, 0, &out);
}

ONNX_FOLD(constant_of_shape)
{
	const onnx_attr *a = onnx_attr_find(at->n, "value");
	content value = {0, NULL, NULL}, out;
	const int64_t *ints = NULL;
	const double *reals = NULL;
	BERTH_TRY(new_content(at, 0, &out));
	if (a && a->tensor) {
		BERTH_TRY(onnx_tensor_content(at->m, a->tensor, &ints, &reals));
		value = (content){a->tensor->count, (int64_t *)(size_t)ints, (double *)(size_t)reals};
		if (value.n != 1 || (!ints && !reals))
			return BERTH_OK;
	}
	if (out.n < 0)
		return BERTH_OK;
	for (int64_t k = 0; k < out.n && value.n; k++)
		put(&out, k, &value, 0);
	return keep_content(at, 0, &out);
}

ONNX_FOLD(range)
{
	content start = known_content(at, 0), delta = known_content(at, 2), out;
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 0 || start.n != 1 || delta.n != 1)
		return BERTH_OK;
	for (int64_t k = 0; k < out.n; k++) {
		if (out.reals)
			out.reals[k] = rounded(onnx_out(at, 0)->elem,
			                       real_at(&start, 0) + (double)k * real_at(&delta, 0));
		else
			out.ints[k] = (int64_t)((uint64_t)int_at(&start, 0) +
			                        (uint64_t)k * (uint64_t)int_at(&delta, 0));
	}
	return keep_content(at, 0, &out);
}

ONNX_FOLD(cast)
{
	const onnx_value *v = onnx_out(at, 0);
	content in = known_content(at, 0), out;
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 0 || in.n != out.n)
		return BERTH_OK;
	for (int64_t k = 0; k < out.n; k++) {
		if (out.reals)
			out.reals[k] = rounded(v->elem, real_at(&in, k));
		else if (v->elem == ONNX_BOOL)
			out.ints[k] = real_at(&in, k) != 0;
		else
			out.ints[k] = wrapped(v->elem, int_at(&in, k));
	}
	return keep_content(at, 0, &out);
}

/* What operators do to numbers, one by one or in pairs. */
typedef enum arith {
	NONE,
	NEG, ABS, FLOOR, CEIL, ROUND, SQRT, NOT, SIGN, RECIPROCAL,
	ADD, SUB, MUL, DIV, MOD, POW, MIN, MAX, EQ, GT, GE, LT, LE, AND, OR, XOR
} arith;

static arith arith_of(const char *type)
{
	static const struct { const char *type; arith op; } table[] = {
		{"Neg", NEG}, {"Abs", ABS}, {"Floor", FLOOR}, {"Ceil", CEIL}, {"Round", ROUND},
		{"Sqrt", SQRT}, {"Not", NOT}, {"Sign", SIGN}, {"Reciprocal", RECIPROCAL}, {"Add", ADD},
		{"Sub", SUB}, {"Mul", MUL}, {"Div", DIV}, {"Mod", MOD}, {"Pow", POW}, {"Min", MIN},
		{"Max", MAX}, {"Equal", EQ}, {"Greater", GT}, {"GreaterOrEqual", GE}, {"Less", LT},
		{"LessOrEqual", LE}, {"And", AND}, {"Or", OR}, {"Xor", XOR}, {"ReduceSum", ADD},
		{"ReduceProd", MUL}, {"ReduceMin", MIN}, {"ReduceMax", MAX}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].type, type) == 0)
			return table[i].op;
	return NONE;
}

static double unary_real(arith op, double x)
{
	switch (op) {
	case NEG: return -x;
	case ABS: return fabs(x);
	case FLOOR: return floor(x);
	case CEIL: return ceil(x);
	case ROUND: return nearbyint(x);
	case SQRT: return sqrt(x);
	case SIGN: return BERTH_COMPARE(x, 0);
	case RECIPROCAL: return 1 / x;
	default: return x;
	}
}

static int64_t unary_int(arith op, int64_t x)
{
	switch (op) {
	case NEG: return (int64_t)(0 - (uint64_t)x);
	case ABS: return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
	case NOT: return !x;
	case SIGN: return BERTH_COMPARE(x, 0);
	default: return x;
	}
}

ONNX_FOLD(unary)
{
	arith op = arith_of(at->n->type);
	content in = known_content(at, 0), out;
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 0 || in.n != out.n || op == NONE)
		return BERTH_OK;
	for (int64_t k = 0; k < out.n; k++) {
		if (out.reals)
			out.reals[k] = rounded(onnx_out(at, 0)->elem, unary_real(op, real_at(&in, k)));
		else
			out.ints[k] = unary_int(op, int_at(&in, k));
	}
	return keep_content(at, 0, &out);
}

/* Comparison of x and y as -1, 0, 1. */
static bool compared(arith op, int c)
{
	switch (op) {
	case EQ: return c == 0;
	case GT: return c > 0;
	case GE: return c >= 0;
	case LT: return c < 0;
	default: return c <= 0;
	}
}

static bool binary_int(arith op, int64_t x, int64_t y, int64_t *r)
{
	uint64_t a = (uint64_t)x, b = (uint64_t)y;
	switch (op) {
	case ADD: *r = (int64_t)(a + b); return true;
	case SUB: *r = (int64_t)(a - b); return true;
	case MUL: *r = (int64_t)(a * b); return true;
	case DIV: *r = y == -1 ? (int64_t)(0 - a) : y ? x / y : 0; return y != 0;
	case MOD:
		*r = y == -1 || y == 0 ? 0 : x % y;
		*r += *r && (*r < 0) != (y < 0) ? y : 0;
		return y != 0;
	case POW: *r = int_from(pow((double)x, (double)y)); return true;
	case MIN: *r = x < y ? x : y; return true;
	case MAX: *r = x > y ? x : y; return true;
	case AND: *r = x && y; return true;
	case OR: *r = x || y; return true;
	case XOR: *r = !x != !y; return true;
	case NONE: return false;
	default: *r = compared(op, BERTH_COMPARE(x, y)); return true;
	}
}

static bool binary_real(arith op, double x, double y, double *r)
{
	switch (op) {
	case ADD: *r = x + y; return true;
	case SUB: *r = x - y; return true;
	case MUL: *r = x * y; return true;
	case DIV: *r = x / y; return true;
	case POW: *r = pow(x, y); return true;
	case MIN: *r = x < y ? x : y; return true;
	case MAX: *r = x > y ? x : y; return true;
	case EQ:
	case GT:
	case GE:
	case LT:
	case LE:
		*r = compared(op, BERTH_COMPARE(x, y));
		return !isnan(x) && !isnan(y);
	default: return false;
	}
}

/* Two operands; Min and Max of more stay unknown. */
ONNX_FOLD(binary)
{
	const onnx_value *v = onnx_out(at, 0);
	arith op = arith_of(at->n->type);
	onnx_dims da = onnx_in_dims(at, 0), db = onnx_in_dims(at, 1);
	content a = known_content(at, 0), b = known_content(at, 1), out;
	int64_t sa[ONNX_MAX_RANK], sb[ONNX_MAX_RANK], index[ONNX_MAX_RANK] = {0};
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 0 || a.n < 0 || b.n < 0 || at->n->n_in != 2 || da.rank > v->rank || db.rank > v->rank)
		return BERTH_OK;
	broadcast_strides(&da, v->rank, sa);
	broadcast_strides(&db, v->rank, sb);
	for (int64_t k = 0; k < out.n; k++, next_index(v, index)) {
		int64_t i = offset_of(index, sa, v->rank), j = offset_of(index, sb, v->rank), whole = 0;
		double real = 0;
		if (i >= a.n || j >= b.n)
			return BERTH_OK;
		bool ints = a.ints && b.ints;
		if (ints ? !binary_int(op, a.ints[i], b.ints[j], &whole)
		         : !binary_real(op, real_at(&a, i), real_at(&b, j), &real))
			return BERTH_OK;
		if (out.reals)
			out.reals[k] = rounded(v->elem, ints ? (double)whole : real);
		else
			out.ints[k] = wrapped(v->elem, ints ? whole : int_from(real));
	}
	return keep_content(at, 0, &out);
}

ONNX_FOLD(where)
{
	const onnx_value *v = onnx_out(at, 0);
	content part[3], out;
	int64_t stride[3][ONNX_MAX_RANK], index[ONNX_MAX_RANK] = {0};
	BERTH_TRY(new_content(at, 0, &out));
	for (int32_t i = 0; i < 3; i++) {
		onnx_dims d = onnx_in_dims(at, i);
		part[i] = known_content(at, i);
		if (out.n < 0 || part[i].n < 0 || d.rank > v->rank)
			return BERTH_OK;
		broadcast_strides(&d, v->rank, stride[i]);
	}
	for (int64_t k = 0; k < out.n; k++, next_index(v, index)) {
		int64_t c = offset_of(index, stride[0], v->rank);
		int pick = c < part[0].n && real_at(&part[0], c) != 0 ? 1 : 2;
		int64_t j = offset_of(index, stride[pick], v->rank);
		if (j >= part[pick].n)
			return BERTH_OK;
		put(&out, k, &part[pick], j);
	}
	return keep_content(at, 0, &out);
}

ONNX_FOLD(expand)
{
	const onnx_value *v = onnx_out(at, 0);
	onnx_dims d = onnx_in_dims(at, 0);
	content in = known_content(at, 0);
	int64_t stride[ONNX_MAX_RANK];
	if (in.n < 1 || d.rank > v->rank)
		return in.n == 0 ? fold_empty(at) : BERTH_OK;
	broadcast_strides(&d, v->rank, stride);
	return fold_strided(at, 0, &in, 0, stride);
}

/* Row-major strides of input 0. */
static void plain_strides(const onnx_dims *d, int64_t stride[])
{
	int64_t step = 1;
	for (int32_t i = d->rank - 1; i >= 0; i--) {
		stride[i] = step;
		step = onnx_times(step, d->d[i]);
	}
}

ONNX_FOLD(transpose)
{
	onnx_dims d = onnx_in_dims(at, 0);
	content in = known_content(at, 0);
	int64_t plain[ONNX_MAX_RANK], stride[ONNX_MAX_RANK], perm[ONNX_MAX_RANK];
	int32_t n, from;
	if (in.n < 1)
		return in.n == 0 ? fold_empty(at) : BERTH_OK;
	plain_strides(&d, plain);
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "perm", perm, ONNX_MAX_RANK, &n));
	if (n >= 0 && n != d.rank)
		return BERTH_OK;
	for (int32_t i = 0; i < d.rank; i++) {
		BERTH_TRY(onnx_axis(at, n >= 0 ? perm[i] : d.rank - 1 - i, d.rank, &from));
		stride[i] = plain[from];
	}
	return fold_strided(at, 0, &in, 0, stride);
}

ONNX_FOLD(slice)
{
	onnx_dims d = onnx_in_dims(at, 0);
	content in = known_content(at, 0);
	int64_t stride[ONNX_MAX_RANK], start[ONNX_MAX_RANK], axes[ONNX_MAX_RANK], step[ONNX_MAX_RANK],
		base = 0;
	int32_t n, n_axes, n_step, axis;
	bool known[3];
	if (in.n < 1)
		return in.n == 0 ? fold_empty(at) : BERTH_OK;
	plain_strides(&d, stride);
	BERTH_TRY(onnx_list(at, "starts", 1, start, &n, &known[0]));
	BERTH_TRY(onnx_list(at, "axes", 3, axes, &n_axes, &known[1]));
	BERTH_TRY(onnx_list(at, "steps", 4, step, &n_step, &known[2]));
	if (!known[0] || !known[1] || !known[2] || (n_axes >= 0 && n_axes != n) ||
	    (n_step >= 0 && n_step != n))
		return BERTH_OK;
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(onnx_axis(at, n_axes >= 0 ? axes[i] : i, d.rank, &axis));
		int64_t by = n_step >= 0 ? onnx_clamp(step[i]) : 1, from = onnx_clamp(start[i]),
			high = by > 0 ? d.d[axis] : d.d[axis] - 1;
		from += from < 0 ? d.d[axis] : 0;
		from = from < 0 ? 0 : from > high ? high : from;
		base = onnx_clamp(base + onnx_clamp(from * stride[axis]));
		stride[axis] = onnx_clamp(stride[axis] * onnx_clamp(by % (2 * ONNX_MAX_CONTENT + 1)));
	}
	return fold_strided(at, 0, &in, base, stride);
}

ONNX_FOLD(split)
{
	onnx_dims d = onnx_in_dims(at, 0);
	content in = known_content(at, 0);
	int64_t stride[ONNX_MAX_RANK], base = 0;
	int32_t axis;
	if (in.n < 1 || d.rank < 1)
		return in.n == 0 ? fold_empty(at) : BERTH_OK;
	plain_strides(&d, stride);
	BERTH_TRY(onnx_axis_attr(at, 0, d.rank, &axis));
	for (int32_t o = 0; o < at->n->n_out; o++) {
		const onnx_value *v = onnx_out(at, o);
		if (!v || onnx_count(v->rank, v->dim) < 0)
			return BERTH_OK;
		BERTH_TRY(fold_strided(at, o, &in, base, stride));
		base = onnx_clamp(base + v->dim[axis] * stride[axis]);
	}
	return BERTH_OK;
}

ONNX_FOLD(tile)
{
	const onnx_value *v = onnx_out(at, 0);
	onnx_dims d = onnx_in_dims(at, 0);
	content in = known_content(at, 0), out;
	int64_t stride[ONNX_MAX_RANK], index[ONNX_MAX_RANK] = {0};
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 0 || in.n < 1 || d.rank != v->rank)
		return in.n == 0 ? fold_empty(at) : BERTH_OK;
	plain_strides(&d, stride);
	for (int64_t k = 0; k < out.n; k++, next_index(v, index)) {
		int64_t j = 0;
		for (int32_t i = 0; i < d.rank; i++)
			j += index[i] % d.d[i] * stride[i];
		put(&out, k, &in, j);
	}
	return keep_content(at, 0, &out);
}

ONNX_FOLD(concat)
{
	const onnx_value *v = onnx_out(at, 0);
	int32_t axis;
	int64_t inner = 1, start = 0;
	content out;
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 1)
		return fold_empty(at);
	BERTH_TRY(onnx_axis_attr(at, 1, v->rank, &axis));
	for (int32_t i = axis + 1; i < v->rank; i++)
		inner *= v->dim[i];
	for (int32_t i = 0; i < at->n->n_in; i++) {
		content in = known_content(at, i);
		onnx_dims d = onnx_in_dims(at, i);
		if (in.n < 0 || d.rank != v->rank)
			return BERTH_OK;
		int64_t run = d.d[axis] * inner, row = v->dim[axis] * inner;
		for (int64_t j = 0; j < in.n; j++) {
			int64_t k = j / run * row + start + j % run;
			if (k >= out.n)
				return BERTH_OK;
			put(&out, k, &in, j);
		}
		start += run;
	}
	return keep_content(at, 0, &out);
}

ONNX_FOLD(gather)
{
	onnx_dims d = onnx_in_dims(at, 0);
	content in = known_content(at, 0), index = known_content(at, 1), out;
	int64_t inner = 1;
	int32_t axis;
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 0 || in.n < 1 || index.n < 1 || d.rank < 1)
		return in.n == 0 || index.n == 0 ? fold_empty(at) : BERTH_OK;
	BERTH_TRY(onnx_axis_attr(at, 0, d.rank, &axis));
	for (int32_t i = axis + 1; i < d.rank; i++)
		inner *= d.d[i];
	for (int64_t k = 0; k < out.n; k++) {
		int64_t j = int_at(&index, k / inner % index.n);
		if (j < -d.d[axis] || j >= d.d[axis])
			return ONNX_FAIL(at, "index %lld; expected %lld to %lld", (long long)j,
			                 (long long)-d.d[axis], (long long)d.d[axis] - 1);
		j += j < 0 ? d.d[axis] : 0;
		put(&out, k, &in, (k / inner / index.n * d.d[axis] + j) * inner + k % inner);
	}
	return keep_content(at, 0, &out);
}

/* Sum, product, least or greatest over all elements: how exporters count elements and find the largest size
 * of a batch. */
ONNX_FOLD(reduce)
{
	content in = known_content(at, 0), out;
	arith op = arith_of(at->n->type);
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n != 1 || in.n < 1 || op == NONE || !in.ints != !out.ints)
		return BERTH_OK;
	put(&out, 0, &in, 0);
	for (int64_t k = 1; k < in.n; k++) {
		double r = 0;
		if (in.ints)
			binary_int(op, out.ints[0], in.ints[k], &out.ints[0]);
		else if (binary_real(op, out.reals[0], in.reals[k], &r))
			out.reals[0] = rounded(onnx_out(at, 0)->elem, r);
	}
	return keep_content(at, 0, &out);
}

ONNX_FOLD(nonzero)
{
	const onnx_value *v = onnx_in(at, 0);
	content in = known_content(at, 0), out;
	int64_t index[ONNX_MAX_RANK] = {0}, columns, found = 0;
	BERTH_TRY(new_content(at, 0, &out));
	if (out.n < 0 || in.n < 0 || v->rank < 1)
		return BERTH_OK;
	columns = onnx_out(at, 0)->dim[1];
	for (int64_t k = 0; k < in.n; k++, next_index(v, index)) {
		if (real_at(&in, k) == 0)
			continue;
		for (int32_t i = 0; i < v->rank && found < columns; i++)
			out.ints[i * columns + found] = index[i];
		found++;
	}
	return keep_content(at, 0, &out);
}
