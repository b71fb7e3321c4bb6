/* Exact search: nodes a second of branch and bound on 16 operators, and the strong bound of whole models. */
#include "speeds.h"

#include "bounds.h"
#include "solve.h"

#include <stdlib.h>

enum { NODES = 100000 };

static void branch(void *arg)
{
	subject *b = arg;
	berth_arena mem = {0};
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_bounds bounds;
	berth_solution r;
	const berth_method *m;
	cfg.nodes = NODES;
	MUST(berth_bounds_new(&b->p, &b->tmp, &bounds, &err));
	MUST(berth_method_find("branch-and-bound", &m, &err));
	MUST(berth_solve(&b->p, &bounds, m, &cfg, &mem, &b->tmp, &r, &err));
	berth_arena_free(&mem);
}

static void bound(void *arg)
{
	subject *b = arg;
	berth_bounds bounds;
	berth_bound_effort effort = berth_bound_effort_all(NULL);
	MUST(berth_bounds_new(&b->p, &b->tmp, &bounds, &err));
	MUST(berth_bounds_strengthen(&b->p, &effort, &b->tmp, &bounds, &err));
}

void speed_exact(void)
{
	static const char *const graph[] = {"resnet50", "inception-v3", "bert-base"};
	subject b;
	bench_open(&b, "random:ops=16:seed=1", "cpu+2gpu");
	speed_row("branch-and-bound", "random, 16 operators, cpu+2gpu",
	          NODES / bench_seconds(branch, &b), "nodes/s");
	bench_close(&b);
	for (int i = 0; i < 3; i++) {
		bench_open(&b, graph[i], "cpu+2gpu");
		speed_row("strong bound", graph[i], bench_seconds(bound, &b) * 1e3, "ms");
		bench_close(&b);
	}
}
