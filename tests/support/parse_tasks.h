/* The readers of task graphs over a text in memory, with options as they are. opt NULL: defaults. */
#pragma once

#include "task_graph.h"

#define PARSE_TASKS(format) \
	static inline berth_status parse_##format(const char *file, const char *text, size_t size, \
	                                        const berth_task_options *opt, berth_arena *mem, \
	                                        berth_arena *tmp, berth_graph *out, berth_err *err) \
	{ \
		const berth_content from = {.name = file, .data = text, .size = size}; \
		return task_graph_read(task_graph_##format, &from, opt, mem, tmp, out, NULL, err); \
	}
PARSE_TASKS(dot)
PARSE_TASKS(stg)
PARSE_TASKS(dax)
PARSE_TASKS(wfcommons)
