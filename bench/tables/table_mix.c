/* The table of docs/clusters.md on copies for requests of unlike sizes: seven in ten of batch 1, three of
 * batch 8. Values are the same for one build. */
#include "bench.h"

#include "request_mix.h"

#include <math.h>

enum { N_SIZES = 2 };

static void print_row(const char *model, const char *system, int64_t evaluations, double sum[2])
{
	static const double share[N_SIZES] = {0.7, 0.3};
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_graph g[N_SIZES];
	berth_mix r = {0};
	subject x[N_SIZES];
	int32_t apart = 0;
	double from = berth_cpu_seconds();
	cfg.objective = berth_objective_of(BERTH_THROUGHPUT);
	cfg.evaluations = evaluations;
	for (int i = 0; i < N_SIZES; i++) {
		char graph[64];
		snprintf(graph, sizeof graph, "%s:batch=%d", model, i ? 8 : 1);
		bench_open(&x[i], graph, system);
		g[i] = x[i].g;
	}
	const berth_requests q = {N_SIZES, g, share};
	MUST(berth_mix_choose(&q, &x[0].s, berth_replicas_most(&g[0], &x[0].s), bench_method("anneal"), &cfg,
	                      &x[0].mem, &x[0].tmp, &r, &err));
	for (int32_t k = 0; k < r.n; k++)
		apart += !(r.copy[k].per_s[0] > 0) || !(r.copy[k].per_s[1] > 0);
	double over = r.per_s / r.device_per_s, one = r.per_s / r.one_per_s;
	printf("| %s | %s | %.1f | %.1f | %.1f | %d | %d | %.2f | %.2f | %.1f %% | %.2f s |\n", model, system,
	       r.device_per_s, r.one_per_s, r.per_s, (int)r.n, (int)apart, over, one,
	       100 * (1 - r.per_s / r.bound_per_s), berth_cpu_seconds() - from);
	fflush(stdout);
	sum[0] += log(over);
	sum[1] += log(one);
	for (int i = 0; i < N_SIZES; i++)
		bench_close(&x[i]);
}

static void run_mix(const bench_options *o)
{
	static const char *const models[] = {"inception-v3", "resnet50",        "mobilenet-v2", "densenet121",
	                                     "vgg16",        "randwire:seed=1", "bert-base"};
	static const char *const systems[] = {"cpu+2gpu", "hetero-cluster"};
	enum { N_MODELS = sizeof models / sizeof *models };
	bench_head("model|system|fastest device, requests/s:|one copy:|copies:|their number:|for one size "
	           "alone:|"
	           "over the fastest device:|over one copy:|below the bound:|CPU time:");
	for (int k = 0; k < 2; k++) {
		double sum[2] = {0};
		for (int i = 0; i < N_MODELS; i++)
			print_row(models[i], systems[k], o->evaluations, sum);
		printf("| geometric mean | %s | | | | | | %.2f | %.2f | | |\n", systems[k],
		       exp(sum[0] / N_MODELS), exp(sum[1] / N_MODELS));
	}
}

const bench_entry bench_mix = {
	"mix", "", "clusters", "2 min",
	"copies for requests of unlike sizes", {.evaluations = 1000}, run_mix};
