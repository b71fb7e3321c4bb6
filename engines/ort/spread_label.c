/* See spread_label.h. */
#include "spread_label.h"

#include "onnx_edit.h"
#include "onnx_label.h"

#include <stdio.h>
#include <string.h>

/* ---- rules ---- */

berth_status spread_rules(const spread_device *dev, int32_t n_devs, berth_arena *mem, const char **config,
                          berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	size_t len;
	for (int32_t d = 0; d < n_devs; d++)
		berth_strbuf_printf(&b, "%s%s(=d%d)", d ? ";" : "", dev[d].provider.name, d);
	config[0] = "session.layer_assignment_settings";
	config[2] = NULL;
	return berth_strbuf_done(&b, &config[1], &len, err);
}

berth_status spread_providers(const spread_device *dev, int32_t n_devs, berth_arena *mem,
                              const ort_provider *const **out, berth_err *err)
{
	const ort_provider **list;
	BERTH_TRY(BERTH_NEW(mem, list, n_devs, err));
	for (int32_t d = 0; d < n_devs; d++)
		list[d] = &dev[d].provider;
	*out = list;
	return BERTH_OK;
}

berth_status spread_label(int32_t d, berth_arena *mem, const char **field, size_t *size, berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	char label[16];
	snprintf(label, sizeof label, "d%d", (int)d);
	onnx_label_put(&b, mem, label);
	return berth_strbuf_done(&b, field, size, err);
}

/* ---- the model ---- */

typedef struct labels {
	ort_model *m;
	berth_arena *mem;
	int32_t *node_dev; /* [n_nodes] */
	int32_t *written;  /* [n_nodes] nodes as they stand in the new model */
	int32_t n_written;
} labels;

static int32_t cpu_of(const spread_device *dev, int32_t n_devs)
{
	for (int32_t d = 0; d < n_devs; d++)
		if (ort_provider_is_cpu(&dev[d].provider))
			return d;
	return -1;
}

/* Nodes that are no operators (mostly shapes) go to the CPU: ONNX Runtime 1.30 crashes where Shape goes to
 * WebGPU and what takes it does not. Without the CPU's provider they go with the first node that takes what
 * they make: the last ones first, as their takers have a device by then. */
static berth_status place_nodes(labels *l, const int32_t *placement, int32_t cpu, berth_err *err)
{
	const onnx_model *o = &l->m->onnx;
	int32_t *value_dev;
	BERTH_TRY(BERTH_NEW(l->mem, l->node_dev, o->n_nodes, err));
	BERTH_TRY(BERTH_NEW(l->mem, value_dev, o->n_values, err));
	memset(l->node_dev, -1, o->n_nodes * sizeof *l->node_dev);
	memset(value_dev, -1, o->n_values * sizeof *value_dev);
	for (int32_t op = 0; op < l->m->n_ops; op++)
		l->node_dev[l->m->op_node[op]] = placement[op];
	for (size_t i = o->n_nodes; i-- > 0;) {
		int32_t node = o->order[i];
		const onnx_node *n = &o->node[node];
		if (l->node_dev[node] < 0)
			l->node_dev[node] = cpu;
		for (int32_t k = 0; l->node_dev[node] < 0 && k < n->n_out; k++)
			if (n->out[k] >= 0)
				l->node_dev[node] = value_dev[n->out[k]];
		if (l->node_dev[node] < 0)
			l->node_dev[node] = l->m->n_ops ? placement[0] : 0;
		for (int32_t k = 0; k < n->n_all; k++)
			if (n->in[k] >= 0)
				value_dev[n->in[k]] = l->node_dev[node];
	}
	return BERTH_OK;
}

static berth_status list_written(labels *l, berth_err *err)
{
	const onnx_model *o = &l->m->onnx;
	BERTH_TRY(BERTH_NEW(l->mem, l->written, o->n_nodes, err));
	for (size_t i = 0; i < o->n_nodes; i++)
		if (!ort_model_makes(l->m, o->order[i]))
			l->written[l->n_written++] = o->order[i];
	return BERTH_OK;
}

/* Old labels. */
static bool drops(void *ctx, const onnx_wire *w, const onnx_field *f, bool at_model)
{
	(void)ctx;
	return !at_model && onnx_label_is(w, f);
}

/* A label; and a name, of which the last one counts. Nodes in bodies keep theirs. */
static berth_status adds(void *ctx, int32_t node, bool in_body, const onnx_wire *w, const onnx_field *f,
                         const char **data, size_t *size, berth_err *err)
{
	const labels *l = ctx;
	berth_strbuf b = {.mem = l->mem};
	char name[32];
	const char *label;
	size_t len;
	(void)w, (void)f;
	if (node >= l->n_written)
		return berth_fail(err, BERTH_EFORMAT, "the model has more nodes than it had");
	BERTH_TRY(spread_label(l->node_dev[l->written[node]], l->mem, &label, &len, err));
	if (!in_body)
		onnx_put_bytes(
			&b, 3, name,
			(size_t)snprintf(name, sizeof name, "%s%d", SPREAD_NODE, (int)l->written[node]));
	berth_strbuf_add(&b, label, len);
	return berth_strbuf_done(&b, data, size, err);
}

static berth_status part_of_all(ort_model *m, berth_arena *mem, ort_bytes *bytes, berth_err *err)
{
	int32_t *in, n_in;
	BERTH_TRY(BERTH_NEW(mem, in, m->onnx.n_values, err));
	return ort_model_part(m, m->onnx.order, (int32_t)m->onnx.n_nodes, m->onnx.output,
	                      (int32_t)m->onnx.n_outputs, mem, in, &n_in, bytes, err);
}

berth_status spread_model(ort_model *m, const spread_device *dev, int32_t n_devs, const int32_t *placement,
                          berth_arena *mem, ort_bytes *out, berth_err *err)
{
	labels l = {.m = m, .mem = mem};
	onnx_edit edit = {.ctx = &l, .drops = drops, .adds = adds};
	onnx_edited made;
	ort_bytes bytes;
	if (m->onnx.n_inlined)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%.200s: the model calls functions of its own, whose nodes stand in the "
		                  "file once for all calls: a label cannot tell them apart",
		                  m->onnx.file);
	BERTH_TRY(place_nodes(&l, placement, cpu_of(dev, n_devs), err));
	BERTH_TRY(list_written(&l, err));
	BERTH_TRY(part_of_all(m, mem, &bytes, err));
	BERTH_TRY(onnx_edit_model(&edit, m->onnx.file, bytes.data, bytes.len, mem, &made, err));
	*out = (ort_bytes){.mem = mem};
	for (size_t i = 0; i < made.n_pieces; i++)
		ort_put(out, made.piece[i].data, made.piece[i].size);
	return out->failed ? berth_nomem(err) : BERTH_OK;
}
