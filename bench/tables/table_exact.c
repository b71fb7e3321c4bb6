/* The tables of docs/bounds.md: what exact methods prove on groups of zoo models, and on larger instances:
 * groups of 32 and 64, and random graphs. Values and proofs are the same for one build. */
#include "bench.h"

#include "certify.h"

#include <math.h>
#include <string.h>

static const char *const systems[] = {"cpu+2gpu", "edge"};
enum { N_SYSTEMS = 2, N_METHODS = 2, N_MODELS = 15 };

typedef struct counts {
	int32_t instances, proven[N_METHODS], either;
} counts;

static void print_exact(const char *model, const char *system, int32_t target, const int64_t *nodes,
                        counts *n)
{
	static const char *const methods[] = {"branch-and-bound", "milp"};
	bool proven[N_METHODS] = {0};
	subject x;
	bench_open(&x, model, system);
	bench_group(&x, target);
	printf("| %s | %s | %d ", model, system, (int)x.p.n_ops);
	bench_bound(&x);
	for (int k = 0; k < N_METHODS; k++) {
		berth_solution r;
		berth_search_cfg cfg = berth_search_cfg_default();
		cfg.nodes = nodes[k] > 0 ? nodes[k] : 0;
		if (bench_solve(&x, &x.b, methods[k], &cfg, &r) != BERTH_OK) {
			printf("| - | - | - | - ");
			continue;
		}
		proven[k] = r.feasible && strcmp(r.status, "optimal") == 0;
		n->proven[k] += proven[k];
		printf("| %.6g ms | %s, %.2f %% | %lld | %.2f s ", r.value * 1e3, r.status, 100 * r.gap,
		       (long long)r.nodes, r.solve_s);
	}
	printf("|\n");
	fflush(stdout);
	n->instances++;
	n->either += proven[0] || proven[1];
	bench_close(&x);
}

static void run_exact(const bench_options *o)
{
	static const char *const models[N_MODELS] = {
		"inception-v3", "randwire", "nasnet-a", "unet", "bert-base", "transformer", "random", "rnnlm",
		"gnmt", "ffnn", "chain-mm", "llama-block", "densenet121", "llama-layer", "random:ops=400"};
	const int64_t nodes[] = {o->nodes, o->more_nodes};
	counts n = {0};
	bench_head("model|system|groups|branch-and-bound||nodes|CPU time|milp||nodes|CPU time");
	for (int32_t i = 0; i < N_MODELS; i++)
		for (int32_t k = 0; k < N_SYSTEMS; k++)
			print_exact(models[i], systems[k], 12 + (2 * i + k) % 5, nodes, &n);
	printf("\nProven optimal, of %d: %d by branch and bound, %d by milp, %d by either.\n",
	       (int)n.instances, (int)n.proven[0], (int)n.proven[1], (int)n.either);
}

const bench_entry bench_exact = {
	"exact", "", "bounds", "20 min",
	"what branch and bound (nodes) and milp (more nodes) prove on groups",
	{.nodes = -1, .more_nodes = -1}, run_exact};

/* ---- larger ones ---- */

typedef struct large_counts {
	int32_t instances, proven, by_cases;
} large_counts;

/* target: groups of the graph; 0: as it is. */
static void print_large(const char *graph, const char *system, int32_t target, const bench_options *o,
                        large_counts *n)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_bound_effort effort = berth_bound_effort_all(&latency);
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_solution r;
	subject x;
	cfg.nodes = o->nodes;
	bench_open(&x, graph, system);
	if (target)
		bench_group(&x, target);
	bench_bound(&x);
	MUST(berth_bounds_strengthen(&x.p, &effort, &x.tmp, &x.b, &err));
	if (bench_solve(&x, &x.b, "branch-and-bound", &cfg, &r) == BERTH_OK && r.feasible) {
		int64_t best_ns = llround(r.value * 1e9), ns, tree_nodes = 0;
		double from = berth_cpu_seconds();
		MUST(berth_tree_climb(&x.p, 0, best_ns, o->more_nodes, NULL, NULL, &x.tmp, &ns, &tree_nodes,
		                      &err));
		printf("| %s | %s | %d | %.6g ms | %s, %.2f %% | %lld | %.2f s | %.2f %% | %lld | %.2f s |\n",
		       graph, system, (int)x.p.n_ops, r.value * 1e3, r.status, 100 * r.gap,
		       (long long)r.nodes, r.solve_s, 100 * berth_gap((double)best_ns, (double)ns),
		       (long long)tree_nodes, berth_cpu_seconds() - from);
		fflush(stdout);
		n->instances++;
		n->proven += strcmp(r.status, "optimal") == 0;
		n->by_cases += ns >= best_ns;
	}
	bench_close(&x);
}

static void run_exact_large(const bench_options *o)
{
	static const char *const models[N_MODELS] = {
		"inception-v3", "randwire", "nasnet-a", "unet", "bert-base", "transformer", "rnnlm", "gnmt",
		"ffnn", "chain-mm", "llama-block", "gpt2", "resnet50", "densenet121", "llama-layer"};
	large_counts n = {0};
	bench_head("model|system|operators or groups:|best:|branch-and-bound|nodes:|CPU time:|gap by "
	           "cases:|nodes:|"
	           "CPU time:");
	for (int32_t target = 32; target <= 64; target += 32)
		for (int32_t i = 0; i < N_MODELS; i++)
			for (int32_t k = 0; k < N_SYSTEMS; k++)
				print_large(models[i], systems[k], target, o, &n);
	for (int32_t ops = 30; ops <= 60; ops += 10)
		for (int32_t k = 0; k < N_SYSTEMS; k++) {
			char graph[64];
			snprintf(graph, sizeof graph, "random:ops=%d", (int)ops);
			print_large(graph, systems[k], 0, o, &n);
		}
	printf("\nProven best, of %d: %d by branch and bound (with the strong bound), %d by trees of "
	       "cases.\n",
	       (int)n.instances, (int)n.proven, (int)n.by_cases);
}

const bench_entry bench_exact_large = {
	"exact-large", "", "bounds", "30 min",
	"the same on larger ones: branch and bound, and trees of cases (more nodes)",
	{.nodes = 200000, .more_nodes = 5000}, run_exact_large};
