/* Any bytes as a berth-graph file. What is read passes its check, is written and read back to the same text,
 * and can be used. */
#include "fuzz.h"
#include "graph_format.h"
#include "mutate.h"

#include <string.h>

static void round_trip(const berth_graph *g, berth_arena *mem, berth_arena *tmp)
{
	const char *one, *two;
	size_t n_one, n_two;
	berth_graph back;
	must(berth_graph_write_json(g, false, mem, &one, &n_one, NULL) == BERTH_OK);
	must(berth_graph_parse_json("f.json", one, n_one, mem, tmp, &back, NULL) == BERTH_OK);
	must(berth_graph_write_json(&back, false, mem, &two, &n_two, NULL) == BERTH_OK);
	must(n_one == n_two && memcmp(one, two, n_one) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph g;
	berth_err err = {0};
	fuzz_begin(&a);
	berth_status st = berth_graph_parse_json("f.json", fuzz_text(data, size, &a.mem), size, &a.mem,
	                                         &a.tmp, &g, &err);
	fuzz_check_answer(st, &g, "", &err);
	must(st == BERTH_OK || err.msg[0]);
	if (st == BERTH_OK)
		round_trip(&g, &a.mem, &a.tmp);
	if (st == BERTH_OK && fuzz_goes_deep(data, size))
		fuzz_use_graph(&g, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"format",
	                                    "berth-graph",
	                                    "version",
	                                    "name",
	                                    "ops",
	                                    "type",
	                                    "flops",
	                                    "macs",
	                                    "read_bytes",
	                                    "write_bytes",
	                                    "param_bytes",
	                                    "state_bytes",
	                                    "workspace_bytes",
	                                    "output_bytes",
	                                    "colocate",
	                                    "separate",
	                                    "pin",
	                                    "forbid",
	                                    "time_s",
	                                    "backward",
	                                    "edges",
	                                    "from",
	                                    "to",
	                                    "bytes",
	                                    "tensor",
	                                    "cut_s",
	                                    "params",
	                                    "a",
	                                    "b",
	                                    "layers.0",
	                                    "layers.1.x",
	                                    "x",
	                                    "y",
	                                    "cpu",
	                                    "gpu",
	                                    "*",
	                                    "Conv",
	                                    NULL};
	return mutate_json(data, size, max_size, seed, words);
}
