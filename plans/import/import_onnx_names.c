/* Names in an ONNX model beside those of its operators; see import_reading.h. */
#include "import_reading.h"

#include "load.h"
#include "onnx_model.h"

#include <string.h>

/* Names of the decoded model live in m->tmp, as the map does. */
static berth_status add(berth_import *m, const char *name, int32_t op, berth_err *err)
{
	int32_t found;
	return *name ? berth_strmap_add(&m->ops, name, op, &found, err) : BERTH_OK;
}

/* OpenVINO's nodes of single outputs: NAME_OUTPUT. */
static berth_status add_joined(berth_import *m, const onnx_model *x, const onnx_node *n, int32_t op,
                               berth_err *err)
{
	for (int32_t o = 0; o < n->n_out; o++) {
		if (n->out[o] < 0)
			continue;
		const char *name = berth_arena_printf(m->tmp, "%s_%s", n->name, x->value[n->out[o]].name);
		if (!name)
			return berth_nomem(err);
		BERTH_TRY(add(m, name, op, err));
	}
	return BERTH_OK;
}

static berth_status add_node(berth_import *m, const onnx_model *x, const onnx_node *n, int32_t op,
                             berth_err *err)
{
	BERTH_TRY(add(m, n->name, op, err));
	for (int32_t o = 0; o < n->n_out; o++)
		if (n->out[o] >= 0)
			BERTH_TRY(add(m, x->value[n->out[o]].name, op, err));
	return *n->name && n->n_out > 1 ? add_joined(m, x, n, op, err) : BERTH_OK;
}

berth_status berth_import_onnx_names(berth_import *m, berth_err *err)
{
	const berth_content *from = m->x->model;
	int32_t n_weights, op = 0;
	if (!from || strcmp(berth_content_format(from)->name, "ONNX") != 0)
		return BERTH_OK;
	onnx_model x = {.file = from->name,
	                .data = (const unsigned char *)from->data,
	                .size = from->size,
	                .tmp = m->tmp};
	BERTH_TRY(onnx_decode(&x, m->x->read, &n_weights, err));
	for (size_t i = 0; i < x.n_nodes; i++) {
		const onnx_node *n = &x.node[i];
		if (!n->folded && op >= m->x->g->n_ops)
			return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read",
			                  from->name);
		BERTH_TRY(add_node(m, &x, n, n->folded ? BERTH_IMPORT_NO_OP : op, err));
		op += !n->folded;
	}
	return BERTH_OK;
}
