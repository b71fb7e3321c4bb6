/* Models that a Python function makes: FILE.py:FACTORY, with words behind it (docs/pytorch.md). To read one
 * is to run it, which this room does not: the caller brings what does (module_graph of
 * berth_read_options). */
#ifndef BERTH_MODULE_SPEC_H
#define BERTH_MODULE_SPEC_H

#include "graph_format.h"

#include <stddef.h>

/* Bytes of the file's name in a spec of that form; 0: it is none. Nothing is looked for on the disk. */
size_t berth_module_file_length(const char *spec);

/* The graph of a module; path and words as berth_graph_split gives them. The rest as berth_graph_load. Fails:
 * BERTH_EINVAL (a sandbox is asked for; opt has no module_graph), BERTH_EIO, BERTH_ENOMEM; module_graph. */
berth_status berth_module_load(const char *path, const berth_read_options *words, berth_arena *mem,
                               berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err);

#endif
