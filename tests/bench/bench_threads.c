/* Evaluations over a pool, one context a worker: the batched evaluator and the reference on 1 and 2 workers. Wall time is what counts here and other work spoils it, so
 * the CPU seconds of all threads a wall second stand beside the ratio. */
#include "bench.h"

#include "batch.h"
#include "rng.h"
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_WORKERS = 2, N_ITEMS = 64 };

typedef struct threads_ctx {
	const berth_problem *p;
	berth_batch *batch[MAX_WORKERS];
	berth_sim *sim[MAX_WORKERS];
	const uint8_t *lanes;      /* [n_ops][lanes] */
	const int32_t *op_dev;
	int64_t latency[N_ITEMS][BERTH_BATCH_LANES];
} threads_ctx;

static void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-bench: %s\n", err->msg);
	exit(1);
}

static void one_batch(void *arg, int32_t item, int32_t worker)
{
	threads_ctx *c = arg;
	berth_batch_run(c->batch[worker], c->lanes, c->latency[item]);
}

static void one_sim(void *arg, int32_t item, int32_t worker)
{
	threads_ctx *c = arg;
	berth_sim_result r;
	berth_sim_run(c->sim[worker], c->op_dev, NULL, &r);
	c->latency[item][0] = r.latency_ns;
}

/* Wall seconds of half a second's worth of runs, each; *cpu: CPU seconds a wall second. */
static double wall_of(berth_pool *pool, void (*work)(void *, int32_t, int32_t), threads_ctx *c, double *cpu)
{
	double from = berth_wall_seconds(), cpu_from = berth_cpu_seconds(), now;
	long n = 0;
	do {
		berth_pool_run(pool, N_ITEMS, work, c);
		n++;
		now = berth_wall_seconds();
	} while (now - from < 0.5);
	*cpu = (berth_cpu_seconds() - cpu_from) / (now - from);
	return (now - from) / (double)n;
}

static void both(bench_out *out, const char *name, void (*work)(void *, int32_t, int32_t), threads_ctx *c)
{
	berth_pool *pool;
	berth_err err;
	double cpu1, cpu2;
	must(berth_pool_new(MAX_WORKERS, &pool, &err), &err);
	double one = wall_of(NULL, work, c, &cpu1), two = wall_of(pool, work, c, &cpu2);
	bench_row(out, name, "1 to 2 workers, wall", one / two, "x");
	bench_row(out, name, "1 worker, CPU seconds a wall second", cpu1, "");
	bench_row(out, name, "2 workers, CPU seconds a wall second", cpu2, "");
	bench_row(out, name, "CPU seconds of an evaluation, 1 worker to 2", one * cpu1 / (two * cpu2), "x");
	berth_pool_free(pool);
}

void bench_threads(bench_out *out)
{
	bench_problem b;
	threads_ctx c = {0};
	berth_err err;
	uint8_t *lanes;
	int32_t *op_dev;
	berth_rng rng = berth_rng_seed(1, 0);
	bench_compile(&b, "zoo:bert-large:training=1", "4gpu");
	c.p = &b.p;
	must(BERTH_NEW(&b.mem, lanes, (size_t)b.p.n_ops * BERTH_BATCH_LANES, &err), &err);
	must(BERTH_NEW(&b.mem, op_dev, b.p.n_ops, &err), &err);
	for (size_t i = 0; i < (size_t)b.p.n_ops * BERTH_BATCH_LANES; i++)
		lanes[i] = (uint8_t)berth_rng_below(&rng, (uint32_t)b.p.n_devs);
	for (int32_t k = 0; k < b.p.n_ops; k++)
		op_dev[b.g.topo_op[k]] = (int32_t)((int64_t)k * b.p.n_devs / b.p.n_ops);
	c.lanes = lanes;
	c.op_dev = op_dev;
	for (int w = 0; w < MAX_WORKERS; w++) {
		must(berth_batch_new(&b.p, &(berth_batch_cfg){0}, &b.mem, &c.batch[w], &err), &err);
		must(berth_sim_new(&b.p, &b.mem, &c.sim[w], &err), &err);
	}
	both(out, "threads_batch", one_batch, &c);
	both(out, "threads_reference", one_sim, &c);
	bench_discard(&b);
}
