/* The tables of docs/methods.md: how close splitting comes to proven optima, and how much sooner than the
 * mixed-integer program it has its answer. Values and proofs are the same for one build; seconds are CPU time
 * of the machine at hand. */
#include "apart.h"
#include "entries.h"
#include "placement_lp.h"

#include <sys/resource.h>

static void place(subject *x, const char *method, int64_t nodes, berth_solution *r)
{
	const berth_search_cfg cfg = {.seed = 1, .evaluations = 10000, .nodes = nodes};
	bench_bound(x);
	bench_solve(x, method, &cfg, r);
}

/* ---- quality ---- */

typedef struct counts {
	int32_t instances, open, close, close_open; /* open: proven, and the best single device is not optimal
	                                             */
	bench_mean above;                           /* of the proven */
} counts;

static void print_quality(const char *model, const char *system, int32_t groups, counts *n)
{
	enum { PROOF_NODES = 3000000 };
	berth_solution best, split, single;
	BENCH_OPEN(x, model, system);
	bench_group(&x, groups);
	place(&x, "branch-and-bound", PROOF_NODES, &best);
	place(&x, "split", 0, &split);
	place(&x, "single", 0, &single);
	bool proven = best.feasible && strcmp(best.status, "optimal") == 0,
	     open = proven && !(single.value <= best.value * (1 + 1e-9));
	double above = split.value / best.value - 1;
	printf("| %s | %s | %d | %.6g ms | %s | %.6g ms | %+.2f %% | %+.2f %% | %.1f ms | %.1f ms |\n", model,
	       system, (int)x.p.n_ops, best.value * 1e3, best.status, split.value * 1e3, 100 * above,
	       100 * (single.value / best.value - 1), split.solve_s * 1e3, best.solve_s * 1e3);
	n->instances++;
	n->open += open;
	n->close += proven && above <= 0.03;
	n->close_open += open && above <= 0.03;
	if (proven)
		bench_add(&n->above, 1 + above);
}

void table_split(const bench_options *o)
{
	static const char *const models[] = {
		"inception-v3", "randwire", "nasnet-a", "unet", "bert-base", "transformer", "random", "rnnlm",
		"gnmt", "ffnn", "chain-mm", "llama-block", "densenet121", "llama-layer", "random:ops=400"};
	static const char *const systems[] = {"cpu+2gpu", "edge", "hetero-cluster"};
	counts n = {0};
	(void)o;
	bench_head("model|system|groups|branch and bound||split|above|single above|CPU time of split|"
	           "CPU time of branch and bound");
	for (int32_t i = 0; i < 3 * BENCH_N(models); i++)
		print_quality(models[i / 3], systems[i % 3], 10 + i % 7, &n);
	printf("\nOf %d, %d are proven; splitting is within 3 %% of the optimum on %d of these, and on %d of "
	       "the %d where no single device is optimal.\nGeometric mean over the proven: %.2f %% "
	       "above.\n\n",
	       (int)n.instances, n.above.n, (int)n.close, (int)n.close_open, (int)n.open,
	       100 * (bench_mean_of(n.above) - 1));
}

/* ---- speed ---- */

enum { RUNS = 5, TIMES = 450 }; /* the CPU time of splitting that the mixed-integer program has */

typedef struct incumbent {
	const berth_problem *p;
	int64_t upper_ns;
	int32_t limit_s;
	double value; /* model seconds; INFINITY: none */
	int32_t rows, cols;
} incumbent;

/* The first solution of the mixed-integer program that is no longer than upper_ns. The solver has limit_s
 * CPU seconds. */
static berth_status first_incumbent(void *ctx, berth_err *err)
{
	incumbent *x = ctx;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_placement_lp m;
	berth_lp_result r;
	berth_lp_options options = {.gap = 1e9};
	const struct rlimit limit = {(rlim_t)x->limit_s, (rlim_t)x->limit_s};
	BERTH_TRY(berth_placement_lp_new(x->p, x->upper_ns, true, &mem, &m, err));
	x->rows = m.lp.n_rows;
	x->cols = m.lp.n_cols;
	setrlimit(RLIMIT_CPU, &limit);
	BERTH_TRY(berth_lp_solve(&m.lp, &options, &mem, &tmp, &r, err));
	x->value = isfinite(r.value) ? r.value / m.scale * 1e-9 : INFINITY;
	return BERTH_OK;
}

static void print_speed(const char *model, const char *system, int32_t groups)
{
	berth_solution split;
	double seconds[RUNS];
	bool answered;
	BENCH_OPEN(x, model, system);
	if (groups)
		bench_group(&x, groups);
	for (int i = 0; i < RUNS; i++) {
		place(&x, "split", 0, &split);
		seconds[i] = split.solve_s;
	}
	double own = bench_median(seconds, RUNS);
	incumbent y = {
		&x.p, llround(split.value * 1e9 * (1 + 1e-6)) + 1, (int32_t)ceil(TIMES * own), INFINITY, 0,
		0};
	const berth_apart_block block = {&y, sizeof y};
	double from = berth_cpu_seconds();
	MUST(berth_apart(NULL, first_incumbent, &y, 1, &block, &answered, &err));
	double took = berth_cpu_seconds() - from;
	bool found = answered && isfinite(y.value);
	const char *over = found ? "" : "> ";
	printf("| %s | %s | %d | %.6g ms | %.1f ms | %d x %d | %s | %s%.3g s | %s%.0f |\n", model, system,
	       (int)x.p.n_ops, split.value * 1e3, own * 1e3, (int)y.rows, (int)y.cols,
	       found ? "found" : "none", over, took, over, took / own);
}

void table_split_speed(const bench_options *o)
{
	static const char *const models[] = {"inception-v3", "randwire"}, *const systems[] = {"cpu+2gpu",
	                                                                                      "edge"};
	static const int32_t groups[] = {0, 64, 32};
	(void)o;
	bench_head("model|system|operators or groups|split|CPU time|rows x columns|incumbent in time|CPU "
	           "time|ratio");
	if (!berth_lp_solver()) {
		printf("\nskipped: needs %s\n", berth_lp_missing());
		return;
	}
	for (int i = 0; i < 12; i++)
		print_speed(models[i / 2 % 2], systems[i % 2], groups[i / 4]);
}
