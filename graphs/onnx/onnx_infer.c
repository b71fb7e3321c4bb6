/* The pass that gives every value its type, shape and, where small and known, its content; and what the rows
 * of the table share. */
#include "onnx_infer.h"

#include "onnx.h"

/* ---- looking at a node ---- */

const onnx_value *onnx_in(const onnx_at *at, int32_t i)
{
	return i < at->n->n_in && at->n->in[i] >= 0 ? &at->m->value[at->n->in[i]] : NULL;
}

onnx_value *onnx_out(const onnx_at *at, int32_t o)
{
	return o < at->n->n_out && at->n->out[o] >= 0 ? &at->m->value[at->n->out[o]] : NULL;
}

int32_t onnx_in_elem(const onnx_at *at, int32_t i)
{
	const onnx_value *v = onnx_in(at, i);
	return v ? v->elem : ONNX_NONE;
}

onnx_dims onnx_in_dims(const onnx_at *at, int32_t i)
{
	onnx_dims d;
	const onnx_value *v = onnx_in(at, i);
	d.rank = v ? v->rank : ONNX_UNKNOWN;
	d.elem = v ? v->elem : ONNX_NONE;
	if (d.rank > 0)
		memcpy(d.d, v->dim, (size_t)d.rank * sizeof *d.d);
	return d;
}

const int64_t *onnx_in_ints(const onnx_at *at, int32_t i, int32_t *n)
{
	const onnx_value *v = onnx_in(at, i);
	*n = v && v->ints ? (int32_t)onnx_count(v->rank, v->dim) : 0;
	return v ? v->ints : NULL;
}

const double *onnx_in_reals(const onnx_at *at, int32_t i, int32_t *n)
{
	const onnx_value *v = onnx_in(at, i);
	*n = v && v->reals ? (int32_t)onnx_count(v->rank, v->dim) : 0;
	return v ? v->reals : NULL;
}

bool onnx_in_number(const onnx_at *at, int32_t i, int32_t k, double *x)
{
	int32_t n_ints, n_reals;
	const int64_t *ints = onnx_in_ints(at, i, &n_ints);
	const double *reals = onnx_in_reals(at, i, &n_reals);
	if (k < n_ints)
		*x = (double)ints[k];
	else if (k < n_reals)
		*x = reals[k];
	return k < n_ints || k < n_reals;
}

int64_t onnx_in_size(const onnx_at *at, int32_t i)
{
	double x;
	bool known = onnx_in_number(at, i, 0, &x) && x >= 0 && x <= (double)ONNX_MAX_ELEMENTS;
	return known ? (int64_t)x : ONNX_UNKNOWN;
}

int32_t onnx_attr_elem(const onnx_at *at, const char *name, int32_t missing)
{
	int64_t x = onnx_attr_int(at->n, name, missing);
	return x < 0 || x > 1000 ? ONNX_NONE : (int32_t)x;
}

/* ---- setting shapes ---- */

berth_status onnx_set(const onnx_at *at, int32_t o, const onnx_dims *d)
{
	onnx_value *v = onnx_out(at, o);
	if (!v)
		return BERTH_OK;
	v->elem = d->elem;
	v->rank = d->rank;
	if (d->rank < 0)
		return BERTH_OK;
	int64_t *copy, n = 1;
	bool too_large = false;
	const onnx_value *in = onnx_in(at, 0); /* in a wrong model the same value */
	if (in && in != v && in->rank == d->rank &&
	    (d->rank == 0 || memcmp(in->dim, d->d, (size_t)d->rank * sizeof *d->d) == 0)) {
		v->dim = in->dim; /* most operators keep a shape */
		return BERTH_OK;
	}
	BERTH_TRY_NEW(at->m->tmp, d->rank, at->m->err, copy);
	for (int32_t i = 0; i < d->rank; i++) {
		copy[i] = d->d[i] < 0 ? ONNX_UNKNOWN : d->d[i];
		n = onnx_times(n, copy[i] < 0 ? 1 : copy[i]);
		too_large |= copy[i] > ONNX_MAX_ELEMENTS;
	}
	v->dim = copy;
	if (too_large || n > ONNX_MAX_ELEMENTS)
		return ONNX_FAIL(at, "output '%.80s' has more than 2^48 elements", v->name);
	return BERTH_OK;
}

berth_status onnx_set_like(const onnx_at *at, int32_t o, int32_t i, int32_t elem)
{
	onnx_dims d = onnx_in_dims(at, i);
	d.elem = elem ? elem : d.elem;
	return onnx_set(at, o, &d);
}

void onnx_open(onnx_dims *d, int32_t rank)
{
	d->rank = rank;
	for (int32_t i = 0; i < rank; i++)
		d->d[i] = ONNX_UNKNOWN;
}

