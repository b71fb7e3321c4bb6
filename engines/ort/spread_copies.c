/* See spread_copies.h. */
#include "spread_copies.h"

#include "onnx_model.h"
#include "onnx_wire.h"

#include <string.h>

/* Fields of NodeProto. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3 };

static int32_t value_apart(const ort_model *m, int32_t op)
{
	const onnx_node *n = &m->onnx.node[m->op_node[op]];
	for (int32_t k = 0; k < n->n_in; k++) {
		const onnx_value *v = n->in[k] >= 0 ? &m->onnx.value[n->in[k]] : NULL;
		if (v && !v->constant && !(v->tensor && v->producer < 0))
			return n->in[k];
	}
	return -1;
}

bool spread_copies_can(const ort_model *m, int32_t op)
{
	const onnx_node *n = &m->onnx.node[m->op_node[op]];
	return n->n_all == n->n_in && !n->n_bodies && value_apart(m, op) >= 0;
}

static berth_status name_of_copy(const char *name, int32_t copy, berth_arena *mem, const char **out,
                                 berth_err *err)
{
	*out = berth_arena_printf(mem, "%s#%d", name, (int)copy);
	return *out ? BERTH_OK : berth_nomem(err);
}

/* The node with names of its own for what it makes and for the value apart; without a name. */
static berth_status put_copy(ort_model *m, int32_t op, int32_t copy, const spread_copies *c, berth_arena *mem,
                             ort_bytes *graph, berth_err *err)
{
	onnx_wire w = {m->onnx.file, m->file_data, m->onnx.node[m->op_node[op]].at, m->file_size};
	ort_bytes node = {.mem = mem};
	onnx_field f;
	const char *name;
	bool more;
	BERTH_TRY(onnx_wire_next(&w, &f, &more, err));
	w = onnx_wire_inside(&w, &f);
	for (;;) {
		BERTH_TRY(onnx_wire_next(&w, &f, &more, err));
		if (!more)
			break;
		if (f.number == NODE_NAME)
			continue;
		if (f.number != NODE_INPUT && f.number != NODE_OUTPUT) {
			ort_put(&node, m->file_data + f.tag_at, w.at - f.tag_at);
			continue;
		}
		BERTH_TRY(onnx_wire_text(&w, &f, "name", mem, &name, err));
		bool own = f.number == NODE_OUTPUT || strcmp(name, m->onnx.value[c->apart].name) == 0;
		if (own && *name)
			BERTH_TRY(name_of_copy(name, copy, mem, &name, err));
		ort_put_text(&node, f.number, name);
	}
	graph->failed |= node.failed;
	ort_put_field(graph, 1, node.data, node.len);
	return BERTH_OK;
}

static berth_status put_ends(ort_model *m, int32_t op, int32_t copy, spread_copies *c, berth_arena *mem,
                             ort_bytes *graph, berth_err *err)
{
	const onnx_node *n = &m->onnx.node[m->op_node[op]];
	BERTH_TRY(name_of_copy(m->onnx.value[c->apart].name, copy, mem, &c->in_name[copy], err));
	ort_put_value_info(graph, 11, c->in_name[copy], &m->shape[c->apart]);
	for (int32_t k = 0; k < n->n_out; k++) {
		const char **name = &c->out_name[c->n_out];
		if (n->out[k] < 0)
			continue;
		BERTH_TRY(name_of_copy(m->onnx.value[n->out[k]].name, copy, mem, name, err));
		ort_put_value_info(graph, 12, *name,
		                   m->shape[n->out[k]].elem ? &m->shape[n->out[k]] : NULL);
		c->n_out++;
	}
	return BERTH_OK;
}

/* A graph that stands twice in a model is one of all its fields: repeated ones add up (Protocol Buffers,
 * encoding, "last one wins"). */
berth_status spread_copies_append(ort_model *m, int32_t op, int32_t n, berth_arena *mem, ort_bytes *model,
                                  spread_copies *out, berth_err *err)
{
	ort_bytes graph = {.mem = mem};
	*out = (spread_copies){.n = n, .apart = value_apart(m, op)};
	BERTH_TRY(BERTH_NEW(mem, out->in_name, n, err));
	BERTH_TRY(BERTH_NEW(mem, out->out_name, (size_t)n * (size_t)m->onnx.node[m->op_node[op]].n_out, err));
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(put_copy(m, op, i, out, mem, &graph, err));
		BERTH_TRY(put_ends(m, op, i, out, mem, &graph, err));
	}
	ort_put_field(model, 7, graph.data, graph.len);
	return model->failed || graph.failed ? berth_nomem(err) : BERTH_OK;
}
