/* berth-gap-table: prints the table of docs/bounds.md that tells when a search's best is proven how close,
 * and what fixing operators by bound and incumbent comes to. Counts are the same for one build; seconds are
 * CPU time of the machine at hand.
 *
 *     berth-gap-table [EVALUATIONS [MODEL...]] */
#include "ceft.h"
#include "load.h"
#include "load_system.h"
#include "search_bounds.h"
#include "solve.h"
#include "systems_builtin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const usual[] = {"resnet50",    "inception-v3", "bert-base", "gpt2",
                                    "llama",       "transformer",  "rnnlm",     "randwire",
                                    "llama-block", "chain-mm",     "random",    "mobilenet-v2:training=1"};
static const double gaps[] = {0.05, 0.01, 5e-5};

enum { N_USUAL = sizeof usual / sizeof *usual, N_GAPS = 3, MOST = 4096 };
#define NEAR 0.01 /* of the value that the search ends with */

/* Incumbents of a search: CPU seconds since the bounds were begun, and values. */
typedef struct track {
	double from, at[MOST], value[MOST];
	int32_t n;
} track;

/* Seconds of instances, and counts. */
typedef struct sums {
	double to_gap[N_GAPS][512], to_value[512], fixed[512];
	int32_t n, n_gap[N_GAPS], better, worse;
} sums;

static void note(void *ctx, const struct berth_search *s)
{
	track *t = ctx;
	if (!berth_score_feasible(s->best))
		return;
	int32_t k = t->n < MOST ? t->n++ : MOST - 1;
	t->at[k] = berth_cpu_seconds() - t->from;
	t->value[k] = s->best.value;
}

/* When the best was at most that; NAN: never. */
static double reached(const track *t, double value)
{
	for (int32_t k = 0; k < t->n; k++)
		if (t->value[k] <= value)
			return t->at[k];
	return NAN;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *x, int32_t n)
{
	qsort(x, (size_t)n, sizeof *x, by_value);
	return n == 0 ? NAN : n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Take devices out on which an operator's paths reach the incumbent. Returns the share of colocation groups
 * with several devices that keep one. */
static berth_status fix(berth_problem *p, int64_t best_ns, berth_arena *mem, double *share, berth_err *err)
{
	berth_ceft ceft;
	int64_t *tail;
	uint8_t *legal;
	int32_t free = 0, fixed = 0;
	size_t cells = (size_t)p->n_ops * (size_t)p->n_devs;
	BERTH_TRY(BERTH_NEW(mem, tail, cells, err));
	BERTH_TRY(BERTH_NEW(mem, legal, cells, err));
	BERTH_TRY(berth_ceft_new(p, mem, &ceft, err));
	berth_ceft_tails(p, NULL, tail);
	memcpy(legal, p->op_dev_legal, cells);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t before = 0, left = 0;
		for (int32_t d = 0; d < p->n_devs; d++) {
			bool may = true;
			before += berth_op_legal(p, p->coloc_op[p->coloc_off[u]], d);
			for (int32_t k = p->coloc_off[u]; k < p->coloc_off[u + 1]; k++) {
				size_t at = (size_t)p->coloc_op[k] * (size_t)p->n_devs + (size_t)d;
				may &= p->op_dev_legal[at] && ceft.finish_ns[at] + tail[at] < best_ns;
			}
			left += may;
			for (int32_t k = p->coloc_off[u]; k < p->coloc_off[u + 1] && !may; k++)
				legal[(size_t)p->coloc_op[k] * (size_t)p->n_devs + (size_t)d] = 0;
		}
		free += before > 1;
		fixed += before > 1 && left <= 1;
		for (int32_t k = p->coloc_off[u]; k < p->coloc_off[u + 1] && left == 0; k++)
			memcpy(legal + (size_t)p->coloc_op[k] * (size_t)p->n_devs,
			       p->op_dev_legal + (size_t)p->coloc_op[k] * (size_t)p->n_devs,
			       (size_t)p->n_devs);
	}
	p->op_dev_legal = legal;
	*share = free ? (double)fixed / free : 0;
	return BERTH_OK;
}

static berth_status search(const berth_problem *p, const berth_bounds *b, int64_t evaluations, uint64_t seed,
                           const berth_solution *from, track *t, berth_arena *mem, berth_arena *tmp,
                           berth_solution *r, berth_err *err)
{
	const berth_method *m;
	berth_search_cfg cfg = berth_search_cfg_default();
	BERTH_TRY(berth_method_find("anneal", &m, err));
	cfg.evaluations = evaluations;
	cfg.seed = seed;
	cfg.kept = t ? note : NULL;
	cfg.kept_ctx = t;
	cfg.start_dev = from ? from->op_dev : NULL;
	cfg.start_order = from ? from->op_order : NULL;
	return berth_solve(p, b, m, &cfg, mem, tmp, r, err);
}

