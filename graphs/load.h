/* A graph from whatever names one: "zoo:NAME[:key=value...]", a berth-graph file or an ONNX model. */
#ifndef BERTH_LOAD_GRAPH_H
#define BERTH_LOAD_GRAPH_H

#include "onnx.h"

/* Is data[size] text (JSON at best) rather than the bytes of a protobuf? Decided by its first 256 bytes: text has no control characters. */
bool berth_data_is_text(const char *data, size_t size);

/* The graph that spec names; a file is JSON or ONNX by its content, whatever it is called.
 *   opt      symbolic dimensions of an ONNX model, an error for any other source; may be NULL
 *   report   what reading an ONNX model found, zero for any other source; may be NULL
 *   mem      holds the graph      tmp   scratch, another arena than mem, reset at exit
 * Fails: BERTH_EINVAL (a bad zoo spec or dimension), BERTH_EFORMAT, BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_graph_load(const char *spec, const berth_onnx_options *opt, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_onnx_report *report, berth_err *err);

#endif
