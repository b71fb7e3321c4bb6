/* The table of docs/clusters.md on language models over up to 1,024 unlike servers. All but the seconds is
 * the same for one build. */
#include "bench.h"

#include "serving.h"
#include "system_json.h"
#include "zoo.h"

#include <string.h>

#define L70 "layers=80:hidden=8192:heads=64:kv-heads=8:ffn=28672"
#define L405 "layers=126:hidden=16384:heads=128:kv-heads=8:ffn=53248:vocab=128256"
static const struct {
	const char *name, *spec;
} models[] = {
	{"7B", "zoo:llama:dtype=f16"},
	{"70B", "zoo:llama:dtype=f16:" L70},
	{"8x7B", "zoo:moe:dtype=f16"},
	{"405B", "zoo:llama:dtype=f16:" L405},
};
static const char *const modes[] = {"decode:batch=16:seq=2048", "prefill:chunk=512:seq=2048"};
static const int64_t numbers[] = {1, 8, 64, 1024};
enum { N_MODELS = sizeof models / sizeof *models, N_MODES = 2, N_NUMBERS = 4 };

/* Eight GPUs a server on NVLink, servers on ports of 100 gigabit a second: datasheets of A100 80 GB and V100
 * 32 GB (16 bits, matrix units), and L40S; half of the peak in products of matrices. */
static const char *const gpu[] = {
	"\"kind\":\"a100-80\",\"peak_flops\":3.12e14,\"mem_bandwidth\":2.0e12,\"memory_bytes\":78000000000",
	"\"kind\":\"l40s\",\"peak_flops\":3.62e14,\"mem_bandwidth\":8.64e11,\"memory_bytes\":46000000000",
	"\"kind\":\"v100-32\",\"peak_flops\":1.25e14,\"mem_bandwidth\":9.0e11,\"memory_bytes\":31000000000",
};
static const double inside[] = {3e11, 2.5e10, 1.2e11};
enum { N_KINDS = 3, N_GPUS = 8 };

static void write_system(char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size,
	                            "{\"format\":\"berth-system\",\"version\":1,\"name\":\"three "
	                            "kinds\",\"devices\":[");
	for (int k = 0; k < N_KINDS; k++)
		for (int i = 0; i < N_GPUS; i++)
			n += (size_t)snprintf(
				text + n, size - n,
				"%s{\"name\":\"s%dg%d\",\"host\":\"s%d\",%s,\"op_overhead_s\":7e-6,"
				"\"efficiency\":{\"*\":0.1,\"MatMul\":0.5,\"Gemm\":0.5}}",
				k || i ? "," : "", k, i, k, gpu[k]);
	n += (size_t)snprintf(text + n, size - n, "],\"links\":[");
	bool first = true;
	for (int k = 0; k < N_KINDS * N_GPUS; k++)
		for (int i = 0; i < k; i++) {
			int a = i / N_GPUS, b = k / N_GPUS;
			n += (size_t)snprintf(text + n, size - n,
			                      "%s{\"from\":\"s%dg%d\",\"to\":\"s%dg%d\",\"both_ways\":true,"
			                      "\"latency_s\":%s,\"bandwidth\":%.3g}",
			                      first ? "" : ",", a, i % N_GPUS, b, k % N_GPUS,
			                      a == b ? "5e-6" : "2e-5", a == b ? inside[a] : 1.2e10);
			first = false;
		}
	snprintf(text + n, size - n, "]}");
}

static void print_row(int m, const char *mode, int64_t servers)
{
	static char text[1 << 16];
	berth_cluster c;
	berth_granularity blocks;
	berth_serving v;
	berth_serving_plan plan;
	subject x = {0};
	char spec[256];
	double from = berth_cpu_seconds();
	/* half of them the first kind, the rest the other two */
	int64_t n[N_KINDS] = {servers - servers / 4 - servers / 4, servers / 4, servers / 4};
	write_system(text, sizeof text);
	snprintf(spec, sizeof spec, "%s:mode=%s", models[m].spec, mode);
	MUST(berth_system_parse_json("system", text, strlen(text), &x.mem, &x.tmp, &x.s, &err));
	MUST(berth_zoo_build(spec, &x.mem, &x.tmp, &x.g, &err));
	MUST(berth_problem_new(&x.g, &x.s, &x.mem, &x.tmp, &x.p, &err));
	MUST(berth_cluster_new(&x.s, &x.mem, &x.tmp, &c, &err));
	MUST(berth_granularity_find(&x.g, BERTH_GRAIN_LAYER, &x.mem, &x.tmp, &blocks, &err));
	MUST(berth_serving_new(&x.p, &c, &blocks, n, &x.mem, &x.tmp, &v, &err));
	MUST(berth_serving_solve(&v, &x.mem, &x.tmp, &plan, &err));
	printf("| %s | %.*s | %d ", models[m].name, (int)strcspn(mode, ":"), mode, (int)servers);
	if (plan.n_copies == 0)
		printf("| none fits | | | | ");
	else
		printf("| %d | %d | %.4g | %.2f %% | %.1f %% ", (int)plan.n_copies, (int)plan.n_groups,
		       plan.per_s, 100 * (1 - plan.per_s / plan.groups_per_s),
		       100 * (1 - plan.per_s / plan.bound_per_s));
	printf("| %d | %.2f s |\n", (int)plan.solved, berth_cpu_seconds() - from);
	fflush(stdout);
	bench_close(&x);
}

static void run_serving(const bench_options *o)
{
	(void)o;
	bench_head(
		"model|use|servers:|copies:|unlike groups:|steps/s:|below the best of such groups, at most:|"
		"below any plan, at most:|pipelines solved:|CPU time:");
	for (int m = 0; m < N_MODELS; m++)
		for (int k = 0; k < N_MODES; k++)
			for (int i = 0; i < N_NUMBERS; i++)
				print_row(m, modes[k], numbers[i]);
}

const bench_entry bench_serving = {
	"serving", "", "clusters", "1 min",
	"language models over unlike servers", {0}, run_serving};
