/* Fuzzing of the reader of published workloads: what it accepts compiles, and everything on the first device
 * has a value under its cost model. */
#include "eval.h"
#include "tarnawski_system.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

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
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_err err = {0};
	berth_status st = berth_tarnawski_parse("fuzz", (const char *)data, size, &mem, &tmp, &g, &s, &err);
	if (st == BERTH_OK)
		evaluate(&g, &s, &mem, &tmp);
	else
		must(err.code == st && err.msg[0]);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 0;
}
