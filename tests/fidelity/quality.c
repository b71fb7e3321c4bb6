/* What a search finds in equal CPU time with each evaluator: annealing (single moves; one cooling) and cross-entropy over a table of device probabilities, both from the
 * best piecewise placement and without the methods' seeds and restarts, so that the evaluator alone differs. Those that search in a fast model check on the reference
 * whatever is the best so far in theirs; the value reported is always the reference's. berth-quality [SECONDS [SEEDS]] prints latencies relative to the best of the row.
 *
 *   reference, incremental   the execution model; the second up to the latency that would be taken
 *   batch, channels          the batched evaluator, upward rank, 32 candidates at once: without contention, with channels in program order */
#include "batch.h"
#include "incremental.h"
#include "rng.h"
#include "systems_builtin.h"
#include "threads.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFERENCE, INCREMENTAL, BATCH, CHANNELS, N_EVALUATORS, LANES = BERTH_BATCH_LANES };
static const char *const evaluator_name[N_EVALUATORS] = {"reference", "incremental", "batch", "channels"};

typedef struct searcher {
	const berth_problem *p;
	int evaluator;
	double end;               /* CPU seconds */
	berth_sim *sim;
	berth_incremental *inc;
	berth_batch *batch;
	berth_rng rng;
	int32_t *dev, *best_dev, *trial; /* [n_ops]; trial [LANES][n_ops] */
	uint8_t *lanes;
	int64_t value[LANES];
	int64_t best_ns, best_model_ns; /* by the reference; by the model that is searched in */
	int64_t evaluations;
} searcher;

static void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-quality: %s\n", err->msg);
	exit(1);
}

static int64_t reference(searcher *s, const int32_t *op_dev)
{
	berth_sim_result r;
	berth_sim_run(s->sim, op_dev, NULL, &r);
	return r.runs && r.fits ? r.latency_ns : INT64_MAX / 4;
}

/* A placement that is the best so far in the searched model. */
static void offer(searcher *s, const int32_t *op_dev, int64_t model_ns)
{
	bool exact = s->evaluator < BATCH;
	if (model_ns >= s->best_model_ns)
		return;
	s->best_model_ns = model_ns;
	int64_t ns = exact ? model_ns : reference(s, op_dev);
	if (ns >= s->best_ns)
		return;
	s->best_ns = ns;
	memcpy(s->best_dev, op_dev, (size_t)s->p->n_ops * sizeof *op_dev);
}

/* Values of the first n trials in the searched model; those above limit_ns may be told as huge. */
static void evaluate(searcher *s, int n, int64_t limit_ns)
{
	size_t ops = (size_t)s->p->n_ops;
	s->evaluations += n;
	for (int i = 0; i < n && s->evaluator < BATCH; i++) {
		berth_sim_result r;
		if (s->evaluator == REFERENCE)
			s->value[i] = reference(s, s->trial + (size_t)i * ops);
		else
			s->value[i] = berth_incremental_run(s->inc, s->trial + (size_t)i * ops, limit_ns, &r) && r.runs && r.fits ? r.latency_ns : INT64_MAX / 4;
	}
	if (s->evaluator < BATCH)
		return;
	for (int l = 0; l < LANES; l++)
		berth_batch_set(s->batch, l, s->trial + (size_t)(l < n ? l : 0) * ops, s->lanes);
	berth_batch_run(s->batch, s->lanes, s->value);
}

static int32_t draw_dev(searcher *s, int32_t op)
{
	for (;;) {
		int32_t d = (int32_t)berth_rng_below(&s->rng, (uint32_t)s->p->n_devs);
		if (berth_op_legal(s->p, op, d))
			return d;
	}
}

static void rebase(searcher *s)
{
	berth_sim_result r;
	if (s->evaluator == INCREMENTAL)
		berth_incremental_base(s->inc, s->dev, &r);
}

