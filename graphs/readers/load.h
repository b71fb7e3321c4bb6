/* A graph from whatever names one: "zoo:NAME[:key=value...]", or a file with words of the same kind behind
 * its name: a berth-graph file, an ONNX model (words are symbolic dimensions), a GGUF model (words are
 * options of gguf.h), a task graph (words are options of tasks.h). */
#ifndef BERTH_LOAD_GRAPH_H
#define BERTH_LOAD_GRAPH_H

#include "onnx.h"

/* Is data[size] text (JSON at best) rather than the bytes of a protobuf? Decided by its first 256 bytes:
 * text has no control characters. */
bool berth_data_is_text(const char *data, size_t size);

typedef enum berth_format {
	BERTH_FORMAT_JSON, /* also text that is nothing else */
	BERTH_FORMAT_ONNX, BERTH_FORMAT_GGUF, BERTH_FORMAT_DOT, BERTH_FORMAT_STG, BERTH_FORMAT_DAX
} berth_format;

/* What a file holds, by its first bytes, whatever it is called. Text: past comments, DAX begins with <, STG
 * with a digit, DOT with one of its words. */
berth_format berth_format_of(const char *data, size_t size);

/* The file that spec names, without the words behind it; in mem. NULL when memory runs out. */
const char *berth_graph_path(const char *spec, berth_arena *mem);

/* The file of spec, and opt (may be NULL) with the words of spec behind its own; in mem. Fails:
 * BERTH_ENOMEM. */
berth_status berth_graph_split(const char *spec, const berth_onnx_options *opt, berth_arena *mem,
                               const char **path, berth_onnx_options *out, berth_err *err);

/* The graph that spec names; a file is what its content says, whatever it is called.
 *   opt      words for ONNX and GGUF models and task graphs, as if they stood in spec; an error for any
 *            other source; may be NULL
 *   report   what reading an ONNX model found; of a GGUF model batch, context and warnings; zero for any
 *            other source; may be NULL
 *   mem      holds the graph      tmp   scratch, another arena than mem, reset at exit
 * Fails: BERTH_EINVAL (a bad zoo spec or word), BERTH_EFORMAT, BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_graph_load(const char *spec, const berth_onnx_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_onnx_report *report, berth_err *err);

#endif
