/* berth-exact-table: prints the tables of docs/bounds.md: what the exact methods prove on grouped zoo models.
 * Values and proofs are the same for one build; seconds are CPU time of the machine at hand.
 *
 *     berth-exact-table [NODES OF BRANCH AND BOUND] [NODES OF MILP] */
#include "coarsen.h"
#include "load.h"
#include "load_system.h"
#include "solve.h"
#include "quotient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"inception-v3", "randwire",    "nasnet-a",      "unet",
                                     "bert-base",    "transformer", "random",        "rnnlm",
                                     "gnmt",         "ffnn",        "chain-mm",      "llama-block",
                                     "densenet121",  "llama-layer", "random:ops=400"};
static const char *const systems[] = {"cpu+2gpu", "edge"};
static const char *const methods[] = {"branch-and-bound", "milp"};

enum { N_MODELS = sizeof models / sizeof *models, N_SYSTEMS = 2, N_METHODS = 2 };

typedef struct counts {
	int32_t instances, proven[N_METHODS], either;
} counts;

/* The groups of a zoo model on a system as a problem of their own. */
static berth_status make(const char *model, const char *system, int32_t target, berth_arena *mem,
                         berth_arena *tmp, berth_problem *out, berth_err *err)
{
	char spec[64], machine[64];
	berth_graph *g, *q;
	berth_system *s;
	berth_problem p;
	berth_coarsening c;
	double *cost;
	BERTH_TRY(BERTH_NEW(mem, g, 1, err));
	BERTH_TRY(BERTH_NEW(mem, q, 1, err));
	BERTH_TRY(BERTH_NEW(mem, s, 1, err));
	snprintf(spec, sizeof spec, "zoo:%s", model);
	snprintf(machine, sizeof machine, "system:%s", system);
	BERTH_TRY(berth_graph_load(spec, NULL, mem, tmp, g, NULL, err));
	BERTH_TRY(berth_system_load(machine, NULL, mem, tmp, s, err));
	BERTH_TRY(berth_problem_new(g, s, mem, tmp, &p, err));
	BERTH_TRY(BERTH_NEW(mem, cost, p.n_ops, err));
	for (int32_t op = 0; op < p.n_ops; op++)
		cost[op] = (double)p.op_mean_ns[op];
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target);
	cfg.op_cost = cost;
	cfg.balance = 2;
	BERTH_TRY(berth_coarsen(g, &cfg, mem, tmp, &c, err));
	BERTH_TRY(berth_quotient_new(&p, &c, mem, tmp, q, err));
	return berth_problem_new(q, s, mem, tmp, out, err);
}

static berth_status solve(const berth_problem *p, const char *method, int64_t nodes, berth_arena *mem,
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

static berth_status row(const char *model, const char *system, int32_t target, const int64_t *nodes,
                        counts *n, berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_problem p;
	bool proven[N_METHODS] = {0};
	berth_status st = make(model, system, target, &mem, &tmp, &p, err);
	if (st == BERTH_OK)
		printf("| %s | %s | %d ", model, system, (int)p.n_ops);
	for (int k = 0; k < N_METHODS && st == BERTH_OK; k++) {
		berth_solution r;
		st = solve(&p, methods[k], nodes[k], &mem, &tmp, &r, err);
		if (st == BERTH_EUNSUPPORTED) {
			printf("| - | - | - | - ");
			st = BERTH_OK;
			continue;
		}
		if (st != BERTH_OK)
			break;
		proven[k] = r.feasible && strcmp(r.status, "optimal") == 0;
		n->proven[k] += proven[k];
		printf("| %.6g ms | %s, %.2f %% | %lld | %.2f s ", r.value * 1e3, r.status, 100 * r.gap,
		       (long long)r.nodes, r.solve_s);
	}
	if (st == BERTH_OK)
		printf("|\n");
	fflush(stdout);
	n->instances++;
	n->either += proven[0] || proven[1];
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

int main(int argc, char **argv)
{
	int64_t nodes[N_METHODS] = {argc > 1 ? atoll(argv[1]) : 0, argc > 2 ? atoll(argv[2]) : 0};
	counts n = {0};
	printf("| model | system | groups | branch-and-bound | | nodes | CPU time | milp | | nodes | CPU "
	       "time |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (int32_t i = 0; i < N_MODELS; i++)
		for (int32_t k = 0; k < N_SYSTEMS; k++) {
			berth_err err;
			if (row(models[i], systems[k], 12 + (2 * i + k) % 5, nodes, &n, &err) != BERTH_OK) {
				fprintf(stderr, "berth-exact-table: %s on %s: %s\n", models[i], systems[k],
				        err.msg);
				return 1;
			}
		}
	printf("\nProven optimal, of %d: %d by branch and bound, %d by milp, %d by either.\n",
	       (int)n.instances, (int)n.proven[0], (int)n.proven[1], (int)n.either);
	return 0;
}
