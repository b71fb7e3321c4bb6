/* Shapes of operators: their numbers, the check of them, and the list of unlike ones that a graph has. */
#include "graph_build.h"

static const char *const dims_key[BERTH_N_DIMS_KINDS][BERTH_MOST_DIMS] = {
	[BERTH_DIMS_PRODUCT] = {"b", "m", "n", "k"},
	[BERTH_DIMS_CONV] = {"b", "in", "out", "pixels", "taps", "stride", "groups", "dilation"},
	[BERTH_DIMS_ROWS] = {"rows", "width"},
};

const char *berth_dims_key(berth_dims_kind kind, int i)
{
	return i < BERTH_MOST_DIMS ? dims_key[kind][i] : NULL;
}

double berth_dims_work(const berth_dims *d)
{
	const int64_t *at = d->at;
	double x = (double)at[0] * (double)at[1];
	if (d->kind == BERTH_DIMS_PRODUCT)
		return x * (double)at[2] * (double)at[3];
	if (d->kind == BERTH_DIMS_CONV)
		return x * (double)at[2] * (double)at[3] * (double)at[4] / (double)at[6];
	return x;
}

berth_dims berth_dims_of(berth_dims_kind kind, const int64_t at[BERTH_MOST_DIMS])
{
	berth_dims d = {.kind = kind};
	for (int i = 0; berth_dims_key(kind, i); i++) {
		if (at[i] < 1 || at[i] > GRAPH_MAX_BYTES)
			return (berth_dims){0};
		d.at[i] = at[i];
	}
	return d;
}

static int count_keys(berth_dims_kind kind)
{
	int n = 0;
	while (berth_dims_key(kind, n))
		n++;
	return n;
}

/* The number behind the key in the text, "key=number,...". */
static bool find_key(const char *text, const char *key, int64_t *out)
{
	uint64_t x;
	for (size_t n = strlen(key); *text; text += strcspn(text, ",") + (strchr(text, ',') != NULL)) {
		size_t end = strcspn(text, ",");
		if (end <= n || strncmp(text, key, n) != 0 || text[n] != '=')
			continue;
		if (!berth_text_whole(text + n + 1, end - n - 1, GRAPH_MAX_BYTES, &x))
			return false;
		*out = (int64_t)x;
		return true;
	}
	return false;
}

berth_status berth_dims_parse(const char *text, berth_dims *out, berth_err *err)
{
	int n_given = 1;
	for (const char *at = strchr(text, ','); at; at = strchr(at + 1, ','))
		n_given++;
	for (int kind = 1; kind < BERTH_N_DIMS_KINDS; kind++) {
		berth_dims d = {.kind = (berth_dims_kind)kind};
		int n = 0;
		while (berth_dims_key(d.kind, n) && find_key(text, berth_dims_key(d.kind, n), &d.at[n]))
			n++;
		if (n != n_given || n != count_keys(d.kind))
			continue;
		*out = d;
		return BERTH_OK;
	}
	return berth_fail(err, BERTH_EFORMAT,
	                  "dims '%.80s': expected b, m, n, k of a product, b, in, out, pixels, taps, stride, "
	                  "groups, dilation of a convolution, or rows, width, as in b=1,m=128,n=64,k=32",
	                  text);
}

berth_dims graph_dims(const berth_builder *b, size_t op)
{
	berth_dims d = {.kind = (berth_dims_kind)columns_byte(&b->op, OP_DIMS, op)};
	for (int i = 0; berth_dims_key(d.kind, i); i++)
		d.at[i] = columns_long(&b->op, OP_DIMS + 1 + i, op);
	return d;
}

