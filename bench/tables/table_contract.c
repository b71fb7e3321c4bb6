/* The table of docs/methods.md on what `berth` owes to whoever picks it: at the same budget no other method
 * is to be better by more than half a percent. Searches draw other random numbers and are so on some
 * instances. Instances and values are the same for one build. Exits with 1 where methods that answer at once
 * are better by more on over one in twenty. */
#include "entries.h"

#include <stdlib.h>

#define TOLERATED 0.005

static const berth_metric metrics[] = {BERTH_LATENCY, BERTH_THROUGHPUT, BERTH_ENERGY, BERTH_EDP};

static berth_status run_near(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_agent_cfg cfg = berth_agent_cfg_default();
	cfg.far = false;
	return berth_agent_run(s, &cfg, tmp, err);
}

static const berth_method near = {"berth without far seeds", "", true, run_near, NULL, NULL};

enum { N_METRICS = BENCH_N(metrics), MOST_METHODS = 64 };

typedef struct row {
	int n, better; /* instances; those where what answers at once is better by over TOLERATED */
	double most;   /* by how much, at most */
	const char *who;
	bench_mean ratio[MOST_METHODS]; /* of searches: berth / it, and where it is better by over TOLERATED
	                                 */
	int beats[MOST_METHODS];
} row;

/* Every other instance is a model of the zoo, the others are random graphs on random machines. */
static void name_instance(int i, char graph[96], char system[96])
{
	static const char *const topologies[] = {"full", "bus", "star", "hosts"};
	static const char *const systems[] = {"cpu+2gpu", "hetero-cluster", "laptop", "4gpu"};
	static const char *const models[] = {
		"inception-v3", "randwire:batch=8", "bert-base", "rnnlm", "ffnn", "llama-block", "chain-mm",
		"mobilenet-v2:training=1", "transformer", "resnet18:training=1:batch=16"};
	int k = i / 2;
	if (i % 2 == 0) {
		snprintf(graph, 96, "%s", models[k % BENCH_N(models)]);
		snprintf(system, 96, "%s", systems[(k + k / BENCH_N(models)) % BENCH_N(systems)]);
		return;
	}
	snprintf(graph, 96, "random:ops=%d:seed=%d:ccr=%g:heterogeneity=%g", 30 + 37 * k % 200, 500 + i,
	         0.1 * pow(50, k % 7 / 6.), 0.1 + 0.2 * (k % 5));
	snprintf(system, 96, "random:devices=%d:topology=%s:seed=%d", 2 + k % 5, topologies[k % 4], i);
}

/* Exact methods have limits of their own, and tables of their own. */
static bool is_left_out(const berth_method *m)
{
	static const char *const exact[] = {"branch-and-bound", "milp", "dp", "ip"};
	bool found = m == berth_method_default();
	for (int i = 0; i < BENCH_N(exact); i++)
		found |= strcmp(m->name, exact[i]) == 0;
	return found;
}

/* All methods, and one more. */
static const berth_method *method_at(int32_t i)
{
	return i < berth_n_methods() ? berth_method_at(i) : &near;
}

/* One that `berth` finds nothing for counts as twice the value of any other. */
static void compare(const subject *x, berth_metric metric, int64_t evaluations, row *r)
{
	const berth_search_cfg cfg = {
		.objective = berth_objective_of(metric), .seed = 1, .evaluations = evaluations};
	double ours = bench_value(x, berth_method_default(), &cfg);
	bool better = false;
	r->n++;
	for (int32_t k = 0; k <= berth_n_methods() && k < MOST_METHODS; k++) {
		const berth_method *m = method_at(k);
		double value = is_left_out(m) ? INFINITY : bench_value(x, m, &cfg),
		       by = isfinite(ours) ? ours / value - 1 : 1;
		if (!isfinite(value))
			continue;
		if (m->searches) {
			bench_add(&r->ratio[k], 1 + by);
			r->beats[k] += by > TOLERATED;
		} else if (by > r->most) {
			r->most = by;
			r->who = m->name;
		}
		better |= !m->searches && by > TOLERATED;
	}
	r->better += better;
}

static void print_rows(const row rows[N_METRICS])
{
	bench_head("objective|instances:|better at once by over 0.5 %:|most");
	for (int k = 0; k < N_METRICS; k++) {
		printf("| %s | %d | %d | ", berth_metrics[metrics[k]].name, rows[k].n, rows[k].better);
		printf(rows[k].who ? "%.2f %% (%s) |\n" : "none |\n", 100 * rows[k].most, rows[k].who);
	}
	printf("\n| search |");
	for (int k = 0; k < N_METRICS; k++)
		printf(" `berth` / it, %s | it is better by over 0.5 %% |", berth_metrics[metrics[k]].name);
	bench_rule(1, 2 * N_METRICS);
	for (int32_t m = 0; m <= berth_n_methods() && m < MOST_METHODS; m++) {
		if (rows[0].ratio[m].n == 0)
			continue;
		printf("| %s |", method_at(m)->name);
		for (int k = 0; k < N_METRICS; k++)
			printf(" %.4f | %d |", bench_mean_of(rows[k].ratio[m]), rows[k].beats[m]);
		printf("\n");
	}
}

void table_contract(const bench_options *o)
{
	static row rows[N_METRICS];
	int better = 0, all = 0;
	for (int i = 0; i < o->instances; i++) {
		char graph[96], system[96];
		name_instance(i, graph, system);
		BENCH_OPEN(x, graph, system);
		for (int k = 0; k < N_METRICS; k++)
			compare(&x, metrics[k], o->evaluations, &rows[k]);
	}
	print_rows(rows);
	for (int k = 0; k < N_METRICS; k++) {
		better += rows[k].better;
		all += rows[k].n;
	}
	if (20 * better > all)
		exit(1);
}
