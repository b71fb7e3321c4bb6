/* berth-bounds-table: prints the tables of docs/bounds.md: the best known placements of the zoo on the
 * built-in systems against the bounds. Same build, same text.
 *
 *     berth-bounds-table [EVALUATIONS [NODES [MODEL...]]]
 *
 * NODES 0: the default. Without models: all of the zoo, and training steps. */
#include "load.h"
#include "load_system.h"
#include "search_bounds.h"
#include "solve.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const methods[] = {"local-search", "anneal", "berth"};
static const char *const trained[] = {"resnet50:training=1", "bert-base:training=1",
                                      "inception-v3:training=1", "mobilenet-v2:training=1"};

static const char *const kinds[] = {"fast", "auto", "strong"};

enum { N_METHODS = 3, N_TRAINED = 4, N_KINDS = 3, MOST_ROWS = 512 };

typedef struct table {
	int64_t evaluations, nodes;
	double gap[N_KINDS][MOST_ROWS];
	int32_t n, without, closed[N_KINDS];
} table;

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

static berth_status best_known(const berth_problem *p, const berth_bounds *b, const table *t,
                               berth_arena *tmp, double *value, const char **by, berth_err *err)
{
	*value = NAN;
	for (int k = 0; k < N_METHODS; k++) {
		berth_arena mem = {0};
		const berth_method *m;
		berth_solution r;
		berth_search_cfg cfg = berth_search_cfg_default();
		cfg.evaluations = t->evaluations;
		BERTH_TRY(berth_method_find(methods[k], &m, err));
		berth_status st = berth_solve(p, b, m, &cfg, &mem, tmp, &r, err);
		if (st == BERTH_OK && r.feasible && !(*value <= r.value)) {
			*value = r.value;
			*by = m->name;
		}
		berth_arena_free(&mem);
		if (st != BERTH_OK && st != BERTH_ELIMIT)
			return st;
	}
	return BERTH_OK;
}

static void tell(table *t, const char *model, const char *system, double value, const char *by,
                 const berth_bounds *b)
{
	if (isnan(value)) {
		t->without++;
		printf("| %s | %s | none found | | | | |\n", model, system);
		return;
	}
	printf("| %s | %s | %.6g ms | %s |", model, system, value * 1e3, by);
	for (int k = 0; k < N_KINDS; k++) {
		t->gap[k][t->n] = berth_gap(value, b[k].value[BERTH_LATENCY]);
		t->closed[k] += t->gap[k][t->n] < 5e-5;
		printf(" %.2f %% |", 100 * t->gap[k][t->n]);
	}
	t->n++;
	putchar('\n');
	fflush(stdout);
}

static berth_status all_bounds(const berth_problem *p, const table *t, berth_arena *tmp, berth_bounds *b,
                               berth_err *err)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	for (int k = 0; k < N_KINDS; k++) {
		berth_bound_options o = {.bound = kinds[k],
		                         .objective = &latency,
		                         .evaluations = t->evaluations,
		                         .nodes = t->nodes};
		BERTH_TRY(berth_search_bounds(p, &o, tmp, &b[k], err));
	}
	return BERTH_OK;
}

static berth_status row(table *t, const char *model, const char *system, berth_err *err)
{
	char spec[96], machine[64];
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds b[N_KINDS] = {{0}};
	double value;
	const char *by = "";
	snprintf(spec, sizeof spec, "zoo:%s", model);
	snprintf(machine, sizeof machine, "system:%s", system);
	berth_status st = berth_graph_load(spec, NULL, &mem, &tmp, &g, NULL, err);
	st = st ? st : berth_system_load(machine, NULL, &mem, &tmp, &s, err);
	st = st ? st : berth_problem_new(&g, &s, &mem, &tmp, &p, err);
	st = st ? st : all_bounds(&p, t, &tmp, b, err);
	st = st ? st : best_known(&p, &b[N_KINDS - 1], t, &tmp, &value, &by, err);
	if (st == BERTH_OK)
		tell(t, model, system, value, by, b);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static berth_status rows(table *t, char **model, int32_t n_asked, berth_err *err)
{
	int32_t n_models, n_systems;
	const berth_zoo_model *zoo = berth_zoo_list(&n_models);
	const berth_system_row *system = berth_system_builtin_list(&n_systems);
	int32_t n = n_asked ? n_asked : n_models + N_TRAINED;
	for (int32_t k = 0; k < n_systems; k++)
		for (int32_t i = 0; i < n && t->n + t->without < MOST_ROWS; i++)
			BERTH_TRY(row(t,
			              n_asked        ? model[i]
			              : i < n_models ? zoo[i].name
			                             : trained[i - n_models],
			              system[k].name, err));
	return BERTH_OK;
}

int main(int argc, char **argv)
{
	static table t;
	berth_err err;
	t.evaluations = argc > 1 ? atoll(argv[1]) : 5000;
	t.nodes = argc > 2 ? atoll(argv[2]) : 0;
	printf("| model | system | best | by | gap, fast | gap, auto | gap, strong |\n"
	       "|---|---|---|---|---|---|---|\n");
	if (rows(&t, argv + 3, argc > 3 ? argc - 3 : 0, &err) != BERTH_OK) {
		fprintf(stderr, "berth-bounds-table: %s\n", err.msg);
		return berth_exit_code(err.code);
	}
	printf("\n%d instances (%d more have no placement that fits, or none was found). Median gap, and how "
	       "many are 0.00 %%:",
	       (int)t.n, (int)t.without);
	for (int k = 0; k < N_KINDS; k++)
		printf("%s %s %.2f %%, %d", k ? ";" : "", kinds[k], 100 * median(t.gap[k], t.n),
		       (int)t.closed[k]);
	printf(".\n");
	return 0;
}
