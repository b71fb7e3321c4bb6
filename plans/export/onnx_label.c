/* See onnx_label.h. */
#include "onnx_label.h"

#include "onnx_edit.h"

#include <string.h>

#define KEY "layer_ann"

bool onnx_label_is(const onnx_wire *w, const onnx_field *field)
{
	onnx_wire in = onnx_wire_inside(w, field);
	onnx_field f;
	bool more, ours = false;
	if (field->number != 9 || field->type != ONNX_BYTES)
		return false;
	while (onnx_wire_next(&in, &f, &more, NULL) == BERTH_OK && more)
		if (f.number == 1 && f.type == ONNX_BYTES)
			ours = f.end - f.at == strlen(KEY) && memcmp(w->data + f.at, KEY, strlen(KEY)) == 0;
	return ours;
}

void onnx_label_put(berth_strbuf *b, berth_arena *tmp, const char *label)
{
	berth_strbuf entry = {.mem = tmp};
	onnx_put_bytes(&entry, 1, KEY, strlen(KEY));
	onnx_put_bytes(&entry, 2, label, strlen(label));
	b->failed |= entry.failed;
	onnx_put_bytes(b, 9, entry.text, entry.len);
}
