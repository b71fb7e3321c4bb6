/* What a search finds in equal CPU time with each evaluator: the methods `anneal`, `cem` and `berth` as they ship, but for the evaluator. Those that search in a fast
 * model have what seems best scored by the reference as they go, and the value reported is always the reference's. berth-quality [SECONDS [SEEDS]] prints
 * latencies relative to the best of the row, means over the seeds, and evaluations a second; then geometric means over all problems.
 *
 *   reference   the execution model, every placement from the beginning
 *   shipped     the same, walks by the incremental evaluator
 *   batch       the batched evaluator, upward rank, 32 candidates at once, without contention
 *   channels    the same with channels in program order
 *   both        half of the time by batch, then by what ships from the best so far */
#include "batch.h"
#include "methods.h"
#include "systems_builtin.h"
#include "threads.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REFERENCE, SHIPPED, BATCH, CHANNELS, BOTH, N_EVALUATORS, LANES = BERTH_BATCH_LANES };
static const char *const evaluator_name[N_EVALUATORS] = {"reference", "shipped", "batch", "channels", "both"};

typedef struct evaluator {
	const berth_problem *p;
	berth_eval eval;
	berth_batch *batch;
	uint8_t *lanes;       /* [n_ops][LANES] */
	int64_t *peak;        /* [n_devs][LANES] */
} evaluator;

static void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-quality: %s\n", err->msg);
	exit(1);
}

static void by_reference(void *ctx, int32_t n, const int32_t *const *op_devs, berth_score *scores)
{
	evaluator *e = ctx;
	for (int32_t i = 0; i < n; i++)
		scores[i] = berth_eval_run(&e->eval, op_devs[i], NULL);
}

static void by_batch(void *ctx, int32_t n, const int32_t *const *op_devs, berth_score *scores)
{
	evaluator *e = ctx;
	int64_t ns[LANES];
	double excess[LANES] = {0};
	for (int32_t l = 0; l < n; l++) /* the lanes behind hold what they held */
		berth_batch_set(e->batch, l, op_devs[l], e->lanes);
	berth_batch_run(e->batch, e->lanes, ns);
	if (!e->p->memory_free) {
		berth_batch_memory(e->batch, e->lanes, e->peak);
		berth_batch_excess(e->batch, e->peak, excess);
	}
	for (int32_t l = 0; l < n; l++)
		scores[l] = ns[l] < 0 ? berth_score_worst() : (berth_score){excess[l], (double)ns[l] * 1e-9};
}

static berth_search_model new_model(evaluator *e, int which, berth_arena *mem)
{
	berth_err err;
	berth_objective latency = {0};
	if (which == REFERENCE) {
		must(berth_eval_new(e->p, &latency, mem, &e->eval, &err), &err);
		return (berth_search_model){1, by_reference, e};
	}
	berth_batch_cfg cfg = {.channels = which == CHANNELS, .memory = !e->p->memory_free};
	must(berth_batch_new(e->p, &cfg, mem, &e->batch, &err), &err);
	must(BERTH_NEW(mem, e->lanes, LANES * (size_t)e->p->n_ops, &err), &err);
	must(BERTH_NEW(mem, e->peak, LANES * (size_t)e->p->n_devs, &err), &err);
	return (berth_search_model){LANES, by_batch, e};
}

/* Run the method for so many CPU seconds, from the best of `before` where there is one. */
static berth_search run(const berth_problem *p, const berth_method *m, const berth_search_model *model, uint64_t seed, double seconds, const berth_search *before,
                        berth_arena *mem)
{
	berth_arena tmp = {0};
	berth_search s;
	berth_err err;
	berth_search_cfg cfg = {.seed = seed, .evaluations = INT64_MAX / 4, .cpu_s = seconds, .model = model};
	must(berth_search_new(p, &cfg, mem, &s, &err), &err);
	if (before)
		berth_search_keep(&s, before->best, before->best_dev, before->best_has_order ? before->best_order : NULL);
	must(berth_method_run(m, &s, &tmp, &err), &err);
	s.evaluations += before ? before->evaluations : 0;
	berth_arena_free(&tmp);
	return s;
}

