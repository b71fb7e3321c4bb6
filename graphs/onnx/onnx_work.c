/* If, Loop, Scan: shapes through their bodies, and how often a body runs; then the FLOPs,
 * multiply-accumulates and bytes of a node, of one with a body those of the body times its trips. Each
 * body is gone through once, with the shapes of the first iteration; what an iteration changes (the
 * counter, the condition, carried values) has a shape there, but no content. */
#include "onnx_infer.h"

/* ---- bodies ---- */

enum { MAX_TRIPS = 1 << 30 }; /* a larger number is how exporters write "while" */

/* NULL: none of that attribute's name. */
static const onnx_body *find_body(const onnx_node *n, const char *name)
{
	for (int32_t i = 0; i < n->n_bodies; i++)
		if (strcmp(n->body[i].name, name) == 0)
			return &n->body[i];
	return NULL;
}

/* Give the body's input k a type and a shape; what they leave open is taken from its declaration. */
static berth_status bind_input(const onnx_at *at, const onnx_body *b, size_t k, const onnx_dims *d)
{
	int64_t *dim;
	if (k >= b->n_in || b->in[k] < 0)
		return BERTH_OK;
	onnx_value *v = &at->m->value[b->in[k]];
	v->elem = d->elem;
	v->rank = d->rank;
	if (d->rank >= 0) {
		BERTH_TRY_NEW(at->m->tmp, d->rank, at->m->err, dim);
		memcpy(dim, d->d, (size_t)d->rank * sizeof *dim);
		v->dim = dim;
	}
	return onnx_complete(at->m, v);
}

/* Type and shape of a body's output k. */
static onnx_dims body_out(const onnx_at *at, const onnx_body *b, size_t k)
{
	onnx_dims d = {.rank = ONNX_UNKNOWN};
	if (k < b->n_out && b->out[k] >= 0) {
		const onnx_value *v = &at->m->value[b->out[k]];
		d.rank = v->rank;
		d.elem = v->elem;
		if (d.rank > 0)
			memcpy(d.d, v->dim, (size_t)d.rank * sizeof *d.d);
	}
	return d;
}

/* What a and b have in common. */
static void agree(onnx_dims *a, const onnx_dims *b)
{
	if (a->rank != b->rank)
		a->rank = ONNX_UNKNOWN;
	for (int32_t i = 0; i < a->rank; i++)
		if (a->d[i] != b->d[i])
			a->d[i] = ONNX_UNKNOWN;
}

/* d behind a new first dimension; into axis where that is not the first (Scan). */
static onnx_dims stacked(const onnx_dims *d, int64_t n, int64_t axis)
{
	onnx_dims r = {.rank = ONNX_UNKNOWN, .elem = d->elem};
	if (d->rank < 0 || d->rank == ONNX_MAX_RANK)
		return r;
	axis = axis < 0 ? axis + d->rank + 1 : axis;
	if (axis < 0 || axis > d->rank)
		return r;
	r.rank = d->rank + 1;
	for (int32_t i = 0, from = 0; i < r.rank; i++)
		r.d[i] = i == axis ? n : d->d[from++];
	return r;
}

/* ---- If ---- */

/* The branch that a known condition takes; NULL: either. */
static const onnx_body *branch_taken(const onnx_at *at)
{
	double x;
	if (!onnx_in_number(at, 0, 0, &x))
		return NULL;
	return find_body(at->n, x != 0 ? "then_branch" : "else_branch");
}

ONNX_INFER(if)
{
	const onnx_body *taken = branch_taken(at), *a = taken ? taken : find_body(at->n, "then_branch");
	const onnx_body *b = taken ? taken : find_body(at->n, "else_branch");
	for (int32_t i = 0; i < at->n->n_bodies; i++)
		if (!taken || taken == &at->n->body[i])
			BERTH_TRY(onnx_infer_nodes(at->m, at->n->body[i].nodes.node, at->n->body[i].nodes.n));
	for (int32_t o = 0; a && b && o < at->n->n_out; o++) {
		onnx_dims x = body_out(at, a, (size_t)o), y = body_out(at, b, (size_t)o);
		agree(&x, &y);
		x.elem = x.elem == y.elem ? x.elem : ONNX_NONE;
		BERTH_TRY(onnx_set(at, o, &x));
	}
	d->rank = ONNX_SET;
	return BERTH_OK;
}

