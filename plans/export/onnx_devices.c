/* Exporter "onnx": the plan in ONNX's own words (IR version 11): the model has a configuration "berth" with
 * the devices by name, and each node tells for each of its outputs which of them holds it, whole. Each node
 * has the label of "ort", too. Field numbers: onnx.proto, ModelProto.configuration (26),
 * NodeProto.device_configurations (10). */
#include "onnx_edit.h"
#include "onnx_label.h"
#include "onnx_placed.h"

#include <string.h>

#define CONFIGURATION "berth"

enum { IR_VERSION = 11, MODEL_CONFIGURATION = 26, NODE_CONFIGURATION = 10 };

typedef struct telling {
	const berth_export_source *x;
	const onnx_placed *placed;
	berth_arena *mem, *tmp;
} telling;

/* Has the message CONFIGURATION as its field 1? */
static bool is_ours(const onnx_wire *w, const onnx_field *field)
{
	onnx_wire in = onnx_wire_inside(w, field);
	onnx_field f;
	bool more, ours = false;
	while (onnx_wire_next(&in, &f, &more, NULL) == BERTH_OK && more)
		if (f.number == 1 && f.type == ONNX_BYTES)
			ours = f.end - f.at == strlen(CONFIGURATION) &&
			       memcmp(w->data + f.at, CONFIGURATION, strlen(CONFIGURATION)) == 0;
	return ours;
}

static bool drops(void *ctx, const onnx_wire *w, const onnx_field *f, bool at_model)
{
	uint32_t number = at_model ? MODEL_CONFIGURATION : NODE_CONFIGURATION;
	(void)ctx;
	return (f->number == number && f->type == ONNX_BYTES && is_ours(w, f)) ||
	       (!at_model && onnx_label_is(w, f));
}

static const char *device_name(const berth_export_source *x, int32_t d)
{
	return x->theirs && x->theirs[d] ? x->theirs[d] : x->s->dev_name[d];
}

/* ShardingSpecProto of each output of the node: tensor_name (1), device (2). */
static berth_status put_outputs(berth_strbuf *b, const onnx_wire *w, const onnx_field *node, uint64_t dev,
                                berth_arena *tmp, berth_err *err)
{
	onnx_wire in = onnx_wire_inside(w, node);
	onnx_field f;
	for (bool more;;) {
		BERTH_TRY(onnx_wire_next(&in, &f, &more, err));
		if (!more)
			return BERTH_OK;
		if (f.number != 2 || f.type != ONNX_BYTES || f.at == f.end)
			continue;
		berth_strbuf spec = {.mem = tmp};
		onnx_put_bytes(&spec, 1, (const char *)w->data + f.at, f.end - f.at);
		onnx_put_number(&spec, 2, dev);
		b->failed |= spec.failed;
		onnx_put_bytes(b, 2, spec.text, spec.len);
	}
}

static berth_status adds(void *ctx, int32_t node, bool in_body, const onnx_wire *w, const onnx_field *f,
                         const char **data, size_t *size, berth_err *err)
{
	telling *x = ctx;
	berth_strbuf all = {.mem = x->mem}, configuration = {.mem = x->tmp};
	(void)in_body;
	if ((size_t)node >= x->placed->m.n_nodes)
		return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read", w->file);
	int32_t dev = x->placed->node_dev[node];
	onnx_label_put(&all, x->tmp, device_name(x->x, dev));
	onnx_put_bytes(&configuration, 1, CONFIGURATION, strlen(CONFIGURATION));
	BERTH_TRY(put_outputs(&configuration, w, f, (uint64_t)dev, x->tmp, err));
	all.failed |= configuration.failed;
	onnx_put_bytes(&all, NODE_CONFIGURATION, configuration.text, configuration.len);
	return berth_strbuf_done(&all, data, size, err);
}

/* DeviceConfigurationProto: name (1), num_devices (2), device (3). */
static berth_status put_configuration(const berth_export_source *x, berth_arena *mem, onnx_edit *edit,
                                      berth_err *err)
{
	berth_strbuf inner = {.mem = mem}, field = {.mem = mem};
	onnx_put_bytes(&inner, 1, CONFIGURATION, strlen(CONFIGURATION));
	onnx_put_number(&inner, 2, (uint64_t)x->s->n_devs);
	for (int32_t d = 0; d < x->s->n_devs; d++)
		onnx_put_bytes(&inner, 3, device_name(x, d), strlen(device_name(x, d)));
	field.failed |= inner.failed;
	onnx_put_bytes(&field, MODEL_CONFIGURATION, inner.text, inner.len);
	return berth_strbuf_done(&field, &edit->tail, &edit->n_tail, err);
}

/* The first CPU that the plan uses; -1: none. */
static int32_t cpu_of(const berth_export_source *x)
{
	int32_t cpu = -1;
	for (int32_t op = 0; op < x->g->n_ops; op++) {
		int32_t d = x->op_dev[op];
		bool is = strncmp(x->s->dev_kind[d], "cpu", 3) == 0 ||
		          strncmp(x->s->dev_name[d], "cpu", 3) == 0;
		cpu = is && (cpu < 0 || d < cpu) ? d : cpu;
	}
	return cpu;
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	onnx_placed placed;
	onnx_edited made;
	telling t = {x, &placed, out->mem, tmp};
	onnx_edit edit = {.ctx = &t, .drops = drops, .adds = adds, .ir_version = IR_VERSION};
	BERTH_TRY(onnx_placed_new(x, tmp, &placed, err));
	onnx_placed_fold(&placed, cpu_of(x));
	BERTH_TRY(put_configuration(x, out->mem, &edit, err));
	BERTH_TRY(onnx_edit_model(&edit, x->model->name, placed.m.data, placed.m.size, out->mem, &made, err));
	if ((size_t)made.n_nodes != placed.m.n_nodes)
		return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read",
		                  x->model->name);
	if (placed.m.ir_version < IR_VERSION)
		BERTH_TRY(berth_export_note(out, err, "the model's IR version is %d now (it was %d)",
		                            IR_VERSION, (int)placed.m.ir_version));
	if (made.has_outside)
		BERTH_TRY(berth_export_note(out, err,
		                            "weights stand in files of their own: keep the new model in the "
		                            "same folder as %s",
		                            x->model->name));
	for (size_t i = 0; i < made.n_pieces; i++)
		BERTH_TRY(berth_export_put(out, made.piece[i].data, made.piece[i].size, err));
	return BERTH_OK;
}

const berth_exporter berth_export_onnx = {.name = "onnx",
                                          .about = "The ONNX model with its devices, in ONNX's own words",
                                          .suffix = ".onnx",
                                          .needs = BERTH_EXPORT_PLACEMENT,
                                          .model = "ONNX",
                                          .binary = true,
                                          .write = write};
