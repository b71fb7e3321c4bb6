/* Walks side by side: what they reach with the same evaluations as one, and how much of the work one thread
 * of several has. */
#include "parts.h"

#include "methods.h"
#include "statistics.h"
#include "threads.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { MAX_SEEDS = 100 };
static const int32_t counts[] = {1, 2, 4, 8};
enum { N_COUNTS = sizeof counts / sizeof *counts };

static double thread_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Median value of runs of so many evaluations. */
static double median_of(const subject *x, const berth_method *method, const berth_search_cfg *cfg,
                        int n_seeds)
{
	double v[MAX_SEEDS];
	berth_arena tmp = {0};
	for (int k = 0; k < n_seeds; k++) {
		berth_search_cfg own = *cfg;
		own.seed = (uint64_t)k + 1;
		v[k] = run_this(x, method, &own);
	}
	double median = berth_median(v, n_seeds, &tmp);
	berth_arena_free(&tmp);
	return median;
}

/* The part of the CPU time of two walks in two threads that the caller's thread has. */
static double share_of(const subject *x, const berth_method *method, int64_t evaluations)
{
	berth_search_cfg cfg = {.seed = 1, .evaluations = evaluations, .walks = 2};
	berth_err err;
	must(berth_pool_new(2, &cfg.pool, &err), &err);
	double own = thread_seconds(), all = berth_cpu_seconds();
	run_this(x, method, &cfg);
	own = thread_seconds() - own;
	all = berth_cpu_seconds() - all;
	berth_pool_free(cfg.pool);
	return fmax(own, all - own) / all;
}

void table_walks(int n_seeds, int64_t evaluations)
{
	const berth_method *method;
	berth_err err;
	berth_arena tmp = {0};
	double ratio[N_COUNTS] = {0}, sooner = 0, share[MAX_SEEDS];
	int n = 0;
	must(berth_method_find("berth", &method, &err), &err);
	printf("\n## Walks side by side, %lld evaluations\n\nMedian of %d seeds: the value of `berth` with "
	       "one walk, and that of several by it, with the same evaluations in all. Sooner: two walks "
	       "with as many evaluations as two threads make in 0.6 of the time of one. Busiest: the part "
	       "of the CPU time of two walks that the busier one of two threads has; 0.5 is best.\n\n"
	       "| instance | one | two | four | eight | two, sooner | busiest |\n"
	       "|---|---|---|---|---|---|---|\n",
	       (long long)evaluations, n_seeds);
	for (int i = 0; i < n_timed_instances() && i < MAX_SEEDS; i++) {
		double value[N_COUNTS];
		subject x;
		open_timed_instance(&x, i);
		for (int k = 0; k < N_COUNTS; k++) {
			berth_search_cfg cfg = {.evaluations = evaluations, .walks = counts[k]};
			value[k] = median_of(&x, method, &cfg, n_seeds);
		}
		if (isfinite(value[0])) {
			share[n] = share_of(&x, method, evaluations);
			berth_search_cfg cfg = {
				.evaluations = (int64_t)(0.6 * (double)evaluations / share[n]), .walks = 2};
			double soon = median_of(&x, method, &cfg, n_seeds) / value[0];
			print_timed_instance(i);
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
		close_subject(&x);
	}
	printf("\nGeometric mean over %d: two %.4f, four %.4f, eight %.4f; two, sooner %.4f. Median of the "
	       "busiest: %.2f.\n",
	       n, exp(ratio[1] / n), exp(ratio[2] / n), exp(ratio[3] / n), exp(sooner / n),
	       berth_median(share, n, &tmp));
	berth_arena_free(&tmp);
}
