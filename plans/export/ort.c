/* Exporter "ort": an ONNX model for ONNX Runtime whose nodes have a label each (the key layer_ann of their
 * metadata), and the session option that gives the labels to execution providers. Labels are the names of
 * devices. Everything else of the file stays byte for byte.
 *
 * "ort:onnx" tells the plan in ONNX's own words beside the labels (IR version 11): the model has a
 * configuration "berth" with the devices by name, and each node tells for each of its outputs which of them
 * holds it, whole. Field numbers: onnx.proto, ModelProto.configuration (26), NodeProto.device_configurations
 * (10). */
#include "onnx_edit.h"
#include "onnx_placed.h"
#include "ort_providers.h"

#define CONFIGURATION "berth"

enum { IR_VERSION = 11, MODEL_CONFIGURATION = 26, NODE_CONFIGURATION = 10 };

typedef struct labelling {
	const berth_export_source *x;
	onnx_placed placed;
	berth_arena *mem, *tmp;
	bool configured; /* nodes tell their devices by the configuration, too */
	berth_file_piece label[BERTH_MAX_DEVS]; /* NodeProto.metadata_props (9) with it */
} labelling;

/* ---- nodes ---- */

static bool drops(void *ctx, const protobuf *w, const protobuf_field *f, bool at_model)
{
	const labelling *l = ctx;
	uint32_t number = at_model ? MODEL_CONFIGURATION : NODE_CONFIGURATION;
	bool configuration = l->configured && f->number == number && f->type == PROTOBUF_BYTES;
	return (configuration && onnx_begins_with(w, f, CONFIGURATION)) || (!at_model && onnx_label_is(w, f));
}

/* ShardingSpecProto of each output of the node: tensor_name (1), device (2). */
static berth_status put_outputs(berth_strbuf *b, const protobuf *w, const protobuf_field *node, uint64_t dev,
                                berth_arena *tmp, berth_err *err)
{
	protobuf in = protobuf_inside(w, node);
	protobuf_field f;
	for (bool more;;) {
		BERTH_TRY(protobuf_next(&in, &f, &more, err));
		if (!more)
			return BERTH_OK;
		if (f.number != 2 || f.type != PROTOBUF_BYTES || f.at == f.end)
			continue;
		berth_strbuf spec = {.mem = tmp};
		onnx_put_bytes(&spec, 1, (const char *)w->data + f.at, f.end - f.at);
		onnx_put_number(&spec, 2, dev);
		onnx_put_message(b, 2, &spec);
	}
}

static berth_status changed(const char *file, berth_err *err)
{
	return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read", file);
}

static berth_status adds(void *ctx, int32_t node, bool in_body, const protobuf *w, const protobuf_field *f,
                         const char **data, size_t *size, berth_err *err)
{
	const labelling *l = ctx;
	berth_strbuf all = {.mem = l->mem}, configuration = {.mem = l->tmp};
	(void)in_body;
	if ((size_t)node >= l->placed.m.n_nodes)
		return changed(w->file, err);
	int32_t dev = l->placed.node_dev[node];
	*data = l->label[dev].data;
	*size = l->label[dev].size;
	if (!l->configured)
		return BERTH_OK;
	berth_strbuf_add(&all, *data, *size);
	onnx_put_text(&configuration, 1, CONFIGURATION);
	BERTH_TRY(put_outputs(&configuration, w, f, (uint64_t)dev, l->tmp, err));
	onnx_put_message(&all, NODE_CONFIGURATION, &configuration);
	return berth_strbuf_done(&all, data, size, err);
}

static berth_status make_label(labelling *l, int32_t d, const char *text, berth_err *err)
{
	berth_strbuf field = {.mem = l->mem};
	const char *data;
	size_t size;
	onnx_label_put(&field, l->mem, text);
	BERTH_TRY(berth_strbuf_done(&field, &data, &size, err));
	l->label[d] = (berth_file_piece){data, size};
	return BERTH_OK;
}

/* The file with its nodes labelled, into out. */
static berth_status put_model(labelling *l, onnx_edit *edit, bool *outside, berth_export_out *out,
                              berth_err *err)
{
	const onnx_model *m = &l->placed.m;
	onnx_edited made;
	edit->ctx = l;
	edit->drops = drops;
	edit->adds = adds;
	BERTH_TRY(onnx_edit_model(edit, l->x->model->name, m->data, m->size, out->mem, &made, err));
	if ((size_t)made.n_nodes != m->n_nodes)
		return changed(l->x->model->name, err);
	for (size_t i = 0; i < made.n_pieces; i++)
		BERTH_TRY(berth_export_put(out, made.piece[i].data, made.piece[i].size, err));
	*outside = made.has_outside;
	return BERTH_OK;
}

static berth_status note_outside(const berth_export_source *x, berth_export_out *out, berth_err *err)
{
	return berth_export_note(out, err,
	                         "weights stand in files of their own: keep the new model in the same "
	                         "folder as %s",
	                         x->model->name);
}

/* ---- labels for execution providers ---- */

