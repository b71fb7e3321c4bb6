/* berth-bench: speeds of the parts, one row each; see --help. Not a test: figures depend on the machine.
 * Each figure is the median of several repetitions of at least 50 ms of the thread's own CPU time. */
#include "bench.h"

#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const bench benches[] = {
	{"simulate", "reference simulator, placements near good ones, one core", bench_simulate},
	{"incremental", "moves around a placement: incremental runs against full ones, one core",
         bench_incremental},
	{"threads", "evaluations over a pool of 1 and 2 workers, wall time", bench_threads},
	{"growth", "time and memory an operator, at 10,000 to 1,000,000 of them", bench_growth},
	{"heft", "HEFT with insertion, scored under both orders, at about 2,000 operators", bench_heft},
	{"list",
	 "HEFT without and with insertion, the CEFT table, growth of list schedulers to 50,000 operators",
	 bench_list},
	{"onnx", "reading an ONNX file of 100 MB with its weights inside, and files made to be expensive",
	 bench_onnx},
	{"gguf", "reading the GGUF header of a model of 98 GB", bench_gguf},
	{"tasks", "reading task graphs of 100,000 tasks: DOT, STG, DAX", bench_tasks},
	{"import", "reading graphs from JSON: seconds and memory", bench_import},
	{"coarsen", "grouping large random graphs", bench_coarsen},
	{"start", "answers without search: method policy, the portfolio and the policy",
         bench_start},
	{"pass", "one forward pass of the built-in policy, 1,702 to 100,000 operators", bench_pass},
	{"learn", "drawing, simulating and learning together, on 1 and 2 workers", bench_learn},
	{"policy", "the network, its PPO loss and Adam, one core", bench_policy},
	{"gemm", "matrix products of the sizes of policies, beside OpenBLAS, one core", bench_gemm},
	{"questions", "explain an operator, ask about 20 machines, a Pareto front of 10,000 evaluations",
         bench_questions},
	{"exact", "branch and bound on 16 operators; strong bounds of models", bench_exact},
	{"pbqp", "the PBQP solver at 20,000 nodes, 4 alternatives, mean degree 3", bench_pbqp},
};

static int compare_doubles(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;
	return (a > b) - (a < b);
}

/* Of the calling thread: what else runs on the machine does not count. */
static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-bench: %s\n", err->msg);
	exit(1);
}

double bench_seconds(void (*work)(void *ctx), void *ctx)
{
	enum { REPEATS = 7 };
	double took[REPEATS];
	work(ctx); /* warm */
	for (int r = 0; r < REPEATS; r++) {
		long n = 0;
		double from = cpu_seconds(), now;
		do {
			work(ctx);
			n++;
			now = cpu_seconds();
		} while (now - from < 0.05);
		took[r] = (now - from) / (double)n;
	}
	qsort(took, REPEATS, sizeof *took, compare_doubles);
	return took[REPEATS / 2];
}

void bench_row(bench_out *out, const char *name, const char *graph, double value, const char *unit)
{
	if (out->markdown) {
		printf("| %s | %s | %.3g %s |\n", name, graph, value, unit);
		fflush(stdout);
		return;
	}
	if (!out->json) {
		printf("%-28s %-44s %12.4g %s\n", name, graph, value, unit);
		fflush(stdout);
		return;
	}
	berth_json_open(out->json, NULL, '{');
	berth_json_put_string(out->json, "name", name);
	berth_json_put_string(out->json, "graph", graph);
	berth_json_put_number(out->json, "value", value);
	berth_json_put_string(out->json, "unit", unit);
	berth_json_close(out->json, '}');
}

static int usage(FILE *to)
{
	fprintf(to, "usage: berth-bench [--json|--markdown] [--only NAME]\n\nbenches:\n");
	for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
		fprintf(to, "  %-12s %s\n", benches[i].name, benches[i].about);
	return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	berth_arena mem = {0};
	berth_json_out json;
	bench_out out = {0};
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			berth_json_out_init(&json, &mem, true);
			out.json = &json;
		} else if (strcmp(argv[i], "--markdown") == 0) {
			out.markdown = true;
		} else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
			only = argv[++i];
		} else {
			return usage(strcmp(argv[i], "--help") == 0 ? stdout : stderr);
		}
	}
	if (out.json) {
		berth_json_open(&json, NULL, '{');
		berth_json_open(&json, "rows", '[');
	}
	bool any = false;
	if (out.markdown)
		printf("| what | of | CPU figure |\n|---|---|---|\n");
	for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
		if (!only || strcmp(only, benches[i].name) == 0) {
			benches[i].run(&out);
			any = true;
		}
	if (!any)
		return usage(stderr);
	if (out.json) {
		const char *text;
		size_t len;
		berth_json_close(&json, ']');
		berth_json_close(&json, '}');
		if (berth_json_done(&json, &text, &len, NULL) == BERTH_OK)
			fwrite(text, 1, len, stdout);
	}
	berth_arena_free(&mem);
	return 0;
}
