/* How well simpler models rank placements for the full one: mean Kendall tau (a) and regret of the placement
 * that the model likes best, over 24 problems (graph x system) of 60 placements each: the topological order
 * cut into pieces of equal operator time, up to one operator in ten moved at random. */
#include "ready.h"
#include "rng.h"
#include "sim.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 60 };

/* A simpler machine, and the order it is given: none, upward rank, topological, that of the starts of the
 * first placement under the full model. */
typedef struct model {
	const char *name;
	bool contention;
	berth_order order;
	enum { NO_ORDER, BY_RANK, BY_TOPO, BY_STARTS, N_GIVEN } given;
} model;

/* Contention is with channels in program order: with the rest as it is, that is the full model but for the
 * channels' order. */
static const model models[] = {
	{"order given: upward rank", false, BERTH_ORDER_PRIORITY, BY_RANK},
	{"order given: topological order", false, BERTH_ORDER_PRIORITY, BY_TOPO},
	{"order given: upward rank, channels in that order", true, BERTH_ORDER_PRIORITY, BY_RANK},
	{"order given: topological order, channels in that order", true, BERTH_ORDER_PRIORITY, BY_TOPO},
	{"order given: a neighbour's starts", false, BERTH_ORDER_PRIORITY, BY_STARTS},
	{"order given: a neighbour's starts, channels in that order", true, BERTH_ORDER_PRIORITY, BY_STARTS},
	{"reference, `priority` without contention", false, BERTH_ORDER_PRIORITY, NO_ORDER},
	{"reference, `fifo` without contention", false, BERTH_ORDER_FIFO, NO_ORDER},
	{"reference, `program` without contention", false, BERTH_ORDER_PROGRAM, NO_ORDER},
	{"reference, `priority`, channels in program order", true, BERTH_ORDER_PRIORITY, NO_ORDER},
	{"reference, `priority`, contention, upward rank given", true, BERTH_ORDER_GIVEN, BY_RANK},
};
enum { N_MODELS = sizeof models / sizeof *models };

static void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-fidelity: %s\n", err->msg);
	exit(1);
}

static void draw(const berth_problem *p, int32_t index, int32_t *op_dev)
{
	berth_rng rng = berth_rng_seed(1, (uint64_t)index);
	int64_t total = 0, sum = 0;
	for (int32_t op = 0; op < p->n_ops; op++)
		total += p->op_mean_ns[op];
	uint32_t devs = (uint32_t)p->n_devs, shift = berth_rng_below(&rng, devs),
		 moved = berth_rng_below(&rng, 11);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k];
		uint32_t piece = total ? (uint32_t)(sum * (int64_t)devs / total) : 0;
		sum += p->op_mean_ns[op];
		op_dev[op] = (int32_t)((piece + shift) % devs);
		if (berth_rng_below(&rng, 100) < moved)
			op_dev[op] = (int32_t)berth_rng_below(&rng, devs);
		while (berth_op_time(p, op, op_dev[op]) < 0)
			op_dev[op] = (op_dev[op] + 1) % p->n_devs;
	}
}

static double kendall(const int64_t *a, const int64_t *b)
{
	int32_t with = 0, against = 0;
	for (int32_t i = 0; i < N; i++)
		for (int32_t j = 0; j < i; j++) {
			int32_t s = ((a[i] > a[j]) - (a[i] < a[j])) * ((b[i] > b[j]) - (b[i] < b[j]));
			with += s > 0;
			against += s < 0;
		}
	return (double)(with - against) / (N * (N - 1) / 2);
}

static double regret(const int64_t *fast, const int64_t *full)
{
	int32_t pick = 0, best = 0;
	for (int32_t i = 1; i < N; i++) {
		pick = fast[i] < fast[pick] ? i : pick;
		best = full[i] < full[best] ? i : best;
	}
	return (double)full[pick] / (double)full[best] - 1;
}

