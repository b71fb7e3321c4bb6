/* Any bytes as a profile of ONNX Runtime, joined to a graph of two operators: times that pass the graph's
 * check, or an error with a message. */
#include "graph_json.h"
#include "ort_profile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{"
	                           "\"name\":\"a\",\"time_s\":{\"cpu\":1}},{\"name\":\"b\"}],\"edges\":[]}";
	berth_arena mem = {0}, tmp = {0};
	berth_graph g, timed;
	berth_ort_report r;
	berth_err err = {0};
	if (berth_graph_parse_json("g.json", text, sizeof text - 1, &mem, &tmp, &g, &err) != BERTH_OK)
		abort();
	berth_status st = berth_graph_ort_times("p.json", (const char *)data, size, NULL, &g, &mem, &tmp,
	                                        &timed, &r, &err);
	if (st == BERTH_OK ? berth_graph_check(&timed, &err) != BERTH_OK
	                   : (st != BERTH_EFORMAT && st != BERTH_ENOMEM) || strncmp(err.msg, "p.json:", 7))
		abort();
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 0;
}
