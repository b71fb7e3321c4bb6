/* The tables of docs/bounds.md: what exact methods prove on groups of zoo models, and on larger instances:
 * groups of 32 and 64, and random graphs. Values and proofs are the same for one build. */
#include "certify.h"
#include "entries.h"

static const char *const systems[] = {"cpu+2gpu", "edge"};

typedef struct counts {
	int32_t instances, proven[2], either;
} counts;

static void print_exact(const char *model, const char *system, int32_t target, const int64_t *nodes,
                        counts *n)
{
	static const char *const methods[] = {"branch-and-bound", "milp"};
	bool proven[2] = {0};
	BENCH_OPEN(x, model, system);
	bench_group(&x, target);
	printf("| %s | %s | %d ", model, system, (int)x.p.n_ops);
	bench_bound(&x);
	for (int k = 0; k < 2; k++) {
		const berth_search_cfg cfg = {
			.seed = 1, .evaluations = 10000, .nodes = nodes[k] > 0 ? nodes[k] : 0};
		berth_solution r;
		if (bench_solve(&x, methods[k], &cfg, &r) != BERTH_OK) {
			printf("| - | - | - | - ");
			continue;
		}
		proven[k] = r.feasible && strcmp(r.status, "optimal") == 0;
		n->proven[k] += proven[k];
		printf("| %.6g ms | %s, %.2f %% | %lld | %.2f s ", r.value * 1e3, r.status, 100 * r.gap,
		       (long long)r.nodes, r.solve_s);
	}
	printf("|\n");
	n->instances++;
	n->either += proven[0] || proven[1];
}

void table_exact(const bench_options *o)
{
	static const char *const models[] = {
		"inception-v3", "randwire", "nasnet-a", "unet", "bert-base", "transformer", "random", "rnnlm",
		"gnmt", "ffnn", "chain-mm", "llama-block", "densenet121", "llama-layer", "random:ops=400"};
	const int64_t nodes[] = {o->nodes, o->more_nodes};
	counts n = {0};
	bench_head("model|system|groups|branch-and-bound||nodes|CPU time|milp||nodes|CPU time");
	for (int32_t i = 0; i < 2 * BENCH_N(models); i++)
		print_exact(models[i / 2], systems[i % 2], 12 + i % 5, nodes, &n);
	printf("\nProven optimal, of %d: %d by branch and bound, %d by milp, %d by either.\n",
	       (int)n.instances, (int)n.proven[0], (int)n.proven[1], (int)n.either);
}

/* ---- larger ones ---- */

/* target: groups of the graph; 0: as it is. */
static void print_large(const char *graph, const char *system, int32_t target, const bench_options *o,
                        counts *n)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_bound_effort effort = berth_bound_effort_all(&latency);
	const berth_search_cfg cfg = {.seed = 1, .evaluations = 10000, .nodes = o->nodes};
	berth_solution r;
	BENCH_OPEN(x, graph, system);
	if (target)
		bench_group(&x, target);
	bench_bound(&x);
	MUST(berth_bounds_strengthen(&x.p, &effort, &x.tmp, &x.b, &err));
	if (bench_solve(&x, "branch-and-bound", &cfg, &r) != BERTH_OK || !r.feasible)
		return;
	int64_t best_ns = llround(r.value * 1e9), ns, tree_nodes = 0;
	double from = berth_cpu_seconds();
	MUST(berth_tree_climb(&x.p, 0, best_ns, o->more_nodes, NULL, NULL, &x.tmp, &ns, &tree_nodes, &err));
	printf("| %s | %s | %d | %.6g ms | %s, %.2f %% | %lld | %.2f s | %.2f %% | %lld | %.2f s |\n", graph,
	       system, (int)x.p.n_ops, r.value * 1e3, r.status, 100 * r.gap, (long long)r.nodes, r.solve_s,
	       100 * berth_gap((double)best_ns, (double)ns), (long long)tree_nodes,
	       berth_cpu_seconds() - from);
	n->instances++;
	n->proven[0] += strcmp(r.status, "optimal") == 0;
	n->proven[1] += ns >= best_ns;
}

void table_exact_large(const bench_options *o)
{
	static const char *const models[] = {
		"inception-v3", "randwire", "nasnet-a", "unet", "bert-base", "transformer", "rnnlm", "gnmt",
		"ffnn", "chain-mm", "llama-block", "gpt2", "resnet50", "densenet121", "llama-layer"};
	counts n = {0};
	bench_head("model|system|operators or groups:|best:|branch-and-bound|nodes:|CPU time:|gap by cases:|"
	           "nodes:|CPU time:");
	for (int32_t target = 32; target <= 64; target += 32)
		for (int32_t i = 0; i < 2 * BENCH_N(models); i++)
			print_large(models[i / 2], systems[i % 2], target, o, &n);
	for (int32_t i = 0; i < 8; i++) {
		char graph[64];
		snprintf(graph, sizeof graph, "random:ops=%d", (int)(30 + i / 2 * 10));
		print_large(graph, systems[i % 2], 0, o, &n);
	}
	printf("\nProven best, of %d: %d by branch and bound (with the strong bound), %d by trees of "
	       "cases.\n",
	       (int)n.instances, (int)n.proven[0], (int)n.proven[1]);
}
