/* berth-replicas-table: prints the table of docs/clusters.md on copies of a model: throughput on the fastest
 * device, by one copy, and by as many as are best. Values are the same for one build.
 *
 *     berth-replicas-table [EVALUATIONS] */
#include "replicas.h"
#include "bounds.h"
#include "load.h"
#include "load_system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const models[] = {"inception-v3", "resnet50",        "mobilenet-v2",    "densenet121",
                                     "vgg16",        "randwire:seed=1", "randwire:seed=2", "bert-base"};
static const char *const systems[] = {"cpu+2gpu", "hetero-cluster"};
enum { N_MODELS = sizeof models / sizeof *models, N_SYSTEMS = 2 };

typedef struct row {
	double single_s, one_s, copies_s, bound_s, cpu_s;
	int32_t copies;
} row;

/* Of all devices: the largest load is all of the graph's time on one. */
static double fastest(const berth_problem *p)
{
	double best = INFINITY;
	for (int32_t d = 0; d < p->n_devs; d++) {
		double sum = 0;
		for (int32_t op = 0; op < p->n_ops; op++)
			sum += berth_op_legal(p, op, d) ? (double)berth_op_time(p, op, d) : INFINITY;
		best = fmin(best, sum * 1e-9 / p->s->dev_slots[d]);
	}
	return best;
}

static berth_status fill(const char *model, const char *system, int64_t evaluations, row *r, berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	char spec[64], on[64];
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
	berth_replicas one, all;
	const berth_method *method;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.objective = berth_objective_of(BERTH_THROUGHPUT);
	cfg.evaluations = evaluations;
	snprintf(spec, sizeof spec, "zoo:%s", model);
	snprintf(on, sizeof on, "system:%s", system);
	berth_status st = berth_instance_load(spec, on, NULL, &mem, &tmp, &g, &s, NULL, err);
	if (st == BERTH_OK)
		st = berth_problem_new(&g, &s, &mem, &tmp, &p, err);
	if (st == BERTH_OK)
		st = berth_bounds_new(&p, &tmp, &bounds, err);
	if (st == BERTH_OK)
		st = berth_method_find("anneal", &method, err);
	if (st == BERTH_OK)
		st = berth_replicas_choose(&g, &s, 1, 1, method, &cfg, &mem, &tmp, &one, err);
	double from = berth_cpu_seconds();
	if (st == BERTH_OK)
		st = berth_replicas_choose(&g, &s, 1, berth_replicas_most(&g, &s), method, &cfg, &mem, &tmp,
		                           &all, err);
	if (st == BERTH_OK)
		*r = (row){fastest(&p),
		           one.sample_s,
		           all.sample_s,
		           (double)bounds.load_ns * 1e-9,
		           berth_cpu_seconds() - from,
		           all.n};
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static void print_row(const char *model, const char *system, const row *r)
{
	printf("| %s | %s | %.1f | %.1f | %.1f | %d | %.2f | %.2f | %.1f %% | %.2f s |\n", model, system,
	       1 / r->single_s, 1 / r->one_s, 1 / r->copies_s, (int)r->copies, r->single_s / r->copies_s,
	       r->one_s / r->copies_s, 100 * (r->copies_s / r->bound_s - 1), r->cpu_s);
	fflush(stdout);
}

static berth_status print_system(const char *system, int64_t evaluations, berth_err *err)
{
	double single = 0, one = 0, most = 0;
	for (int32_t i = 0; i < N_MODELS; i++) {
		row r = {0};
		BERTH_TRY(fill(models[i], system, evaluations, &r, err));
		print_row(models[i], system, &r);
		single += log(r.single_s / r.copies_s) / N_MODELS;
		one += log(r.one_s / r.copies_s) / N_MODELS;
		most = fmax(most, r.single_s / r.copies_s);
	}
	printf("| geometric mean | %s | | | | | %.2f | %.2f | | |\n| most | %s | | | | | %.2f | | | |\n",
	       system, exp(single), exp(one), system, most);
	return BERTH_OK;
}

int main(int argc, char **argv)
{
	berth_err err;
	int64_t evaluations = argc > 1 ? atoll(argv[1]) : 1000;
	printf("| model | system | fastest device, samples/s | one copy | copies | their number | over the "
	       "fastest "
	       "device | over one copy | above the bound | CPU time "
	       "|\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
	for (int k = 0; k < N_SYSTEMS; k++)
		if (print_system(systems[k], evaluations, &err) != BERTH_OK) {
			fprintf(stderr, "berth-replicas-table: %s\n", err.msg);
			return 1;
		}
	return 0;
}
