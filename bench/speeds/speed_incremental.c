/* Incremental evaluation of moves around a placement that a search would stand on (a few pieces of the
 * topological order, improved by 300 random moves), against full runs of the same placements, one core:
 * single moves, and single moves that need not be known beyond the base's latency. */
#include "speeds.h"

#include "incremental.h"
#include "rng.h"

#include <stdlib.h>

typedef struct incremental_ctx {
	const berth_problem *p;
	berth_sim *sim;
	berth_incremental *inc;
	berth_rng rng;
	int32_t *base, *trial;
	int64_t limit;
	double sink;
} incremental_ctx;

/* Another device for op that can run it. */
static int32_t other_dev(const incremental_ctx *c, int32_t op, int32_t d)
{
	do
		d = (d + 1) % c->p->n_devs;
	while (berth_op_time(c->p, op, d) < 0);
	return d;
}

static int32_t move(incremental_ctx *c)
{
	int32_t op = (int32_t)berth_rng_below(&c->rng, (uint32_t)c->p->n_ops);
	c->trial[op] = other_dev(c, op, c->base[op]);
	return op;
}

static void run_reference(void *arg)
{
	incremental_ctx *c = arg;
	berth_sim_result r;
	int32_t op = move(c);
	berth_sim_run(c->sim, c->trial, NULL, &r);
	c->sink += r.load_s;
	c->trial[op] = c->base[op];
}

static void run_incremental(void *arg)
{
	incremental_ctx *c = arg;
	berth_sim_result r = {0};
	int32_t op = move(c);
	berth_incremental_run(c->inc, c->trial, c->limit, &r);
	c->sink += r.load_s;
	c->trial[op] = c->base[op];
}

static void make_base(incremental_ctx *c)
{
	berth_sim_result r;
	int64_t best;
	for (int32_t k = 0; k < c->p->n_ops; k++) {
		int32_t op = c->p->g->topo_op[k];
		c->base[op] = (int32_t)((int64_t)k * c->p->n_devs / c->p->n_ops);
		if (berth_op_time(c->p, op, c->base[op]) < 0)
			c->base[op] = other_dev(c, op, c->base[op]);
	}
	berth_sim_run(c->sim, c->base, NULL, &r);
	best = r.latency_ns;
	memcpy(c->trial, c->base, (size_t)c->p->n_ops * sizeof *c->base);
	for (int i = 0; i < 300; i++) {
		int32_t op = move(c);
		berth_sim_run(c->sim, c->trial, NULL, &r);
		if (r.latency_ns <= best) {
			best = r.latency_ns;
			c->base[op] = c->trial[op];
		}
		c->trial[op] = c->base[op];
	}
	berth_incremental_base(c->inc, c->base, &r);
}

static void one_graph(const char *zoo, const char *system)
{
	subject b;
	incremental_ctx c = {.rng = berth_rng_seed(1, 0), .limit = INT64_MAX};
	berth_sim_result r;
	char label[96];
	bench_open(&b, zoo, system);
	c.p = &b.p;
	MUST(berth_sim_new(&b.p, &b.mem, &c.sim, &err));
	MUST(berth_incremental_new(&b.p, &b.mem, &c.inc, &err));
	MUST(BERTH_NEW(&b.mem, c.base, b.p.n_ops, &err));
	MUST(BERTH_NEW(&b.mem, c.trial, b.p.n_ops, &err));
	make_base(&c);
	double full = bench_seconds(run_reference, &c), single = bench_seconds(run_incremental, &c);
	berth_incremental_base(c.inc, c.base, &r);
	c.limit = r.latency_ns;
	double single_limit = bench_seconds(run_incremental, &c);
	snprintf(label, sizeof label, "%s on %s, %d ops", zoo, system, b.g.n_ops);
	speed_row("move_reference", label, full * 1e6, "us/placement");
	speed_row("move_single", label, full / single, "x reference");
	speed_row("move_single_limit", label, full / single_limit, "x reference");
	bench_close(&b);
}

void speed_incremental(void)
{
	one_graph("resnet50", "4gpu");
	one_graph("inception-v3", "4gpu");
	one_graph("bert-base", "4gpu");
	one_graph("bert-large:training=1", "4gpu");
	one_graph("bert-large:training=1", "cpu+2gpu");
	one_graph("random:ops=2000:seed=1", "4gpu");
	one_graph("random:ops=100000:seed=1", "4gpu");
}
