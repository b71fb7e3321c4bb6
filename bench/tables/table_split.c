/* The tables of docs/methods.md: how close splitting comes to proven optima, and how much sooner than the
 * mixed-integer program it has its answer. Values and proofs are the same for one build; seconds are CPU time
 * of the machine at hand. */
#include "bench.h"

#include "apart.h"
#include "placement_lp.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

static void place(subject *x, const char *method, int64_t nodes, berth_solution *r)
{
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.nodes = nodes;
	bench_bound(x);
	bench_solve(x, &x->b, method, &cfg, r);
}

/* ---- quality ---- */

#define PROOF_NODES 3000000

typedef struct counts {
	int32_t instances, proven, open, close, close_open; /* open: proven, and the best single device is not
	                                                       optimal */
	double log_sum;
} counts;

static void print_quality(const char *model, const char *system, int32_t groups, counts *n)
{
	berth_solution best, split, single;
	subject x;
	bench_open(&x, model, system);
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
	fflush(stdout);
	n->instances++;
	n->proven += proven;
	n->open += open;
	n->close += proven && above <= 0.03;
	n->close_open += open && above <= 0.03;
	n->log_sum += proven ? log1p(above) : 0;
	bench_close(&x);
}

static void run_split(const bench_options *o)
{
	static const char *const models[] = {
		"inception-v3", "randwire", "nasnet-a", "unet", "bert-base", "transformer", "random", "rnnlm",
		"gnmt", "ffnn", "chain-mm", "llama-block", "densenet121", "llama-layer", "random:ops=400"};
	static const char *const systems[] = {"cpu+2gpu", "edge", "hetero-cluster"};
	enum { N_MODELS = sizeof models / sizeof *models, N_SYSTEMS = 3 };
	counts n = {0};
	(void)o;
	bench_head("model|system|groups|branch and bound||split|above|single above|CPU time of split|"
	           "CPU time of branch and bound");
	for (int32_t i = 0; i < N_MODELS; i++)
		for (int32_t k = 0; k < N_SYSTEMS; k++)
			print_quality(models[i], systems[k], 10 + (3 * i + k) % 7, &n);
	printf("\nOf %d, %d are proven; splitting is within 3 %% of the optimum on %d of these, and on %d of "
	       "the %d where no single device is optimal.\n"
	       "Geometric mean over the proven: %.2f %% above.\n\n",
	       (int)n.instances, (int)n.proven, (int)n.close, (int)n.close_open, (int)n.open,
	       100 * expm1(n.log_sum / fmax(n.proven, 1)));
}

const bench_entry bench_split = {
	"split", "", "methods", "20 min",
	"how close splitting comes to proven optima", {0}, run_split};

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
	berth_arena mem = {0}, tmp = {0};
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
	subject x;
	bench_open(&x, model, system);
	if (groups)
		bench_group(&x, groups);
	for (int i = 0; i < RUNS; i++) {
		place(&x, "split", 0, &split);
		seconds[i] = split.solve_s;
	}
	double own = bench_median(seconds, RUNS);
	incumbent y = {.p = &x.p,
	               .upper_ns = llround(split.value * 1e9 * (1 + 1e-6)) + 1,
	               .limit_s = (int32_t)ceil(TIMES * own),
	               .value = INFINITY};
	const berth_apart_block block = {&y, sizeof y};
	double from = berth_cpu_seconds();
	MUST(berth_apart(NULL, first_incumbent, &y, 1, &block, &answered, &err));
	double took = berth_cpu_seconds() - from;
	bool found = answered && isfinite(y.value);
	const char *over = found ? "" : "> ";
	printf("| %s | %s | %d | %.6g ms | %.1f ms | %d x %d | %s | %s%.3g s | %s%.0f |\n", model, system,
	       (int)x.p.n_ops, split.value * 1e3, own * 1e3, (int)y.rows, (int)y.cols,
	       found ? "found" : "none", over, took, over, took / own);
	fflush(stdout);
	bench_close(&x);
}

static void run_split_speed(const bench_options *o)
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

const bench_entry bench_split_speed = {
	"split-speed", "", "methods", "20 min",
	"how much sooner than the mixed-integer program splitting answers", {0}, run_split_speed};
