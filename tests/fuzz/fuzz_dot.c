/* Any bytes as a DOT file: a graph that passes its check and can be used, or an error that names the place.
 */
#include "fuzz.h"
#include "mutate.h"
#include "parse_tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph g;
	berth_err err = {0};
	fuzz_begin(&a);
	berth_status st =
		parse_dot("f", (const char *)data, size, NULL, &a.mem, &a.tmp, &g, &err);
	fuzz_check_answer(st, &g, "f:", &err);
	if (st == BERTH_OK && fuzz_goes_deep(data, size))
		fuzz_use_graph(&g, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"digraph",     "strict",       "subgraph",   "node",
	                                    "edge",        "graph",        "->",         "{",
	                                    "}",           "[time=1]",     "[",          "]",
	                                    "flops",       "time",         "time_gpu",   "bytes",
	                                    "tensor",      "type",         "colocate",   "pin",
	                                    "label",       "cost",         "read_bytes", "write_bytes",
	                                    "param_bytes", "output_bytes", "\"",         "/*",
	                                    "*/",          "//",           "#",          ";",
	                                    "<b>",         ":n:w",         NULL};
	return mutate_words(data, size, max_size, seed, words);
}
