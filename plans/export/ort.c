/* Exporter "ort": an ONNX model for ONNX Runtime whose nodes have a label each (the key layer_ann of their
 * metadata), and the session option that gives the labels to execution providers. Labels are the names of
 * devices. Everything else of the file stays byte for byte. */
#include "onnx_edit.h"
#include "onnx_label.h"
#include "onnx_placed.h"
#include "ort_fused.h"
#include "ort_providers.h"

#include <string.h>

typedef struct labels {
	const onnx_placed *placed;
	const char *label[BERTH_MAX_DEVS];
	berth_file_piece field[BERTH_MAX_DEVS]; /* NodeProto.metadata_props (9) with the label */
} labels;

static bool drops(void *ctx, const onnx_wire *w, const onnx_field *f, bool at_model)
{
	(void)ctx;
	return !at_model && onnx_label_is(w, f);
}

static berth_status adds(void *ctx, int32_t node, bool in_body, const onnx_wire *w, const onnx_field *f,
                         const char **data, size_t *size, berth_err *err)
{
	const labels *x = ctx;
	(void)in_body, (void)f;
	if ((size_t)node >= x->placed->m.n_nodes)
		return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read", w->file);
	const berth_file_piece *field = &x->field[x->placed->node_dev[node]];
	*data = field->data;
	*size = field->size;
	return BERTH_OK;
}

/* The label of device d: its name where a rule can hold it. */
static berth_status make_label(const berth_export_source *x, int32_t d, berth_export_out *out, labels *l,
                               berth_err *err)
{
	berth_strbuf field = {.mem = out->mem};
	const char *text;
	size_t len;
	l->label[d] = x->s->dev_name[d];
	if (!ort_rule_holds(l->label[d])) {
		l->label[d] = berth_arena_printf(out->mem, "device%d", d);
		if (!l->label[d])
			return berth_nomem(err);
		BERTH_TRY(berth_export_note(out, err, "device %s is labelled %s: a rule cannot hold its name",
		                            x->s->dev_name[d], l->label[d]));
	}
	onnx_label_put(&field, out->mem, l->label[d]);
	BERTH_TRY(berth_strbuf_done(&field, &text, &len, err));
	l->field[d] = (berth_file_piece){text, len};
	return BERTH_OK;
}

static berth_status put_settings(const berth_export_source *x, const labels *l, const char *const *provider,
                                 berth_export_out *out, berth_err *err)
{
	const char *rules[BERTH_MAX_DEVS] = {NULL}, *text;
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (provider[d] && !(rules[d] = berth_arena_printf(out->mem, "=%s", l->label[d])))
			return berth_nomem(err);
	BERTH_TRY(ort_provider_rules(provider, rules, x->s->n_devs, out->mem, &text, err));
	return berth_export_set(out, "session.layer_assignment_settings", text, err);
}

static berth_status put_notes(const berth_export_source *x, const onnx_placed *p, const char *folded_label,
                              const onnx_edited *made, berth_export_out *out, berth_err *err)
{
	if (p->n_folded)
		BERTH_TRY(berth_export_note(out, err,
		                            "%d of %d nodes are no operators (constants, shapes): they are "
		                            "labelled %s",
		                            p->n_folded, (int32_t)p->m.n_nodes,
		                            folded_label ? folded_label : "like what takes them"));
	if (made->has_outside)
		BERTH_TRY(berth_export_note(out, err,
		                            "weights stand in files of their own: keep the new model in the "
		                            "same folder as %s",
		                            x->model->name));
	return ort_fused_note(x, out, err);
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	const char *provider[BERTH_MAX_DEVS];
	onnx_placed placed;
	onnx_edited made;
	labels l = {.placed = &placed};
	onnx_edit edit = {.ctx = &l, .drops = drops, .adds = adds};
	BERTH_TRY(ort_providers(x, provider, out, err));
	BERTH_TRY(onnx_placed_new(x, tmp, &placed, err));
	const int32_t cpu = ort_cpu_of(provider, x->s->n_devs);
	onnx_placed_fold(&placed, cpu);
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (provider[d])
			BERTH_TRY(make_label(x, d, out, &l, err));
	BERTH_TRY(onnx_edit_model(&edit, x->model->name, placed.m.data, placed.m.size, out->mem, &made, err));
	if ((size_t)made.n_nodes != placed.m.n_nodes)
		return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read",
		                  x->model->name);
	BERTH_TRY(put_settings(x, &l, provider, out, err));
	BERTH_TRY(put_notes(x, &placed, cpu < 0 ? NULL : l.label[cpu], &made, out, err));
	for (size_t i = 0; i < made.n_pieces; i++)
		BERTH_TRY(berth_export_put(out, made.piece[i].data, made.piece[i].size, err));
	return BERTH_OK;
}

const berth_exporter berth_export_ort = {.name = "ort",
                                         .about = "The ONNX model, labelled for ONNX Runtime",
                                         .suffix = ".onnx",
                                         .needs = BERTH_EXPORT_PLACEMENT,
                                         .model = "ONNX",
                                         .binary = true,
                                         .serial = true,
                                         .write = write,
                                         .usual = ort_usual};
