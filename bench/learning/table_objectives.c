/* The other objectives at one budget: the best single device, the best heuristic, annealing, and ours. */
#include "instances_of_learning.h"

#include <math.h>

static const berth_metric metrics[] = {BERTH_ENERGY, BERTH_EDP, BERTH_THROUGHPUT};
static const char *const heuristics[] = {"single",    "heft",        "ceft-cpop", "pbqp",
                                         "ceft-pbqp", "round-robin", "peft",      "heft-lookahead"};
enum {
	N_METRICS = sizeof metrics / sizeof *metrics,
	N_HEURISTICS = sizeof heuristics / sizeof *heuristics
};

static double measure(const subject *x, const berth_method *method, berth_metric m, const bench_options *o,
                      double scale)
{
	const berth_search_cfg cfg = {.objective = berth_objective_of(m), .evaluations = o->evaluations};
	double v[MAX_SEEDS];
	bench_values(x, method, &cfg, o->seeds, v);
	berth_interval r = bench_iqm(v, o->seeds);
	bench_print_interval(r, scale, "%.4g");
	fflush(stdout);
	return r.middle;
}

typedef struct sums {
	int n, worse;
	double single, heuristic, plain, anneal;
} sums;

static void add_instance(int i, berth_metric m, const bench_options *o, sums *s)
{
	const double scale = m == BERTH_THROUGHPUT ? 1e3 : 1;
	double single = INFINITY, best = INFINITY, bound;
	const char *which = "none";
	subject x;
	berth_objective goal = berth_objective_of(m);
	bench_open(&x, six[i].graph, six[i].system);
	bench_bound(&x);
	MUST(berth_bounds_objective(&x.p, &x.b, &goal, &x.tmp, &bound, &err));
	for (int k = 0; k < N_HEURISTICS; k++) {
		berth_search_cfg cfg = {.objective = goal, .seed = 1};
		double v = bench_value_of(&x, heuristics[k], &cfg);
		single = k == 0 ? v : single;
		which = v < best ? heuristics[k] : which;
		best = fmin(best, v);
	}
	printf("| %s, %s on %s", berth_metrics[m].name, six[i].graph, six[i].system);
	bench_print_value(single * scale, "%.4g", "does not fit");
	bench_print_value(best * scale, "%.4g", "does not fit");
	printf(" (%s)", which);
	double plain = measure(&x, &plain_annealing, m, o, scale),
	       anneal = measure(&x, bench_method("anneal"), m, o, scale),
	       berth = measure(&x, bench_method("berth"), m, o, scale);
	printf(" | %.4f | %.4f | %.4g |\n", berth / plain, berth / anneal, bound * scale);
	s->n++;
	s->single += log(fmin(berth / single, 1)); /* what does not fit counts as no worse */
	s->heuristic += log(berth / best);
	s->plain += log(berth / plain);
	s->anneal += log(berth / anneal);
	s->worse += berth > fmin(best, single) * (1 + 1e-9);
	bench_close(&x);
}

static void run_objectives(const bench_options *o)
{
	sums s[N_METRICS] = {{0}};
	printf("\n## Energy, energy-delay product and throughput, %lld evaluations, %d seeds\n\n"
	       "J, J s and ms a sample: interquartile mean [95 %% bootstrap interval]. The best heuristic is "
	       "that of all that answer at once. Plain: annealing as it was before there were estimates, "
	       "from the seeds of that time.\n\n",
	       (long long)o->evaluations, o->seeds);
	bench_head("objective, instance|best single device|best heuristic|plain|anneal|berth|berth / plain|"
	           "berth / anneal|bound");
	for (int m = 0; m < N_METRICS; m++)
		for (int i = 0; i < N_SIX; i++)
			add_instance(i, metrics[m], o, &s[m]);
	printf("\nGeometric means of `berth` to");
	for (int m = 0; m < N_METRICS; m++)
		printf("%s the best single device, the best heuristic, plain annealing and annealing: "
		       "%.4f, %.4f, %.4f, %.4f for %s (worse than a part on %d of %d)",
		       m ? ";" : "", exp(s[m].single / s[m].n), exp(s[m].heuristic / s[m].n),
		       exp(s[m].plain / s[m].n), exp(s[m].anneal / s[m].n), berth_metrics[metrics[m]].name,
		       s[m].worse, s[m].n);
	printf(".\n");
}

const bench_entry bench_objectives = {
	"objectives", "", "learning", "30 min",
	"energy, energy-delay product and throughput", {.evaluations = 2400, .seeds = 10}, run_objectives};
