/* FLOPs, multiply-accumulates and bytes of a node; of one with a body those of the body times its trips. */
#include "onnx_infer.h"

#include <stdint.h>

static int64_t sum(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Elements of all outputs, unknown dimensions as 1. */
static double output_elements(const onnx_model *m, const onnx_node *n)
{
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
	return all;
}

/* Each distinct input once. */
static void count_bytes(onnx_model *m, const onnx_node *n, onnx_work *w)
{
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
}

static void add_work(onnx_work *to, const onnx_work *w)
{
	to->macs += w->macs;
	to->flops += w->flops;
	to->read_bytes = sum(to->read_bytes, w->read_bytes);
	to->write_bytes = sum(to->write_bytes, w->write_bytes);
}

berth_status onnx_note_loop(onnx_model *m, const onnx_node *n, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(m->tmp, m->loop, m->n_loops, &m->cap_loop, err));
	m->loop[m->n_loops++] = n;
	return BERTH_OK;
}

static int64_t repeated(int64_t bytes, int64_t trips)
{
	return trips && bytes > INT64_MAX / trips ? INT64_MAX : bytes * trips;
}

/* Nodes of a body that run: constants are folded there too. */
static berth_status body_work(onnx_model *m, const onnx_body *b, onnx_work *w, berth_err *err)
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
		BERTH_TRY(onnx_node_work(m, n, &one, err));
		add_work(w, &one);
	}
	return BERTH_OK;
}

static bool heavier(const onnx_work *a, const onnx_work *b)
{
	return a->flops != b->flops ? a->flops > b->flops
	                            : sum(a->read_bytes, a->write_bytes) > sum(b->read_bytes, b->write_bytes);
}

/* The branch taken or the heavier one of If; all bodies of others. */
static berth_status bodies_work(const onnx_at *at, bool one_runs, onnx_work *w)
{
	const onnx_body *taken = one_runs ? onnx_if_taken(at) : NULL;
	for (int32_t i = 0; i < at->n->n_bodies; i++) {
		onnx_work x = {0};
		if (taken && taken != &at->n->body[i])
			continue;
		BERTH_TRY(body_work(at->m, &at->n->body[i], &x, at->err));
		if (!one_runs)
			add_work(w, &x);
		else if (i == 0 || taken || heavier(&x, w))
			*w = x;
	}
	return BERTH_OK;
}

static berth_status work_with_bodies(const onnx_at *at, onnx_node *n, onnx_work *w)
{
	bool known;
	onnx_work inside = {0}, own = *w;
	n->trips = onnx_trips(at, &known);
	BERTH_TRY(bodies_work(at, n->op && n->op->infer == onnx_infer_if, &inside));
	w->macs = (double)n->trips * inside.macs;
	w->flops = (double)n->trips * inside.flops;
	w->read_bytes = repeated(inside.read_bytes, n->trips);
	w->write_bytes = repeated(inside.write_bytes, n->trips);
	w->read_bytes = w->read_bytes > own.read_bytes ? w->read_bytes : own.read_bytes;
	w->write_bytes = w->write_bytes > own.write_bytes ? w->write_bytes : own.write_bytes;
	return known ? BERTH_OK : onnx_note_loop(at->m, n, at->err);
}

berth_status onnx_node_work(onnx_model *m, onnx_node *n, onnx_work *w, berth_err *err)
{
	onnx_at at = {m, n, err};
	*w = (onnx_work){0};
	count_bytes(m, n, w);
	if (n->n_bodies)
		return work_with_bodies(&at, n, w);
	if (!n->op || !n->op->macs) {
		w->flops = output_elements(m, n);
		return BERTH_OK;
	}
	BERTH_TRY(n->op->macs(&at, &w->macs));
	w->flops = 2 * w->macs;
	return BERTH_OK;
}
