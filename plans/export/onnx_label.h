/* The label of a node of an ONNX model: the key layer_ann of its metadata, which ONNX Runtime and Netron
 * know. Inside of plans/export. */
#ifndef BERTH_ONNX_LABEL_H
#define BERTH_ONNX_LABEL_H

#include "onnx_wire.h"
#include "text.h"

/* Is field f of a node a label? */
bool onnx_label_is(const onnx_wire *w, const onnx_field *f);

/* The field. */
void onnx_label_put(berth_strbuf *b, berth_arena *tmp, const char *label);

#endif
