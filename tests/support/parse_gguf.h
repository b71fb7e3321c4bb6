/* The reader of GGUF files over one that is in memory. opt NULL: defaults. */
#pragma once

#include "gguf.h"

static inline berth_status parse_gguf(const char *file, const unsigned char *data, size_t size,
                                      const berth_gguf_options *opt, berth_arena *mem, berth_arena *tmp,
                                      berth_graph *out, berth_read_report *report, berth_err *err)
{
	const berth_gguf_options usual = berth_gguf_options_default();
	const berth_content from = {.name = file, .data = (const char *)data, .size = size};
	return berth_gguf_graph(&from, opt ? opt : &usual, mem, tmp, out, report, err);
}