int64_t onnx_dim(const onnx_dims *d, int32_t i)
{
	return i < d->rank ? d->d[i] : ONNX_UNKNOWN;
}

const char *onnx_dims_text(char buf[128], const onnx_dims *d)
{
	size_t len = (size_t)snprintf(buf, 128, "[");
	for (int32_t i = 0; i < d->rank && len < 100; i++)
		len += d->d[i] < 0 ? (size_t)snprintf(buf + len, 128 - len, "%s?", i ? "," : "")
		                   : (size_t)snprintf(buf + len, 128 - len, "%s%lld", i ? "," : "",
		                                      (long long)d->d[i]);
	snprintf(buf + len, 128 - len, d->rank < 0 ? "...]" : "]");
	return buf;
}

/* ---- arithmetic of sizes ---- */

int64_t onnx_clamp(int64_t x)
{
	int64_t limit = 2 * ONNX_MAX_ELEMENTS;
	return x > limit ? limit : x < -limit ? -limit : x;
}

int64_t onnx_mul(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? ONNX_UNKNOWN : onnx_times(a, b);
}

berth_status onnx_axis(const onnx_at *at, int64_t axis, int32_t rank, int32_t *out)
{
	if (axis < -rank || axis >= rank)
		return ONNX_FAIL(at, "axis %lld; expected %d to %d", (long long)axis, -rank, rank - 1);
	*out = (int32_t)(axis < 0 ? axis + rank : axis);
	return BERTH_OK;
}

berth_status onnx_axis_attr(const onnx_at *at, int64_t missing, int32_t rank, int32_t *out)
{
	return onnx_axis(at, onnx_attr_int(at->n, "axis", missing), rank, out);
}

int64_t onnx_attr_first(const onnx_at *at, const char *name, int64_t missing)
{
	int64_t x = missing;
	int32_t n;
	return onnx_attr_ints(at->m, at->n, name, &x, 1, &n) == BERTH_OK && n > 0 ? x : missing;
}

berth_status onnx_list(const onnx_at *at, const char *attr, int32_t slot, int64_t out[ONNX_MAX_RANK],
                       int32_t *n, bool *known)
{
	*known = true;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, attr, out, ONNX_MAX_RANK, n));
	if (*n < 0 && slot >= 0 && onnx_in(at, slot)) {
		const int64_t *ints = onnx_in_ints(at, slot, n);
		*known = ints != NULL;
		for (int32_t i = 0; i < *n && i < ONNX_MAX_RANK; i++)
			out[i] = ints[i];
	}
	if (*n > ONNX_MAX_RANK)
		return ONNX_FAIL(at, "%s: a list of %d; expected at most %d", attr, *n, ONNX_MAX_RANK);
	return BERTH_OK;
}

berth_status onnx_axes(const onnx_at *at, const char *attr, int32_t slot, int32_t rank,
                       bool on[ONNX_MAX_RANK], int32_t *n, bool *known)
{
	int64_t list[ONNX_MAX_RANK];
	memset(on, 0, ONNX_MAX_RANK * sizeof *on);
	BERTH_TRY(onnx_list(at, attr, slot, list, n, known));
	for (int32_t i = 0; i < *n; i++) {
		int32_t axis = 0;
		BERTH_TRY(onnx_axis(at, list[i], rank, &axis));
		on[axis] = true;
	}
	return BERTH_OK;
}

/* One dimension of a broadcast; ONNX_UNKNOWN - 1: they do not fit. */
static int64_t broadcast_dim(int64_t a, int64_t b)
{
	if (a == b || b == 1)
		return a;
	if (a == 1)
		return b;
	if (a < 0 || b < 0)
		return a < 0 ? b : a; /* the unknown one is 1 or equal */
	return ONNX_UNKNOWN - 1;
}

berth_status onnx_broadcast(const onnx_at *at, onnx_dims *a, const onnx_dims *b)
{
	onnx_dims r = {.elem = a->elem};
	if (a->rank < 0 || b->rank < 0) {
		a->rank = ONNX_UNKNOWN;
		return BERTH_OK;
	}
	r.rank = a->rank > b->rank ? a->rank : b->rank;
	for (int32_t i = 0; i < r.rank; i++) {
		int32_t ia = i - (r.rank - a->rank), ib = i - (r.rank - b->rank);
		r.d[i] = broadcast_dim(ia < 0 ? 1 : a->d[ia], ib < 0 ? 1 : b->d[ib]);
		if (r.d[i] < ONNX_UNKNOWN) {
			char ta[128], tb[128];
			return ONNX_FAIL(at, "shapes %s and %s do not broadcast", onnx_dims_text(ta, a),
			                 onnx_dims_text(tb, b));
		}
	}
	*a = r;
	return BERTH_OK;
}

