/* Names of the files beside a model that its tensors are in (onnx.proto: external_data). They are told to
 * whoever writes files, and never opened here. */
#include "onnx_model.h"

#include <string.h>

static bool is_location(const onnx_wire *w, const onnx_field *f)
{
	static const char key[] = "location";
	return f->type == ONNX_BYTES && f->end - f->at == sizeof key - 1 &&
	       memcmp(w->data + f->at, key, sizeof key - 1) == 0;
}

/* Once for all tensors that are in it. */
static berth_status add(const onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	onnx_external *x = m->external;
	berth_arena_mark mark = berth_arena_get_mark(m->tmp);
	const char *name;
	int32_t found;
	BERTH_TRY(onnx_wire_text(w, f, "location of a tensor", m->tmp, &name, err));
	if (berth_strmap_get(&x->seen, name) >= 0) {
		berth_arena_reset(m->tmp, mark);
		return BERTH_OK;
	}
	BERTH_TRY(berth_strmap_add(&x->seen, name, (int32_t)x->n, &found, err));
	BERTH_TRY(BERTH_GROW(m->tmp, x->name, x->n, &x->cap, err));
	x->name[x->n++] = name;
	return BERTH_OK;
}

berth_status onnx_read_external(const onnx_model *m, const onnx_wire *w, const onnx_field *f, berth_err *err)
{
	bool more, is_name = false;
	onnx_field entry, value = {0};
	BERTH_TRY(onnx_wire_expect(w, f, ONNX_BYTES, "external_data of a tensor", err));
	for (onnx_wire in = onnx_wire_inside(w, f);;) {
		BERTH_TRY(onnx_wire_next(&in, &entry, &more, err));
		if (!more)
			break;
		is_name = is_name || (entry.number == 1 && is_location(w, &entry));
		if (entry.number == 2)
			value = entry;
	}
	return is_name && value.number ? add(m, w, &value, err) : BERTH_OK;
}
