/* The table of planted optima in docs/bounds.md: how far above the best latency searches end, and how far
 * below it bounds do. Same build, same text. */
#include "bench.h"

#include "planted.h"

#include <math.h>

static const char *const methods[] = {"heft",         "heft-priced", "peft-priced", "peft-contended",
                                      "local-search", "anneal",      "berth"};
static const int32_t sizes[] = {60, 300, 1000, 2000};

enum { N_METHODS = 7, N_SIZES = 4, LEAST_DEVS = 5, KINDS_OF_DEVS = 4, MOST_INSTANCES = 1000 };
enum { FAST = N_METHODS, STRONG, N_COLUMNS };

typedef struct row {
	int32_t n;
	double away[N_COLUMNS][MOST_INSTANCES]; /* from the best: values above it, bounds below; shares */
} row;

static void add_instance(planted_kind kind, int32_t n_ops, int32_t i, int64_t evaluations, row *r)
{
	berth_bound_effort all = berth_bound_effort_all(NULL);
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_arena mem = {0}, tmp = {0};
	berth_bounds b;
	planted p;
	cfg.evaluations = evaluations;
	MUST(planted_make(kind, n_ops, LEAST_DEVS + i % KINDS_OF_DEVS, (uint64_t)i + 1, &mem, &tmp, &p,
	                  &err));
	MUST(berth_bounds_new(&p.problem, &tmp, &b, &err));
	r->away[FAST][r->n] = p.latency_s / b.value[BERTH_LATENCY] - 1;
	MUST(berth_bounds_strengthen(&p.problem, &all, &tmp, &b, &err));
	r->away[STRONG][r->n] = p.latency_s / b.value[BERTH_LATENCY] - 1;
	for (int k = 0; k < N_METHODS; k++) {
		berth_solution x;
		MUST(berth_solve(&p.problem, &b, bench_method(methods[k]), &cfg, &mem, &tmp, &x, &err));
		r->away[k][r->n] = x.value / p.latency_s - 1;
	}
	r->n++;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void print_cells(const double *x, int32_t n)
{
	double most = x[0];
	for (int32_t i = 1; i < n; i++)
		most = fmax(most, x[i]);
	printf(" %.2f %% | %.2f %% |", 100 * bench_median(x, n), 100 * most);
}

static void run_planted(const bench_options *o)
{
	static row r;
	int64_t n = o->instances < MOST_INSTANCES ? o->instances : MOST_INSTANCES;
	bench_head(
		"kind|operators:|heft, median:|most:|heft-priced, median:|most:|peft-priced, median:|most:|"
		"peft-contended, median:|most:|local-search, median:|most:|anneal, median:|most:|berth, "
	        "median:|most:|"
		"fast bound, median:|most:|strong bound, median:|most:");
	for (int kind = 0; kind < PLANTED_KINDS; kind++)
		for (int s = 0; s < N_SIZES; s++) {
			r.n = 0;
			for (int32_t i = 0; i < n; i++)
				add_instance((planted_kind)kind, sizes[s], i, o->evaluations, &r);
			printf("| %s | %d |", planted_kind_name[kind], (int)sizes[s]);
			for (int k = 0; k < N_COLUMNS; k++)
				print_cells(r.away[k], r.n);
			printf("\n");
			fflush(stdout);
		}
}

const bench_entry bench_planted = {
	"planted", "", "bounds", "1 h",
	"searches and bounds beside planted optima", {.instances = 25, .evaluations = 5000}, run_planted};
