/* Speed of the reference simulator in nanoseconds per operator + edge. The placements are those a search
 * meets: the topological order cut into a few pieces, with one operator in ten moved at random. */
#include "speeds.h"

#include "eval.h"
#include "rng.h"

#include <stdlib.h>

enum { N_PLACEMENTS = 32 };

typedef struct simulate_ctx {
	berth_eval eval;
	const berth_problem *p;
	int32_t *placements;
	int next;
	double sink;
} simulate_ctx;

static void random_placement(const berth_problem *p, berth_rng *rng, int32_t *op_dev)
{
	uint32_t devs = (uint32_t)p->n_devs;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k], d = (int32_t)((uint32_t)k * devs / (uint32_t)p->n_ops);
		op_dev[op] = berth_rng_below(rng, 10) ? d : (int32_t)berth_rng_below(rng, devs);
		while (berth_op_time(p, op, op_dev[op]) < 0)
			op_dev[op] = (op_dev[op] + 1) % p->n_devs;
	}
}

static void simulate_one(void *arg)
{
	simulate_ctx *c = arg;
	c->sink +=
		berth_eval_run(&c->eval, c->placements + (size_t)c->next * (size_t)c->p->n_ops, NULL).value;
	c->next = (c->next + 1) % N_PLACEMENTS;
}

static void one_graph(const char *zoo, const char *system)
{
	subject b;
	simulate_ctx c = {0};
	char label[64];
	bench_open(&b, zoo, system);
	berth_arena own = {0};
	MUST(berth_eval_new(&b.p, &(berth_objective){0}, &own, &c.eval, &err));
	double sim_bytes = (double)berth_arena_size(&own);
	c.p = &b.p;
	c.placements =
		berth_arena_alloc(&b.mem, (size_t)N_PLACEMENTS * (size_t)b.p.n_ops, sizeof *c.placements);
	berth_rng rng = berth_rng_seed(1, 0);
	for (int i = 0; c.placements && i < N_PLACEMENTS; i++)
		random_placement(&b.p, &rng, c.placements + (size_t)i * (size_t)b.p.n_ops);
	double s = bench_seconds(simulate_one, &c);
	snprintf(label, sizeof label, "%s on %s", zoo, system);
	speed_row("simulate", label, s * 1e9 / (b.g.n_ops + b.g.n_edges), "ns/(op+edge)");
	speed_row("simulate_rate", label, 1 / s, "placements/s");
	speed_row("simulate_memory", label, sim_bytes / b.g.n_ops, "bytes/op");
	berth_arena_free(&own);
	bench_close(&b);
}

void speed_simulate(void)
{
	one_graph("resnet50", "4gpu");
	one_graph("bert-base", "4gpu");
	one_graph("inception-v3", "4gpu");
	one_graph("resnet50", "cpu+2gpu");
	one_graph("resnet50", "edge"); /* a memory pool */
	one_graph("bert-large:training=1", "4gpu");
	one_graph("random:ops=100000:seed=1", "4gpu");
	one_graph("random:ops=1000000:seed=1", "4gpu");
}