static void value(const berth_problem *p, const int32_t *op_dev, const int32_t *order, berth_arena *mem,
                  int64_t out[N])
{
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	must(berth_sim_new(p, mem, &sim, &err), &err);
	for (int32_t i = 0; i < N; i++) {
		berth_sim_run(sim, op_dev + (size_t)i * (size_t)p->n_ops, order, &r);
		out[i] = r.latency_ns;
	}
}

/* Operators by their starts in a run of op_dev. */
static void order_of_starts(const berth_problem *p, const int32_t *op_dev, berth_arena *mem, int32_t *order)
{
	berth_sim *sim;
	berth_sim_result r;
	berth_ready ready;
	berth_err err;
	int64_t *key;
	must(berth_sim_new(p, mem, &sim, &err), &err);
	must(BERTH_NEW(mem, key, p->n_ops, &err), &err);
	must(berth_ready_new(p->g, mem, &ready, &err), &err);
	berth_sim_run(sim, op_dev, NULL, &r);
	for (int32_t op = 0; op < p->n_ops; op++)
		key[op] = -berth_sim_start_ns(sim)[op];
	berth_ready_start(&ready, key);
	for (int32_t i = 0; i < p->n_ops; i++)
		order[i] = berth_ready_next(&ready);
}

static void one(const char *zoo, const char *system, double tau[N_MODELS], double lost[N_MODELS])
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p, q;
	berth_err err;
	int32_t *op_dev, *starts;
	int64_t full[N], fast[N];
	must(berth_zoo_build(zoo, &mem, &tmp, &g, &err), &err);
	must(berth_system_builtin(system, &mem, &tmp, &s, &err), &err);
	must(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	must(BERTH_NEW(&mem, op_dev, N * (size_t)g.n_ops, &err), &err);
	for (int32_t i = 0; i < N; i++)
		draw(&p, i, op_dev + (size_t)i * (size_t)g.n_ops);
	value(&p, op_dev, NULL, &mem, full);
	must(BERTH_NEW(&mem, starts, g.n_ops, &err), &err);
	order_of_starts(&p, op_dev, &mem, starts);
	for (int m = 0; m < N_MODELS; m++) {
		berth_system free_s = s;
		free_s.contention = models[m].contention;
		free_s.channel_order = models[m].order == BERTH_ORDER_GIVEN ? BERTH_CHANNELS_REQUEST
		                                                            : BERTH_CHANNELS_PROGRAM;
		free_s.order = models[m].order;
		must(berth_problem_new(&g, &free_s, &mem, &tmp, &q, &err), &err);
		const int32_t *order[N_GIVEN] = {NULL, q.prio_op, g.topo_op, starts};
		value(&q, op_dev, order[models[m].given], &mem, fast);
		tau[m] += kendall(fast, full);
		lost[m] += regret(fast, full);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	static const char *const graph[] = {"zoo:resnet50",
	                                    "zoo:inception-v3",
	                                    "zoo:bert-base",
	                                    "zoo:resnet50:training=1",
	                                    "zoo:inception-v3:training=1",
	                                    "zoo:bert-base:training=1",
	                                    "zoo:random:ops=50:seed=1",
	                                    "zoo:random:ops=100:seed=2",
	                                    "zoo:random:ops=200:seed=3",
	                                    "zoo:random:ops=400:seed=4",
	                                    "zoo:random:ops=800:seed=5",
	                                    "zoo:random:ops=1600:seed=6"};
	static const char *const system[] = {"cpu+2gpu", "4gpu"};
	double tau[N_MODELS] = {0}, lost[N_MODELS] = {0};
	for (int i = 0; i < 12; i++)
		for (int k = 0; k < 2; k++)
			one(graph[i], system[k], tau, lost);
	for (int m = 0; m < N_MODELS; m++)
		printf("| %s | %.2f | %.1f %% |\n", models[m].name, tau[m] / 24, lost[m] / 24 * 100);
	return 0;
}
