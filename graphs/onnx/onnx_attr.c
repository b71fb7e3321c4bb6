/* Attributes of a node. Lists are decoded out of the file each time they are asked for. */
#include "onnx_model.h"

#include <string.h>

const onnx_attr *onnx_attr_find(const onnx_node *n, const char *name)
{
	for (int32_t i = 0; i < n->n_attrs; i++)
		if (strcmp(n->attr[i].name, name) == 0)
			return &n->attr[i];
	return NULL;
}

int64_t onnx_attr_int(const onnx_node *n, const char *name, int64_t missing)
{
	const onnx_attr *a = onnx_attr_find(n, name);
	return a && a->kind == ONNX_ATTR_INT ? a->is.i : missing;
}

double onnx_attr_float(const onnx_node *n, const char *name, double missing)
{
	const onnx_attr *a = onnx_attr_find(n, name);
	return a && a->kind == ONNX_ATTR_FLOAT ? a->is.f : missing;
}

void onnx_attr_text(const onnx_model *m, const onnx_node *n, const char *name, const char **text, size_t *len)
{
	const onnx_attr *a = onnx_attr_find(n, name);
	*text = a && a->kind == ONNX_ATTR_TEXT ? (const char *)m->data + a->is.text_at : NULL;
	*len = *text ? a->text_len : 0;
}

bool onnx_attr_is(const onnx_model *m, const onnx_node *n, const char *name, const char *text)
{
	const char *found;
	size_t len;
	onnx_attr_text(m, n, name, &found, &len);
	return found && len == strlen(text) && memcmp(found, text, len) == 0;
}

/* Every field `number` of an attribute through read; *len = the count, -1 where the node has no such
 * attribute. */
static berth_status read_list(const onnx_model *m, const onnx_node *n, const char *name, uint32_t number,
                              berth_status (*read)(onnx_wire *w, const onnx_field *f, void *out, size_t cap,
                                                   size_t *count, berth_err *err),
                              void *out, size_t cap, int32_t *len, berth_err *err)
{
	const onnx_attr *a = onnx_attr_find(n, name);
	size_t count = 0;
	*len = -1;
	if (!a)
		return BERTH_OK;
	onnx_wire w = {m->file, m->data, a->at, a->end};
	onnx_field f;
	bool more;
	for (;;) {
		BERTH_TRY(onnx_wire_next(&w, &f, &more, err));
		if (!more)
			break;
		if (f.number == number)
			BERTH_TRY(read(&w, &f, out, cap, &count, err));
	}
	*len = count > INT32_MAX ? INT32_MAX : (int32_t)count;
	return BERTH_OK;
}

static berth_status read_ints(onnx_wire *w, const onnx_field *f, void *out, size_t cap, size_t *count,
                              berth_err *err)
{
	return onnx_wire_varints(w, f, "ints of an attribute", out, cap, count, err);
}

static berth_status read_floats(onnx_wire *w, const onnx_field *f, void *out, size_t cap, size_t *count,
                                berth_err *err)
{
	return onnx_wire_floats(w, f, "floats of an attribute", out, cap, count, err);
}

berth_status onnx_attr_ints(const onnx_model *m, const onnx_node *n, const char *name, int64_t out[],
                            size_t cap, int32_t *len, berth_err *err)
{
	return read_list(m, n, name, 8, read_ints, out, cap, len, err);
}

berth_status onnx_attr_floats(const onnx_model *m, const onnx_node *n, const char *name, double out[],
                              size_t cap, int32_t *len, berth_err *err)
{
	return read_list(m, n, name, 7, read_floats, out, cap, len, err);
}
