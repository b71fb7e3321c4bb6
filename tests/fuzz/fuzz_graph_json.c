/* Any bytes as a berth-graph file. What is read passes its check, and is written and read back to the same
 * text. */
#include "graph_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const berth_graph *g, berth_arena *mem, berth_arena *tmp)
{
	const char *one, *two;
	size_t n_one, n_two;
	berth_graph back;
	berth_err err;
	if (berth_graph_check(g, &err) != BERTH_OK ||
	    berth_graph_write_json(g, false, mem, &one, &n_one, &err) != BERTH_OK)
		abort();
	if (berth_graph_parse_json("f.json", one, n_one, mem, tmp, &back, &err) != BERTH_OK)
		abort();
	if (berth_graph_write_json(&back, false, mem, &two, &n_two, &err) != BERTH_OK || n_one != n_two ||
	    memcmp(one, two, n_one) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_err err = {0};
	char *text = malloc(size + 1); /* the reader wants a closing 0 */
	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	berth_status st = berth_graph_parse_json("f.json", text, size, &mem, &tmp, &g, &err);
	if (st == BERTH_OK)
		round_trip(&g, &mem, &tmp);
	else if (err.msg[0] == '\0')
		abort();
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	free(text);
	return 0;
}