/* ---- Loop ---- */

/* How often: as the option says, else the constant limit; *known = false: nobody says, it is taken for
 * once. */
static int64_t loop_trips(const onnx_at *at, bool *known)
{
	double limit;
	*known = at->n->trips > 0 || (onnx_in_number(at, 0, 0, &limit) && limit >= 0 && limit <= MAX_TRIPS);
	return at->n->trips > 0 ? at->n->trips : *known ? (int64_t)limit : 1;
}

/* The number of the iteration and the condition: scalars, or [1] where the body declares them so. */
static berth_status bind_counter(const onnx_at *at, const onnx_body *b, size_t k, int32_t elem)
{
	const onnx_value *v = k < b->n_in ? &at->m->value[b->in[k]] : NULL;
	onnx_dims d = {.elem = elem, .rank = v && v->said_rank == 1, .d = {1}};
	return bind_input(at, b, k, &d);
}

ONNX_INFER(loop)
{
	const onnx_body *b = find_body(at->n, "body");
	bool known;
	int64_t trips = loop_trips(at, &known);
	int32_t carried = at->n->n_in > 2 ? at->n->n_in - 2 : 0;
	d->rank = ONNX_SET;
	if (!b)
		return BERTH_OK;
	BERTH_TRY(bind_counter(at, b, 0, ONNX_INT64));
	BERTH_TRY(bind_counter(at, b, 1, ONNX_BOOL));
	for (int32_t k = 0; k < carried; k++) {
		onnx_dims in = onnx_in_dims(at, 2 + k);
		BERTH_TRY(bind_input(at, b, (size_t)(2 + k), &in));
	}
	BERTH_TRY(onnx_infer_nodes(at->m, b->nodes.node, b->nodes.n));
	for (int32_t o = 0; o < at->n->n_out; o++) {
		onnx_dims out = body_out(at, b, (size_t)o + 1), before = onnx_in_dims(at, 2 + o);
		if (o >= carried)
			out = stacked(&out, known ? trips : ONNX_UNKNOWN, 0);
		else if (!known || trips != 1)
			agree(&out, &before);
		BERTH_TRY(onnx_set(at, o, &out));
	}
	return BERTH_OK;
}

/* ---- Scan ---- */

typedef struct scan {
	const onnx_body *body;
	/* carried values; the input that is the first of them; dimensions before the one that is scanned
	 * (opset 8: the batch) */
	int32_t states, first, lead;
	int64_t length;
} scan;

static int64_t scan_axis(const onnx_at *at, const char *name, int32_t k)
{
	int64_t axes[ONNX_MAX_RANK];
	int32_t n;
	if (onnx_attr_ints(at->m, at->n, name, axes, ONNX_MAX_RANK, &n) != BERTH_OK || k >= n ||
	    k >= ONNX_MAX_RANK)
		return 0;
	return axes[k];
}

/* Shape of scan input k for one step; *length is the dimension that goes. */
static onnx_dims scan_slice(const onnx_at *at, const scan *s, int32_t k, int64_t *length)
{
	onnx_dims d = onnx_in_dims(at, s->first + s->states + k), r = {.elem = d.elem};
	int64_t axis = s->lead ? s->lead : scan_axis(at, "scan_input_axes", k);
	r.rank = ONNX_UNKNOWN;
	*length = ONNX_UNKNOWN;
	axis = axis < 0 ? axis + d.rank : axis;
	if (d.rank < 1 || axis < 0 || axis >= d.rank)
		return r;
	r.rank = 0;
	for (int32_t i = s->lead; i < d.rank; i++)
		if (i != axis)
			r.d[r.rank++] = d.d[i];
	*length = d.d[axis];
	return r;
}

static scan read_scan(const onnx_at *at)
{
	scan s = {.body = find_body(at->n, "body"), .length = ONNX_UNKNOWN};
	int64_t inputs = onnx_attr_int(at->n, "num_scan_inputs", 1), length;
	s.first = s.lead = at->m->opset < 9;
	if (inputs < 0 || inputs > at->n->n_in - s.first)
		inputs = at->n->n_in - s.first;
	s.states = at->n->n_in - s.first - (int32_t)inputs;
	for (int32_t k = 0; k < inputs; k++) {
		scan_slice(at, &s, k, &length);
		s.length = s.length < 0 ? length : s.length;
	}
	return s;
}