/* ---- the pass ---- */

/* A type that is not known, or not in its domain; each once. */
static berth_status warn_type(onnx_model *m, const onnx_node *n)
{
	berth_arena_mark mark = berth_arena_get_mark(m->tmp);
	const char **known;
	char hint[96];
	int32_t n_known;
	const char *key = berth_arena_printf(m->tmp, "%s:%s", n->domain, n->type);
	BERTH_TRY(berth_got(key, m->err));
	if (berth_strmap_get(&m->warned, key) >= 0) {
		berth_arena_reset(m->tmp, mark);
		return BERTH_OK;
	}
	BERTH_TRY(berth_strmap_add(&m->warned, key, (int32_t)m->n_warnings, NULL, m->err));
	BERTH_TRY(berth_onnx_types(m->tmp, &known, &n_known, m->err));
	BERTH_TRY(BERTH_GROW(m->tmp, m->warning, m->n_warnings, &m->cap_warning, m->err));
	berth_text_suggest(hint, sizeof hint, n->type, known, n_known);
	for (int32_t i = 0; i < n_known; i++) /* of another domain */
		if (strcmp(known[i], n->type) == 0)
			snprintf(hint, sizeof hint, " (com.microsoft or the default domain has one)");
	m->warning[m->n_warnings] = berth_arena_printf(
		m->tmp, "operator '%s'%s%s is %s%s (first at node '%s')%s", n->type,
		*n->domain ? " of domain " : "", n->domain,
		n->lent ? "none of the default domain" : "not known",
		n->lent ? "" : hint,
		onnx_node_label(m, n),
		n->lent ? ": taken for that of com.microsoft" : ": its cost is that of its bytes");
	return m->warning[m->n_warnings++] ? BERTH_OK : berth_nomem(m->err);
}

berth_status onnx_complete(onnx_model *m, onnx_value *v)
{
	int64_t *dim;
	if (!v->elem)
		v->elem = v->said_elem;
	if (v->said_rank < 0 || (v->rank >= 0 && v->rank != v->said_rank))
		return BERTH_OK;
	if (onnx_count(v->rank, v->dim) >= 0 || onnx_count(v->said_rank, v->said_dim) > ONNX_MAX_ELEMENTS)
		return BERTH_OK;
	BERTH_TRY_NEW(m->tmp, v->said_rank, m->err, dim);
	for (int32_t i = 0; i < v->said_rank; i++)
		dim[i] = v->rank < 0 || v->dim[i] < 0 ? v->said_dim[i] : v->dim[i];
	v->rank = v->said_rank;
	v->dim = dim;
	for (int32_t i = 0; i < v->rank; i++)
		if (onnx_count(v->rank, dim) > ONNX_MAX_ELEMENTS)
			dim[i] = ONNX_UNKNOWN;
	return BERTH_OK;
}

static berth_status fold_content(const onnx_at *at)
{
	const onnx_value *v = onnx_out(at, 0);
	int64_t n = v ? onnx_count(v->rank, v->dim) : ONNX_UNKNOWN;
	if (!at->n->op->fold || n < 0 || n > ONNX_MAX_CONTENT)
		return BERTH_OK;
	return at->n->op->fold(at);
}

static berth_status infer_node(onnx_model *m, onnx_node *n)
{
	onnx_at at = {m, n};
	if (!n->op || n->lent)
		BERTH_TRY(warn_type(m, n));
	if (n->op) {
		onnx_dims d = onnx_in_dims(&at, 0);
		BERTH_TRY(n->op->infer(&at, &d));
		if (d.rank != ONNX_SET)
			BERTH_TRY(onnx_set(&at, 0, &d));
	}
	for (int32_t o = 0; o < n->n_out; o++)
		if (n->out[o] >= 0)
			BERTH_TRY(onnx_complete(m, &m->value[n->out[o]]));
	return n->op ? fold_content(&at) : BERTH_OK;
}

berth_status onnx_infer_nodes(onnx_model *m, onnx_node *node, size_t n_nodes)
{
	for (size_t i = 0; i < n_nodes; i++)
		BERTH_TRY(infer_node(m, &node[i]));
	return BERTH_OK;
}

berth_status onnx_infer_model(onnx_model *m)
{
	for (size_t i = 0; i < m->n_tensors; i++) {
		onnx_value *v = &m->value[m->tensor_value[i]];
		BERTH_TRY(onnx_tensor_content(m, v->tensor, &v->ints, &v->reals));
	}
	for (size_t i = 0; i < m->n_nodes; i++) {
		m->failed = &m->node[m->order[i]];
		m->failed_at = i;
		BERTH_TRY(infer_node(m, &m->node[m->order[i]]));
	}
	m->failed = NULL;
	return BERTH_OK;
}
