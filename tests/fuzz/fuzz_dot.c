/* Any bytes as a DOT file: a graph that passes its check, or an error that names the place. */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_err err = {0};
	berth_status st = berth_graph_parse_dot("f", (const char *)data, size, NULL, &mem, &tmp, &g, &err);
	if (st == BERTH_OK ? berth_graph_check(&g, &err) != BERTH_OK
	                   : (st != BERTH_EFORMAT && st != BERTH_ENOMEM) || strncmp(err.msg, "f:", 2))
		abort();
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 0;
}
