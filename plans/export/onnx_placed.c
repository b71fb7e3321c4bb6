/* The nodes of an ONNX file under a plan, and their labels. */
#include "onnx_edit.h"
#include "onnx_placed.h"

/* Last ones first: their takers have a device by then. */
berth_status onnx_placed_follow(const onnx_model *m, int32_t *node_dev, int32_t otherwise, berth_arena *tmp,
                                berth_err *err)
{
	int32_t *value_dev;
	BERTH_TRY_NEW(tmp, m->n_values, err, value_dev);
	memset(value_dev, -1, m->n_values * sizeof *value_dev);
	for (size_t i = m->n_nodes; i-- > 0;) {
		int32_t node = m->order[i];
		const onnx_node *n = &m->node[node];
		for (int32_t o = 0; node_dev[node] < 0 && o < n->n_out; o++)
			if (n->out[o] >= 0)
				node_dev[node] = value_dev[n->out[o]];
		if (node_dev[node] < 0)
			node_dev[node] = otherwise;
		for (int32_t k = 0; k < n->n_all; k++)
			if (n->in[k] >= 0)
				value_dev[n->in[k]] = node_dev[node];
	}
	return BERTH_OK;
}

berth_status onnx_placed_new(const berth_export_source *x, berth_arena *tmp, onnx_placed *out, berth_err *err)
{
	const berth_content *from = x->model;
	onnx_placed p = {.m = {.file = from->name,
	                       .data = (const unsigned char *)from->data,
	                       .size = from->size,
	                       .tmp = tmp}};
	int32_t n_weights, op = 0;
	BERTH_TRY(onnx_decode(&p.m, x->read, &n_weights, err));
	if (p.m.n_inlined)
		return berth_fail(
			err, BERTH_EUNSUPPORTED,
			"%s: the model calls functions of its own, whose nodes stand in the file once for "
			"all calls; put them in place of the calls first (onnx.inliner)",
			from->name);
	BERTH_TRY_NEW(tmp, p.m.n_nodes, err, p.node_dev, p.node_op);
	for (size_t i = 0; i < p.m.n_nodes; i++) {
		bool folded = p.m.node[i].folded;
		p.node_op[i] = folded ? -1 : op;
		p.node_dev[i] = folded || op >= x->g->n_ops ? -1 : x->op_dev[op];
		op += !folded;
		p.n_folded += folded;
	}
	if (op != x->g->n_ops)
		return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read", from->name);
	BERTH_TRY(onnx_placed_follow(&p.m, p.node_dev, op ? x->op_dev[0] : 0, tmp, err));
	*out = p;
	return BERTH_OK;
}

void onnx_placed_fold(onnx_placed *p, int32_t cpu)
{
	for (size_t i = 0; i < p->m.n_nodes && cpu >= 0; i++)
		if (p->m.node[i].folded)
			p->node_dev[i] = cpu;
}

/* ---- labels ---- */

#define KEY "layer_ann"

bool onnx_begins_with(const protobuf *w, const protobuf_field *field, const char *text)
{
	protobuf in = protobuf_inside(w, field);
	protobuf_field f;
	size_t n = strlen(text);
	bool more, is = false;
	while (protobuf_next(&in, &f, &more, NULL) == BERTH_OK && more)
		if (f.number == 1 && f.type == PROTOBUF_BYTES)
			is = f.end - f.at == n && memcmp(w->data + f.at, text, n) == 0;
	return is;
}

bool onnx_label_is(const protobuf *w, const protobuf_field *f)
{
	return f->number == 9 && f->type == PROTOBUF_BYTES && onnx_begins_with(w, f, KEY);
}

void onnx_label_put(berth_strbuf *b, berth_arena *tmp, const char *label)
{
	berth_strbuf entry = {.mem = tmp};
	onnx_put_text(&entry, 1, KEY);
	onnx_put_text(&entry, 2, label);
	onnx_put_message(b, 9, &entry);
}