/* A shape without its batch (opset 8). */
static onnx_dims without_lead(onnx_dims d, int32_t lead)
{
	if (lead && d.rank > 0)
		memmove(d.d, d.d + 1, (size_t)--d.rank * sizeof *d.d);
	return d;
}

static berth_status bind_scan(const onnx_at *at, const scan *s)
{
	int64_t length;
	for (int32_t k = 0; k < at->n->n_in - s->first; k++) {
		onnx_dims d = k < s->states ? without_lead(onnx_in_dims(at, s->first + k), s->lead)
		                            : scan_slice(at, s, k - s->states, &length);
		BERTH_TRY(bind_input(at, s->body, (size_t)k, &d));
	}
	return BERTH_OK;
}

ONNX_INFER(scan)
{
	scan s = read_scan(at);
	d->rank = ONNX_SET;
	if (!s.body)
		return BERTH_OK;
	BERTH_TRY(bind_scan(at, &s));
	BERTH_TRY(onnx_infer_nodes(at->m, s.body->nodes.node, s.body->nodes.n));
	onnx_dims first = onnx_in_dims(at, s.first);
	for (int32_t o = 0; o < at->n->n_out; o++) {
		onnx_dims out = body_out(at, s.body, (size_t)o),
			  before = without_lead(onnx_in_dims(at, s.first + o), s.lead);
		if (o < s.states)
			agree(&out, &before);
		else
			out = stacked(&out, s.length,
			              s.lead ? 0 : scan_axis(at, "scan_output_axes", o - s.states));
		if (s.lead)
			out = stacked(&out, onnx_dim(&first, 0), 0);
		BERTH_TRY(onnx_set(at, o, &out));
	}
	return BERTH_OK;
}

/* The body's inputs are the elements of the sequences, and tensors handed to all. */
ONNX_INFER(sequence_map)
{
	const onnx_body *b = find_body(at->n, "body");
	d->rank = ONNX_SET;
	if (!b)
		return BERTH_OK;
	for (int32_t k = 0; k < at->n->n_in; k++) {
		onnx_dims in = onnx_in_dims(at, k);
		BERTH_TRY(bind_input(at, b, (size_t)k, &in));
	}
	BERTH_TRY(onnx_infer_nodes(at->m, b->nodes.node, b->nodes.n));
	for (int32_t o = 0; o < at->n->n_out; o++) {
		onnx_dims out = body_out(at, b, (size_t)o);
		BERTH_TRY(onnx_set(at, o, &out));
	}
	return BERTH_OK;
}

/* How often the bodies run; *known = false: nobody says, 1. */
static int64_t count_trips(const onnx_at *at, bool *known)
{
	*known = true;
	if (strcmp(at->n->type, "If") == 0)
		return 1;
	if (strcmp(at->n->type, "Scan") == 0) {
		int64_t length = read_scan(at).length,
			batch = at->m->opset < 9 && onnx_in_dims(at, 1).rank > 0 ? onnx_in_dims(at, 1).d[0]
		                                                                 : 1;
		*known = at->n->trips > 0 || (length >= 0 && batch >= 0);
		return at->n->trips > 0 ? at->n->trips : *known ? onnx_times(length, batch) : 1;
	}
	return loop_trips(at, known); /* Loop; others may be given a number by an option */
}

/* ---- work ---- */

