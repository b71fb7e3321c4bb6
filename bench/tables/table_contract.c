/* The table of docs/methods.md on what `berth` owes to whoever picks it: at the same budget no other method
 * is to be better by more than half a percent. Searches draw other random numbers and are so on some
 * instances. Instances and values are the same for one build. Exits with 1 where methods that answer at once
 * are better by more on over one in twenty. */
#include "bench.h"

#include "methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERATED 0.005

static const berth_metric metrics[] = {BERTH_LATENCY, BERTH_THROUGHPUT, BERTH_ENERGY, BERTH_EDP};
static const char *const models[] = {
	"inception-v3", "randwire:batch=8", "bert-base", "rnnlm", "ffnn", "llama-block", "chain-mm",
	"mobilenet-v2:training=1", "transformer", "resnet18:training=1:batch=16"};
static const char *const systems[] = {"cpu+2gpu", "hetero-cluster", "laptop", "4gpu"};
/* They have limits of their own, and tables of their own. */
static const char *const exact[] = {"branch-and-bound", "milp", "dp", "ip"};

static berth_status run_near(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_agent_cfg cfg = berth_agent_cfg_default();
	cfg.far = false;
	return berth_agent_run(s, &cfg, tmp, err);
}

static const berth_method near = {"berth without far seeds", "", true, run_near, NULL, NULL};

enum {
	N_METRICS = 4,
	N_MODELS = sizeof models / sizeof *models,
	N_SYSTEMS = 4,
	N_EXACT = sizeof exact / sizeof *exact,
	MOST_METHODS = 64
};

typedef struct row {
	int n, better;        /* instances; those where what answers at once is better by over TOLERATED */
	double most;          /* by how much, at most */
	const char *who;
	/* of searches: instances, sums of log(berth / it), and where it is better by over TOLERATED */
	int n_both[MOST_METHODS], beats[MOST_METHODS];
	double ratio[MOST_METHODS];
} row;

/* Every other instance is a model of the zoo, the others are random graphs on random machines. */
static void name_instance(int i, char graph[96], char system[96])
{
	static const char *const topologies[] = {"full", "bus", "star", "hosts"};
	int k = i / 2;
	if (i % 2 == 0) {
		snprintf(graph, 96, "%s", models[k % N_MODELS]);
		snprintf(system, 96, "%s", systems[(k + k / N_MODELS) % N_SYSTEMS]);
		return;
	}
	snprintf(graph, 96, "random:ops=%d:seed=%d:ccr=%g:heterogeneity=%g", 30 + 37 * k % 200,
	         500 + i, 0.1 * pow(50, k % 7 / 6.), 0.1 + 0.2 * (k % 5));
	snprintf(system, 96, "random:devices=%d:topology=%s:seed=%d", 2 + k % 5, topologies[k % 4],
	         i);
}

static double value_of(const subject *x, const berth_method *m, berth_metric metric, int64_t evaluations)
{
	berth_search_cfg cfg = {
		.objective = berth_objective_of(metric), .seed = 1, .evaluations = evaluations};
	return bench_value(&x->p, m, &cfg);
}

static bool is_exact(const berth_method *m)
{
	for (int i = 0; i < N_EXACT; i++)
		if (strcmp(m->name, exact[i]) == 0)
			return true;
	return false;
}

/* All methods, and one more. */
static const berth_method *method_at(int32_t i)
{
	return i < berth_n_methods() ? berth_method_at(i) : &near;
}

/* One that `berth` finds nothing for counts as twice the value of any other. */
static void compare(const subject *x, berth_metric metric, int64_t evaluations, row *r)
{
	double ours = value_of(x, berth_method_default(), metric, evaluations);
	bool better = false;
	r->n++;
	for (int32_t k = 0; k <= berth_n_methods() && k < MOST_METHODS; k++) {
		const berth_method *m = method_at(k);
		double value = is_exact(m) || m == berth_method_default() ? INFINITY
		                                                       : value_of(x, m, metric, evaluations);
		if (!isfinite(value))
			continue;
		double by = isfinite(ours) ? ours / value - 1 : 1;
		if (m->searches) {
			r->n_both[k]++;
			r->ratio[k] += log1p(by);
			r->beats[k] += by > TOLERATED;
		} else if (by > r->most) {
			r->most = by;
			r->who = m->name;
		}
		better |= !m->searches && by > TOLERATED;
	}
	r->better += better;
}

static void add_instance(int i, int64_t evaluations, row rows[N_METRICS])
{
	char graph[96], system[96];
	subject x;
	name_instance(i, graph, system);
	bench_open(&x, graph, system);
	for (int k = 0; k < N_METRICS; k++)
		compare(&x, metrics[k], evaluations, &rows[k]);
	bench_close(&x);
}

static void print_rows(const row rows[N_METRICS])
{
	printf("| objective | instances | better at once by over 0.5 %% | most |\n|---|---:|---:|---|\n");
	for (int k = 0; k < N_METRICS; k++) {
		const berth_objective o = berth_objective_of(metrics[k]);
		printf("| %s | %d | %d | ", berth_objective_name(&o), rows[k].n, rows[k].better);
		printf(rows[k].who ? "%.2f %% (%s) |\n" : "none |\n", 100 * rows[k].most, rows[k].who);
	}
	printf("\n| search |");
	for (int k = 0; k < N_METRICS; k++) {
		const berth_objective o = berth_objective_of(metrics[k]);
		printf(" `berth` / it, %s | it is better by over 0.5 %% |", berth_objective_name(&o));
	}
	printf("\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
	for (int32_t m = 0; m <= berth_n_methods() && m < MOST_METHODS; m++) {
		if (rows[0].n_both[m] == 0)
			continue;
		printf("| %s |", method_at(m)->name);
		for (int k = 0; k < N_METRICS; k++)
			printf(" %.4f | %d |", exp(rows[k].ratio[m] / rows[k].n_both[m]), rows[k].beats[m]);
		printf("\n");
	}
}

static void run_contract(const bench_options *o)
{
	static row rows[N_METRICS];
	int better = 0, all = 0;
	for (int i = 0; i < o->instances; i++)
		add_instance(i, o->evaluations, rows);
	print_rows(rows);
	for (int k = 0; k < N_METRICS; k++) {
		better += rows[k].better;
		all += rows[k].n;
	}
	if (20 * better > all) {
		fflush(stdout);
		exit(1);
	}
}

const bench_entry bench_contract = {
	"contract", "", "methods", "5 min",
	"what berth owes to whoever picks it; fails where it does not keep that",
	{.instances = 60, .evaluations = 1000}, run_contract};