/* What device d is labelled: its name where a rule can hold it. */
static berth_status name_label(const berth_export_source *x, int32_t d, const char **label,
                               berth_export_out *out, berth_err *err)
{
	*label = x->s->dev_name[d];
	if (ort_rule_holds(*label))
		return BERTH_OK;
	BERTH_TRY(berth_got(*label = berth_arena_printf(out->mem, "device%d", d), err));
	return berth_export_note(out, err, "device %s is labelled %s: a rule cannot hold its name",
	                         x->s->dev_name[d], *label);
}

static berth_status put_settings(const berth_export_source *x, const char *const *label,
                                 const char *const *provider, berth_export_out *out, berth_err *err)
{
	const char *rules[BERTH_MAX_DEVS] = {NULL}, *text;
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (provider[d] && !(rules[d] = berth_arena_printf(out->mem, "=%s", label[d])))
			return berth_nomem(err);
	BERTH_TRY(ort_provider_rules(provider, rules, x->s->n_devs, out->mem, &text, err));
	return berth_export_set(out, "session.layer_assignment_settings", text, err);
}

static berth_status write_labels(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                                 berth_err *err)
{
	const char *provider[BERTH_MAX_DEVS], *label[BERTH_MAX_DEVS];
	labelling l = {.x = x, .mem = out->mem, .tmp = tmp};
	onnx_edit edit = {0};
	bool outside;
	BERTH_TRY(ort_providers(x, provider, out, err));
	BERTH_TRY(onnx_placed_new(x, tmp, &l.placed, err));
	const int32_t cpu = ort_cpu_of(provider, x->s->n_devs);
	onnx_placed_fold(&l.placed, cpu);
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (provider[d]) {
			BERTH_TRY(name_label(x, d, &label[d], out, err));
			BERTH_TRY(make_label(&l, d, label[d], err));
		}
	BERTH_TRY(put_model(&l, &edit, &outside, out, err));
	BERTH_TRY(put_settings(x, label, provider, out, err));
	if (l.placed.n_folded)
		BERTH_TRY(berth_export_note(
			out, err, "%d of %d nodes are no operators (constants, shapes): they are labelled %s",
			l.placed.n_folded, (int32_t)l.placed.m.n_nodes,
			cpu < 0 ? "like what takes them" : label[cpu]));
	if (outside)
		BERTH_TRY(note_outside(x, out, err));
	return ort_fused_note(x, tmp, out, err);
}

const berth_exporter berth_export_ort = {
	.name = "ort",
	.about = "The ONNX model with a label at each node, and the session option for ONNX Runtime",
	.suffix = ".onnx",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "ONNX",
	.binary = true,
	.write = write_labels,
	.usual = ort_usual,
};

/* ---- ONNX's own words ---- */

/* DeviceConfigurationProto: name (1), num_devices (2), device (3). */
static berth_status put_configuration(const berth_export_source *x, berth_arena *mem, onnx_edit *edit,
                                      berth_err *err)
{
	berth_strbuf inner = {.mem = mem}, field = {.mem = mem};
	onnx_put_text(&inner, 1, CONFIGURATION);
	onnx_put_number(&inner, 2, (uint64_t)x->s->n_devs);
	for (int32_t d = 0; d < x->s->n_devs; d++)
		onnx_put_text(&inner, 3, berth_export_called(x, d));
	onnx_put_message(&field, MODEL_CONFIGURATION, &inner);
	return berth_strbuf_done(&field, &edit->tail, &edit->n_tail, err);
}

/* The first CPU that the plan uses; -1: none. */
static int32_t cpu_of(const berth_export_source *x)
{
	int32_t cpu = -1;
	for (int32_t op = 0; op < x->g->n_ops; op++) {
		int32_t d = x->op_dev[op];
		cpu = berth_system_is(x->s, d, "cpu") && (cpu < 0 || d < cpu) ? d : cpu;
	}
	return cpu;
}

static berth_status write_configured(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                                     berth_err *err)
{
	labelling l = {.x = x, .mem = out->mem, .tmp = tmp, .configured = true};
	onnx_edit edit = {.ir_version = IR_VERSION};
	bool outside;
	BERTH_TRY(onnx_placed_new(x, tmp, &l.placed, err));
	onnx_placed_fold(&l.placed, cpu_of(x));
	for (int32_t d = 0; d < x->s->n_devs; d++)
		BERTH_TRY(make_label(&l, d, berth_export_called(x, d), err));
	BERTH_TRY(put_configuration(x, out->mem, &edit, err));
	BERTH_TRY(put_model(&l, &edit, &outside, out, err));
	if (l.placed.m.ir_version < IR_VERSION)
		BERTH_TRY(berth_export_note(out, err, "the model's IR version is %d now (it was %d)",
		                            IR_VERSION, (int)l.placed.m.ir_version));
	return outside ? note_outside(x, out, err) : BERTH_OK;
}

const berth_exporter berth_export_ort_onnx = {
	.name = "ort:onnx",
	.about = "The ONNX model with device configurations (IR version 11)",
	.suffix = ".onnx",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "ONNX",
	.binary = true,
	.write = write_configured,
};
