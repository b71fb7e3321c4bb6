/* How time and memory grow with the graph: random graphs of 10,000 to 1,000,000 operators on 4gpu,
 * nanoseconds and bytes an operator of compiling, of an evaluation by the reference, of a single move by the
 * incremental one, of HEFT with its scorings, and of writing a placement with its order to a file. The least
 * of a few runs each. */
#include "speeds.h"

#include "incremental.h"
#include "placement.h"
#include "rng.h"

#include <stdlib.h>
#include <unistd.h>

enum { N_SIZES = 3, RUNS = 5, MOVES = 20 };
static const int sizes[N_SIZES] = {10000, 100000, 1000000};

typedef struct sized {
	subject b;
	berth_arena own;
	berth_sim *sim;
	berth_incremental *inc;
	int32_t *base, *trial; /* [n_ops] */
	berth_rng rng;
} sized;

static void compile_again(void *arg)
{
	sized *c = arg;
	berth_arena mem = {0};
	berth_problem p;
	MUST(berth_problem_new(&c->b.g, &c->b.s, &mem, &c->b.tmp, &p, &err));
	berth_arena_free(&mem);
}

static void run_reference(void *arg)
{
	sized *c = arg;
	berth_sim_result r;
	berth_sim_run(c->sim, c->base, NULL, &r);
}

static void run_moves(void *arg)
{
	sized *c = arg;
	berth_sim_result r;
	for (int i = 0; i < MOVES; i++) {
		int32_t op = (int32_t)berth_rng_below(&c->rng, (uint32_t)c->b.p.n_ops);
		c->trial[op] = (c->base[op] + 1) % c->b.p.n_devs;
		berth_incremental_run(c->inc, c->trial, INT64_MAX, &r);
		c->trial[op] = c->base[op];
	}
}

static void run_heft(void *arg)
{
	sized *c = arg;
	const berth_method *m;
	berth_search s;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	MUST(berth_method_find("heft", &m, &err));
	MUST(berth_search_new(&c->b.p, &(berth_search_cfg){.evaluations = 1}, &mem, &s, &err));
	MUST(berth_method_run(m, &s, &tmp, &err));
}

static void write_placement(void *arg)
{
	sized *c = arg;
	char path[64];
	snprintf(path, sizeof path, "/tmp/berth-bench-%ld.json", (long)getpid());
	const berth_placement p = {.value = 1,
	                           .lower_bound = 1,
	                           .op_dev = c->base,
	                           .order = c->b.g.topo_op};
	MUST(berth_placement_write(&p, &c->b.g, &c->b.s, path, false, &c->b.tmp, &err));
	unlink(path);
}

/* Least CPU seconds of a call. */
static double least(void (*work)(void *), sized *c)
{
	double best = INFINITY;
	for (int r = 0; r < RUNS; r++) {
		double from = berth_cpu_seconds();
		work(c);
		best = fmin(best, berth_cpu_seconds() - from);
	}
	return best;
}

/* Bytes that own has taken since it had *before. */
static double taken(sized *c, double *before)
{
	double now = (double)berth_arena_size(&c->own), more = now - *before;
	*before = now;
	return more;
}

static void row(const char *what, int n, double seconds, double times, double bytes)
{
	char label[64];
	snprintf(label, sizeof label, "%s, %d operators", what, n);
	speed_row("growth", label, seconds * 1e9 / times / n, "ns/operator");
	if (bytes > 0)
		speed_row("growth_memory", label, bytes / n, "bytes/operator");
}

static void prepare(sized *c, int n)
{
	char zoo[64];
	snprintf(zoo, sizeof zoo, "random:ops=%d:seed=1", n);
	*c = (sized){.rng = berth_rng_seed(1, 0)};
	bench_open(&c->b, zoo, "4gpu");
	MUST(BERTH_NEW(&c->b.mem, c->base, n, &err));
	MUST(BERTH_NEW(&c->b.mem, c->trial, n, &err));
	for (int32_t k = 0; k < n; k++)
		c->base[c->b.g.topo_op[k]] = (int32_t)((int64_t)k * c->b.p.n_devs / n);
	memcpy(c->trial, c->base, (size_t)n * sizeof *c->base);
}

void speed_growth(void)
{
	for (int i = 0; i < N_SIZES; i++) {
		sized c;
		berth_sim_result r;
		double before = 0;
		int n = sizes[i];
		prepare(&c, n);
		row("compile", n, least(compile_again, &c), 1, 0);
		MUST(berth_sim_new(&c.b.p, &c.own, &c.sim, &err));
		row("reference", n, least(run_reference, &c), 1, taken(&c, &before));
		MUST(berth_incremental_new(&c.b.p, &c.own, &c.inc, &err));
		double bytes = taken(&c, &before);
		berth_incremental_base(c.inc, c.base, &r);
		row("incremental, a move", n, least(run_moves, &c), MOVES, bytes);
		row("heft", n, least(run_heft, &c), 1, 0);
		row("write a placement", n, least(write_placement, &c), 1, 0);
		berth_arena_free(&c.own);
		bench_close(&c.b);
	}
}
