/* Evaluations over a pool, one context a worker: the reference on 1 and 2 workers. The caller is a worker:
 * one worker is the caller alone. Wall time is what counts here and other work spoils it, so the CPU seconds
 * of all threads a wall second stand beside the ratio, and what two threads do at the same time that share
 * nothing. */
#include "speeds.h"

#include "sim.h"

#include <stdlib.h>

enum { MAX_WORKERS = 2, N_ITEMS = 64, REPEATS = 15 };

typedef struct threads_ctx {
	const berth_problem *p;
	berth_sim *sim[MAX_WORKERS];
	const int32_t *op_dev;
	int64_t latency[N_ITEMS];
} threads_ctx;

static void one_sim(void *arg, int32_t item, int32_t worker)
{
	threads_ctx *c = arg;
	berth_sim_result r;
	berth_sim_run(c->sim[worker], c->op_dev, NULL, &r);
	c->latency[item] = r.latency_ns;
}

/* Runs of N_ITEMS a wall second, over a tenth of one; *cpu: CPU seconds a wall second. */
static double rate_of(berth_pool *pool, void (*work)(void *, int32_t, int32_t), threads_ctx *c, double *cpu)
{
	double from = berth_wall_seconds(), cpu_from = berth_cpu_seconds(), now;
	long n = 0;
	do {
		berth_pool_run(pool, N_ITEMS, work, c);
		n++;
		now = berth_wall_seconds();
	} while (now - from < 0.1);
	*cpu = (berth_cpu_seconds() - cpu_from) / (now - from);
	return (double)n / (now - from);
}

/* What two threads do that do not wait for each other: each its own runs for a tenth of a second. */
typedef struct apart {
	threads_ctx *c;
	void (*work)(void *, int32_t, int32_t);
	double until;
	long n[MAX_WORKERS];
} apart;

static void run_apart(void *arg, int32_t item, int32_t worker)
{
	apart *a = arg;
	while (berth_wall_seconds() < a->until) {
		a->work(a->c, item, worker);
		a->n[item]++;
	}
}

static double rate_apart(berth_pool *pool, void (*work)(void *, int32_t, int32_t), threads_ctx *c)
{
	double from = berth_wall_seconds();
	apart a = {.c = c, .work = work, .until = from + 0.1};
	berth_pool_run(pool, MAX_WORKERS, run_apart, &a);
	return (double)(a.n[0] + a.n[1]) / N_ITEMS / (berth_wall_seconds() - from);
}

/* In turn, so that other work on the machine meets all of them; medians of the ratios. */
static void both(const char *name, void (*work)(void *, int32_t, int32_t), threads_ctx *c)
{
	berth_pool *pool;
	double scale[REPEATS], most[REPEATS], cpu1[REPEATS], cpu2[REPEATS];
	MUST(berth_pool_new(MAX_WORKERS, &pool, &err));
	for (int r = 0; r < REPEATS; r++) {
		double one = rate_of(NULL, work, c, &cpu1[r]), two = rate_of(pool, work, c, &cpu2[r]),
		       free_two = rate_apart(pool, work, c);
		scale[r] = two / one;
		most[r] = two / free_two;
	}
	speed_row(name, "1 to 2 workers, wall", bench_median(scale, REPEATS), "x");
	speed_row(name, "2 workers, of two threads that never meet", bench_median(most, REPEATS), "x");
	speed_row(name, "1 worker, CPU seconds a wall second", bench_median(cpu1, REPEATS), "");
	speed_row(name, "2 workers, CPU seconds a wall second", bench_median(cpu2, REPEATS), "");
	berth_pool_free(pool);
}

void speed_threads(void)
{
	subject b;
	threads_ctx c = {0};
	int32_t *op_dev;
	bench_open(&b, "bert-large:training=1", "4gpu");
	c.p = &b.p;
	MUST(BERTH_NEW(&b.mem, op_dev, b.p.n_ops, &err));
	for (int32_t k = 0; k < b.p.n_ops; k++)
		op_dev[b.g.topo_op[k]] = (int32_t)((int64_t)k * b.p.n_devs / b.p.n_ops);
	c.op_dev = op_dev;
	for (int w = 0; w < MAX_WORKERS; w++) {
		MUST(berth_sim_new(&b.p, &b.mem, &c.sim[w], &err));
	}
	both("threads_reference", one_sim, &c);
	bench_close(&b);
}
