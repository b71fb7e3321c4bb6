/* berth-graph version 1, in and out. */
#ifndef BERTH_GRAPH_JSON_H
#define BERTH_GRAPH_JSON_H

#include "graph_format.h"
#include "json.h"

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

#endif
