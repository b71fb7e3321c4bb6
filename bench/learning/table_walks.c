/* Walks side by side: what they reach with the same evaluations as one, and how much of the work one thread
 * of several has. */
#include "instances_of_learning.h"

/* The part of the CPU time of two walks in two threads that the busier thread has. */
static double share_of(const subject *x, const berth_method *method, int64_t evaluations)
{
	berth_search_cfg cfg = {.seed = 1, .evaluations = evaluations, .walks = 2};
	MUST(berth_pool_new(2, &cfg.pool, &err));
	double own = bench_thread_seconds(), all = berth_cpu_seconds();
	bench_value(x, method, &cfg);
	own = bench_thread_seconds() - own;
	all = berth_cpu_seconds() - all;
	berth_pool_free(cfg.pool);
	return fmax(own, all - own) / all;
}

void table_walks(const bench_options *o)
{
	static const int32_t counts[] = {1, 2, 4, 8, 2}; /* the last one: sooner */
	enum { N = BENCH_N(counts), SOONER = N - 1 };
	const berth_method *method = bench_method("berth");
	bench_mean mean[N] = {{0}};
	double share[N_TIMED];
	int n = 0;
	printf("\n## Walks side by side, %lld evaluations\n\nMedian of %d seed%s: the value of `berth` with "
	       "one walk, and that of several by it, with the same evaluations in all. Sooner: two walks "
	       "with as many evaluations as two threads make in 0.6 of the time of one. Busiest: the part of "
	       "the CPU time of two walks that the busier one of two threads has; 0.5 is best.\n\n",
	       (long long)o->evaluations, o->seeds, o->seeds == 1 ? "" : "s");
	bench_head("instance|one|two|four|eight|two, sooner|busiest");
	for (int i = 0; i < N_TIMED; i++) {
		double value[N];
		BENCH_OPEN_TIMED(x, i);
		for (int k = 0; k < N; k++) {
			berth_search_cfg cfg = {.evaluations = o->evaluations, .walks = counts[k]};
			if (k == SOONER) {
				share[n] = share_of(&x, method, o->evaluations);
				cfg.evaluations = (int64_t)(0.6 * (double)o->evaluations / share[n]);
			}
			value[k] = bench_median_value(&x, method, &cfg, o->seeds);
			if (!isfinite(value[0]))
				break;
		}
		if (!isfinite(value[0]))
			continue;
		print_timed(i);
		printf(" %.4g |", value[0]);
		for (int k = 1; k < N; k++) {
			printf(" %.4f |", value[k] / value[0]);
			bench_add(&mean[k], value[k] / value[0]);
		}
		printf(" %.2f |\n", share[n++]);
	}
	printf("\nGeometric mean over %d: two %.4f, four %.4f, eight %.4f; two, sooner %.4f. Median of the "
	       "busiest: %.2f.\n", n, bench_mean_of(mean[1]), bench_mean_of(mean[2]), bench_mean_of(mean[3]),
	       bench_mean_of(mean[SOONER]), bench_median(share, n));
}
