/* How well simpler models rank placements for the full one: mean Kendall tau (a) and regret of the placement
 * that the model likes best, over 24 problems (graph x system) of 60 placements each: the topological order
 * cut into pieces of equal operator time, up to one operator in ten moved at random. */
#include "entries.h"
#include "ready.h"
#include "rng.h"
#include "sim.h"

enum { N = 60 };

/* A simpler machine, and the order it is given: none, upward rank, topological, that of the starts of the
 * first placement under the full model. Contention is with channels in program order: with the rest as it is,
 * that is the full model but for the channels' order. */
static const struct model {
	const char *name;
	bool contention;
	berth_order order;
	enum { NO_ORDER, BY_RANK, BY_TOPO, BY_STARTS, N_GIVEN } given;
} models[] = {
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
enum { N_MODELS = BENCH_N(models) };

static void draw_placement(const berth_problem *p, int32_t index, int32_t *op_dev)
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

static void simulate_all(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                         berth_arena *mem, int64_t out[N])
{
	berth_sim *sim;
	berth_sim_result r;
	MUST(berth_sim_new(p, mem, &sim, &err));
	for (int32_t i = 0; i < N; i++) {
		berth_sim_run(sim, BERTH_ROW(op_dev, i, p->n_ops), order, &r);
		out[i] = r.latency_ns;
	}
}

/* Operators by their starts in a run of op_dev. */
static int32_t *order_of_starts(const berth_problem *p, const int32_t *op_dev, berth_arena *mem)
{
	int32_t *order = bench_new(mem, (size_t)p->n_ops, sizeof *order);
	int64_t *key = bench_new(mem, (size_t)p->n_ops, sizeof *key);
	berth_sim *sim;
	berth_sim_result r;
	berth_ready ready;
	MUST(berth_sim_new(p, mem, &sim, &err));
	MUST(berth_ready_new(p->g, mem, &ready, &err));
	berth_sim_run(sim, op_dev, NULL, &r);
	for (int32_t op = 0; op < p->n_ops; op++)
		key[op] = -berth_sim_last(sim).start_ns[op];
	berth_ready_start(&ready, key);
	for (int32_t i = 0; i < p->n_ops; i++)
		order[i] = berth_ready_next(&ready);
	return order;
}

static void add_instance(const char *graph, const char *system, double tau[N_MODELS], double lost[N_MODELS])
{
	berth_problem q;
	int64_t full[N], fast[N];
	BENCH_OPEN(x, graph, system);
	int32_t *op_dev = bench_new(&x.mem, N * (size_t)x.g.n_ops, sizeof *op_dev);
	for (int32_t i = 0; i < N; i++)
		draw_placement(&x.p, i, BERTH_ROW(op_dev, i, x.g.n_ops));
	simulate_all(&x.p, op_dev, NULL, &x.mem, full);
	const int32_t *starts = order_of_starts(&x.p, op_dev, &x.mem);
	for (int m = 0; m < N_MODELS; m++) {
		berth_system simpler = x.s;
		simpler.contention = models[m].contention;
		simpler.channel_order = models[m].order == BERTH_ORDER_GIVEN ? BERTH_CHANNELS_REQUEST
		                                                             : BERTH_CHANNELS_PROGRAM;
		simpler.order = models[m].order;
		MUST(berth_problem_new(&x.g, &simpler, &x.mem, &x.tmp, &q, &err));
		const int32_t *order[N_GIVEN] = {NULL, q.prio_op, x.g.topo_op, starts};
		simulate_all(&q, op_dev, order[models[m].given], &x.mem, fast);
		/* What a model's times say beside the full ones. */
		int32_t alike = 0, pick = 0, best = 0;
		for (int32_t i = 0; i < N; i++) {
			for (int32_t j = 0; j < i; j++)
				alike += ((fast[i] > fast[j]) - (fast[i] < fast[j])) *
				         ((full[i] > full[j]) - (full[i] < full[j]));
			pick = fast[i] < fast[pick] ? i : pick;
			best = full[i] < full[best] ? i : best;
		}
		tau[m] += (double)alike / (N * (N - 1) / 2);
		lost[m] += (double)full[pick] / (double)full[best] - 1;
	}
}

void table_fidelity(const bench_options *o)
{
	static const char *const graph[] = {
		"resnet50", "inception-v3", "bert-base", "resnet50:training=1", "inception-v3:training=1",
		"bert-base:training=1",
		"random:ops=50:seed=1", "random:ops=100:seed=2", "random:ops=200:seed=3",
		"random:ops=400:seed=4", "random:ops=800:seed=5", "random:ops=1600:seed=6"};
	double tau[N_MODELS] = {0}, lost[N_MODELS] = {0};
	(void)o;
	bench_head("model|Kendall's tau:|regret:");
	for (int i = 0; i < 24; i++)
		add_instance(graph[i / 2], i % 2 ? "4gpu" : "cpu+2gpu", tau, lost);
	for (int m = 0; m < N_MODELS; m++)
		printf("| %s | %.2f | %.1f %% |\n", models[m].name, tau[m] / 24, lost[m] / 24 * 100);
}
