/* Any bytes as a berth-blocks file for a small graph: blocks that cover it, and rules with which it can be
 * used, or an error that names the place. */
#include "fuzz.h"
#include "granularity.h"
#include "mutate.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	const berth_graph *g = fuzz_small_graph();
	berth_granularity x;
	berth_graph ruled;
	berth_err err = {0};
	fuzz_begin(&a);
	berth_status st =
		berth_granularity_parse("b.json", (const char *)data, size, g, &a.mem, &a.tmp, &x, &err);
	if (st != BERTH_OK) {
		must(st == BERTH_EFORMAT && strncmp(err.msg, "b.json:", 7) == 0);
		return 0;
	}
	must(x.n_blocks > 0 && x.n_blocks <= g->n_ops);
	for (int32_t op = 0; op < g->n_ops; op++)
		must(x.op_block[op] >= 0 && x.op_block[op] < x.n_blocks && x.block_name[x.op_block[op]][0]);
	must(berth_granularity_apply(g, &x, (int32_t)(size % 4) - 1, &a.mem, &a.tmp, &ruled, NULL) ==
	     BERTH_OK);
	must(berth_graph_check(&ruled, NULL) == BERTH_OK);
	if (fuzz_goes_deep(data, size))
		fuzz_use_pair(&ruled, fuzz_small_system(), &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {
		"format",     "berth-blocks", "version",    "blocks", "name", "ops",   "layers.0.a",
		"layers.0.b", "layers.1.a",   "layers.1.b", "a",      "b",    "first", NULL};
	return mutate_json(data, size, max_size, seed, words);
}
