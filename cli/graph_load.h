/* Graphs from the command line, with the dimensions of --dim. What an importer had to assume is said once.
 * Placements, with a warning where they were made for something else. */
#ifndef BERTH_CLI_GRAPH_LOAD_H
#define BERTH_CLI_GRAPH_LOAD_H

#include "load_system.h"
#include "options.h"
#include "placement.h"

/* For the table of every verb that reads a graph. */
#define CLI_DIM(c) \
	{"dim", 0, CLI_MANY, &(c)->dim, "NAME=N", \
	 "a symbolic dimension of an ONNX model, or how often its loop NAME runs (default " \
	 "1); a word of a GGUF model"}

/* For the table of every verb that places, simulates or learns. */
#define CLI_RULES(c) \
	{"pin", 0, CLI_MANY, &(c)->pin, "OP=DEVICE", \
	 "keep operators on a device; OP may be a pattern, as in 'layer1.*'"}, \
	{"forbid", 0, CLI_MANY, &(c)->forbid, "OP=DEVICE", "keep operators off a device"}, \
	{"colocate", 0, CLI_MANY, &(c)->colocate, "OP,...", "keep operators on one device together"}

/* berth_graph_load and berth_instance_load with c->dim; instances get the rules of CLI_RULES.
 * Warnings of an ONNX model go to standard error, unless --quiet. report may be NULL. */
berth_status cli_graph_load(cli *c, const char *spec, berth_graph *g, berth_read_report *report,
                            berth_err *err);
berth_status cli_instance_load(cli *c, const char *graph, const char *system, berth_graph *g, berth_system *s,
                               berth_read_report *report, berth_err *err);

/* berth_placement_read; its warning goes to standard error, unless --quiet. */
berth_status cli_placement_read(cli *c, const char *path, const berth_graph *g, const berth_system *s,
                                berth_placement *out, berth_err *err);

#endif