/* Cooling by CPU time from 1 % of the value to a hundredth of that. */
static void anneal(searcher *s, double seconds)
{
	int at_once = s->evaluator < BATCH ? 1 : LANES;
	size_t ops = (size_t)s->p->n_ops;
	memcpy(s->trial, s->dev, ops * sizeof *s->dev);
	rebase(s);
	evaluate(s, 1, INT64_MAX);
	int64_t now_ns = s->value[0];
	offer(s, s->dev, now_ns);
	for (double left; (left = s->end - berth_cpu_seconds()) > 0;) {
		double t = 0.01 * pow(0.01, 1 - left / seconds) * (double)now_ns;
		int64_t slack[LANES], most = 0;
		for (int i = 0; i < at_once; i++) {
			int32_t op = (int32_t)berth_rng_below(&s->rng, (uint32_t)ops), *trial = s->trial + (size_t)i * ops;
			memcpy(trial, s->dev, ops * sizeof *trial);
			trial[op] = draw_dev(s, op);
			slack[i] = (int64_t)(-log(1 - berth_rng_unit(&s->rng)) * t);
			most = slack[i] > most ? slack[i] : most;
		}
		evaluate(s, at_once, now_ns + most);
		for (int i = 0; i < at_once; i++)
			if (s->value[i] >= 0 && s->value[i] <= now_ns + slack[i]) {
				bool moved = memcmp(s->dev, s->trial + (size_t)i * ops, ops * sizeof *s->dev) != 0;
				memcpy(s->dev, s->trial + (size_t)i * ops, ops * sizeof *s->dev);
				now_ns = s->value[i];
				offer(s, s->dev, now_ns);
				if (moved)
					rebase(s);
				break;
			}
	}
}

/* Populations of LANES from a table, refitted to the best eighth. */
static void cross_entropy(searcher *s, double *table)
{
	int32_t n_devs = s->p->n_devs, n_ops = s->p->n_ops;
	for (int32_t op = 0; op < n_ops; op++)
		for (int32_t d = 0; d < n_devs; d++)
			table[op * n_devs + d] = !berth_op_legal(s->p, op, d) ? 0 : s->dev[op] == d ? 0.9 : 0.1 / n_devs;
	rebase(s);
	while (berth_cpu_seconds() < s->end) {
		bool elite[LANES] = {false};
		for (int i = 0; i < LANES; i++)
			for (int32_t op = 0; op < n_ops; op++) {
				const double *row = table + op * n_devs;
				double sum = 0, u;
				int32_t d = 0;
				for (int32_t k = 0; k < n_devs; k++)
					sum += row[k];
				for (u = berth_rng_unit(&s->rng) * sum - row[0]; u >= 0 && d + 1 < n_devs; u -= row[++d])
					;
				s->trial[(size_t)i * (size_t)n_ops + (size_t)op] = berth_op_legal(s->p, op, d) ? d : s->dev[op];
			}
		evaluate(s, LANES, INT64_MAX);
		for (int k = 0; k < LANES / 8; k++) {
			int best = -1;
			for (int i = 0; i < LANES; i++)
				if (!elite[i] && s->value[i] >= 0 && (best < 0 || s->value[i] < s->value[best]))
					best = i;
			if (best < 0)
				break;
			elite[best] = true;
			const int32_t *dev = s->trial + (size_t)best * (size_t)n_ops;
			offer(s, dev, s->value[best]);
			for (int32_t op = 0; op < n_ops; op++)
				for (int32_t d = 0; d < n_devs; d++) {
					double *x = &table[op * n_devs + d];
					*x += berth_op_legal(s->p, op, d) ? 0.05 * ((dev[op] == d ? 0.98 : 0.02 / n_devs) - *x) : 0;
				}
		}
	}
}

