/* The nodes of an ONNX file under a plan, and their labels: the key layer_ann of a node's metadata, which
 * ONNX Runtime and Netron know. */
#pragma once

#include "exporters.h"
#include "onnx_model.h"
#include "protobuf.h"
#include "text.h"

typedef struct onnx_placed {
	onnx_model m;      /* its main graph's nodes are those of the file, in the order of the file */
	int32_t *node_dev; /* [m.n_nodes] */
	int32_t *node_op;  /* [m.n_nodes] -1: folded, it is no operator of the graph */
	int32_t n_folded;
} onnx_placed;

/* Decode x->model, and give each node the device of its operator. A node that is no operator (constants,
 * shapes) goes with the first operator that takes what it makes; where none does, with the first operator of
 * the graph. Everything lives in tmp. Fails: BERTH_EUNSUPPORTED (the model calls functions of its own: their
 * nodes stand in the file once for all calls), BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status onnx_placed_new(const berth_export_source *x, berth_arena *tmp, onnx_placed *out,
                             berth_err *err);

/* node_dev [n_nodes]: nodes without a device (-1) get that of the first node that takes what they make, else
 * `otherwise`. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status onnx_placed_follow(const onnx_model *m, int32_t *node_dev, int32_t otherwise, berth_arena *tmp,
                                berth_err *err);

/* Nodes that are no operators go to device cpu (-1: they stay). Where a plan uses the CPU, that is their
 * place: ONNX Runtime 1.30 crashes where a Shape is at WebGPU and what takes it is not. */
void onnx_placed_fold(onnx_placed *p, int32_t cpu);

/* The label of a node of an ONNX model: the key layer_ann of its metadata, which ONNX Runtime and Netron
 * know. Inside of plans/export. */

/* Is field f a message whose field 1 is the text? */
bool onnx_begins_with(const protobuf *w, const protobuf_field *f, const char *text);

/* Is field f of a node a label? */
bool onnx_label_is(const protobuf *w, const protobuf_field *f);

/* The field. */
void onnx_label_put(berth_strbuf *b, berth_arena *tmp, const char *label);
