/* berth-bounds-table: prints the tables of docs/bounds.md: the best known placements of the zoo on the
 * built-in systems against the bounds. Same build, same text.
 *
 *     berth-bounds-table [EVALUATIONS] [NODES] */
#include "load.h"
#include "load_system.h"
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

enum { N_METHODS = 3, N_TRAINED = 4, MOST_ROWS = 512 };

typedef struct table {
	int64_t evaluations, nodes;
	double fast[MOST_ROWS], strong[MOST_ROWS]; /* gaps */
	int32_t n, without, closed_fast, closed_strong;
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
                 const berth_bounds *fast, const berth_bounds *strong)
{
	if (isnan(value)) {
		t->without++;
		printf("| %s | %s | none found | | | |\n", model, system);
		return;
	}
	double f = berth_gap(value, fast->value[BERTH_LATENCY]),
	       s = berth_gap(value, strong->value[BERTH_LATENCY]);
	t->closed_fast += f <= 0;
	t->closed_strong += s <= 0;
	t->fast[t->n] = f;
	t->strong[t->n++] = s;
	printf("| %s | %s | %.6g ms | %s | %.2f %% | %.2f %% |\n", model, system, value * 1e3, by, 100 * f,
	       100 * s);
	fflush(stdout);
}

static berth_status row(table *t, const char *model, const char *system, berth_err *err)
{
	char spec[96], machine[64];
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds fast = {0}, strong;
	berth_bound_effort effort = berth_bound_effort_all(NULL);
	double value;
	const char *by = "";
	effort.nodes = t->nodes;
	snprintf(spec, sizeof spec, "zoo:%s", model);
	snprintf(machine, sizeof machine, "system:%s", system);
	berth_status st = berth_graph_load(spec, NULL, &mem, &tmp, &g, NULL, err);
	st = st ? st : berth_system_load(machine, &mem, &tmp, &s, err);
	st = st ? st : berth_problem_new(&g, &s, &mem, &tmp, &p, err);
	st = st ? st : berth_bounds_new(&p, &tmp, &fast, err);
	strong = fast;
	st = st ? st : berth_bounds_strengthen(&p, &effort, &tmp, &strong, err);
	st = st ? st : best_known(&p, &strong, t, &tmp, &value, &by, err);
	if (st == BERTH_OK)
		tell(t, model, system, value, by, &fast, &strong);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static berth_status rows(table *t, berth_err *err)
{
	int32_t n_models, n_systems;
	const berth_zoo_model *zoo = berth_zoo_list(&n_models);
	const berth_system_row *system = berth_system_builtin_list(&n_systems);
	for (int32_t k = 0; k < n_systems; k++)
		for (int32_t i = 0; i < n_models + N_TRAINED && t->n + t->without < MOST_ROWS; i++)
			BERTH_TRY(row(t, i < n_models ? zoo[i].name : trained[i - n_models], system[k].name,
			              err));
	return BERTH_OK;
}

int main(int argc, char **argv)
{
	static table t;
	berth_err err;
	t.evaluations = argc > 1 ? atoll(argv[1]) : 5000;
	t.nodes = argc > 2 ? atoll(argv[2]) : BERTH_BOUND_NODES;
	printf("| model | system | best | by | gap, fast | gap, strong |\n|---|---|---|---|---|---|\n");
	if (rows(&t, &err) != BERTH_OK) {
		fprintf(stderr, "berth-bounds-table: %s\n", err.msg);
		return berth_exit_code(err.code);
	}
	printf("\n%d instances (%d more have no placement that fits, or none was found). Fast bound: median "
	       "gap %.2f %%, %d closed. Strong bound: median gap %.2f %%, %d "
	       "closed.\n",
	       (int)t.n, (int)t.without, 100 * median(t.fast, t.n), (int)t.closed_fast,
	       100 * median(t.strong, t.n), (int)t.closed_strong);
	return 0;
}