static double search(const berth_problem *p, const berth_method *m, int which, uint64_t seed, double seconds, double *per_s)
{
	berth_arena mem = {0};
	evaluator e = {.p = p};
	berth_search_model model = {0};
	if (which != SHIPPED)
		model = new_model(&e, which, &mem);
	double from = berth_cpu_seconds(), first = which == BOTH ? seconds / 2 : seconds;
	berth_search s = run(p, m, which == SHIPPED ? NULL : &model, seed, first, NULL, &mem);
	if (which == BOTH)
		s = run(p, m, NULL, seed, fmax(from + seconds - berth_cpu_seconds(), 1e-3), &s, &mem); /* 0 is no limit */
	*per_s = (double)s.evaluations / (berth_cpu_seconds() - from);
	double value = berth_score_feasible(s.best) ? s.best.value : INFINITY;
	berth_arena_free(&mem);
	return value;
}

static void one(const berth_problem *p, const char *zoo, const char *system, const berth_method *m, double seconds, int seeds, double *log_sum)
{
	double mean[N_EVALUATORS] = {0}, rate[N_EVALUATORS] = {0}, best = INFINITY;
	for (int e = 0; e < N_EVALUATORS; e++) {
		for (int seed = 1; seed <= seeds; seed++) {
			double per_s;
			mean[e] += search(p, m, e, (uint64_t)seed, seconds, &per_s) / seeds;
			rate[e] += per_s / seeds;
		}
		best = fmin(best, mean[e]);
	}
	printf("| %s, `%s`, %s |", zoo + 4, system, m->name);
	for (int e = 0; e < N_EVALUATORS; e++) {
		printf(" %.4f (%.2g/s) |", mean[e] / best, rate[e]);
		log_sum[e] += log(mean[e] / best);
	}
	printf("\n");
	fflush(stdout);
}

enum { N_METHODS = 3 };

static void all_methods(const char *zoo, const char *system, double seconds, int seeds, double log_sum[N_METHODS][N_EVALUATORS])
{
	static const char *const method[N_METHODS] = {"anneal", "cem", "berth"};
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
	must(berth_zoo_build(zoo, &mem, &tmp, &g, &err), &err);
	must(berth_system_builtin(system, &mem, &tmp, &s, &err), &err);
	must(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	for (int i = 0; i < N_METHODS; i++) {
		const berth_method *m;
		must(berth_method_find(method[i], &m, &err), &err);
		one(&p, zoo, system, m, seconds, seeds, log_sum[i]);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(int argc, char **argv)
{
	static const char *const problem[][2] = {{"zoo:resnet50", "cpu+2gpu"}, {"zoo:inception-v3", "4gpu"}, {"zoo:nasnet-a:size=mobile", "cpu+2gpu"},
	                                         {"zoo:bert-base", "4gpu"}, {"zoo:transformer", "hetero-cluster"}, {"zoo:chain-mm", "4gpu"},
	                                         {"zoo:random:ops=200:seed=3", "hetero-cluster"},
	                                         {"zoo:resnet50:batch=64:training=1", "cpu+2gpu"}, {"zoo:bert-large:training=1", "4gpu"}};
	enum { N_PROBLEMS = sizeof problem / sizeof *problem };
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1, log_sum[N_METHODS][N_EVALUATORS] = {{0}};
	int seeds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3;
	printf("| problem, search |");
	for (int e = 0; e < N_EVALUATORS; e++)
		printf(" %s |", evaluator_name[e]);
	printf("\n|---|---|---|---|---|---|\n");
	for (int i = 0; i < N_PROBLEMS; i++)
		all_methods(problem[i][0], problem[i][1], seconds, seeds, log_sum);
	for (int m = 0; m < N_METHODS; m++) {
		printf("| geometric mean, %s |", m == 0 ? "anneal" : m == 1 ? "cem" : "berth");
		for (int e = 0; e < N_EVALUATORS; e++)
			printf(" %.4f |", exp(log_sum[m][e] / N_PROBLEMS));
		printf("\n");
	}
	return 0;
}
