/* Any bytes as a published workload, which holds graph and system: what is accepted compiles, and operators
 * spread over the devices have a value under its cost model. */
#include "eval.h"
#include "fuzz.h"
#include "load_system.h"
#include "mutate.h"

#include <math.h>

static void evaluate(const berth_graph *g, const berth_system *s, berth_arena *mem, berth_arena *tmp)
{
	berth_problem p;
	berth_eval e;
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	int32_t *dev;
	if (berth_problem_new(g, s, mem, tmp, &p, NULL) != BERTH_OK)
		return;
	must(berth_eval_new(&p, &latency, mem, &e, NULL) == BERTH_OK);
	must((dev = berth_arena_alloc(mem, (size_t)p.n_ops + 1, sizeof *dev)) != NULL);
	for (int32_t op = 0; op < p.n_ops; op++)
		dev[op] = op % p.n_devs;
	berth_score score = berth_eval_run(&e, dev, NULL);
	must(score.value >= 0 && !isnan(score.excess));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph g;
	berth_system s;
	berth_err err = {0};
	fuzz_begin(&a);
	berth_status st =
		berth_tarnawski_parse("fuzz", (const char *)data, size, &a.mem, &a.tmp, &g, &s, &err);
	if (st != BERTH_OK) {
		must(err.code == st && err.msg[0]);
		return 0;
	}
	must(berth_graph_check(&g, NULL) == BERTH_OK && berth_system_check(&s, &a.tmp, NULL) == BERTH_OK);
	evaluate(&g, &s, &a.mem, &a.tmp);
	if (fuzz_goes_deep(data, size)) {
		fuzz_use_graph(&g, &a.mem, &a.tmp);
		fuzz_use_pair(&g, &s, &a.mem, &a.tmp);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {
		"maxSizePerFPGA", "maxFPGAs",    "maxCPUs",        "nodes",      "id",   "supportedOnFpga",
		"cpuLatency",     "fpgaLatency", "isBackwardNode", "colorClass", "size", "edges",
		"sourceId",       "destId",      "cost",           NULL};
	return mutate_json(data, size, max_size, seed, words);
}