berth_status graph_check_dims(const char *op, const berth_op_spec *s, berth_err *err)
{
	const berth_dims *d = &s->dims;
	for (int i = 0; berth_dims_key(d->kind, i); i++)
		if (d->at[i] < 1 || d->at[i] > GRAPH_MAX_BYTES)
			return berth_fail(err, BERTH_EFORMAT, "operator '%s': %s is %lld; expected 1 to 2^53",
			                  op, berth_dims_key(d->kind, i), (long long)d->at[i]);
	if (d->kind == BERTH_DIMS_CONV && (d->at[1] % d->at[6] || d->at[2] % d->at[6]))
		return berth_fail(err, BERTH_EFORMAT,
		                  "operator '%s': %lld groups do not divide %lld channels into %lld", op,
		                  (long long)d->at[6], (long long)d->at[1], (long long)d->at[2]);
	double work = berth_dims_work(d);
	if (d->kind != BERTH_DIMS_ROWS && work > 0 && s->macs > 0 && fabs(work - s->macs) > 0.01 * work)
		return berth_fail(err, BERTH_EFORMAT,
		                  "operator '%s': its dims are %g multiply-accumulates, its macs %g", op,
		                  work, s->macs);
	/* Stated bytes and FLOP that no operator of that shape has: a number of a result takes a bit at
	 * least, and a multiply-accumulate a FLOP. More bytes are those of what was fused. */
	const int64_t *at = s->dims.at;
	bool product = s->dims.kind == BERTH_DIMS_PRODUCT, rows = s->dims.kind == BERTH_DIMS_ROWS;
	if (!s->dims.kind || s->backward) /* gradients are results of other shapes */
		return BERTH_OK;
	double out = rows ? work : (double)at[0] * (double)at[product ? 1 : 3] * (double)at[2];
	double bytes = rows ? fmax((double)s->read_bytes, (double)s->write_bytes) : (double)s->write_bytes;
	if (bytes > 0 && bytes < out / 8)
		return berth_fail(err, BERTH_EFORMAT,
		                  "operator '%s': its dims are a result of %g numbers, its bytes %g", op, out,
		                  bytes);
	if (!rows && s->flops > 0 && s->flops < 0.99 * work)
		return berth_fail(err, BERTH_EFORMAT,
		                  "operator '%s': its dims are %g multiply-accumulates, its flops %g", op,
		                  work, s->flops);
	return BERTH_OK;
}

/* ---- the list ---- */

const berth_dims *berth_graph_dims(const berth_graph *g, int32_t op)
{
	return &g->shape[g->op_shape[op]];
}

static uint64_t hash_of(const berth_dims *d)
{
	uint64_t h = (uint64_t)d->kind;
	for (int i = 0; i < BERTH_MOST_DIMS; i++)
		h = (h ^ (uint64_t)d->at[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
	return h ^ h >> 32;
}

static bool same_dims(const berth_dims *a, const berth_dims *b)
{
	for (int i = 0; i < BERTH_MOST_DIMS; i++)
		if (a->at[i] != b->at[i])
			return false;
	return a->kind == b->kind;
}

/* op_shape, and in first [n_shapes] the operator that each shape stands at first. */
static berth_status number_shapes(berth_builder *b, int32_t *first, berth_graph *g, berth_err *err)
{
	int32_t *slot; /* of a hash table: shapes */
	size_t n = 16, n_ops = b->op.n_rows;
	while (n < 2 * n_ops)
		n *= 2;
	BERTH_TRY_NEW(b->tmp, n, err, slot);
	for (size_t op = 0; op < n_ops; op++) {
		berth_dims d = graph_dims(b, op), other;
		if (!d.kind)
			continue;
		size_t at = (size_t)hash_of(&d) & (n - 1);
		while (slot[at] && (other = graph_dims(b, (size_t)first[slot[at]]), !same_dims(&d, &other)))
			at = (at + 1) & (n - 1);
		if (!slot[at]) {
			first[g->n_shapes] = (int32_t)op;
			slot[at] = g->n_shapes++;
		}
		g->op_shape[op] = slot[at];
	}
	return BERTH_OK;
}

berth_status graph_finish_dims(berth_builder *b, int32_t *zeros, berth_arena *mem, berth_graph *g,
                               berth_err *err)
{
	columns *c = &b->op;
	size_t n_ops = c->n_rows;
	int32_t *first;
	g->op_shape = zeros;
	g->n_shapes = 1; /* none */
	berth_arena_mark mark = berth_arena_get_mark(b->tmp);
	BERTH_TRY_NEW(b->tmp, n_ops + 1, err, first);
	if (columns_used(c, OP_DIMS)) {
		BERTH_TRY_NEW(mem, n_ops, err, g->op_shape);
		BERTH_TRY(number_shapes(b, first, g, err));
	}
	BERTH_TRY_NEW(mem, g->n_shapes, err, g->shape);
	for (int32_t i = 1; i < g->n_shapes; i++)
		g->shape[i] = graph_dims(b, (size_t)first[i]);
	for (int i = 0; i <= BERTH_MOST_DIMS; i++)
		columns_drop(c, OP_DIMS + i);
	if (mem != b->tmp) /* else the graph stands behind the mark */
		berth_arena_reset(b->tmp, mark);
	return BERTH_OK;
}
