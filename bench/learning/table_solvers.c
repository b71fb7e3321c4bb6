/* Other ways to search at equal CPU time, beside berth: what is published for such problems, and a solver of
 * integer programs on groups. One thread; values by berth's. */
#include "instances_of_learning.h"

#include <math.h>

enum { EVERY = 6 };
#define AS_GOOD 1.001 /* as the best of a row */

static const char *const names[] = {"local-search", "genetic", "tabu", "milp", "anneal", "berth"};
enum { N = sizeof names / sizeof *names, MILP = 3, BERTH = N - 1 };

typedef struct standing {
	double milp_s, milp_most_s;
	int n, best[N];
	double log_ratio[N];
} standing;

static void add_row(standing *all, const double *value)
{
	double best = INFINITY;
	for (int k = 0; k < N; k++)
		best = fmin(best, value[k]);
	for (int k = 0; k < N; k++) {
		all->best[k] += value[k] <= best * AS_GOOD;
		all->log_ratio[k] += log(value[k] / value[BERTH]);
	}
	all->n++;
}

static void print_row(int i, const bench_options *o, standing *all)
{
	const berth_search_cfg cfg = {.evaluations = INT64_MAX / 4, .cpu_s = o->seconds};
	double value[N];
	bool known = true, all_place = true;
	subject x;
	for (int k = 0; k < N; k++)
		value[k] = INFINITY;
	open_timed(&x, i);
	for (int k = N - 1; k >= 0 && known; k--) { /* what berth does not place, others need not try */
		double from = berth_cpu_seconds();
		value[k] = bench_median_value(&x, bench_method(names[k]), &cfg, k == MILP ? 1 : o->seeds);
		known = isfinite(value[k]) || k < BERTH;
		all_place = all_place && isfinite(value[k]);
		if (k == MILP) {
			double took = berth_cpu_seconds() - from;
			all->milp_s += took;
			all->milp_most_s = fmax(all->milp_most_s, took);
		}
	}
	print_timed(i);
	printf(" %d |", x.p.n_ops);
	for (int k = 0; k < BERTH; k++)
		if (isfinite(value[k]) && isfinite(value[BERTH]))
			printf(" %.4f |", value[k] / value[BERTH]);
		else
			printf(" - |");
	printf(" %.4g |\n", value[BERTH]);
	fflush(stdout);
	if (all_place)
		add_row(all, value);
	bench_close(&x);
}

static void run_solvers(const bench_options *o)
{
	standing all = {0};
	printf("\n## Other solvers at equal CPU time: %g s, one thread\n\nMedian of %d seed%s: values by "
	       "`berth`'s, which stands in seconds. Above 1: `berth` is better. `milp` answers once, by CBC "
	       "on at most 16 groups.\n\n| instance | operators |",
	       o->seconds, o->seeds, o->seeds == 1 ? "" : "s");
	for (int k = 0; k < N; k++)
		printf(" %s |", names[k]);
	printf("\n|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < N_TIMED; i += EVERY)
		print_row(i, o, &all);
	printf("\nGeometric means over the %d that all place:", all.n);
	for (int k = 0; k < BERTH; k++)
		printf("%s %s %.4f", k ? "," : "", names[k], exp(all.log_ratio[k] / all.n));
	printf(". The best or within 0.1 %% of it:");
	for (int k = 0; k < N; k++)
		printf("%s %s %d", k ? "," : "", names[k], all.best[k]);
	printf(" of %d. `milp` took %.1f s of CPU in the mean, %.1f at most.\n", all.n, all.milp_s / all.n,
	       all.milp_most_s);
}

const bench_entry bench_solvers = {
	"solvers", "", "learning", "5 min",
	"other solvers at equal CPU time", {.seeds = 3, .seconds = 1}, run_solvers};
