/* See fused_host.h. */
#include "fused_host.h"

#include <string.h>

static const onnx_node *node_of(const ort_model *m, int32_t op)
{
	return &m->onnx.node[m->op_node[op]];
}

berth_status fused_hosts_new(const ort_model *m, berth_arena *mem, fused_hosts *out, berth_err *err)
{
	*out = (fused_hosts){.m = m};
	BERTH_TRY(BERTH_NEW(mem, out->value_op, m->onnx.n_values, err));
	BERTH_TRY(BERTH_NEW(mem, out->user, m->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, out->kernel, m->n_ops, err));
	memset(out->value_op, -1, m->onnx.n_values * sizeof *out->value_op);
	memset(out->user, -1, (size_t)m->n_ops * sizeof *out->user);
	for (int32_t op = 0; op < m->n_ops; op++)
		for (int32_t k = 0; k < node_of(m, op)->n_out; k++)
			if (node_of(m, op)->out[k] >= 0)
				out->value_op[node_of(m, op)->out[k]] = op;
	for (int32_t op = m->n_ops; op-- > 0;)
		for (int32_t k = 0; k < node_of(m, op)->n_all; k++) {
			int32_t v = node_of(m, op)->in[k];
			if (v >= 0 && out->value_op[v] >= 0)
				out->user[out->value_op[v]] = op;
		}
	return BERTH_OK;
}

/* A fused kernel often has the name of its last operator. So look down the users for one whose kernel is not
 * of its own type. */
static int32_t host_after(const fused_hosts *f, int32_t op)
{
	for (int32_t steps = 0; steps < f->m->n_ops && (op = f->user[op]) >= 0; steps++)
		if (f->kernel[op])
			return strcmp(f->kernel[op], node_of(f->m, op)->type) != 0 ? op : -1;
	return -1;
}

/* Or it has the name of its first. So look up the first inputs for the nearest operator with a kernel. */
static int32_t host_before(const fused_hosts *f, int32_t op)
{
	for (int32_t steps = 0; steps < f->m->n_ops && op >= 0; steps++) {
		const onnx_node *node = node_of(f->m, op);
		int32_t maker = -1;
		for (int32_t k = 0; k < node->n_all && maker < 0; k++)
			maker = node->in[k] >= 0 ? f->value_op[node->in[k]] : -1;
		if (maker >= 0 && f->kernel[maker])
			return maker;
		op = maker;
	}
	return -1;
}

int32_t fused_host(const fused_hosts *f, int32_t op)
{
	int32_t host = host_after(f, op);
	return host >= 0 ? host : host_before(f, op);
}
