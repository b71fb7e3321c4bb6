/* berth-mix-table: prints the table of docs/clusters.md on copies for requests of unlike sizes: seven in ten
 * of batch 1, three of batch 8. Values are the same for one build.
 *
 *     berth-mix-table [EVALUATIONS] */
#include "load.h"
#include "load_system.h"
#include "request_mix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const models[] = {"inception-v3", "resnet50",        "mobilenet-v2", "densenet121",
                                     "vgg16",        "randwire:seed=1", "bert-base"};
static const char *const systems[] = {"cpu+2gpu", "hetero-cluster"};
static const char *const sizes[] = {"batch=1", "batch=8"};
static const double share[] = {0.7, 0.3};
enum { N_MODELS = sizeof models / sizeof *models, N_SYSTEMS = 2, N_SIZES = 2 };

static berth_status fill(const char *model, const char *system, int64_t evaluations, berth_arena *mem,
                         berth_arena *tmp, berth_mix *r, int32_t *apart, berth_err *err)
{
	char spec[64], on[64];
	berth_graph g[N_SIZES];
	berth_system s;
	const berth_method *method;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.objective = berth_objective_of(BERTH_THROUGHPUT);
	cfg.evaluations = evaluations;
	snprintf(on, sizeof on, "system:%s", system);
	for (int i = 0; i < N_SIZES; i++) {
		snprintf(spec, sizeof spec, "zoo:%s:%s", model, sizes[i]);
		BERTH_TRY(berth_instance_load(spec, on, NULL, mem, tmp, &g[i], &s, NULL, err));
	}
	BERTH_TRY(berth_method_find("anneal", &method, err));
	const berth_requests x = {N_SIZES, g, share};
	BERTH_TRY(berth_mix_choose(&x, &s, berth_replicas_most(&g[0], &s), method, &cfg, mem, tmp, r, err));
	*apart = 0;
	for (int32_t k = 0; k < r->n; k++)
		*apart += !(r->copy[k].per_s[0] > 0) || !(r->copy[k].per_s[1] > 0);
	return BERTH_OK;
}

static berth_status print_row(const char *model, const char *system, int64_t evaluations, double sum[2],
                              berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_mix r = {0};
	int32_t apart = 0;
	double from = berth_cpu_seconds();
	berth_status st = fill(model, system, evaluations, &mem, &tmp, &r, &apart, err);
	if (st == BERTH_OK) {
		double over = r.per_s / r.device_per_s, one = r.per_s / r.one_per_s;
		printf("| %s | %s | %.1f | %.1f | %.1f | %d | %d | %.2f | %.2f | %.1f %% | %.2f s |\n", model,
		       system, r.device_per_s, r.one_per_s, r.per_s, (int)r.n, (int)apart, over, one,
		       100 * (1 - r.per_s / r.bound_per_s), berth_cpu_seconds() - from);
		sum[0] += log(over);
		sum[1] += log(one);
		fflush(stdout);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

int main(int argc, char **argv)
{
	berth_err err;
	int64_t evaluations = argc > 1 ? atoll(argv[1]) : 1000;
	printf("| model | system | fastest device, requests/s | one copy | copies | their number | for one "
	       "size alone | over the fastest device | over one copy | below the bound | CPU time "
	       "|\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
	for (int k = 0; k < N_SYSTEMS; k++) {
		double sum[2] = {0};
		for (int i = 0; i < N_MODELS; i++)
			if (print_row(models[i], systems[k], evaluations, sum, &err) != BERTH_OK) {
				fprintf(stderr, "berth-mix-table: %s\n", err.msg);
				return 1;
			}
		printf("| geometric mean | %s | | | | | | %.2f | %.2f | | |\n", systems[k],
		       exp(sum[0] / N_MODELS), exp(sum[1] / N_MODELS));
	}
	return 0;
}
