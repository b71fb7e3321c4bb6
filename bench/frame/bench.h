/* The frame that all tables share: options, instances, runs, timing, and how cells are printed. A table is a
 * function table_NAME, and a row in entries.h. What fails ends the program with its message. */
#pragma once

#include "array.h"
#include "bounds.h"
#include "graph.h"
#include "methods.h"
#include "problem.h"
#include "solve.h"
#include "statistics.h"
#include "system.h"
#include "threads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a command asks for, or the table's usual value: 0 where the table has no such option, less than 0
 * where it leaves the number to a method. */
typedef struct bench_options {
	int64_t evaluations, nodes, more_nodes, instances, rounds;
	int32_t seeds, threads;
	double seconds;
	int32_t n_words; /* what stands behind the name: models, parts, files */
	char *const *word;
} bench_options;

typedef struct bench_entry {
	const char *name, *words, *page, *takes, *about; /* words: that may follow; takes: about how long */
	bench_options usual; /* what holds where no option tells otherwise */
	void (*run)(const bench_options *o);
} bench_entry;

/* The whole of a program of these tables; an exit code. */
int bench_main(int argc, char **argv, const bench_entry *entry, int n);

/* A call whose last argument is &err, which stands for an error of its own. */
#define MUST(call)                           \
	do {                                 \
		berth_err err;               \
		bench_must((call), &err);    \
	} while (0)
void bench_must(berth_status st, const berth_err *err);
/* For words that cannot be right. */
_Noreturn void bench_refuse(const char *why);

#define BENCH_N(list) ((int)(sizeof(list) / sizeof *(list)))
/* n zeroed elements. */
void *bench_new(berth_arena *mem, size_t n, size_t size);

/* A text that grows by printf; too long a one ends the program. */
typedef struct bench_text {
	char text[1 << 16];
	size_t n;
} bench_text;
void bench_put(bench_text *t, const char *format, ...) BERTH_PRINTF(2, 3);

/* An empty file in /tmp; path: "/tmp/berth-bench-XXXXXX". */
#define BENCH_PATH "/tmp/berth-bench-XXXXXX"
void bench_make_file(char *path);

/* ---- instances ---- */

/* A graph of the zoo (without "zoo:") on a built-in system, compiled. */
typedef struct subject {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds b; /* fast ones, where bench_bound was called */
} subject;

typedef struct bench_pair {
	const char *graph, *system;
} bench_pair;

void bench_open(subject *x, const char *graph, const char *system);
void bench_bound(subject *x);
void bench_close(subject *x);
/* The same for the rest of a block. */
#define BENCH_OPEN(x, graph, system)                             \
	subject x __attribute__((cleanup(bench_close)));         \
	bench_open(&x, graph, system)

/* x becomes its groups (heavy-edge, about so many) as a problem of their own. */
void bench_group(subject *x, int32_t target);

/* ---- runs ---- */

const berth_method *bench_method(const char *name);

/* The value of what a search found; infinite: nothing that fits. */
double bench_found(const berth_search *s);
/* The value of a method's answer; infinite where it does not fit, or where the method cannot say. */
double bench_value(const subject *x, const berth_method *m, const berth_search_cfg *cfg);
/* The same with seed 1, by its name. */
double bench_value_of(const subject *x, const char *method, berth_metric metric, int64_t evaluations);

enum { MAX_SEEDS = 100 };
/* value [n_seeds] with seeds 1, 2 ... */
void bench_values(const subject *x, const berth_method *m, const berth_search_cfg *cfg, int n_seeds,
                  double *value);
/* Their median; their interquartile mean with its interval. */
double bench_median_value(const subject *x, const berth_method *m, const berth_search_cfg *cfg, int n_seeds);
berth_interval bench_iqm_value(const subject *x, const berth_method *m, const berth_search_cfg *cfg,
                               int n_seeds);

/* A method's answer with its proof, in x->mem, by the bounds of x. Its status: BERTH_EUNSUPPORTED and
 * BERTH_ELIMIT are told, others end the program. */
berth_status bench_solve(subject *x, const char *method, const berth_search_cfg *cfg, berth_solution *out);

/* ---- time ---- */

double bench_thread_seconds(void);
/* Median CPU seconds of one call, of this thread alone. */
double bench_seconds(void (*work)(void *ctx), void *ctx);

/* ---- numbers and cells ---- */

/* NAN where n is 0. */
double bench_median(const double *x, int32_t n);
double bench_largest(const double *x, int32_t n);
/* Interquartile mean with its interval. */
berth_interval bench_iqm(const double *x, int32_t n);

/* Ratios one after the other, and their geometric mean. */
typedef struct bench_mean {
	double log;
	int n;
} bench_mean;
void bench_add(bench_mean *m, double ratio);
double bench_mean_of(bench_mean m);

/* The head of a table: cells between '|'; those that end with ':' are aligned to the right. */
void bench_head(const char *cells);
/* The line below a head that was printed otherwise: cells to the left, then to the right. */
void bench_rule(int left, int right);
/* " | 1.2 [1.1, 1.3]", by the format of a number. */
void bench_print_interval(berth_interval v, double scale, const char *format);
/* " | 1.2", or what stands for an infinite one. */
void bench_print_value(double v, const char *format, const char *otherwise);
