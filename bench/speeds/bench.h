/* What the benches share: timing, rows, ready problems. */
#ifndef BERTH_BENCH_H
#define BERTH_BENCH_H

#include "json.h"
#include "problem.h"
#include "threads.h"

typedef struct bench_out {
	berth_json_out *json; /* NULL: lines on stdout */
	bool markdown;        /* as rows of a table */
} bench_out;

typedef struct bench {
	const char *name, *about;
	void (*run)(bench_out *out);
} bench;

/* Exits with the message where st is a failure. */
void bench_must(berth_status st, const berth_err *err);

/* Median CPU seconds of one call, of this thread alone. */
double bench_seconds(void (*work)(void *ctx), void *ctx);
void bench_row(bench_out *out, const char *name, const char *graph, double value, const char *unit);

/* A zoo graph on a built-in system, compiled; exits with a message where that fails. */
typedef struct bench_problem {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
} bench_problem;
void bench_compile(bench_problem *b, const char *zoo, const char *system);
void bench_discard(bench_problem *b);

void bench_simulate(bench_out *out);
void bench_heft(bench_out *out);
void bench_list(bench_out *out);
void bench_onnx(bench_out *out);
void bench_gguf(bench_out *out);
void bench_tasks(bench_out *out);
void bench_import(bench_out *out);
void bench_coarsen(bench_out *out);
void bench_start(bench_out *out);
void bench_pass(bench_out *out);
void bench_learn(bench_out *out);
void bench_policy(bench_out *out);
void bench_gemm(bench_out *out);
void bench_pbqp(bench_out *out);
void bench_questions(bench_out *out);
void bench_exact(bench_out *out);
void bench_incremental(bench_out *out);
void bench_threads(bench_out *out);
void bench_growth(bench_out *out);

#endif
