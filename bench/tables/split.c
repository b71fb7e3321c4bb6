/* berth-split-table: prints the tables of docs/methods.md: how close splitting comes to proven optima, how
 * much sooner than the mixed-integer program it has its answer. Values and proofs are the same for one build;
 * seconds are CPU time of the machine at hand.
 *
 *     berth-split-table [TIMES THE CPU TIME OF SPLITTING THAT THE MIXED-INTEGER PROGRAM HAS] */
#include "apart.h"
#include "coarsen.h"
#include "load.h"
#include "load_system.h"
#include "placement_lp.h"
#include "quotient.h"
#include "solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char *const models[] = {"inception-v3", "randwire",    "nasnet-a",      "unet",
                                     "bert-base",    "transformer", "random",        "rnnlm",
                                     "gnmt",         "ffnn",        "chain-mm",      "llama-block",
                                     "densenet121",  "llama-layer", "random:ops=400"};
static const char *const systems[] = {"cpu+2gpu", "edge", "hetero-cluster"};

enum { N_MODELS = sizeof models / sizeof *models, N_SYSTEMS = 3, RUNS = 5 };
#define PROOF_NODES 3000000

/* A zoo model on a system; groups > 0: its groups (heavy-edge) as a problem of their own. */
static berth_status make(const char *model, const char *system, int32_t groups, berth_arena *mem,
                         berth_arena *tmp, berth_problem *out, berth_err *err)
{
	char spec[64], machine[64];
	berth_graph *g, *q;
	berth_system *s;
	berth_problem *p;
	berth_coarsening c;
	double *cost;
	BERTH_TRY(BERTH_NEW(mem, g, 1, err));
	BERTH_TRY(BERTH_NEW(mem, q, 1, err));
	BERTH_TRY(BERTH_NEW(mem, s, 1, err));
	BERTH_TRY(BERTH_NEW(mem, p, 1, err));
	snprintf(spec, sizeof spec, "zoo:%s", model);
	snprintf(machine, sizeof machine, "system:%s", system);
	BERTH_TRY(berth_graph_load(spec, NULL, mem, tmp, g, NULL, err));
	BERTH_TRY(berth_system_load(machine, NULL, mem, tmp, s, err));
	if (groups == 0)
		return berth_problem_new(g, s, mem, tmp, out, err);
	BERTH_TRY(berth_problem_new(g, s, mem, tmp, p, err));
	BERTH_TRY(BERTH_NEW(mem, cost, p->n_ops, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		cost[op] = (double)p->op_mean_ns[op];
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(groups);
	cfg.op_cost = cost;
	cfg.balance = 2;
	BERTH_TRY(berth_coarsen(g, &cfg, mem, tmp, &c, err));
	BERTH_TRY(berth_quotient_new(p, &c, mem, tmp, q, err));
	return berth_problem_new(q, s, mem, tmp, out, err);
}

static berth_status place(const berth_problem *p, const char *method, int64_t nodes, berth_arena *mem,
                          berth_arena *tmp, berth_solution *r, berth_err *err)
{
	const berth_method *m;
	berth_bounds b;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.nodes = nodes;
	BERTH_TRY(berth_bounds_new(p, tmp, &b, err));
	BERTH_TRY(berth_method_find(method, &m, err));
	return berth_solve(p, &b, m, &cfg, mem, tmp, r, err);
}

/* ---- quality ---- */

typedef struct counts {
	int32_t instances, proven, open, close, close_open; /* open: proven, and the best single device is not
	                                                       optimal */
	double log_sum;
} counts;

static berth_status quality_row(const char *model, const char *system, int32_t groups, counts *n,
                                berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_problem p;
	berth_solution best, split, single;
	berth_status st = make(model, system, groups, &mem, &tmp, &p, err);
	if (st == BERTH_OK)
		st = place(&p, "branch-and-bound", PROOF_NODES, &mem, &tmp, &best, err);
	if (st == BERTH_OK)
		st = place(&p, "split", 0, &mem, &tmp, &split, err);
	if (st == BERTH_OK)
		st = place(&p, "single", 0, &mem, &tmp, &single, err);
	if (st == BERTH_OK) {
		bool proven = best.feasible && strcmp(best.status, "optimal") == 0,
		     open = proven && !(single.value <= best.value * (1 + 1e-9));
		double above = split.value / best.value - 1;
		printf("| %s | %s | %d | %.6g ms | %s | %.6g ms | %+.2f %% | %+.2f %% | %.1f ms | %.1f ms "
		       "|\n",
		       model, system, (int)p.n_ops, best.value * 1e3, best.status, split.value * 1e3,
		       100 * above, 100 * (single.value / best.value - 1), split.solve_s * 1e3,
		       best.solve_s * 1e3);
		n->instances++;
		n->proven += proven;
		n->open += open;
		n->close += proven && above <= 0.03;
		n->close_open += open && above <= 0.03;
		n->log_sum += proven ? log1p(above) : 0;
	}
	fflush(stdout);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static berth_status quality(berth_err *err)
{
	counts n = {0};
	printf("| model | system | groups | branch and bound | | split | above | single above | CPU time of "
	       "split | "
	       "CPU time of branch and bound |\n|---|---|---|---|---|---|---|---|---|---|\n");
	for (int32_t i = 0; i < N_MODELS; i++)
		for (int32_t k = 0; k < N_SYSTEMS; k++)
			BERTH_TRY(quality_row(models[i], systems[k], 10 + (3 * i + k) % 7, &n, err));
	printf("\nOf %d, %d are proven; splitting is within 3 %% of the optimum on %d of these, and on %d of "
	       "the %d where no single device is optimal.\n"
	       "Geometric mean over the proven: %.2f %% above.\n\n",
	       (int)n.instances, (int)n.proven, (int)n.close, (int)n.close_open, (int)n.open,
	       100 * expm1(n.log_sum / fmax(n.proven, 1)));
	return BERTH_OK;
}

/* ---- speed ---- */

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

static int by_value(const void *a, const void *b)
{
	double u = *(const double *)a, v = *(const double *)b;
	return (u > v) - (u < v);
}

static berth_status speed_row(const char *model, const char *system, int32_t groups, int32_t times,
                              berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_problem p;
	berth_solution split;
	double seconds[RUNS];
	BERTH_TRY(make(model, system, groups, &mem, &tmp, &p, err));
	for (int i = 0; i < RUNS; i++) {
		BERTH_TRY(place(&p, "split", 0, &mem, &tmp, &split, err));
		seconds[i] = split.solve_s;
	}
	qsort(seconds, RUNS, sizeof *seconds, by_value);
	incumbent x = {.p = &p,
	               .upper_ns = llround(split.value * 1e9 * (1 + 1e-6)) + 1,
	               .limit_s = (int32_t)ceil(times * seconds[RUNS / 2]),
	               .value = INFINITY};
	const berth_apart_block block = {&x, sizeof x};
	bool answered;
	double from = berth_cpu_seconds();
	BERTH_TRY(berth_apart(NULL, first_incumbent, &x, 1, &block, &answered, err));
	double took = berth_cpu_seconds() - from;
	bool found = answered && isfinite(x.value);
	printf("| %s | %s | %d | %.6g ms | %.1f ms | %d x %d | %s | %s%.3g s | %s%.0f |\n", model, system,
	       (int)p.n_ops, split.value * 1e3, seconds[RUNS / 2] * 1e3, (int)x.rows, (int)x.cols,
	       found ? "found" : "none", found ? "" : "> ", took, found ? "" : "> ",
	       took / seconds[RUNS / 2]);
	fflush(stdout);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return BERTH_OK;
}

static berth_status speed(int32_t times, berth_err *err)
{
	static const char *const speed_models[] = {"inception-v3", "randwire"}, *const speed_systems[] = {
											"cpu+2gpu", "edge"};
	static const int32_t groups[] = {0, 64, 32};
	printf("| model | system | operators or groups | split | CPU time | rows x columns | incumbent in "
	       "time | CPU time | "
	       "ratio |\n|---|---|---|---|---|---|---|---|---|\n");
	if (!berth_lp_solver()) {
		printf("\nskipped: needs %s\n", berth_lp_missing());
		return BERTH_OK;
	}
	for (int g = 0; g < 3; g++)
		for (int i = 0; i < 2; i++)
			for (int k = 0; k < 2; k++)
				BERTH_TRY(
					speed_row(speed_models[i], speed_systems[k], groups[g], times, err));
	return BERTH_OK;
}

int main(int argc, char **argv)
{
	berth_err err;
	bool speeds = argc > 1 && strcmp(argv[1], "--speed") == 0;
	if ((speeds ? speed(argc > 2 ? atoi(argv[2]) : 450, &err) : quality(&err)) == BERTH_OK)
		return 0;
	fprintf(stderr, "berth-split-table: %s\n", err.msg);
	return 1;
}
