/* Walks side by side: what they reach with the same evaluations as one, and how much of the work one thread
 * of several has. */
#include "instances_of_learning.h"


#include <math.h>

static const int32_t counts[] = {1, 2, 4, 8};
enum { N_COUNTS = sizeof counts / sizeof *counts };

/* The part of the CPU time of two walks in two threads that the caller's thread has. */
static double share_of(const subject *x, const berth_method *method, int64_t evaluations)
{
	berth_search_cfg cfg = {.seed = 1, .evaluations = evaluations, .walks = 2};
	MUST(berth_pool_new(2, &cfg.pool, &err));
	double own = bench_thread_seconds(), all = berth_cpu_seconds();
	bench_value(&x->p, method, &cfg);
	own = bench_thread_seconds() - own;
	all = berth_cpu_seconds() - all;
	berth_pool_free(cfg.pool);
	return fmax(own, all - own) / all;
}

static void run_walks(const bench_options *o)
{
	const berth_method *method = bench_method("berth");
	int64_t evaluations = o->evaluations;
	double ratio[N_COUNTS] = {0}, sooner = 0, share[N_TIMED];
	int n = 0;
	printf("\n## Walks side by side, %lld evaluations\n\nMedian of %d seeds: the value of `berth` with "
	       "one walk, and that of several by it, with the same evaluations in all. Sooner: two walks "
	       "with as many evaluations as two threads make in 0.6 of the time of one. Busiest: the part "
	       "of the CPU time of two walks that the busier one of two threads has; 0.5 is best.\n\n",
	       (long long)evaluations, o->seeds);
	bench_head("instance|one|two|four|eight|two, sooner|busiest");
	for (int i = 0; i < N_TIMED; i++) {
		double value[N_COUNTS];
		subject x;
		open_timed(&x, i);
		for (int k = 0; k < N_COUNTS; k++) {
			berth_search_cfg cfg = {.evaluations = evaluations, .walks = counts[k]};
			value[k] = bench_median_value(&x, method, &cfg, o->seeds);
		}
		if (isfinite(value[0])) {
			share[n] = share_of(&x, method, evaluations);
			berth_search_cfg cfg = {
				.evaluations = (int64_t)(0.6 * (double)evaluations / share[n]), .walks = 2};
			double soon = bench_median_value(&x, method, &cfg, o->seeds) / value[0];
			print_timed(i);
			printf(" %.4g |", value[0]);
			for (int k = 1; k < N_COUNTS; k++)
				printf(" %.4f |", value[k] / value[0]);
			printf(" %.4f | %.2f |\n", soon, share[n]);
			fflush(stdout);
			for (int k = 0; k < N_COUNTS; k++)
				ratio[k] += log(value[k] / value[0]);
			sooner += log(soon);
			n++;
		}
		bench_close(&x);
	}
	printf("\nGeometric mean over %d: two %.4f, four %.4f, eight %.4f; two, sooner %.4f. Median of the "
	       "busiest: %.2f.\n",
	       n, exp(ratio[1] / n), exp(ratio[2] / n), exp(ratio[3] / n), exp(sooner / n),
	       bench_median(share, n));
}

const bench_entry bench_walks = {
	"walks", "", "learning", "30 min",
	"walks side by side by one walk", {.evaluations = 20000, .seeds = 5}, run_walks};
