/* The other objectives at one budget: the best single device, the best heuristic, annealing, and ours. */
#include "parts.h"
#include "statistics.h"

#include <math.h>
#include <stdio.h>

static const berth_metric metrics[] = {BERTH_ENERGY, BERTH_EDP, BERTH_THROUGHPUT};
static const char *const heuristics[] = {"single",    "heft",        "ceft-cpop", "pbqp",
                                         "ceft-pbqp", "round-robin", "peft",      "heft-lookahead"};
enum {
	N_METRICS = sizeof metrics / sizeof *metrics,
	N_HEURISTICS = sizeof heuristics / sizeof *heuristics,
	MAX_SEEDS = 100
};

static void print_value(double v, double scale)
{
	if (isfinite(v))
		printf("%.4g", v * scale);
	else
		printf("does not fit");
}

static berth_interval measure(subject *x, const berth_method *method, berth_metric m, int n_seeds,
                              int64_t evaluations, double scale)
{
	double v[MAX_SEEDS];
	for (int k = 0; k < n_seeds; k++) {
		berth_search_cfg cfg = {.objective = berth_objective_of(m),
		                        .seed = (uint64_t)k + 1,
		                        .evaluations = evaluations};
		v[k] = run_this(x, method, &cfg);
	}
	berth_interval r = berth_bootstrap(v, n_seeds, berth_iqm, &x->tmp);
	printf(" | %.4g [%.4g, %.4g]", r.middle * scale, r.low * scale, r.high * scale);
	fflush(stdout);
	return r;
}

typedef struct sums {
	int n, worse;
	double single, heuristic, plain, anneal;
} sums;

static void add_instance(int i, berth_metric m, int n_seeds, int64_t evaluations, sums *s)
{
	static const double scale[BERTH_N_METRICS] = {
		[BERTH_ENERGY] = 1, [BERTH_EDP] = 1, [BERTH_THROUGHPUT] = 1e3};
	double single = INFINITY, best = INFINITY, bound;
	const char *which = "none";
	subject x;
	berth_err err;
	berth_objective o = berth_objective_of(m);
	open_instance(&x, i);
	must(berth_bounds_objective(&x.p, &x.b, &o, &x.tmp, &bound, &err), &err);
	for (int k = 0; k < N_HEURISTICS; k++) {
		berth_search_cfg cfg = {.objective = o, .seed = 1};
		double v = run_with(&x, heuristics[k], &cfg);
		single = k == 0 ? v : single;
		which = v < best ? heuristics[k] : which;
		best = fmin(best, v);
	}
	printf("| %s, ", berth_metrics[m].name);
	print_instance_name(i);
	printf(" | ");
	print_value(single, scale[m]);
	printf(" | ");
	print_value(best, scale[m]);
	printf(" (%s)", which);
	double plain = measure(&x, plain_annealing(), m, n_seeds, evaluations, scale[m]).middle,
	       anneal = measure(&x, method_called("anneal"), m, n_seeds, evaluations, scale[m]).middle,
	       berth = measure(&x, method_called("berth"), m, n_seeds, evaluations, scale[m]).middle;
	printf(" | %.4f | %.4f | %.4g |\n", berth / plain, berth / anneal, bound * scale[m]);
	s->n++;
	s->single += log(fmin(berth / single, 1)); /* what does not fit counts as no worse */
	s->heuristic += log(berth / best);
	s->plain += log(berth / plain);
	s->anneal += log(berth / anneal);
	s->worse += berth > fmin(best, single) * (1 + 1e-9);
	close_subject(&x);
}

void table_objectives(int n_seeds, int64_t evaluations)
{
	sums s[N_METRICS] = {{0}};
	printf("\n## Energy, energy-delay product and throughput, %lld evaluations, %d seeds\n\n"
	       "J, J s and ms a sample: interquartile mean [95 %% bootstrap interval]. The best heuristic is "
	       "that of all that answer at once. Plain: annealing as it was before there were estimates, "
	       "from the seeds of that time.\n\n"
	       "| objective, instance | best single device | best heuristic | plain | anneal | berth | "
	       "berth / plain | berth / anneal | bound |\n|---|---|---|---|---|---|---|---|---|\n",
	       (long long)evaluations, n_seeds);
	for (int m = 0; m < N_METRICS; m++)
		for (int i = 0; i < n_instances(); i++)
			add_instance(i, metrics[m], n_seeds, evaluations, &s[m]);
	printf("\nGeometric means of `berth` to");
	for (int m = 0; m < N_METRICS; m++)
		printf("%s the best single device, the best heuristic, plain annealing and annealing: "
		       "%.4f, %.4f, %.4f, %.4f for %s (worse than a part on %d of %d)",
		       m ? ";" : "", exp(s[m].single / s[m].n), exp(s[m].heuristic / s[m].n),
		       exp(s[m].plain / s[m].n), exp(s[m].anneal / s[m].n), berth_metrics[metrics[m]].name,
		       s[m].worse, s[m].n);
	printf(".\n");
}
