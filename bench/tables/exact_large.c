/* berth-exact-large-table: prints the table of docs/bounds.md on larger instances: zoo models grouped to 32
 * and 64, and random graphs of 30 to 60 operators. Values and proofs are the same for one build; seconds are
 * CPU time of the machine at hand.
 *
 *     berth-exact-large-table [NODES OF BRANCH AND BOUND [NODES OF A TREE]] */
#include "certify_tree.h"
#include "coarsen.h"
#include "load.h"
#include "load_system.h"
#include "quotient.h"
#include "solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"inception-v3", "randwire", "nasnet-a", "unet",        "bert-base",
                                     "transformer",  "rnnlm",    "gnmt",     "ffnn",        "chain-mm",
                                     "llama-block",  "gpt2",     "resnet50", "densenet121", "llama-layer"};
static const char *const systems[] = {"cpu+2gpu", "edge"};

enum { N_MODELS = sizeof models / sizeof *models, N_SYSTEMS = 2 };

typedef struct counts {
	int32_t instances, proven, by_cases;
	int64_t nodes, tree_nodes;
} counts;

static berth_status group(const berth_problem *p, int32_t target, berth_arena *mem, berth_arena *tmp,
                          berth_problem *out, berth_err *err)
{
	berth_coarsening c;
	berth_graph *q;
	double *cost;
	BERTH_TRY(BERTH_NEW(mem, q, 1, err));
	BERTH_TRY(BERTH_NEW(mem, cost, p->n_ops, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		cost[op] = (double)p->op_mean_ns[op];
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target);
	cfg.op_cost = cost;
	cfg.balance = 2;
	BERTH_TRY(berth_coarsen(p->g, &cfg, mem, tmp, &c, err));
	BERTH_TRY(berth_quotient_new(p, &c, mem, tmp, q, err));
	return berth_problem_new(q, p->s, mem, tmp, out, err);
}

/* A graph on a system; target: groups of it, 0: as it is. */
static berth_status make(const char *spec, const char *system, int32_t target, berth_arena *mem,
                         berth_arena *tmp, berth_problem *out, berth_err *err)
{
	char machine[64];
	berth_graph *g;
	berth_system *s;
	berth_problem *p;
	BERTH_TRY(BERTH_NEW(mem, g, 1, err));
	BERTH_TRY(BERTH_NEW(mem, s, 1, err));
	BERTH_TRY(BERTH_NEW(mem, p, 1, err));
	snprintf(machine, sizeof machine, "system:%s", system);
	BERTH_TRY(berth_graph_load(spec, NULL, mem, tmp, g, NULL, err));
	BERTH_TRY(berth_system_load(machine, NULL, mem, tmp, s, err));
	BERTH_TRY(berth_problem_new(g, s, mem, tmp, p, err));
	if (target)
		return group(p, target, mem, tmp, out, err);
	*out = *p;
	return BERTH_OK;
}

static berth_status solve(const berth_problem *p, int64_t nodes, berth_arena *mem, berth_arena *tmp,
                          berth_solution *r, berth_err *err)
{
	const berth_method *m;
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_bound_effort effort = berth_bound_effort_all(&latency);
	berth_bounds b;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.nodes = nodes;
	BERTH_TRY(berth_bounds_new(p, tmp, &b, err));
	BERTH_TRY(berth_bounds_strengthen(p, &effort, tmp, &b, err));
	BERTH_TRY(berth_method_find("branch-and-bound", &m, err));
	return berth_solve(p, &b, m, &cfg, mem, tmp, r, err);
}

static berth_status row(const char *spec, const char *system, int32_t target, const int64_t *nodes, counts *n,
                        berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_problem p;
	berth_solution r;
	int64_t ns, tree_nodes = 0;
	berth_status st = make(spec, system, target, &mem, &tmp, &p, err);
	st = st ? st : solve(&p, nodes[0], &mem, &tmp, &r, err);
	if (st == BERTH_OK && r.feasible) {
		int64_t best_ns = llround(r.value * 1e9);
		double from = berth_cpu_seconds();
		st = berth_tree_climb(&p, 0, best_ns, nodes[1], NULL, NULL, &tmp, &ns, &tree_nodes, err);
		printf("| %s | %s | %d | %.6g ms | %s, %.2f %% | %lld | %.2f s | %.2f %% | %lld | %.2f s |\n",
		       spec + strlen("zoo:"), system, (int)p.n_ops, r.value * 1e3, r.status, 100 * r.gap,
		       (long long)r.nodes, r.solve_s, 100 * berth_gap((double)best_ns, (double)ns),
		       (long long)tree_nodes, berth_cpu_seconds() - from);
		fflush(stdout);
		n->instances++;
		n->proven += strcmp(r.status, "optimal") == 0;
		n->by_cases += ns >= best_ns;
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static berth_status rows(const int64_t *nodes, counts *n, berth_err *err)
{
	char spec[64];
	for (int32_t target = 32; target <= 64; target += 32)
		for (int32_t i = 0; i < N_MODELS; i++)
			for (int32_t k = 0; k < N_SYSTEMS; k++) {
				snprintf(spec, sizeof spec, "zoo:%s", models[i]);
				BERTH_TRY(row(spec, systems[k], target, nodes, n, err));
			}
	for (int32_t ops = 30; ops <= 60; ops += 10)
		for (int32_t k = 0; k < N_SYSTEMS; k++) {
			snprintf(spec, sizeof spec, "zoo:random:ops=%d", (int)ops);
			BERTH_TRY(row(spec, systems[k], 0, nodes, n, err));
		}
	return BERTH_OK;
}

int main(int argc, char **argv)
{
	int64_t nodes[2] = {argc > 1 ? atoll(argv[1]) : 200000, argc > 2 ? atoll(argv[2]) : 5000};
	counts n = {0};
	berth_err err;
	printf("| model | system | operators or groups | best | branch-and-bound | nodes | CPU time | gap by "
	       "cases | nodes "
	       "| CPU time |\n"
	       "|---|---|---:|---:|---|---:|---:|---:|---:|---:|\n");
	berth_status st = rows(nodes, &n, &err);
	if (st != BERTH_OK) {
		fprintf(stderr, "berth-exact-large-table: %s\n", err.msg);
		return berth_exit_code(st);
	}
	printf("\nProven best, of %d: %d by branch and bound (with the strong bound), %d by trees of "
	       "cases.\n",
	       (int)n.instances, (int)n.proven, (int)n.by_cases);
	return 0;
}
