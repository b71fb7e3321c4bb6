/* What tables run: instances of the zoo, methods on them, clocks; and how they print a number. */
#include "bench.h"

#include "coarsen.h"
#include "quotient.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <stdarg.h>
#include <stdlib.h>
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

void bench_put(bench_text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	t->n += (size_t)vsnprintf(t->text + t->n, sizeof t->text - t->n, format, args);
	va_end(args);
	if (t->n >= sizeof t->text)
		bench_refuse("a text is too long");
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

double bench_found(const berth_search *s)
{
	return berth_score_feasible(s->best) ? s->best.value : INFINITY;
}

double bench_value(const subject *x, const berth_method *m, const berth_search_cfg *cfg)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_search s;
	berth_err err;
	bench_must(berth_search_new(&x->p, cfg, &mem, &s, &err), &err);
	berth_status st = berth_method_run(m, &s, &tmp, &err);
	if (st != BERTH_EUNSUPPORTED)
		bench_must(st, &err);
	return st == BERTH_OK ? bench_found(&s) : INFINITY;
}

double bench_value_of(const subject *x, const char *method, berth_metric metric, int64_t evaluations)
{
	const berth_search_cfg cfg = {
		.objective = berth_objective_of(metric), .seed = 1, .evaluations = evaluations};
	return bench_value(x, bench_method(method), &cfg);
}

void bench_values(const subject *x, const berth_method *m, const berth_search_cfg *cfg, int n_seeds,
                  double *value)
{
	berth_search_cfg own = *cfg;
	for (int k = 0; k < n_seeds; k++) {
		own.seed = (uint64_t)k + 1;
		value[k] = bench_value(x, m, &own);
	}
}

double bench_median_value(const subject *x, const berth_method *m, const berth_search_cfg *cfg, int n_seeds)
{
	double v[MAX_SEEDS];
	bench_values(x, m, cfg, n_seeds, v);
	return bench_median(v, n_seeds);
}

berth_interval bench_iqm_value(const subject *x, const berth_method *m, const berth_search_cfg *cfg,
                               int n_seeds)
{
	double v[MAX_SEEDS];
	bench_values(x, m, cfg, n_seeds, v);
	return bench_iqm(v, n_seeds);
}

berth_status bench_solve(subject *x, const char *method, const berth_search_cfg *cfg, berth_solution *out)
{
	berth_err err;
	berth_status st = berth_solve(&x->p, &x->b, bench_method(method), cfg, &x->mem, &x->tmp, out, &err);
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
	BERTH_ARENA(tmp);
	return n ? berth_median(x, n, &tmp) : NAN;
}

double bench_largest(const double *x, int32_t n)
{
	double most = n ? x[0] : NAN;
	for (int32_t i = 1; i < n; i++)
		most = fmax(most, x[i]);
	return most;
}

berth_interval bench_iqm(const double *x, int32_t n)
{
	BERTH_ARENA(tmp);
	return berth_bootstrap(x, n, berth_iqm, &tmp);
}

void bench_add(bench_mean *m, double ratio)
{
	m->log += log(ratio);
	m->n++;
}

double bench_mean_of(bench_mean m)
{
	return exp(m.log / m.n);
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

void bench_rule(int left, int right)
{
	printf("\n|");
	for (int i = 0; i < left + right; i++)
		printf(i < left ? "---|" : "---:|");
	printf("\n");
}

void bench_print_interval(berth_interval v, double scale, const char *format)
{
	const double x[] = {v.middle, v.low, v.high};
	static const char *const after[] = {" [", ", ", "]"};
	printf(" | ");
	for (int i = 0; i < 3; i++) {
		printf(format, x[i] * scale);
		printf("%s", after[i]);
	}
}

void bench_print_value(double v, const char *format, const char *otherwise)
{
	printf(" | ");
	if (isfinite(v))
		printf(format, v);
	else
		printf("%s", otherwise);
}