/* The same search from the best, with and without operators that are fixed by it. */
static berth_status compare_fixed(const berth_problem *p, const berth_bounds *b, int64_t evaluations,
                                  const berth_solution *best, berth_arena *mem, berth_arena *tmp, sums *x,
                                  berth_err *err)
{
	berth_solution with, without;
	berth_problem fixed = *p;
	BERTH_TRY(fix(&fixed, llround(best->value * 1e9), mem, &x->fixed[x->n], err));
	BERTH_TRY(search(p, b, evaluations / 2, 2, best, NULL, mem, tmp, &without, err));
	BERTH_TRY(search(&fixed, b, evaluations / 2, 2, best, NULL, mem, tmp, &with, err));
	x->better += with.value < without.value * (1 - 1e-9);
	x->worse += with.value > without.value * (1 + 1e-9);
	return BERTH_OK;
}

static berth_status solve(const berth_problem *p, int64_t evaluations, berth_arena *mem, berth_arena *tmp,
                          sums *x, berth_err *err)
{
	static track t;
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_bound_options o = {.objective = &latency, .evaluations = evaluations};
	berth_bounds b;
	berth_solution r;
	t.n = 0;
	t.from = berth_cpu_seconds();
	BERTH_TRY(berth_search_bounds(p, &o, tmp, &b, err));
	BERTH_TRY(search(p, &b, evaluations, 1, NULL, &t, mem, tmp, &r, err));
	if (!r.feasible)
		return BERTH_OK;
	for (int k = 0; k < N_GAPS; k++) {
		double at = reached(&t, b.value[BERTH_LATENCY] * (1 + gaps[k]));
		if (!isnan(at))
			x->to_gap[k][x->n_gap[k]++] = at;
	}
	x->to_value[x->n] = reached(&t, r.value * (1 + NEAR));
	BERTH_TRY(compare_fixed(p, &b, evaluations, &r, mem, tmp, x, err));
	x->n++;
	return BERTH_OK;
}

static berth_status instance(const char *model, const char *system, int64_t evaluations, sums *x,
                             berth_err *err)
{
	char spec[96], machine[64];
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	snprintf(spec, sizeof spec, "zoo:%s", model);
	snprintf(machine, sizeof machine, "system:%s", system);
	berth_status st = berth_graph_load(spec, NULL, &mem, &tmp, &g, NULL, err);
	st = st ? st : berth_system_load(machine, NULL, &mem, &tmp, &s, err);
	st = st ? st : berth_problem_new(&g, &s, &mem, &tmp, &p, err);
	st = st ? st : solve(&p, evaluations, &mem, &tmp, x, err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static void print_row(const char *model, sums *x)
{
	printf("| %s | %d |", model, (int)x->n);
	for (int k = 0; k < N_GAPS; k++)
		printf(" %d |", (int)x->n_gap[k]);
	for (int k = 0; k < N_GAPS; k++) {
		double at = median(x->to_gap[k], x->n_gap[k]);
		isnan(at) ? printf(" - |") : printf(" %.2f s |", at);
	}
	printf(" %.2f s | %.0f %% | %d, %d |\n", median(x->to_value, x->n), 100 * median(x->fixed, x->n),
	       (int)x->better, (int)x->worse);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static sums all;
	int64_t evaluations = argc > 1 ? atoll(argv[1]) : 5000;
	int32_t n_systems, n = argc > 2 ? argc - 2 : N_USUAL;
	const berth_system_row *system = berth_system_builtin_list(&n_systems);
	printf("| model | instances | proven within 5 %% | 1 %% | 0 %% | CPU time to 5 %% | CPU time to 1 %% "
	       "| CPU "
	       "time to 0 %% | CPU time to the value | fixed | with them better, worse |\n"
	       "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
	for (int32_t i = 0; i < n; i++) {
		sums x = {0};
		const char *model = argc > 2 ? argv[i + 2] : usual[i];
		for (int32_t k = 0; k < n_systems; k++) {
			berth_err err;
			berth_status st = instance(model, system[k].name, evaluations, &x, &err);
			if (st != BERTH_OK) {
				fprintf(stderr, "berth-gap-table: %s on %s: %s\n", model, system[k].name,
				        err.msg);
				return berth_exit_code(st);
			}
		}
		all.n += x.n;
		all.better += x.better;
		all.worse += x.worse;
		for (int k = 0; k < N_GAPS; k++)
			all.n_gap[k] += x.n_gap[k];
		print_row(model, &x);
	}
	printf("\nOf %d instances %d are proven within 5 %%, %d within 1 %%, %d best. With fixed operators "
	       "the "
	       "search from the best ends better on %d and worse on %d.\n",
	       (int)all.n, (int)all.n_gap[0], (int)all.n_gap[1], (int)all.n_gap[2], (int)all.better,
	       (int)all.worse);
	return 0;
}
