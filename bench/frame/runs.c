/* What tables run: instances of the zoo, methods on them, clocks; and how they print a number. */
#include "bench.h"

#include "coarsen.h"
#include "quotient.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void bench_must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fflush(stdout);
	fprintf(stderr, "berth-bench: %s\n", err->msg);
	exit(berth_exit_code(st));
}

_Noreturn void bench_refuse(const char *why)
{
	fprintf(stderr, "berth-bench: %s\n", why);
	exit(2);
}

void *bench_new(berth_arena *mem, size_t n, size_t size)
{
	void *p = berth_arena_alloc(mem, n, size);
	if (!p)
		bench_refuse("out of memory");
	return p;
}

void bench_make_file(char *path)
{
	int fd = mkstemp(path);
	if (fd < 0)
		bench_refuse("cannot make a file in /tmp");
	close(fd);
}

void bench_open(subject *x, const char *graph, const char *system)
{
	char spec[160];
	snprintf(spec, sizeof spec, "zoo:%s", graph);
	*x = (subject){0};
	MUST(berth_zoo_build(spec, &x->mem, &x->tmp, &x->g, &err));
	MUST(berth_system_builtin(system, &x->mem, &x->tmp, &x->s, &err));
	MUST(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err));
}

void bench_bound(subject *x)
{
	MUST(berth_bounds_new(&x->p, &x->tmp, &x->b, &err));
}

void bench_close(subject *x)
{
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
}

void bench_group(subject *x, int32_t target)
{
	berth_coarsening c;
	berth_graph *quotient = bench_new(&x->mem, 1, sizeof *quotient);
	berth_problem *whole = bench_new(&x->mem, 1, sizeof *whole);
	double *cost = bench_new(&x->mem, (size_t)x->p.n_ops, sizeof *cost);
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target);
	*whole = x->p;
	for (int32_t op = 0; op < x->p.n_ops; op++)
		cost[op] = (double)x->p.op_mean_ns[op];
	cfg.op_cost = cost;
	cfg.balance = 2;
	MUST(berth_coarsen(&x->g, &cfg, &x->mem, &x->tmp, &c, &err));
	MUST(berth_quotient_new(whole, &c, &x->mem, &x->tmp, quotient, &err));
	MUST(berth_problem_new(quotient, &x->s, &x->mem, &x->tmp, &x->p, &err));
}

const berth_method *bench_method(const char *name)
{
	const berth_method *m;
	MUST(berth_method_find(name, &m, &err));
	return m;
}

double bench_value(const berth_problem *p, const berth_method *m, const berth_search_cfg *cfg)
{
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_err err;
	bench_must(berth_search_new(p, cfg, &mem, &s, &err), &err);
	berth_status st = berth_method_run(m, &s, &tmp, &err);
	if (st != BERTH_EUNSUPPORTED)
		bench_must(st, &err);
	double value = st == BERTH_OK && berth_score_feasible(s.best) ? s.best.value : INFINITY;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

double bench_value_of(const subject *x, const char *method, const berth_search_cfg *cfg)
{
	return bench_value(&x->p, bench_method(method), cfg);
}

void bench_values(const subject *x, const berth_method *m, const berth_search_cfg *cfg, int n_seeds,
                  double *value)
{
	berth_search_cfg own = *cfg;
	for (int k = 0; k < n_seeds; k++) {
		own.seed = (uint64_t)k + 1;
		value[k] = bench_value(&x->p, m, &own);
	}
}

double bench_median_value(const subject *x, const berth_method *m, const berth_search_cfg *cfg, int n_seeds)
{
	double v[MAX_SEEDS];
	bench_values(x, m, cfg, n_seeds, v);
	return bench_median(v, n_seeds);
}

berth_status bench_solve(subject *x, const berth_bounds *b, const char *method, const berth_search_cfg *cfg,
                         berth_solution *out)
{
	berth_err err;
	berth_status st = berth_solve(&x->p, b, bench_method(method), cfg, &x->mem, &x->tmp, out, &err);
	if (st != BERTH_EUNSUPPORTED && st != BERTH_ELIMIT)
		bench_must(st, &err);
	return st;
}

double bench_thread_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_seconds(void (*work)(void *ctx), void *ctx)
{
	enum { REPEATS = 7 };
	double took[REPEATS];
	work(ctx); /* warm */
	for (int r = 0; r < REPEATS; r++) {
		long n = 0;
		double from = bench_thread_seconds(), now;
		do {
			work(ctx);
			n++;
			now = bench_thread_seconds();
		} while (now - from < 0.05);
		took[r] = (now - from) / (double)n;
	}
	return bench_median(took, REPEATS);
}

double bench_median(const double *x, int32_t n)
{
	berth_arena tmp = {0};
	double median = n ? berth_median(x, n, &tmp) : NAN;
	berth_arena_free(&tmp);
	return median;
}

berth_interval bench_iqm(const double *x, int32_t n)
{
	berth_arena tmp = {0};
	berth_interval v = berth_bootstrap(x, n, berth_iqm, &tmp);
	berth_arena_free(&tmp);
	return v;
}

/* The next cell from *c on, without its ':'; returns its size. *right: it had one. */
static size_t next_cell(const char **c, bool *right)
{
	size_t n = strcspn(*c, "|");
	*right = n && (*c)[n - 1] == ':';
	*c += n + 1;
	return *right ? n - 1 : n;
}

void bench_head(const char *cells)
{
	const char *end = cells + strlen(cells);
	bool right;
	for (const char *c = cells, *at = c; c <= end; at = c) {
		size_t n = next_cell(&c, &right);
		printf(n ? "| %.*s " : "| ", (int)n, at);
	}
	printf("|\n|");
	for (const char *c = cells; c <= end;) {
		next_cell(&c, &right);
		printf(right ? "---:|" : "---|");
	}
	printf("\n");
}

void bench_print_interval(berth_interval v, double scale, const char *format)
{
	printf(" | ");
	printf(format, v.middle * scale);
	printf(" [");
	printf(format, v.low * scale);
	printf(", ");
	printf(format, v.high * scale);
	printf("]");
}

void bench_print_value(double v, const char *format, const char *otherwise)
{
	printf(" | ");
	if (isfinite(v))
		printf(format, v);
	else
		printf("%s", otherwise);
}
