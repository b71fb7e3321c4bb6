/* One row for each file format that graphs are read from. A format is a file of its own with a reader and
 * such a row, and a line in load.c. */
#pragma once

#include "graph.h"
#include "json.h"
#include "sandbox.h"

/* The berth-graph JSON of the module that a program has to make: "FILE.py:FACTORY", with words "KEY=VALUE"
 * behind it after colons. text [*size] lives in mem. Fails: BERTH_EFORMAT (the module cannot be used),
 * BERTH_EINVAL (a bad word), BERTH_EIO, BERTH_ELIMIT, BERTH_ENOMEM. */
typedef berth_status berth_module_graph(const char *spec, berth_arena *mem, const char **text, size_t *size,
                                        berth_err *err);

/* How to read. Zero-initialised: the defaults of the format. */
typedef struct berth_read_options {
	/* [n_dims] words "KEY=VALUE". ONNX: symbolic dimensions, and how often the loop of that name runs
	 * (values 1 to 2^31-1). GGUF: options of gguf.h. Task graphs: options of tasks.h. */
	const char *const *dim;
	int32_t n_dims;
	const char *name; /* what the graph is to be called; NULL: as its file says */
	const berth_sandbox *sandbox; /* read files in one; NULL: here */
	berth_module_graph *module_graph; /* NULL: modules are refused */
} berth_read_options;

/* What reading found; strings live in the graph's arena. Of an ONNX model all fields are filled. Of a
 * GGUF model only dimensions (batch and context) and warnings are. Of any other format all are zero. */
typedef struct berth_read_report {
	const char *format;           /* of the file (berth_format); NULL: none (the zoo) */
	int32_t n_nodes, n_folded;    /* nodes of the file's graph, and those that are no operators */
	int32_t n_outputs, n_unknown; /* outputs of operators, and those without a full shape and type */
	int32_t n_weight_inputs;      /* graph inputs taken for parameters */
	double param_elements;        /* elements of all parameters, shared ones once */
	int32_t n_dims;               /* symbolic dimensions of the graph inputs: */
	const char **dim_name;
	int64_t *dim_value;
	/* inputs with sizes that nobody states, and with sizes that are the only ones that fit: texts */
	int32_t n_guessed, n_fitted;
	const char **guessed, **fitted;
	int32_t n_loops; /* loops whose trips neither the file nor an option states: taken for one */
	const char **loop_name;
	int32_t n_external; /* files beside the model that hold its data, as it names them; never opened */
	const char **external;
	int32_t n_warnings; /* an operator type that is not known, once a type */
	const char **warning;
} berth_read_report;

/* The bytes of a file. */
typedef struct berth_content {
	const char *name; /* shown in messages; its stem is the graph's name where the file tells none */
	const char *data; /* [size], not NULL */
	size_t size;
	bool once; /* only its reader reads data, which berth_file_own has given: it may spend it */
	const struct berth_format *format; /* NULL: what the bytes say */
	const struct berth_content *part; /* [n_parts] the files that go on where this one ends */
	int32_t n_parts;
} berth_content;

typedef struct berth_format {
	const char *name; /* as people call a file of it */
	bool words;       /* does it know words (dim of berth_read_options)? */
	/* Does the file begin like one of this format? */
	bool (*is)(const char *data, size_t size);
	/* Its graph, in mem. report comes zeroed. tmp is scratch, another arena than mem; the caller
	 * resets it. A reader of ONNX or GGUF touches only the bytes that it needs: those of weights are
	 * none. They stay in the file, which may change under it: it reads once what it relies on. Fails:
	 * BERTH_EFORMAT, BERTH_EINVAL (a bad word), BERTH_EIO (a further part), BERTH_ENOMEM. */
	berth_status (*parse)(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
	                      berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err);
	/* The files that go on where `from`, whose name is a path, ends: mapped, *n_parts of them into *part,
	 * in mem. The caller unmaps them, on error those that are there. NULL: the format has none. */
	berth_status (*parts)(const berth_content *from, berth_arena *mem, berth_content **part,
	                      int32_t *n_parts, berth_err *err);
} berth_format;

/* Graph from JSON text; file is the name shown in messages. tmp is scratch, reset at exit.
 * Fails: BERTH_EFORMAT (line:column or JSON pointer), BERTH_ENOMEM. */
berth_status berth_graph_parse_json(const char *file, const char *text, size_t size, berth_arena *mem,
                                    berth_arena *tmp, berth_graph *out, berth_err *err);

extern const berth_format berth_format_json; /* any text */

/* Canonical JSON of a graph: keys in the order of the format's documentation, defaults left out, edges in
 * edge order. pretty breaks lines. */
berth_status berth_graph_write_json(const berth_graph *g, bool pretty, berth_arena *mem, const char **text,
                                    size_t *len, berth_err *err);

/* SHA-256 of the canonical JSON without line breaks, of g->plain where it has one. */
berth_status berth_graph_sha256(const berth_graph *g, berth_arena *tmp, char hex[65], berth_err *err);
