/* The table of planted optima in docs/bounds.md: how far above the best latency searches end, and how far
 * below it bounds do. Same build, same text. */
#include "entries.h"
#include "planted.h"

static const char *const methods[] = {"heft", "heft-priced", "peft-priced", "peft-contended", "local-search",
                                      "anneal", "berth"};

enum { N_METHODS = BENCH_N(methods), N_COLUMNS = N_METHODS + 2, MOST_INSTANCES = 1000 };

/* away: from the best; values above it, then bounds below; shares. */
static void add_instance(planted_kind kind, int32_t n_ops, int32_t i, int64_t evaluations,
                         double away[N_COLUMNS][MOST_INSTANCES])
{
	enum { LEAST_DEVS = 5, KINDS_OF_DEVS = 4 };
	berth_bound_effort all = berth_bound_effort_all(NULL);
	const berth_search_cfg cfg = {.seed = 1, .evaluations = evaluations};
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_bounds b;
	planted p;
	MUST(planted_make(kind, n_ops, LEAST_DEVS + i % KINDS_OF_DEVS, (uint64_t)i + 1, &mem, &tmp, &p,
	                  &err));
	MUST(berth_bounds_new(&p.problem, &tmp, &b, &err));
	away[N_METHODS][i] = p.latency_s / b.value[BERTH_LATENCY] - 1;
	MUST(berth_bounds_strengthen(&p.problem, &all, &tmp, &b, &err));
	away[N_METHODS + 1][i] = p.latency_s / b.value[BERTH_LATENCY] - 1;
	for (int k = 0; k < N_METHODS; k++) {
		berth_solution x;
		MUST(berth_solve(&p.problem, &b, bench_method(methods[k]), &cfg, &mem, &tmp, &x, &err));
		away[k][i] = x.value / p.latency_s - 1;
	}
}

void table_planted(const bench_options *o)
{
	static const int32_t sizes[] = {60, 300, 1000, 2000};
	static double away[N_COLUMNS][MOST_INSTANCES];
	int32_t n = (int32_t)(o->instances < MOST_INSTANCES ? o->instances : MOST_INSTANCES);
	printf("| kind | operators |");
	for (int k = 0; k < N_COLUMNS; k++)
		printf(" %s, median | most |",
		       k < N_METHODS ? methods[k] : k == N_METHODS ? "fast bound" : "strong bound");
	bench_rule(1, 1 + 2 * N_COLUMNS);
	for (int i = 0; i < PLANTED_KINDS * BENCH_N(sizes); i++) {
		int kind = i / BENCH_N(sizes), size = sizes[i % BENCH_N(sizes)];
		for (int32_t k = 0; k < n; k++)
			add_instance((planted_kind)kind, size, k, o->evaluations, away);
		printf("| %s | %d |", planted_kind_name[kind], size);
		for (int k = 0; k < N_COLUMNS; k++)
			printf(" %.2f %% | %.2f %% |",
			       100 * bench_median(away[k], n), 100 * bench_largest(away[k], n));
		printf("\n");
	}
}
