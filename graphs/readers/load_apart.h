/* Reading a graph from a stranger's bytes in a sandbox (sandbox.h). */
#ifndef BERTH_LOAD_APART_H
#define BERTH_LOAD_APART_H

#include "graph_format.h"

/* What the child answers: the graph as canonical JSON, a line break, and what the reader found, in mem. */
berth_status berth_graph_to_text(const berth_graph *g, const berth_read_report *r, berth_arena *mem,
                                 const char **text, size_t *size, berth_err *err);

/* Graph and report from such a text; name stands in messages. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status berth_graph_from_text(const char *name, const char *text, size_t size, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                   berth_err *err);

/* berth_format's parse of `from`, whatever its format is, in the sandbox opt->sandbox. The graph and the
 * report are the same to the bit: they come as canonical JSON, which this process reads. Further parts are
 * those of `from`: the child opens none. Fails: as reading does; berth_sandbox_run. */
berth_status berth_graph_parse_apart(const berth_content *from, const berth_read_options *opt,
                                     berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                     berth_read_report *report, berth_err *err);

#endif
