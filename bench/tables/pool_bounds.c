/* berth-pool-bounds-table: prints the table of memory pools in docs/bounds.md: the best placements found on
 * the built-in systems with pools against the bound, and against the bound of the same system without them.
 * Same build, same text.
 *
 *     berth-pool-bounds-table [EVALUATIONS] */
#include "load.h"
#include "load_system.h"
#include "solve.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const systems[] = {"system:laptop", "system:edge"};
static const char *const models[] = {"zoo:llama:layers=4:mode=decode", "zoo:moe:layers=2:mode=decode",
                                     "zoo:rnnlm", "zoo:gpt2", "zoo:resnet50:batch=8", "zoo:randwire"};
static const berth_metric metrics[] = {BERTH_LATENCY, BERTH_THROUGHPUT};

enum { N_SYSTEMS = 2, N_MODELS = 6, N_METRICS = 2 };

typedef struct row {
	const char *model, *system;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds with, without;
	double value[N_METRICS]; /* NAN: none found */
} row;

/* Each device may hold what the pool may. */
static void drop_pools(berth_system *s)
{
	for (int32_t d = 0; d < s->n_devs; d++) {
		int32_t pool = s->dev_pool[d];
		if (pool >= 0 && s->dev_memory_bytes[d] < 0)
			s->dev_memory_bytes[d] = s->pool_bytes[pool];
	}
	s->n_pools = 0;
}

static berth_status strong_bounds(const berth_problem *p, berth_arena *tmp, berth_bounds *b, berth_err *err)
{
	berth_bound_effort all = berth_bound_effort_all(NULL);
	BERTH_TRY(berth_bounds_new(p, tmp, b, err));
	return berth_bounds_strengthen(p, &all, tmp, b, err);
}

static berth_status bound_both(row *r, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_system plain;
	berth_problem q;
	BERTH_TRY(berth_graph_load(r->model, NULL, mem, tmp, &r->g, NULL, err));
	BERTH_TRY(berth_system_load(r->system, NULL, mem, tmp, &r->s, err));
	BERTH_TRY(berth_problem_new(&r->g, &r->s, mem, tmp, &r->p, err));
	BERTH_TRY(strong_bounds(&r->p, tmp, &r->with, err));
	BERTH_TRY(berth_system_load(r->system, NULL, mem, tmp, &plain, err));
	drop_pools(&plain);
	BERTH_TRY(berth_problem_new(&r->g, &plain, mem, tmp, &q, err));
	return strong_bounds(&q, tmp, &r->without, err);
}

static berth_status solve(row *r, int64_t evaluations, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_method *m;
	BERTH_TRY(berth_method_find("berth", &m, err));
	for (int k = 0; k < N_METRICS; k++) {
		berth_solution x;
		berth_search_cfg cfg = berth_search_cfg_default();
		cfg.objective = berth_objective_of(metrics[k]);
		cfg.evaluations = evaluations;
		BERTH_TRY(berth_solve(&r->p, &r->with, m, &cfg, mem, tmp, &x, err));
		r->value[k] = x.feasible ? x.value : NAN;
	}
	return BERTH_OK;
}

static void tell(const row *r)
{
	char value[32];
	for (int k = 0; k < N_METRICS; k++) {
		berth_metric m = metrics[k];
		if (isnan(r->value[k])) {
			printf("| %s | %s | %s | none found | | |\n", r->g.name, r->s.name,
			       berth_metrics[m].name);
			continue;
		}
		printf("| %s | %s | %s | %s | %.2f %% | %.2f %% |\n", r->g.name, r->s.name,
		       berth_metrics[m].name, berth_text_seconds(value, r->value[k]),
		       100 * berth_gap(r->value[k], r->without.value[m]),
		       100 * berth_gap(r->value[k], r->with.value[m]));
	}
	fflush(stdout);
}

static berth_status rows(int64_t evaluations, berth_err *err)
{
	for (int i = 0; i < N_SYSTEMS * N_MODELS; i++) {
		berth_arena mem = {0}, tmp = {0};
		row r = {.model = models[i % N_MODELS], .system = systems[i / N_MODELS]};
		berth_status st = bound_both(&r, &mem, &tmp, err);
		st = st ? st : solve(&r, evaluations, &mem, &tmp, err);
		if (st == BERTH_OK)
			tell(&r);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		BERTH_TRY(st);
	}
	return BERTH_OK;
}

int main(int argc, char **argv)
{
	berth_err err;
	printf("| model | system | objective | best found | gap, pools left out | gap |\n"
	       "|---|---|---|---|---|---|\n");
	if (rows(argc > 1 ? atoll(argv[1]) : 3000, &err) != BERTH_OK) {
		fprintf(stderr, "berth-pool-bounds-table: %s\n", err.msg);
		return berth_exit_code(err.code);
	}
	return 0;
}