/* The topological order in pieces, or one device: what the reference likes best. */
static void first_placement(searcher *s)
{
	const berth_problem *p = s->p;
	int64_t best = INT64_MAX;
	for (int32_t c = -1; c < p->n_devs; c++) {
		for (int32_t k = 0; k < p->n_ops; k++) {
			int32_t op = p->g->topo_op[k], d = c < 0 ? (int32_t)((int64_t)k * p->n_devs / p->n_ops) : c;
			s->trial[op] = berth_op_legal(p, op, d) ? d : draw_dev(s, op);
		}
		int64_t ns = reference(s, s->trial);
		if (ns < best) {
			best = ns;
			memcpy(s->dev, s->trial, (size_t)p->n_ops * sizeof *s->dev);
		}
	}
	s->best_ns = best;
	s->best_model_ns = INT64_MAX;
	memcpy(s->best_dev, s->dev, (size_t)p->n_ops * sizeof *s->dev);
}

static double search(const berth_problem *p, int evaluator, bool cem, uint64_t seed, double seconds, double *per_s)
{
	berth_arena mem = {0};
	berth_err err;
	double *table;
	searcher s = {.p = p, .evaluator = evaluator, .rng = berth_rng_seed(seed, 7)};
	size_t ops = (size_t)p->n_ops;
	must(berth_sim_new(p, &mem, &s.sim, &err), &err);
	must(berth_incremental_new(p, &mem, &s.inc, &err), &err);
	must(berth_batch_new(p, &(berth_batch_cfg){.channels = evaluator == CHANNELS}, &mem, &s.batch, &err), &err);
	must(BERTH_NEW(&mem, s.dev, ops, &err), &err);
	must(BERTH_NEW(&mem, s.best_dev, ops, &err), &err);
	must(BERTH_NEW(&mem, s.trial, LANES * ops, &err), &err);
	must(BERTH_NEW(&mem, s.lanes, LANES * ops, &err), &err);
	must(BERTH_NEW(&mem, table, ops * (size_t)p->n_devs, &err), &err);
	first_placement(&s);
	double from = berth_cpu_seconds();
	s.end = from + seconds;
	if (cem)
		cross_entropy(&s, table);
	else
		anneal(&s, seconds);
	*per_s = (double)s.evaluations / (berth_cpu_seconds() - from);
	berth_arena_free(&mem);
	return (double)s.best_ns;
}

static void one(const char *zoo, const char *system, double seconds, int seeds)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
	must(berth_zoo_build(zoo, &mem, &tmp, &g, &err), &err);
	must(berth_system_builtin(system, &mem, &tmp, &s, &err), &err);
	must(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	for (int cem = 0; cem < 2; cem++) {
		double mean[N_EVALUATORS] = {0}, rate[N_EVALUATORS] = {0}, best = INFINITY;
		for (int e = 0; e < N_EVALUATORS; e++) {
			for (int seed = 1; seed <= seeds; seed++) {
				double per_s;
				mean[e] += search(&p, e, cem, (uint64_t)seed, seconds, &per_s) / seeds;
				rate[e] += per_s / seeds;
			}
			best = fmin(best, mean[e]);
		}
		printf("| %s, `%s`, %s |", zoo + 4, system, cem ? "cross-entropy" : "annealing");
		for (int e = 0; e < N_EVALUATORS; e++)
			printf(" %.3f (%.2g/s) |", mean[e] / best, rate[e]);
		printf("\n");
		fflush(stdout);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(int argc, char **argv)
{
	static const char *const graph[] = {"zoo:resnet50", "zoo:inception-v3", "zoo:bert-base", "zoo:bert-large:training=1"};
	static const char *const system[] = {"4gpu", "cpu+2gpu"};
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	int seeds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3;
	printf("| problem, search |");
	for (int e = 0; e < N_EVALUATORS; e++)
		printf(" %s |", evaluator_name[e]);
	printf("\n|---|---|---|---|---|\n");
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++)
			one(graph[i], system[k], seconds, seeds);
	return 0;
}