static int64_t sum(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void add_work(onnx_work *to, const onnx_work *w)
{
	to->macs += w->macs;
	to->flops += w->flops;
	to->read_bytes = sum(to->read_bytes, w->read_bytes);
	to->write_bytes = sum(to->write_bytes, w->write_bytes);
}

/* Remember a loop whose trips are assumed. */
static berth_status note_loop(onnx_model *m, const onnx_node *n)
{
	return BERTH_PUSH(m->tmp, m->loop, m->n_loops, &m->cap_loop, m->err, n);
}

static int64_t repeated(int64_t bytes, int64_t trips)
{
	return trips && bytes > INT64_MAX / trips ? INT64_MAX : bytes * trips;
}

/* Nodes of a body that run: constants are folded there too. */
static berth_status body_work(onnx_model *m, const onnx_body *b, onnx_work *w)
{
	for (size_t i = 0; i < b->nodes.n; i++) {
		onnx_node *n = &b->nodes.node[i];
		onnx_work one;
		n->folded = onnx_folds(m, n);
		for (int32_t o = 0; o < n->n_out; o++)
			if (n->out[o] >= 0)
				m->value[n->out[o]].constant |= n->folded;
		if (n->folded)
			continue;
		BERTH_TRY(onnx_node_work(m, n, &one));
		add_work(w, &one);
	}
	return BERTH_OK;
}

static bool heavier(const onnx_work *a, const onnx_work *b)
{
	return a->flops != b->flops ? a->flops > b->flops
	                            : sum(a->read_bytes, a->write_bytes) > sum(b->read_bytes, b->write_bytes);
}

static berth_status work_with_bodies(const onnx_at *at, onnx_node *n, onnx_work *w)
{
	bool known;
	onnx_work inside = {0}, own = *w;
	n->trips = count_trips(at, &known);
	/* The branch taken or the heavier one of If; all bodies of others. */
	bool one_runs = n->op && n->op->infer == onnx_infer_if;
	const onnx_body *taken = one_runs ? branch_taken(at) : NULL;
	for (int32_t i = 0; i < at->n->n_bodies; i++) {
		onnx_work x = {0};
		if (taken && taken != &at->n->body[i])
			continue;
		BERTH_TRY(body_work(at->m, &at->n->body[i], &x));
		if (!one_runs)
			add_work(&inside, &x);
		else if (i == 0 || taken || heavier(&x, &inside))
			inside = x;
	}
	w->macs = (double)n->trips * inside.macs;
	w->flops = (double)n->trips * inside.flops;
	w->read_bytes = repeated(inside.read_bytes, n->trips);
	w->write_bytes = repeated(inside.write_bytes, n->trips);
	w->read_bytes = w->read_bytes > own.read_bytes ? w->read_bytes : own.read_bytes;
	w->write_bytes = w->write_bytes > own.write_bytes ? w->write_bytes : own.write_bytes;
	return known ? BERTH_OK : note_loop(at->m, n);
}

berth_status onnx_node_work(onnx_model *m, onnx_node *n, onnx_work *w)
{
	onnx_at at = {m, n};
	*w = (onnx_work){0};
	/* Each distinct input once. */
	bool known;
	int32_t stamp = ++m->stamp;
	for (int32_t k = 0; k < n->n_all; k++) {
		onnx_value *v = n->in[k] >= 0 ? &m->value[n->in[k]] : NULL;
		if (!v || v->seen == stamp)
			continue;
		v->seen = stamp;
		w->read_bytes = sum(w->read_bytes, onnx_value_bytes(v, &known));
	}
	for (int32_t o = 0; o < n->n_out; o++)
		if (n->out[o] >= 0)
			w->write_bytes = sum(w->write_bytes, onnx_value_bytes(&m->value[n->out[o]], &known));
	w->dtype = onnx_precision(&at);
	if (n->n_bodies)
		return work_with_bodies(&at, n, w);
	if (!n->op || !n->op->macs) {
		/* Elements of all outputs, unknown dimensions as 1. */
		double all = 0;
		for (int32_t o = 0; o < n->n_out; o++) {
			const onnx_value *v = n->out[o] >= 0 ? &m->value[n->out[o]] : NULL;
			if (!v || v->rank < 0)
				continue;
			double x = 1;
			for (int32_t i = 0; i < v->rank; i++)
				x *= v->dim[i] < 0 ? 1 : (double)v->dim[i];
			all += x;
		}
		w->flops = all;
		w->dims = onnx_rows(&at);
		return BERTH_OK;
	}
	BERTH_TRY(n->op->macs(&at, w));
	w->flops = 2 * w->macs;
	double differ = fabs(berth_dims_work(&w->dims) - w->macs);
	if (!(differ <= 1e-9 * w->macs) || w->macs <= 0) /* shapes that do not belong together */
		w->dims = (berth_dims){0};
	return BERTH_OK;
}
