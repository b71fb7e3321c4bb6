/* Exact search: nodes a second of branch and bound on 16 operators, and the strong bound of whole models. */
#include "bench.h"

#include "bounds.h"
#include "solve.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 100000 };

static void branch(void *arg)
{
	bench_problem *b = arg;
	berth_arena mem = {0};
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_bounds bounds;
	berth_solution r;
	const berth_method *m;
	berth_err err;
	cfg.nodes = NODES;
	bench_must(berth_bounds_new(&b->p, &b->tmp, &bounds, &err), &err);
	bench_must(berth_method_find("branch-and-bound", &m, &err), &err);
	bench_must(berth_solve(&b->p, &bounds, m, &cfg, &mem, &b->tmp, &r, &err), &err);
	berth_arena_free(&mem);
}

static void bound(void *arg)
{
	bench_problem *b = arg;
	berth_bounds bounds;
	berth_bound_effort effort = berth_bound_effort_all(NULL);
	berth_err err;
	bench_must(berth_bounds_new(&b->p, &b->tmp, &bounds, &err), &err);
	bench_must(berth_bounds_strengthen(&b->p, &effort, &b->tmp, &bounds, &err), &err);
}

void bench_exact(bench_out *out)
{
	static const char *const graph[] = {"zoo:resnet50", "zoo:inception-v3", "zoo:bert-base"};
	bench_problem b;
	bench_compile(&b, "zoo:random:ops=16:seed=1", "cpu+2gpu");
	bench_row(out, "branch-and-bound", "random, 16 operators, cpu+2gpu",
	          NODES / bench_seconds(branch, &b), "nodes/s");
	bench_discard(&b);
	for (int i = 0; i < 3; i++) {
		bench_compile(&b, graph[i], "cpu+2gpu");
		bench_row(out, "strong bound", graph[i] + 4, bench_seconds(bound, &b) * 1e3, "ms");
		bench_discard(&b);
	}
}
